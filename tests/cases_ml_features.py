"""ArrayFeatureExtractor, Binarizer, LabelEncoder. Expected: Python's own lists and dictionaries."""

from __future__ import annotations

import math

import numpy as np
from case_elements import elements
from cases import Case

from minirt.errors import ExecutionError, SchemaError, ShapeError

ML = "ai.onnx.ml"
F32, INT64 = np.float32, np.int64
LOW, HIGH = np.iinfo(INT64).min, np.iinfo(INT64).max
NAN = math.nan


def texts(*strings):
    return np.array(strings, object)


def extract(X, Y):
    rows = X.reshape(1, -1) if X.ndim == 1 else X
    output = np.empty((*rows.shape[:-1], Y.size), X.dtype)
    for i in np.ndindex(rows.shape[:-1]):
        for to, index in enumerate(Y.reshape(-1)):
            output[(*i, to)] = rows[(*i, index)]
    return output


def binarize(X, *, threshold=0.0):
    output = np.empty_like(X)
    for i in np.ndindex(X.shape):
        output[i] = X[i].item() > float(F32(threshold))
    return output


def encoded(dtype, keys, values, default):
    """LabelEncoder as a function of its input, for these keys."""

    def encode(X, **attributes):
        output = np.empty(X.shape, dtype)
        for i in np.ndindex(X.shape):
            found = [
                v
                for k, v in zip(keys, values, strict=True)
                if k == X[i] or (k != k and X[i] != X[i])
            ]
            output[i] = found[-1] if found else default
        return output

    return encode


NAMES, NUMBERS = ["a", "b", "", "ä"], [5, -7, 5, 0]
FLOATS = [1.5, NAN, -0.0, math.inf]
X = {
    "strings": texts("b", "c", "", "ä", "b", "A").reshape(2, 3),
    "int64s": INT64([[-7, 5, 0], [1, HIGH, LOW]]),
    "floats": F32([[NAN, 0.0, 1.5], [-math.inf, math.inf, 2]]),
}
LISTS = {"strings": NAMES, "int64s": NUMBERS, "floats": FLOATS}
DTYPES = {"strings": object, "int64s": INT64, "floats": F32}
DEFAULTS = {"strings": "_Unused", "int64s": -1, "floats": -0.0}
TENSORS = [
    (np.float64, [1.5, NAN, 0.1, -2.0]),
    (np.float32, [1.5, NAN, 3.0, -2.0]),
    (np.int16, [5, -7, 5, 0]),
    (np.int32, [5, -7, 2**31 - 1, 0]),
    (np.int64, [5, -7, 2**53 + 1, 0]),
    (object, ["a", "b", "", "ä"]),
]


def label_encoders():
    """Every type of key to every type of value."""
    for key in X:
        for value in X:
            encode = encoded(DTYPES[value], LISTS[key], LISTS[value], DEFAULTS[value])
            given = {f"keys_{key}": LISTS[key], f"values_{value}": LISTS[value]}
            for opset in (2, 4):
                yield Case("LabelEncoder", (X[key],), encode, given, opset, domain=ML)
    for dtype, keys in TENSORS:
        for result, values in TENSORS:
            default = np.array(values[2:3], result)
            given = {
                "keys_tensor": np.array(keys, dtype),
                "values_tensor": np.array(values, result),
                "default_tensor": default,
            }
            x = np.array([keys[i] for i in (3, 1, 1, 0)] + [keys[0] * 2], dtype)
            encode = encoded(result, np.array(keys, dtype), np.array(values, result), default[0])
            yield Case("LabelEncoder", (x,), encode, given, domain=ML)


def of_labels(x, raises=None, expected=None, **attributes):
    return Case("LabelEncoder", (x,), expected, attributes, domain=ML, raises=raises)


