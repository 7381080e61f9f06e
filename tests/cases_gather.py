"""Gather, GatherElements, GatherND. Expected: the equations on ONNX's pages, element by element."""

from __future__ import annotations

import numpy as np
from case_data import allowed, opsets, type_name
from case_elements import elements
from cases import Case

from minirt.errors import ExecutionError, SchemaError, ShapeError


def gather(data, indices, *, axis=0):
    axis %= data.ndim
    before, after = data.shape[:axis], data.shape[axis + 1 :]
    output = np.empty((*before, *indices.shape, *after), data.dtype)
    for j in np.ndindex(before):
        for i in np.ndindex(indices.shape):
            output[j + i] = data[(*j, indices[i])]
    return output


def gather_elements(data, indices, *, axis=0):
    output = np.empty(indices.shape, data.dtype)
    for i in np.ndindex(indices.shape):
        place = list(i)
        place[axis] = indices[i]
        output[i] = data[tuple(place)]
    return output


def gather_nd(data, indices, *, batch_dims=0):
    depth = batch_dims + indices.shape[-1]
    output = np.empty(indices.shape[:-1] + data.shape[depth:], data.dtype)
    for i in np.ndindex(indices.shape[:-1]):
        output[i] = data[i[:batch_dims] + tuple(indices[i])]
    return output


INT32, INT64 = np.int32, np.int64
X = elements(np.float32, 3, 4, 5)
LOW, HIGH = np.iinfo(INT64).min, np.iinfo(INT64).max
#: A table and indices for more elements than NumPy checks by itself.
TABLE = elements(np.float32, 50, 30)
MANY = (INT64(np.arange(400)) * 7919 % 100 - 50).reshape(20, 20)


def rows(op, function, *operands, **attributes):
    """The newest version, on every type of the first operand; then each version on float32."""
    data, *others = operands
    for dtype in allowed(op):
        typed = elements(dtype, *data.shape)
        yield Case(op, (typed, *others), function, attributes, id=type_name(dtype))
    for opset in opsets(op):
        yield Case(op, operands, function, attributes, opset, id="version")


def right(op, function, *cases):
    """Rows of data, indices and attributes, each with a name."""
    return [
        Case(op, (data, indices), function, attributes, id=name)
        for name, data, indices, attributes in cases
    ]


def wrong(op, *cases):
    """Rows of data, indices, attributes, and the class and text of the error."""
    return [
        Case(op, (data, indices), attributes=attributes, raises=(kind, text), id="refused")
        for data, indices, attributes, kind, text in cases
    ]


