"""Scatter, ScatterElements, ScatterND, TensorScatter. Expected: ONNX's loops, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from case_data import allowed, numbers, opsets, rounded, type_name
from case_elements import elements
from cases import Case

from minirt.errors import ExecutionError, SchemaError, ShapeError, UnsupportedError

F: dict[str, Callable[[Any, Any], Any]] = {
    "none": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "max": np.maximum,
    "min": np.minimum,
}


def exact(array, reduction):
    """A copy of integers without bounds, or of 16-bit floats as float64: rounded once, later."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if reduction == "none" or kind in "bc" or (kind == "f" and size > 2):
        return array.copy()
    return array.astype(object if kind in "iu" else np.float64)


def finished(output, dtype):
    return output if output.dtype == dtype else rounded(output, dtype)


def scatter_elements(data, indices, updates, *, axis=0, reduction="none"):
    output, new = exact(data, reduction), exact(updates, reduction)
    for i in np.ndindex(indices.shape):
        place = list(i)
        place[axis] = indices[i]
        output[tuple(place)] = F[reduction](output[tuple(place)], new[i])
    return finished(output, data.dtype)


def scatter_nd(data, indices, updates, *, reduction="none"):
    output, new = exact(data, reduction), exact(updates, reduction)
    for i in np.ndindex(indices.shape[:-1]):
        place = tuple(indices[i])
        output[place] = F[reduction](output[place], new[i])
    return finished(output, data.dtype)


def tensor_scatter(past_cache, update, write_indices=None, *, mode="linear", axis=-2):
    axis %= past_cache.ndim
    output = past_cache.copy()
    for prefix in np.ndindex(past_cache.shape[:axis]):
        for i in range(update.shape[axis]):
            to = i + (0 if write_indices is None else write_indices[prefix[0]])
            if mode == "circular":
                to %= past_cache.shape[axis]
            output[(*prefix, to)] = update[(*prefix, i)]
    return output


INT32, INT64 = np.int32, np.int64
LOW, HIGH = np.iinfo(INT64).min, np.iinfo(INT64).max
X = elements(np.float32, 3, 4, 5)
V = np.float32([1, 2, 3, 4])
E = INT64([[[0, -1]], [[-4, 2]]])
ND = INT64([[[0, -1]], [[2, 1]], [[-3, 0]]])
#: Each place several times.
AGAIN = INT64([[[0, -1, 2]], [[-4, 2, 2]]])
ND_AGAIN = INT64([[[0, -1]], [[2, 1]], [[-3, 3]], [[2, 1]]])
CACHE, UPDATE = elements(np.float32, 2, 3, 4, 2), -1 - elements(np.float32, 2, 3, 2, 2)


def negative(x):
    """Elements other than those of data."""
    return x.reshape(-1)[::-1].reshape(x.shape)


def replacing(op, function, indices, shape, **attributes):
    """Every type, and every version on float32."""
    for dtype in allowed(op):
        data, updates = elements(dtype, 3, 4, 5), negative(elements(dtype, *shape))
        yield Case(op, (data, indices, updates), function, attributes, id=type_name(dtype))
    for opset in opsets(op):
        yield Case(op, (X, indices, elements(np.float32, *shape)), function, attributes, opset)


def combining(op, function, indices, shape, **attributes):
    """Every reduction on every type that it has a meaning for."""
    for dtype in allowed(op):
        for reduction in ("add", "mul", "max", "min"):
            given = {**attributes, "reduction": reduction}
            if dtype.kind == "O" or (dtype.kind == "c" and reduction in ("max", "min")):
                updates = elements(dtype, *shape)
                refused = (UnsupportedError, "means nothing for elements of type")
                yield Case(
                    op, (elements(dtype, 3, 4, 5), indices, updates), None, given, raises=refused
                )
                continue
            data, updates = numbers(dtype, 3, 4, 5), numbers(dtype, *shape)
            yield Case(
                op,
                (data, indices, updates),
                function,
                given,
                id=f"{reduction} {type_name(dtype)}",
            )
    for opset, reduction in ((16, "add"), (16, "mul"), (18, "max"), (18, "min")):
        given = {**attributes, "reduction": reduction}
        yield Case(op, (X, indices, numbers(np.float32, *shape)), function, given, opset)


def right(op, function, *cases):
    """Rows of inputs and attributes, each with a name."""
    return [Case(op, inputs, function, attributes, id=name) for name, inputs, attributes in cases]


def wrong(op, *cases):
    """Rows of inputs, attributes, and the class and text of the error."""
    return [
        Case(op, inputs, attributes=attributes, raises=(kind, text), id="refused")
        for inputs, attributes, kind, text in cases
    ]


def same(dtype, first, indices, updates, reduction, result):
    """A row whose numbers say how often it is rounded."""
    inputs = (np.array([first], dtype), INT64(indices), np.array(updates, dtype))
    attributes = {"reduction": reduction}
    yield Case("ScatterElements", inputs, np.array([result], dtype), attributes, id="rounding")
    inputs = (inputs[0], inputs[1][:, None], inputs[2])
    yield Case("ScatterND", inputs, np.array([result], dtype), attributes, id="rounding")