DATA = elements(np.float32, 2, 3, 4)
CASES = [
    *(
        Case("ArrayFeatureExtractor", (elements(t, 2, 4), INT64([[3, 0, 3]])), extract, domain=ML)
        for t in (np.float32, np.float64, np.int64, np.int32, object)
    ),
    *(
        Case("ArrayFeatureExtractor", inputs, extract, domain=ML, id=name)
        for name, inputs in (
            ("vector", (DATA[0, 0], INT64([1, 2]))),
            ("three axes", (DATA, INT64([1]))),
            ("many indices", (DATA, INT64([[1, 2], [0, 3]]))),
            ("0-d index", (DATA, INT64(2))),
            ("no indices", (DATA, np.empty((1, 0), INT64))),
            ("no rows", (DATA[:0], INT64([3]))),
        )
    ),
    *(
        Case("ArrayFeatureExtractor", inputs, domain=ML, raises=raises)
        for inputs, raises in (
            ((DATA, INT64([[0, 4]])), (ExecutionError, "Y[0,1] = 4 is not in [0, 3]")),
            ((DATA, INT64([-1])), (ExecutionError, "Y[0] = -1 is not in [0, 3]")),
            ((DATA, INT64([HIGH])), (ExecutionError, f"Y[0] = {HIGH} is not in [0, 3]")),
            ((DATA[..., :0], INT64([0])), (ExecutionError, "Y[0] = 0 names nothing")),
            ((F32(1), INT64([0])), (ShapeError, "X is float[], but must have at least one axis")),
        )
    ),
    *(
        Case("Binarizer", (x,), binarize, {"threshold": threshold}, domain=ML, elementwise=True)
        for x, threshold in (
            (F32([0.1, 0.5, NAN, math.inf, -1]), 0.1),
            (np.uint32([0x7F80_0001, 0x3F80_0000]).view(F32), 0.5),
            (np.float64([0.1, 0.5, NAN, math.inf, -1]), 0.1),
            (np.int32([-1, 0, 1, 2]), 0.5),
            (INT64([LOW, -1, 0, 1, HIGH]), 0.0),
            (INT64([2**53, 2**53 + 1, 2**53 - 1]), 2.0**53),
            (INT64([LOW, HIGH]), 1e30),
            (np.int32([-1, 0]), -math.inf),
        )
    ),
    Case("Binarizer", (F32([-1, 0, 1]),), F32([0, 0, 1]), domain=ML),
    Case(
        *("LabelEncoder", (texts("b", "x", "a"),), INT64([1, -3, 0])),
        attributes={"classes_strings": ["a", "b"], "default_int64": -3},
        opset=1,
        domain=ML,
    ),
    Case(
        *("LabelEncoder", (INT64([[1, 2], [-1, 0]]),), texts("b", "?", "?", "a").reshape(2, 2)),
        attributes={"classes_strings": ["a", "b"], "default_string": "?"},
        opset=1,
        domain=ML,
    ),
    *label_encoders(),
    of_labels(
        F32([1, 2]),
        None,
        F32([7, 9]),
        keys_floats=[1.0, 1.0],
        values_floats=[3.0, 7.0],
        default_float=9.0,
    ),
    of_labels(
        INT64([1]), None, texts("none"), keys_int64s=[], values_strings=[], default_string="none"
    ),
    of_labels(
        INT64([1]), (SchemaError, "2 keys, but 1 values"), keys_int64s=[1, 2], values_int64s=[1]
    ),
    of_labels(
        F32([1]), (SchemaError, "the keys are of type int64"), keys_int64s=[1], values_int64s=[1]
    ),
    of_labels(F32([1]), (SchemaError, "exactly one of keys_floats"), values_int64s=[1]),
    of_labels(
        F32([1]),
        (SchemaError, "but has values_int64s and values_strings"),
        keys_floats=[1.0],
        values_int64s=[1],
        values_strings=["a"],
    ),
    of_labels(
        INT64([1]),
        (SchemaError, "default_tensor is int64[1], but must be one element of type float"),
        keys_int64s=[1],
        values_floats=[1.0],
        default_tensor=INT64([1]),
    ),
    of_labels(
        INT64([1]),
        (SchemaError, "40000 is out of the range of int16"),
        keys_int64s=[1],
        values_tensor=np.int16([1]),
        default_int64=40000,
    ),
]
