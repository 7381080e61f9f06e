"""Reshape, Flatten, Squeeze, Unsqueeze, BitCast, Shape, Size. Expected: NumPy's own functions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from case_data import allowed, opsets, type_name
from case_elements import elements
from cases import Case
from onnx import TensorProto

from minirt.dtypes import TABLE, find
from minirt.errors import SchemaError, ShapeError

LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max
X = elements(np.float32, 2, 3, 4)


def ints(*values):
    return np.array(values, np.int64)


def typed(op, shape, function, *operands, opset=28, **attributes):
    """A row for each type that the first operand may have."""
    for dtype in allowed(op, opset):
        x = elements(dtype, *shape)
        yield Case(op, (x, *operands), function, attributes, opset, id=type_name(dtype))


# Reshape


def reshape(x, shape, *, allowzero=0):
    """Sizes that are 0 are taken from ``x``."""
    sizes = [x.shape[i] if n == 0 and not allowzero else n for i, n in enumerate(shape)]
    return x.reshape(sizes)


RESHAPES = [
    ((2, 3, 4), (4, 6), {}),
    ((2, 3, 4), (24,), {}),
    ((2, 3, 4), (-1,), {}),
    ((2, 3, 4), (0, -1), {}),
    ((2, 3, 4), (-1, 0, 2, 2), {}),
    ((2, 3, 4), (0, 0, 0), {}),
    ((2, 3, 4), (0, 0, 1, -1), {}),
    ((2, 3, 4), (1, 2, -1, 1, 3), {}),
    ((1,), (), {}),
    ((), (1, 1), {}),
    ((), (), {}),
    ((), (-1,), {}),
    ((0, 3), (3, 0), {"allowzero": 1}),
    ((0, 3), (0, 5), {"allowzero": 1}),
    ((2, 3), (3, 2), {"allowzero": 1}),
    ((2, 0), (-1, 1), {}),
    ((0, 3), (0, 3, 1), {}),
]

RESHAPE = [
    *typed("Reshape", (2, 6), reshape, ints(3, -1)),
    *(
        Case("Reshape", (elements(np.int32, *old), ints(*new)), reshape, attributes, id=f"{new}")
        for old, new, attributes in RESHAPES
    ),
    # A batch of none is one like others: what is left is what each example has.
    Case("Reshape", (elements(np.float32, 0, 3, 4), ints(0, -1)), lambda x, s: x.reshape(0, 12)),
    *(Case("Reshape", (X, ints(4, -1)), reshape, opset=v) for v in opsets("Reshape")[1:]),
    Case("Reshape", (X,), X.reshape(4, 6), {"shape": [-1, 6]}, opset=1),
    Case("Reshape", (X,), X.reshape(2, 12), {"shape": [0, 12], "consumed_inputs": [0]}, opset=4),
    Case("Reshape", (X[:1, 0, 0],), X[0, 0, 0], {"shape": []}, opset=1),
    *(
        Case("Reshape", (X, shape), attributes=attributes, raises=(ShapeError, text))
        for shape, attributes, text in [
            (ints(5, -1), {}, "needs a multiple of 5 elements"),
            (ints(5, 5), {}, "24 elements"),
            (ints(-1, -1), {}, "may have one -1"),
            (ints(-2, 12), {}, "no other negative size"),
            (ints(LOW), {}, "no other negative size"),
            (ints(HIGH, HIGH), {}, "24 elements"),
            (ints(2, 3, 4, 0), {}, "keeps the size of axis 3"),
            (ints(0, -1), {"allowzero": 1}, "has both 0 and -1"),
            (ints(0, 24), {"allowzero": 1}, "24 elements"),
            (ints(2, 3, 4).reshape(1, 3), {}, "should have one dimension"),
        ]
    ),
    Case(
        "Reshape", (X, ints(24)), attributes={"allowzero": 2}, raises=(SchemaError, "allowzero=2")
    ),
    Case("Reshape", (X,), opset=1, raises=(SchemaError, "attribute shape is missing")),
]

# Flatten, Squeeze, Unsqueeze


def flatten(x, *, axis=1):
    return x.reshape(int(np.prod(x.shape[:axis])), -1) if x.size else np.zeros((0, 12), x.dtype)


FLATTEN = [
    *typed("Flatten", (2, 3, 2), flatten),
    *(Case("Flatten", (X,), flatten, {"axis": a}) for a in (0, 1, 2, 3)),
    *(Case("Flatten", (X,), X.reshape(n, -1), {"axis": a}) for a, n in ((-1, 6), (-2, 2), (-3, 1))),
    *(Case("Flatten", (X,), flatten, opset=v) for v in opsets("Flatten")),
    Case("Flatten", (np.float32(3),), np.float32([[3]]), {"axis": 0}),
    Case("Flatten", (X[:0],), flatten),
    *(
        Case("Flatten", (X,), attributes={"axis": axis}, raises=(ShapeError, f"axis={axis}"))
        for axis in (4, -4, HIGH, LOW)
    ),
]


def squeeze(x, axes=None):
    return x.squeeze() if axes is None else x.squeeze(tuple(axes.reshape(-1)))


def unsqueeze(x, axes):
    return np.expand_dims(x, tuple(axes.reshape(-1)))


ONES = elements(np.float32, 1, 3, 1, 2, 1)

SQUEEZE = [
    *typed("Squeeze", (1, 3, 1), squeeze, ints(0)),
    *(
        Case("Squeeze", (ONES, axes), squeeze)
        for axes in (None, ints(0), ints(-1), ints(4, 0), ints(-3, 0, -1), ints(), np.int64(2))
    ),
    Case("Squeeze", (ONES,), squeeze),
    Case("Squeeze", (elements(np.float32, 1, 1), ints(1, 0)), squeeze),
    Case("Squeeze", (np.float32(7),), squeeze),
    Case("Squeeze", (ONES[:, :0],), squeeze),
    *(Case("Squeeze", (ONES, ints(0, 2)), squeeze, opset=v) for v in opsets("Squeeze")[2:]),
    *(Case("Squeeze", (ONES,), ONES[0, :, 0], {"axes": [0, 2]}, opset=v) for v in (1, 11)),
    Case("Squeeze", (ONES,), ONES[..., 0], {"axes": [-1]}, opset=12),
    Case("Squeeze", (ONES,), squeeze, opset=1),
    *(
        Case("Squeeze", (ONES, axes), raises=(ShapeError, text))
        for axes, text in [
            (ints(1), "axis 1 of data float[1,3,1,2,1] has size 3"),
            (ints(5), "axes=5 is not in [-5, 4]"),
            (ints(LOW), f"axes={LOW} is not in"),
            (ints(0, -5), "names an axis twice"),
            (ints(0, 2).reshape(1, 2), "should have one dimension"),
        ]
    ),
]

UNSQUEEZE = [
    *typed("Unsqueeze", (3, 2), unsqueeze, ints(1)),
    *(
        Case("Unsqueeze", (X, axes), unsqueeze)
        for axes in (ints(0), ints(-1), ints(3), ints(0, 4), ints(4, 1), ints(-1, 0, 2), ints())
    ),
    Case("Unsqueeze", (X, np.int64(1)), unsqueeze),
    Case("Unsqueeze", (np.float32(7), ints(0, 1)), np.float32([[7]])),
    Case("Unsqueeze", (X[:, :0], ints(1)), unsqueeze),
    *(Case("Unsqueeze", (X, ints(0, 3)), unsqueeze, opset=v) for v in opsets("Unsqueeze")[2:]),
    *(Case("Unsqueeze", (X,), X[None, ..., None, :], {"axes": [0, 3]}, opset=v) for v in (1, 11)),
    *(
        Case("Unsqueeze", (X, axes), raises=(ShapeError, text))
        for axes, text in [
            (ints(4), "axes=4 is not in [-4, 3]"),
            (ints(HIGH), f"axes={HIGH} is not in"),
            (ints(1, -4), "names an axis twice"),
        ]
    ),
]

# BitCast


def bitcast(x, *, to):
    """The same bytes; a bool is whether any is set."""
    target = next(d.public for d in TABLE if d.code == to)
    return x.view(np.uint8) != 0 if target == np.bool_ else x.view(target)


def bitcasts():
    known = {type_name(dtype) for dtype in allowed("BitCast")}
    for source in (d for d in TABLE if d.name in known):
        targets = [d for d in TABLE if d.name in known and d.bits == source.bits]
        some = {targets[0], targets[-1], find(np.bool_), source}
        for target in (target for target in targets if target in some):
            x = elements(source.public, 2, 5)
            title = f"{source}-{target}"
            yield Case("BitCast", (x,), bitcast, {"to": target.code}, id=title)


BITCAST = [
    *bitcasts(),
    Case("BitCast", (np.float32(-1.5),), np.uint32(0xBFC00000), {"to": TensorProto.UINT32}),
    Case("BitCast", (np.uint8([0, 1, 2, 255]),), np.array([0, 1, 1, 1], bool), {"to": 9}),
    Case(
        "BitCast",
        (np.array([0.5, -6.0], ml_dtypes.float4_e2m1fn),),
        np.array([1, -1], ml_dtypes.int4),
        {"to": TensorProto.INT4},
    ),
    Case("BitCast", (X[:0],), X[:0].view(np.int32), {"to": TensorProto.INT32}),
    *(
        Case("BitCast", (X,), attributes={"to": to}, raises=(SchemaError, text))
        for to, text in [
            (TensorProto.DOUBLE, "has 64 bits, but input is float of 32"),
            (TensorProto.STRING, "to=8 is no element type"),
            (0, "to=0 is no element type"),
            (999, "to=999 is no element type"),
        ]
    ),
]

# Shape, Size


def shape(x, *, start=0, end=None):
    return ints(*x.shape[start:end])


BOUNDS = [(0, 2), (1, None), (-1, None), (0, -1), (-2, -1), (2, 1), (-9, 9), (LOW, HIGH), (3, None)]

SHAPE = [
    *typed("Shape", (2, 3), shape),
    *(
        Case("Shape", (X,), shape, {"start": start} | ({} if end is None else {"end": end}))
        for start, end in BOUNDS
    ),
    *(Case("Shape", (x,), shape) for x in (np.float32(1), X[:0], X[:, :0, :1])),
    *(Case("Shape", (X,), shape, opset=v) for v in opsets("Shape")),
]

SIZE = [
    *typed("Size", (2, 3), lambda x: np.int64(x.size)),
    *(Case("Size", (x,), lambda x: np.int64(x.size)) for x in (np.float32(1), X[:0], X[:, :0, :1])),
    *(Case("Size", (X,), np.int64(24), opset=v) for v in opsets("Size")),
]

CASES = [*RESHAPE, *FLATTEN, *SQUEEZE, *UNSQUEEZE, *BITCAST, *SHAPE, *SIZE]