NAN = float("nan")
CASES = [
    *replacing("ScatterElements", scatter_elements, E, (2, 1, 2), axis=1),
    *replacing("ScatterND", scatter_nd, ND, (3, 1, 5)),
    *combining("ScatterElements", scatter_elements, AGAIN, (2, 1, 3), axis=1),
    *combining("ScatterND", scatter_nd, ND_AGAIN, (4, 1, 5)),
    Case("Scatter", (X, E, elements(np.float32, 2, 1, 2)), scatter_elements, {"axis": 1}, 9),
    Case("Scatter", (X, INT32(E[:, :, :1]), X[:2, :1, :1]), scatter_elements, {"axis": -2}, 10),
    # A half has 11 bits: 2048 + 1 is 2048, but 2048 + 1 + 1 is not. A bfloat16 has 8.
    *same(np.float16, 2048, [0, 0], [1, 1], "add", 2050),
    *same(ml_dtypes.bfloat16, 256, [0, 0], [1, 1], "add", 258),
    *same(np.float16, 60000, [0, 0], [2, 0.25], "mul", 30000),
    *same(np.float32, 3e38, [0, 0], [3e38, -3e38], "add", np.inf),
    *same(np.float32, NAN, [0], [1], "max", NAN),
    *same(np.float32, 1, [0, 0], [NAN, 2], "min", NAN),
    *same(np.float16, 1, [0, 0], [NAN, 2], "max", NAN),
    *same(np.int8, 127, [0, 0], [1, 1], "add", -127),
    *same(np.uint8, 200, [0], [2], "mul", 144),
    *same(np.bool_, False, [0, 0], [True, True], "add", True),
    *same(np.bool_, True, [0, 0], [True, False], "mul", False),
    *right(
        "ScatterElements",
        scatter_elements,
        ("first axis", (X, INT64([[[0, 2], [1, -2]]]), X[:1, :2, 3:]), {}),
        ("last axis", (X, INT64([[[0, 4, -2]], [[1, 2, 3]]]), X[1:, :1, 1:4]), {"axis": -1}),
        ("vector", (V, INT64([3, -4]), V[:2]), {}),
        ("int32", (V, INT32([3, -4]), V[:2]), {"reduction": "add"}),
        ("no indices", (X, np.empty((1, 0, 2), INT64), X[:1, :0, :2]), {"axis": 1}),
        ("none to add", (X, np.empty((1, 0, 2), INT64), X[:1, :0, :2]), {"reduction": "add"}),
        ("no data", (X[:0], np.empty((0, 1, 1), INT64), X[:0, :1, :1]), {"axis": 1}),
        ("the last counts", (V, INT64([1, 1, -3]), V[:3]), {}),
    ),
    *wrong(
        "ScatterElements",
        ((V, INT64([4]), V[:1]), {}, ExecutionError, "indices[0] = 4 is not in [-4, 3]"),
        ((V, INT32([0, -5]), V[:2]), {}, ExecutionError, "indices[1] = -5 is not in [-4, 3]"),
        ((V, INT64([LOW]), V[:1]), {}, ExecutionError, f"indices[0] = {LOW} is not in"),
        (
            *((X, INT64([[[0, HIGH]]]), X[:1, :1, :2]), {"axis": 2, "reduction": "max"}),
            *(ExecutionError, f"indices[0,0,1] = {HIGH} is not in [-5, 4]"),
        ),
        ((V[:0], INT64([0]), V[:1]), {}, ExecutionError, "indices[0] = 0 names nothing"),
        ((V, INT64([0]), V[:2]), {}, ShapeError, "updates is float[2], but must be float[1]"),
        ((X, INT64([0]), V[:1]), {}, ShapeError, "differ in rank"),
        ((V, INT64([0]), V[:1]), {"axis": 1}, ShapeError, "axis=1 is not in [-1, 0]"),
        ((V, INT64([0]), V[:1]), {"reduction": "sum"}, SchemaError, "reduction='sum' is none of"),
        ((X, E[:, :, [0] * 6], X), {"axis": 1}, ShapeError, "longer than data"),
    ),
    Case(
        *("Scatter", (V, INT64([0, 4]), V[:2])),
        opset=10,
        raises=(ExecutionError, "indices[1] = 4 is not in [-4, 3]"),
    ),
    *right(
        "ScatterND",
        scatter_nd,
        ("elements", (X, INT64([[0, -1, 4], [2, 1, -5]]), V[:2]), {}),
        ("whole entries", (X, INT64([[2], [-3]]), X[:2] + 100), {}),
        ("a tuple", (X, INT64([2, -1]), X[0, 0]), {}),
        ("everything", (X, np.empty((1, 0), INT64), X[None] + 100), {}),
        ("no tuples", (X, np.empty((0, 2), INT64), X[0, :0]), {}),
        ("none to add", (X, np.empty((0, 2), INT64), X[0, :0]), {"reduction": "add"}),
        ("no data", (X[:0], np.empty((0, 1), INT64), X[:0]), {}),
        ("empty rows", (X[..., :0], INT64([[1, 1]]), X[:1, 0, :0]), {}),
        ("the last counts", (V, INT64([[1], [1], [-3]]), V[:3]), {}),
        ("adding elements", (V, INT64([[1], [1], [-3]]), V[:3]), {"reduction": "add"}),
    ),
    *wrong(
        "ScatterND",
        ((X, INT64([[0, 4]]), X[:1, 0]), {}, ExecutionError, "indices[0,1] = 4 is not in [-4, 3]"),
        ((X, INT64([[1], [-4]]), X[:2]), {}, ExecutionError, "indices[1,0] = -4 is not in [-3, 2]"),
        ((V, INT64([[LOW]]), V[:1]), {}, ExecutionError, f"indices[0,0] = {LOW} is not in"),
        (
            *((V, INT64([[0], [HIGH]]), V[:2]), {"reduction": "add"}),
            *(ExecutionError, f"indices[1,0] = {HIGH} is not in [-4, 3]"),
        ),
        ((V[:0], INT64([[0]]), V[:1]), {}, ExecutionError, "indices[0,0] = 0 names nothing"),
        (
            (X, INT64([[0, 0]]), V[None]),
            {},
            ShapeError,
            "updates is float[1,4], but must be float[1,5]",
        ),
        ((V, INT64([[0, 0]]), V[:1]), {}, ShapeError, "indices int64[1,2] address 2 axes"),
        ((V, INT64(0), V[:1]), {}, ShapeError, "must have at least one axis"),
        ((V, INT64([[0]]), V[:1]), {"reduction": "div"}, SchemaError, "reduction='div' is none of"),
    ),
    *(
        Case(
            "TensorScatter",
            (elements(dtype, 2, 3, 4, 2), negative(elements(dtype, 2, 3, 2, 2)), INT64([2, 0])),
            tensor_scatter,
            id=type_name(dtype),
        )
        for dtype in allowed("TensorScatter")
    ),
    *right(
        "TensorScatter",
        tensor_scatter,
        ("without indices", (CACHE, UPDATE), {}),
        ("circular", (CACHE, UPDATE, INT64([3, 1])), {"mode": "circular"}),
        ("around", (CACHE, UPDATE, INT64([7, 4])), {"mode": "circular"}),
        ("backwards", (CACHE, UPDATE, INT64([-1, -6])), {"mode": "circular"}),
        ("axis 1", (CACHE, UPDATE[:, :2, [0, 1, 0, 1]], INT64([0, 1])), {"axis": 1}),
        ("last axis", (CACHE, CACHE[..., :1] + 100, INT64([1, 0])), {"axis": -1}),
        ("whole", (CACHE, -CACHE, INT64([0, 0])), {}),
        ("whole, turned", (CACHE, -CACHE, INT64([1, 2])), {"mode": "circular"}),
        ("nothing", (CACHE, UPDATE[:, :, :0], INT64([4, 0])), {}),
        ("no batch", (CACHE[:0], UPDATE[:0], np.empty(0, INT64)), {}),
        ("no cache", (CACHE[:, :, :0], UPDATE[:, :, :0], INT64([3, 0])), {"mode": "circular"}),
    ),
    *wrong(
        "TensorScatter",
        (
            *((CACHE, UPDATE, INT64([0, 3])), {}),
            *(ExecutionError, "write_indices[1] = 3 is not in [0, 2]"),
        ),
        (
            *((CACHE, UPDATE, INT64([-1, 0])), {}),
            *(ExecutionError, "write_indices[0] = -1 is not in [0, 2]"),
        ),
        ((CACHE, UPDATE, INT64([HIGH, 0])), {}, ExecutionError, f"[0] = {HIGH} is not in [0, 2]"),
        ((CACHE, UPDATE, INT64([LOW, 0])), {}, ExecutionError, f"[0] = {LOW} is not in [0, 2]"),
        ((CACHE, UPDATE, INT64([0])), {}, ShapeError, "write_indices is int64[1], but must be"),
        (
            (CACHE, UPDATE[:, :2]),
            {},
            ShapeError,
            "update is float[2,2,2,2], but must be float[2,3,2,2]",
        ),
        ((CACHE, UPDATE[0]), {}, ShapeError, "update is float[3,2,2], but must be"),
        ((CACHE[:, :, :1], UPDATE), {}, ShapeError, "an update of 2 entries does not fit"),
        ((CACHE, CACHE), {"axis": 0}, ShapeError, "axis 0 of float[2,3,4,2] is the batch"),
        ((CACHE, CACHE), {"axis": 4}, ShapeError, "axis=4 is not in [-4, 3]"),
        ((CACHE, UPDATE), {"mode": "ring"}, SchemaError, "mode='ring' is neither"),
    ),
]
