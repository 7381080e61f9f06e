"""Pad. Expected: numpy.pad, of what negative pads leave."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from case_data import allowed, opsets, type_name
from case_elements import elements
from cases import Case

from minirt.errors import SchemaError, ShapeError

LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max
X = elements(np.float32, 2, 3, 4)
MODES = ("constant", "reflect", "edge", "wrap")


def ints(*values):
    return np.array(values, np.int64)


def nothing(dtype):
    """0; of the type that has none, what Cast makes of it."""
    if dtype == ml_dtypes.float8_e8m0fnu:
        return np.uint8(0).view(dtype)
    return "" if dtype.kind == "O" else np.zeros((), dtype)


def pad(x, pads, constant=None, axes=None, *, mode="constant", value=0.0):
    axes = range(x.ndim) if axes is None else [int(axis) % x.ndim for axis in np.reshape(axes, -1)]
    widths = np.zeros((x.ndim, 2), int)
    widths[list(axes)] = np.reshape(pads, (2, -1)).T
    cuts = [slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, widths, strict=True)]
    x, widths = x[tuple(cuts)], np.maximum(widths, 0)
    if mode != "constant":
        # NumPy pads only types that it knows: it is told which elements.
        places = np.pad(np.arange(x.size).reshape(x.shape), widths, mode)
        return x.reshape(-1)[places]
    if constant is None:
        constant = nothing(x.dtype) if value == 0 else np.array(value).astype(x.dtype)
    y = np.empty([n + a + b for n, (a, b) in zip(x.shape, widths, strict=True)], x.dtype)
    y[...] = np.reshape(constant, ())
    y[tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, widths, strict=True))] = x
    return y


PADS = [
    (0, 0, 0, 0, 0, 0),
    (0, 1, 2, 0, 1, 3),
    (1, 0, 0, 0, 0, 0),
    (0, 0, 0, 0, 0, 5),
    (0, 2, 0, 0, 2, 0),
    (1, 2, 3, 1, 2, 3),
    (5, 7, 9, 6, 8, 11),
    (0, -1, 0, 0, 0, -2),
    (-1, 2, -1, 0, -1, 3),
    (3, 0, 0, -1, 0, 0),
]

PAD = [
    *(
        Case("Pad", (elements(dtype, 3, 4), ints(1, 0, 2, 3), elements(dtype, 5)[4:]), pad,
             id=type_name(dtype))
        for dtype in allowed("Pad")
    ),
    *(
        Case("Pad", (elements(dtype, 3, 4), ints(1, 0, 2, 3)), pad, {"mode": mode},
             id=type_name(dtype))
        for dtype in allowed("Pad")
        for mode in ("constant", "reflect")
    ),
    *(Case("Pad", (X, ints(*pads)), pad, {"mode": mode}) for pads in PADS for mode in MODES),
    *(
        Case("Pad", (X, ints(*pads), None, axes), pad, {"mode": mode})
        for pads, axes in [
            ((1, 2), ints(1)),
            ((1, 2), np.int32([-1])),
            ((1, 0, 0, 2), ints(2, 0)),
            ((-1, 1, 0, 3), np.int32([-1, -2])),
            ((), ints()),
        ]
        for mode in MODES
    ),
    *(
        Case("Pad", (elements(np.int8, *shape), ints(*pads)), pad, {"mode": mode})
        for shape, pads in [((1, 3), (2, 1, 0, 2)), ((2,), (5, 4)), ((0, 3), (0, 1, 0, 1))]
        for mode in MODES
    ),
    Case("Pad", (X[:0], ints(1, 0, 0, 2, 0, 1), np.float32(7)), pad),
    Case("Pad", (X, ints(0, 0, 0, -2, 0, 0)), pad),
    Case("Pad", (X, ints(0, 0, 0, 0, -3, 0)), pad, {"mode": "edge"}),
    Case("Pad", (X, ints(0, 1, 0, 0, 0, 0), np.float32([2.5])), pad, id="constant of one axis"),
    Case("Pad", (np.float32(3), ints()), pad),
    # What is cut off is gone, though there is more on the other side.
    Case("Pad", (X[0, 0], ints(-5, 3)), np.float32([0, 0])),
    Case("Pad", (X[0, 0], ints(3, -5)), np.float32([0, 0])),
    *(Case("Pad", (X, ints(1, 0, 2, 0, 1, 0), np.float32(9)), pad, opset=v)
      for v in opsets("Pad")[2:]),
    *(
        Case("Pad", (x,), pad,
             {"pads": [1, 0, 2, 0, -1, 0], **attributes}, opset=opset)
        for x in (X, X.astype(np.float16), X.astype(np.float64))
        for opset, attributes in [(2, {}), (10, {"value": 2.5}), (2, {"mode": "edge"})]
    ),
    Case("Pad", (X.astype(np.float16),), pad(X.astype(np.float16), [1] * 6, np.float16(np.inf)),
         {"pads": [1] * 6, "value": 1e30}, opset=2),
    Case("Pad", (X,), pad(X, [1, 0, 2, 0, 1, 0], np.float32(0.5)),
         {"paddings": [1, 0, 2, 0, 1, 0], "value": 0.5}, opset=1),
    Case("Pad", (X,), pad(X, [1, 0, 2, 0, 1, 0], mode="reflect"),
         {"paddings": [1, 0, 2, 0, 1, 0], "mode": "reflect"}, opset=1),
]  # fmt: skip

WRONG = [
    *(
        Case("Pad", (X, *operands), attributes=attributes, raises=(ShapeError, text))
        for operands, attributes, text in [
            ((ints(1, 1),), {}, "pads has 2 numbers, but 3 axes take 6"),
            ((ints(1, 1, 1), None, ints(0)), {}, "pads has 3 numbers, but 1 axes take 2"),
            ((ints(1, 1), None, ints(3)), {}, "axes=3 is not in [-3, 2]"),
            ((ints(1, 1, 1, 1), None, ints(0, -3)), {}, "names an axis twice"),
            ((ints(0, 0, 0, -3, 0, 0),), {}, "pads 0 and -3 cut off more than data float[2,3,4]"),
            ((ints(0, -2, 0, 0, -2, 0),), {}, "pads -2 and -2 cut off more than"),
            ((ints(LOW, 0, 0, 0, 0, 0),), {}, "cut off more than"),
            ((ints(HIGH, 0, 0, 0, 0, 0),), {}, "larger than what can be addressed"),
            ((ints(2**40, 2**40, 0, 0, 0, 0),), {}, "larger than what can be addressed"),
            ((ints(2**60, 0, 0, 0, 0, 0),), {"mode": "edge"}, "larger than what can be addressed"),
            ((ints(1, 0, 0, 0, 0, 0), ints(1, 2).astype(np.float32)), {}, "constant_value"),
            ((ints(-2, 0, 0, 1, 0, 0),), {"mode": "reflect"}, "leave nothing of data float[2,3,4]"),
            ((ints(-2, 0, 0, 1, 0, 0),), {"mode": "edge"}, "leave nothing of data"),
            ((ints(1, 0, 0, -2, 0, 0),), {"mode": "wrap"}, "leave nothing of data"),
        ]
    ),
    Case("Pad", (X[:0], ints(1, 0, 0, 0, 0, 0)), attributes={"mode": "wrap"},
         raises=(ShapeError, "leave nothing of data float[0,3,4] for mode='wrap'")),
    Case("Pad", (X, ints(0, 0, 0, 0, 0, 0)), attributes={"mode": "mirror"},
         raises=(SchemaError, "mode='mirror' is none of constant, reflect, edge, wrap")),
    Case("Pad", (X,), attributes={"pads": [1, 1]}, opset=2,
         raises=(ShapeError, "pads has 2 numbers, but data float[2,3,4] takes two an axis")),
    Case("Pad", (X,), attributes={"paddings": [1]}, opset=1, raises=(ShapeError, "pads has 1")),
    Case("Pad", (X,), attributes={"pads": [0] * 6, "mode": "x"}, opset=2,
         raises=(SchemaError, "mode='x'")),
]  # fmt: skip

CASES = [*PAD, *WRONG]
