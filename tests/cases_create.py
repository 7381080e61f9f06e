"""Operators that make tensors: Constant, ConstantOfShape, Range, EyeLike."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import ml_dtypes
import numpy as np
from cases import Case
from onnx import TensorProto

from minirt.dtypes import BY_NAME, find
from minirt.errors import SchemaError, ShapeError

BF16 = ml_dtypes.bfloat16
NARROW = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
#: The element types that each version of ConstantOfShape brought.
FILLED = {
    9: [
        *("float16", "float", "double", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64", "bool"),
    ],
    20: ["bfloat16", *NARROW],
    21: ["uint4", "int4"],
    23: ["float4e2m1"],
    24: ["float8e8m0"],
    25: ["uint2", "int2"],
}
SHAPE = np.int64([2, 0, 3])


def one_of(name: str) -> np.ndarray:
    """One element, the code 1 of its type: small, and not zero."""
    dtype = BY_NAME[name]
    return np.ones(1, dtype.storage).view(dtype.public)


def filled(input, value=None):
    return np.full(input, np.float32(0) if value is None else value[0])


def constant_of_shape():
    for opset, names in FILLED.items():
        for name in names:
            value = {"value": one_of(name)}
            yield Case("ConstantOfShape", (np.int64([2, 3]),), filled, value, opset=opset)
    yield Case("ConstantOfShape", (np.int64([2, 3]),), filled)
    for shape in (np.int64([]), SHAPE, np.int64([0]), np.int64([1] * 9)):
        yield Case("ConstantOfShape", (shape,), filled, {"value": np.int32([-7])})
    yield Case(
        "ConstantOfShape", (np.int64([2]),), np.int8([-3, -3]), {"value": np.array(-3, np.int8)}
    )
    for input, value, error, text in (
        (np.int64([2, -1]), np.float32([1]), ShapeError, "[2, -1]"),
        (np.int64(2), np.float32([1]), ShapeError, "int64[]"),
        (np.int64([[2]]), np.float32([1]), ShapeError, "int64[1,1]"),
        (np.int64([2]), np.float32([1, 2]), SchemaError, "float[2]"),
        (np.int64([2]), np.float32([]), SchemaError, "float[0]"),
        (np.int64([2]), np.complex64([1]), SchemaError, "=14"),
        (np.int64([2]), np.array(["a"], object), SchemaError, "=8"),
    ):
        yield Case("ConstantOfShape", (input,), attributes={"value": value}, raises=(error, text))


def stepped(start, limit, delta, stash_type=1):
    """The definition in exact arithmetic, rounded once."""
    first, last, step = (Fraction(float(x)) for x in (start, limit, delta))
    count = max(ceil((last - first) / step), 0)
    return np.array([float(first + i * step) for i in range(count)]).astype(start.dtype)


def scalars(dtype, *numbers):
    return tuple(np.array(number, dtype) for number in numbers)


def ranges():
    for opset in (11, 27):
        for dtype in (np.float32, np.float64, np.int16, np.int32, np.int64):
            lacks = opset < 13 and dtype is np.int16
            reason = "the operators of ONNX's definition had no int16" if lacks else ""
            for start, limit, delta, numbers in ((3, 9, 3, [3, 6]), (10, 4, -2, [10, 8, 6])):
                inputs, expected = scalars(dtype, start, limit, delta), np.array(numbers, dtype)
                yield Case("Range", inputs, expected, opset=opset, no_body=reason)
    for dtype in (np.float16, BF16):
        for stash in (TensorProto.FLOAT, TensorProto.DOUBLE):
            yield Case("Range", scalars(dtype, 1, 5, 0.75), stepped, {"stash_type": stash})
    for dtype in (np.float32, np.float64, np.int64, BF16):
        yield Case("Range", scalars(dtype, 5, 5, 1), np.array([], dtype), id="nothing")
        yield Case("Range", scalars(dtype, 5, 1, 1), np.array([], dtype), id="other way")
        yield Case("Range", scalars(dtype, 5, 9, -1), np.array([], dtype), id="other way")
        yield Case("Range", scalars(dtype, 5, 6, 100), np.array([5], dtype), id="one")
    # 257 steps that bfloat16 cannot take one by one: it has no 257.
    yield Case("Range", scalars(BF16, 0, 512, 1), stepped, no_body="adds up")
    # Added up one after the other, a thousand tenths are 99.99905 in float32.
    yield Case("Range", scalars(np.float32, 0, 100, 0.1), stepped, no_body="adds up", id="drift")
    # 0.3 is above three times 0.1 in float32, and has just that quotient in float64.
    yield Case("Range", scalars(np.float32, 0, 0.3, 0.1), stepped, no_body="divides in float32")
    yield Case("Range", scalars(np.float64, 0, 0.9, 0.3), np.float64([0.0, 0.3, 0.6]))
    yield Case("Range", scalars(np.float64, 0.5, 2e17, 1e17), np.float64([0.5, 1e17]))
    lowest, highest = -(2**63), 2**63 - 1
    yield Case(
        "Range",
        scalars(np.int64, lowest, highest, 2**62),
        np.int64([lowest, -(2**62), 0, 2**62]),
        no_body="divides in float32",
    )
    yield Case(
        "Range",
        scalars(np.int16, -32768, 32767, 30000),
        np.int16([-32768, -2768, 27232]),
        no_body="the difference wraps around",
    )
    lists = tuple(np.int32([number]) for number in (0, 3, 1))
    yield Case("Range", lists, np.int32([0, 1, 2]), no_body="it adds a dimension", id="1-d")
    for inputs, text in (
        (scalars(np.int32, 0, 5, 0), "start=0 to limit=5 by delta=0"),
        (scalars(np.float32, 0, 5, 0), "delta=0.0"),
        (scalars(np.float32, 0, 5, np.nan), "delta=nan"),
        (scalars(np.float64, 0, np.inf, 1), "limit=inf"),
        (scalars(np.float64, -1e308, 1e308, 1e-9), "no finite number"),
        ((np.int64([1, 2]), *scalars(np.int64, 5, 1)), "start is int64[2]"),
    ):
        yield Case("Range", inputs, raises=(ShapeError, text))
    yield Case(
        "Range",
        scalars(np.float16, 0, 2, 1),
        attributes={"stash_type": TensorProto.INT64},
        raises=(SchemaError, "stash_type=7"),
    )


def eye(input, dtype=None, k=0):
    dtype = input.dtype if dtype is None else find(dtype).public
    ones = np.zeros(input.shape, dtype)
    for i, j in np.ndindex(input.shape):
        if j - i == k:
            ones[i, j] = 1
    return ones


def eyes():
    names = FILLED[9]
    for opset, more in ((9, []), (22, ["bfloat16"])):
        for name in [*names, *more]:
            dtype = BY_NAME[name]
            input = np.ones((2, 3), dtype.public)
            yield Case("EyeLike", (input,), eye, opset=opset)
            yield Case("EyeLike", (np.int32([[5, 7]]),), eye, {"dtype": dtype.code}, opset=opset)
    for k in (-4, -3, -2, -1, 1, 2, 3, 4, 5, 2**62, -(2**62)):
        yield Case("EyeLike", (np.ones((3, 5), np.float32),), eye, {"k": k})
        yield Case("EyeLike", (np.ones((5, 3), np.float16),), eye, {"k": k})
    for shape in ((0, 3), (3, 0), (0, 0), (1, 1)):
        yield Case("EyeLike", (np.ones(shape, BF16),), eye)
    for input, attributes, error, text in (
        (np.ones(3, np.float32), {}, ShapeError, "float[3]"),
        (np.ones((2, 2, 2), np.float32), {}, ShapeError, "float[2,2,2]"),
        (np.ones((2, 2), np.float32), {"dtype": 8}, SchemaError, "dtype=8"),
        (np.ones((2, 2), np.float32), {"dtype": 99}, SchemaError, "dtype=99"),
    ):
        yield Case("EyeLike", (input,), attributes=attributes, raises=(error, text))


CONSTANTS = [
    Case("Constant", (), np.float32(0.1), {"value_float": 0.1}, opset=12),
    Case("Constant", (), np.float32([0.1, -2]), {"value_floats": [0.1, -2.0]}),
    Case("Constant", (), np.float32([]), {"value_floats": []}),
    Case("Constant", (), np.int64(-(2**63)), {"value_int": -(2**63)}, opset=13),
    Case("Constant", (), np.int64([3, 1]), {"value_ints": [3, 1]}),
    Case("Constant", (), np.array("né", object), {"value_string": "né"}),
    Case("Constant", (), np.array(["a", ""], object), {"value_strings": ["a", ""]}),
    *(
        Case("Constant", (), one_of(name).reshape(1, 1), {"value": one_of(name).reshape(1, 1)})
        for names in FILLED.values()
        for name in names
    ),
    Case("Constant", (), attributes={}, raises=(SchemaError, "needs exactly one")),
    Case(
        "Constant",
        (),
        attributes={"value_int": 1, "value_float": 1.0},
        raises=(SchemaError, "value_float and value_int"),
    ),
]

CASES = [*CONSTANTS, *constant_of_shape(), *ranges(), *eyes()]