CASES = [
    *rows("Gather", gather, X, INT64([[0, -1], [2, 1]]), axis=-2),
    *rows("GatherElements", gather_elements, X, INT64([[[0, -1]], [[-4, 1]]]), axis=1),
    *rows("GatherND", gather_nd, X, INT64([[0, -1], [2, 1], [-3, 3]])),
    *right(
        "Gather",
        gather,
        ("0-d", X, INT64(1), {}),
        ("0-d of a vector", X[0, 0], np.array(-5, INT32), {}),
        ("int32", X, INT32([1, -3, 0]), {"axis": 1}),
        ("last axis", X, INT64([[4], [-1]]), {"axis": 2}),
        ("repeated", X, INT64([1, 1, 1, 1, 1]), {}),
        ("no indices", X, np.empty((0, 2), INT64), {"axis": 1}),
        ("no data, no indices", np.empty((0, 3), np.float32), np.empty(0, INT32), {}),
        ("no rows", np.empty((0, 3), np.float32), INT64([2, -3]), {"axis": 1}),
        ("empty rows", np.empty((3, 0), np.float32), INT64([[2], [-3]]), {}),
        ("many", TABLE, MANY, {}),
        ("many along the last axis", TABLE, INT32(MANY % 30), {"axis": -1}),
        ("many texts", elements(object, 50, 30), MANY, {}),
        ("many complex", elements(np.complex128, 50, 30), MANY, {}),
    ),
    *wrong(
        "Gather",
        (X, INT64([[0, 3]]), {}, ExecutionError, "indices[0,1] = 3 is not in [-3, 2]"),
        (X, INT64([0, -6, 9]), {"axis": 2}, ExecutionError, "indices[1] = -6 is not in [-5, 4]"),
        (X, np.array(4, INT32), {"axis": 1}, ExecutionError, "indices = 4 is not in [-4, 3]"),
        (X, INT64([HIGH]), {}, ExecutionError, f"indices[0] = {HIGH} is not in"),
        (X, INT64([LOW]), {}, ExecutionError, f"indices[0] = {LOW} is not in"),
        (X[:, :0], INT64([0]), {"axis": 1}, ExecutionError, "indices[0] = 0 names nothing"),
        (X[:, :0], INT64([3]), {}, ExecutionError, "indices[0] = 3 is not in [-3, 2]"),
        (X[:0], INT64([4]), {"axis": 1}, ExecutionError, "indices[0] = 4 is not in [-4, 3]"),
        (TABLE, np.where(MANY == 7, 50, MANY), {}, ExecutionError, " = 50 is not in [-50, 49]"),
        (TABLE, np.where(MANY == 7, -51, MANY), {}, ExecutionError, " = -51 is not in [-50, 49]"),
        (TABLE, np.where(MANY == 7, LOW, MANY), {}, ExecutionError, f" = {LOW} is not in"),
        (X, INT64([0]), {"axis": 3}, ShapeError, "axis=3 is not in [-3, 2]"),
        (X, INT64([0]), {"axis": -4}, ShapeError, "axis=-4 is not in [-3, 2]"),
        (np.float32(1), INT64([0]), {}, ShapeError, "a tensor without dimensions"),
        (X, np.int8([0]), {}, SchemaError, "indices"),
    ),
    *right(
        "GatherElements",
        gather_elements,
        ("int32", X, INT32([[[-3, 2]]]), {}),
        ("first axis", X, INT64([[[0, 2], [1, -2]]]), {}),
        ("last axis", X, INT64([[[0, 4, -5, 1, 2, 3, 0]], [[-1] * 7]]), {"axis": -1}),
        ("vector", X[0, 0], INT64([4, -5, 4, 0, 0, 1, -2]), {}),
        ("no indices", X, np.empty((2, 0, 3), INT64), {"axis": 1}),
        ("no lanes", X, np.empty((2, 3, 0), INT64), {"axis": 1}),
        ("no data", np.empty((3, 0), np.float32), np.empty((0, 0), INT64), {}),
        ("whole", TABLE, INT64(np.indices((50, 30))[1] - 40), {"axis": 0}),
    ),
    *wrong(
        "GatherElements",
        (X, INT64([[[0, 3]]]), {}, ExecutionError, "indices[0,0,1] = 3 is not in [-3, 2]"),
        (X, INT32([[[0], [-4]]]), {}, ExecutionError, "indices[0,1,0] = -4 is not in [-3, 2]"),
        (X, INT64([[[LOW]]]), {"axis": 1}, ExecutionError, f"indices[0,0,0] = {LOW} is not in"),
        (X, INT64([[[HIGH]]]), {"axis": 2}, ExecutionError, f"indices[0,0,0] = {HIGH} is not"),
        (X[0, 0], INT64([5]), {}, ExecutionError, "indices[0] = 5 is not in [-5, 4]"),
        (X[0, 0], INT64([0, -6]), {}, ExecutionError, "indices[1] = -6 is not in [-5, 4]"),
        (X[:0], INT64([[[0]]]), {}, ExecutionError, "indices[0,0,0] = 0 names nothing"),
        (
            X,
            INT64([[0]]),
            {},
            ShapeError,
            "data float[3,4,5] and indices int64[1,1] differ in rank",
        ),
        (X, INT64([[[0] * 6]]), {}, ShapeError, "are longer than data float[3,4,5] along axis 2"),
        (X, INT64([[[0]]]), {"axis": 3}, ShapeError, "axis=3 is not in [-3, 2]"),
        (np.float32(1), INT64(0), {}, ShapeError, "a tensor without dimensions"),
    ),
    *right(
        "GatherND",
        gather_nd,
        ("elements", X, INT64([[[0, -1, 4], [2, 1, -5]]]), {}),
        ("rows", X, INT64([[2], [-3], [2]]), {}),
        ("one tuple", X, INT64([1, 2]), {}),
        ("one batch axis", X, INT64([[[0], [-1]], [[1], [1]], [[-4], [3]]]), {"batch_dims": 1}),
        ("a tuple a batch", X, INT64([[0, -1], [1, 1], [3, 4]]), {"batch_dims": 1}),
        ("two batch axes", X, INT64(np.arange(24).reshape(3, 4, 2, 1) % 5), {"batch_dims": 2}),
        ("no tuples", X, np.empty((0, 2), INT64), {}),
        ("no batches", X[:0], np.empty((0, 2, 1), INT64), {"batch_dims": 1}),
        ("empty rows", np.empty((3, 0), np.float32), INT64([[1], [-1]]), {}),
        ("many", TABLE, INT64(np.stack([MANY, MANY % 30], axis=-1)), {}),
    ),
    Case("GatherND", (X, INT64([[[1]], [[0]], [[-1]]])), gather_nd, {"batch_dims": 1}, opset=12),
    *wrong(
        "GatherND",
        (X, INT64([[0, 0], [3, 1]]), {}, ExecutionError, "indices[1,0] = 3 is not in [-3, 2]"),
        (X, INT64([[2, 4]]), {}, ExecutionError, "indices[0,1] = 4 is not in [-4, 3]"),
        (X, INT64([[2, -1, -6]]), {}, ExecutionError, "indices[0,2] = -6 is not in [-5, 4]"),
        (X, INT64([[LOW]]), {}, ExecutionError, f"indices[0,0] = {LOW} is not in [-3, 2]"),
        (X, INT64([[0, HIGH]]), {}, ExecutionError, f"indices[0,1] = {HIGH} is not in [-4, 3]"),
        (X[:, :0], INT64([[0, 0]]), {}, ExecutionError, "indices[0,1] = 0 names nothing"),
        (
            *(X, INT64([[0], [4], [0]]), {"batch_dims": 1}),
            *(ExecutionError, "indices[1,0] = 4 is not in [-4, 3]"),
        ),
        (X, INT64([[0, 0, 0, 0]]), {}, ShapeError, "address 4 axes"),
        (X, np.empty((2, 0), INT64), {}, ShapeError, "address 0 axes"),
        (X, INT64([[0], [0]]), {"batch_dims": 1}, ShapeError, "data is float[3,4,5], but must be"),
        (X, INT64([[0]]), {"batch_dims": 2}, SchemaError, "batch_dims=2, but must be at least 0"),
        (X, INT64([[0]]), {"batch_dims": -1}, SchemaError, "batch_dims=-1, but must be at least 0"),
        (
            X,
            INT64(0),
            {},
            SchemaError,
            "less than the ranks of data float[3,4,5] and indices int64[]",
        ),
    ),
]
