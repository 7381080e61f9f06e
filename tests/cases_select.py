"""OneHot, Compress, NonZero, Unique. Expected: loops over elements, and Python's own order."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
from case_data import allowed, numbers, opsets, type_name
from case_elements import elements
from cases import Case

from minirt.errors import ExecutionError, SchemaError, ShapeError


def one_hot(indices, depth, values, *, axis=-1, lowest=None):
    size = int(depth.item())
    lowest = -size if lowest is None else lowest
    axis %= indices.ndim + 1
    output = np.empty((*indices.shape[:axis], size, *indices.shape[axis:]), values.dtype)
    output[...] = values[0]
    for i in np.ndindex(indices.shape):
        index = float(indices[i])
        if math.isfinite(index) and lowest <= math.trunc(index) < size:
            output[(*i[:axis], math.trunc(index) % size, *i[axis:])] = values[1]
    return output


def one_hot_9(indices, depth, values, *, axis=-1):
    return one_hot(indices, depth, values, axis=axis, lowest=0)


def compress(input, condition, *, axis=None):
    if axis is None:
        input, axis = input.reshape(-1), 0
    chosen = [i for i, is_chosen in enumerate(condition) if is_chosen]
    output = np.empty_like(
        input,
        shape=[len(chosen) if a == axis % input.ndim else n for a, n in enumerate(input.shape)],
    )
    for to, i in enumerate(chosen):
        np.moveaxis(output, axis, 0)[to] = np.moveaxis(input, axis, 0)[i]
    return output


def non_zero(X):
    zero = "" if X.dtype.kind == "O" else 0
    places = [i for i in np.ndindex(X.shape) if X[i] != zero]
    return np.array(places, np.int64).reshape(len(places), X.ndim).T


def key(part):
    """A key that Python orders: numbers, then NaN; complex numbers by their parts."""
    if isinstance(part, np.ndarray):
        return [key(x) for x in part.reshape(-1)]
    if isinstance(part, str):
        return part
    if isinstance(part, complex | np.complexfloating):
        is_nan = np.isnan(part)
        return (bool(is_nan), 0 if is_nan else (float(part.real), float(part.imag)))
    number = part.item() if np.dtype(part.dtype).kind in "iub" else float(part)
    return (number != number, 0 if number != number else number)


def unique(X, *, axis=None, sorted=1):
    parts = np.moveaxis(X.reshape(-1) if axis is None else X, axis or 0, 0)
    found, which = [], []
    for i, part in enumerate(parts):
        same = [k for k, first in enumerate(found) if key(parts[first]) == key(part)]
        which.append(same[0] if same else len(found))
        found += [] if same else [i]
    order = list(range(len(found)))
    if sorted:
        order.sort(key=lambda k: key(parts[found[k]]))
    first = np.int64([found[k] for k in order])
    output = np.moveaxis(parts[first], 0, axis or 0)
    inverse = np.int64([order.index(k) for k in which])
    return output, first, inverse, np.int64([which.count(k) for k in order])


F32, INT64 = np.float32, np.int64
LOW, HIGH = np.iinfo(INT64).min, np.iinfo(INT64).max
X = elements(np.float32, 3, 4, 5)
CONDITION = np.array([True, False, True])
NAN, INF = math.nan, math.inf
OFF_ON = np.float32([2, 5])
#: A NaN that sets a flag where it is computed with, 1, a quiet one, and 0.
SIGNALLING = np.uint32([0x7F80_0001, 0x3F80_0000, 0x7FC0_0000, 0]).view(np.float32)
INDICES = np.int64([[0, 3, -1], [-4, 4, -5]])


def typed(op, operand, make, function, *others, **attributes):
    """A row for each type that an operand may have."""
    for dtype in allowed(op, operand=operand):
        inputs = list(others)
        inputs.insert(operand, make(dtype))
        yield Case(op, tuple(inputs), function, attributes, id=type_name(dtype))


def small(dtype):
    """Few values, each several times, among them zeros."""
    if np.dtype(dtype).kind == "O":
        return np.array([["b", "", "ä"], ["a", "b", ""]], object)
    values = numbers(dtype, 2, 3)
    values[1, :2] = values[0, ::2]
    values[0, 1] = 0
    return values


def right(op, function, *cases):
    """Rows of inputs and attributes, each with a name."""
    return [Case(op, inputs, function, attributes, id=name) for name, inputs, attributes in cases]


def wrong(op, *cases):
    """Rows of inputs, attributes, and the class and text of the error."""
    return [
        Case(op, inputs, attributes=attributes, raises=(kind, text), id="refused")
        for inputs, attributes, kind, text in cases
    ]


CASES = [
    *typed("OneHot", 0, lambda t: np.array([[0, 2], [3, 4]], t), one_hot, INT64(4), OFF_ON),
    *typed("OneHot", 1, lambda t: np.array([4], t), one_hot, INDICES, OFF_ON),
    *typed("OneHot", 2, lambda t: elements(t, 3)[1:], one_hot, INDICES, INT64(4), axis=1),
    *(Case("OneHot", (INDICES, INT64(4), OFF_ON), one_hot, {}, opset) for opset in (11, 28)),
    Case("OneHot", (INDICES, INT64(4), OFF_ON), one_hot_9, {"axis": 0}, opset=9),
    Case("OneHot", (F32([-1, -0.5, 3.5]), F32(4), OFF_ON), one_hot_9, {"axis": -1}, opset=10),
    *right(
        "OneHot",
        one_hot,
        ("first axis", (INDICES, INT64(4), OFF_ON), {"axis": 0}),
        ("from the back", (INDICES, INT64(4), OFF_ON), {"axis": -3}),
        ("0-d", (INT64(-3), INT64(5), OFF_ON), {}),
        ("no indices", (INDICES[:, :0], INT64(5), OFF_ON), {"axis": 1}),
        ("no depth", (INDICES, INT64(0), OFF_ON), {"axis": 1}),
        ("depth of one", (INT64([0, 1, -1, -2]), INT64([1]), OFF_ON), {}),
        ("extremes", (INT64([LOW, HIGH, 1]), INT64(3), OFF_ON), {}),
        ("large", (np.uint64([2**63, 2**64 - 1, 2**64 - 3, 1]), INT64(3), OFF_ON), {}),
        ("bytes", (np.int8([-128, 127, -1]), INT64(200), OFF_ON), {}),
        ("fractions", (F32([0.9, -0.9, -1.9, 2.5, -3.9, 3, -4]), F32(3.7), OFF_ON), {}),
        ("no numbers", (F32([NAN, INF, -INF, 1e30, 1]), INT64(3), OFF_ON), {}),
        ("halves", (np.float16([NAN, INF, -1, 2]), np.float16([3]), OFF_ON), {}),
        ("doubles", (np.float64([NAN, INF, -1, 2]), np.float64([3]), OFF_ON), {}),
        ("signalling", (SIGNALLING, F32([3]), OFF_ON), {}),
    ),
    *wrong(
        "OneHot",
        ((INDICES, INT64(-1), OFF_ON), {}, ShapeError, "depth=-1 is no size"),
        ((INDICES, F32(NAN), OFF_ON), {}, ShapeError, "depth=nan is no size"),
        ((INDICES, np.uint64(2**63), OFF_ON), {}, ShapeError, f"depth={2**63} is no size"),
        ((INDICES, INT64(HIGH), OFF_ON), {}, ShapeError, "can be addressed"),
        ((INDICES, INT64([1, 2]), OFF_ON), {}, ShapeError, "depth is int64[2], but must be"),
        ((INDICES, INT64([[4]]), OFF_ON), {}, ShapeError, "depth is int64[1,1], but must be"),
        (
            (INDICES, INT64(4), OFF_ON[:1]),
            {},
            ShapeError,
            "values is float[1], but must be float[2]",
        ),
        ((INDICES, INT64(4), OFF_ON), {"axis": 3}, ShapeError, "axis=3 is not in [-3, 2]"),
    ),
    *typed("Compress", 0, lambda t: elements(t, 3, 4), compress, CONDITION, axis=0),
    *(
        Case("Compress", (X, CONDITION), compress, {"axis": 1}, opset)
        for opset in opsets("Compress")
    ),
    *right(
        "Compress",
        compress,
        ("flat", (X, CONDITION), {}),
        ("flat, nothing", (X, ~CONDITION[:1]), {}),
        ("last axis", (X, np.array([False, True, True, False, True])), {"axis": -1}),
        ("no condition", (X, CONDITION[:0]), {"axis": 1}),
        ("no data", (X[:0], CONDITION[:0]), {"axis": 0}),
        ("none to choose from", (X[:, :0], np.array([False])), {"axis": 1}),
        ("longer, but false", (X, np.array([True] + [False] * 5)), {"axis": 0}),
    ),
    *wrong(
        "Compress",
        (
            *((X, np.array([True, False, False, True, True])), {"axis": 0}),
            *(ExecutionError, "condition[3] is true, but there are 3 to choose from"),
        ),
        (
            *((X, np.array([False, False, False, True])), {"axis": 0}),
            *(ExecutionError, "condition[3] is true, but there are 3 to choose from"),
        ),
        ((X[:, :0], CONDITION), {}, ExecutionError, "condition[0] is true, but there are 0"),
        ((X, CONDITION[None]), {}, ShapeError, "condition is bool[1,3], but must be bool[?]"),
        ((X, CONDITION), {"axis": 3}, ShapeError, "axis=3 is not in [-3, 2]"),
        ((X, F32([1])), {}, SchemaError, "condition"),
    ),
    *typed("NonZero", 0, small, non_zero),
    *(Case("NonZero", (small(F32),), non_zero, {}, opset) for opset in opsets("NonZero")),
    *right(
        "NonZero",
        non_zero,
        ("0-d", (np.array(7, np.int32),), {}),
        ("0-d zero", (np.array(0, np.int32),), {}),
        ("vector", (INT64([0, 5, 0, LOW]),), {}),
        ("three axes", (numbers(np.int8, 2, 3, 4) % 3,), {}),
        ("all", (X[1:],), {}),
        ("none", (np.zeros((2, 3), bool),), {}),
        ("no elements", (X[:, :0],), {}),
        ("no elements at the end", (X[..., :0],), {}),
        ("floats", (F32([0, -0.0, NAN, INF, 1e-45]),), {}),
        ("halves", (np.float16([0, -0.0, NAN, INF, 6e-8]),), {}),
        ("bfloat16", (np.array([0, -0.0, NAN, 1e-40], ml_dtypes.bfloat16),), {}),
        ("complex", (np.complex64([0, 1j, -0.0, NAN]),), {}),
        ("signalling", (SIGNALLING.view(np.complex64),), {}),
    ),
    *typed("Unique", 0, small, unique),
    *typed("Unique", 0, lambda t: np.concatenate([small(t)] * 2), unique, axis=0, sorted=0),
    *(Case("Unique", (small(F32),), unique, {"axis": 1}, opset) for opset in opsets("Unique")),
    *right(
        "Unique",
        unique,
        ("as they occur", (INT64([2, 1, 1, 3, 4, 3]),), {"sorted": 0}),
        ("rows", (INT64([[1, 0, 0], [1, 0, 0], [2, -3, 4], [1, -5, 9]]),), {"axis": 0}),
        ("columns", (INT64([[1, 0, 1, 0], [2, 1, 2, 0]]),), {"axis": -1}),
        ("columns as they occur", (INT64([[1, 0, 1, 0], [2, 1, 2, 0]]),), {"axis": 1, "sorted": 0}),
        ("in the middle", (F32([[[1, 1], [0, 1], [2, 1], [0, 1]]] * 2),), {"axis": 1}),
        ("0-d", (F32(3),), {}),
        ("nothing", (X[:0],), {}),
        ("nothing along the axis", (X[:0],), {"axis": 0}),
        ("empty parts", (X[:, :0],), {"axis": 0}),
        ("extremes", (INT64([HIGH, LOW, 0, HIGH, -1]),), {}),
        ("unsigned", (np.uint64([2**64 - 1, 0, 2**63]),), {}),
        ("not numbers", (F32([NAN, 1, -NAN, INF, 0, -INF, 1]),), {}),
        ("signalling", (SIGNALLING,), {}),
        ("signalling complex", (SIGNALLING.view(np.complex64),), {}),
        ("zeros", (F32([-0.0, 0, 1, 0]),), {}),
        ("zeros, the other first", (F32([0, 1, -0.0]),), {}),
        ("rows not numbers", (F32([[NAN, 1], [0, NAN], [NAN, 1], [-0.0, NAN]]),), {"axis": 0}),
        ("halves", (np.float16([NAN, 2, -3, NAN, -0.0, 0, 2, INF, -INF]),), {}),
        ("bfloat16", (np.array([NAN, 2, -3, NAN, -0.0, 0], ml_dtypes.bfloat16),), {"sorted": 0}),
        ("complex", (np.complex64([1 + 1j, 1, -1, 1 + 1j, complex(NAN, 1), complex(1, NAN)]),), {}),
        (
            "texts",
            (np.array([["b", "a"], ["é", "b"], ["b", "a"], ["", "z"]], object),),
            {"axis": 0},
        ),
    ),
    Case("Unique", (INT64([3, 1, 3]),), unique, {}, outputs=1, id="one output"),
    Case(
        *("Unique", (INT64([3, 1, 3]),), lambda X: (INT64([1, 3]), None, INT64([1, 0, 1]))),
        id="omitted outputs",
    ),
    *wrong(
        "Unique",
        ((X,), {"axis": 3}, ShapeError, "axis=3 is not in [-3, 2]"),
        ((F32(1),), {"axis": 0}, ShapeError, "a tensor without dimensions"),
        ((X,), {"sorted": 2}, SchemaError, "sorted=2 is neither 0 nor 1"),
    ),
]
