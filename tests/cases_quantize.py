"""QuantizeLinear and DequantizeLinear, against their formulas in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
from cases import Case
from onnx import TensorProto

from minirt.dtypes import BY_CODE, BY_NAME, find
from minirt.errors import SchemaError, ShapeError

BF16 = ml_dtypes.bfloat16
E8M0 = ml_dtypes.float8_e8m0fnu
FLOATS = {"float16", "bfloat16", "float", "double"}


def public(name):
    return BY_NAME[name].public


# The formulas


def laid_over(operand, x, axis, block_size):
    """Scales or zero points, one for each element of ``x``."""
    if operand.size == 1 and operand.ndim < 2:
        return np.full(x.shape, operand.reshape(()))
    result = np.empty(x.shape, operand.dtype)
    for index in np.ndindex(x.shape):
        place = list(index)
        place[axis] = place[axis] // block_size if block_size else place[axis]
        result[index] = operand[tuple(place) if block_size else place[axis]]
    return result


def nearest(number: Fraction | float, name: str) -> Fraction | float:
    """A number rounded half to even to a float type, from its exact value; infinity stays."""
    if isinstance(number, float):
        return number
    dtype = BY_NAME[name]
    size = abs(number)
    exponent = 1 - dtype.float.bias
    if size:
        # The logarithm, or one more.
        exponent = max(exponent, size.numerator.bit_length() - size.denominator.bit_length())
        exponent -= exponent > 1 - dtype.float.bias and size < Fraction(2) ** exponent
    step = Fraction(2) ** (exponent - dtype.float.man)
    rounded = round(number / step) * step
    if abs(rounded) > dtype.largest:
        return float("inf") if number > 0 else float("-inf")
    return rounded


def quantized(x, scale, zero=None, axis=1, block_size=0, output_dtype=0, precision=0, saturate=1):
    target = BY_CODE[output_dtype or (find(zero.dtype).code if zero is not None else 2)]
    scales = laid_over(scale, x, axis, block_size)
    zeros = laid_over(zero, x, axis, block_size) if zero is not None else np.zeros(x.shape)
    precision = BY_CODE[precision] if precision else find(scale.dtype)
    results = []
    for a, s, z in zip(x.flat, scales.flat, zeros.flat, strict=True):
        quotient = Fraction(float(a)) / Fraction(float(s))
        if precision.name in FLOATS:
            a = nearest(Fraction(float(a)), precision.name)
            s = nearest(Fraction(float(s)), precision.name)
            quotient = nearest(a / s, precision.name)
        if target.is_float:
            results.append(float(quotient) + float(z))
        elif abs(quotient) == float("inf"):
            results.append(target.largest if quotient > 0 else target.smallest)
        else:
            results.append(min(max(round(quotient) + int(z), target.smallest), target.largest))
    array = np.array(results, np.float32 if target.is_float else np.int64).reshape(x.shape)
    if target.is_float and saturate:
        array = np.clip(array, -float(target.largest), float(target.largest))
    return array.astype(target.public)


def dequantized(x, scale, zero=None, axis=1, block_size=0, output_dtype=0):
    target = BY_CODE[output_dtype].public if output_dtype else scale.dtype
    scales = laid_over(scale, x, axis, block_size)
    zeros = laid_over(zero, x, axis, block_size) if zero is not None else np.zeros(x.shape)
    results = []
    for a, s, z in zip(x.flat, scales.flat, zeros.flat, strict=True):
        difference = float(nearest(Fraction(float(a)) - Fraction(float(z)), "float"))
        difference = difference or float(a) - float(z)  # Fractions have no -0
        product = float(nearest(Fraction(difference) * Fraction(float(s)), "float"))
        results.append(product or difference * float(s))
    return np.float32(results).reshape(x.shape).astype(target)


# What the versions allow

X = np.float32([[-1000, -3, -2.5, -1.5, -0.5, 0], [0.5, 1, 1.5, 2.5, 7.25, 60000]])
EIGHTS = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
#: What each version brought, and some of what there was.
TYPES = {
    10: ("uint8", "int8"),
    13: ("uint8", "int8"),
    19: ("uint8", *EIGHTS),
    21: ("uint8", "float8e5m2", "uint16", "int16", "uint4", "int4"),
    23: ("int8", "float4e2m1"),
    24: ("int16",),
    25: ("int4", "uint2", "int2"),
    28: ("uint8", "float6e2m3", "float6e3m2"),
}
ZERO = {name: 1 for name in ("uint2", "int2")} | {name: 3 for name in ("uint4", "int4")}


def zero_of(name):
    dtype = BY_NAME[name]
    return np.array(0 if dtype.is_float else ZERO.get(name, 17), dtype.public)


def quantize_by_type():
    for opset, names in TYPES.items():
        for name in names:
            zero = zero_of(name)
            yield Case("QuantizeLinear", (X, np.float32(0.75), zero), quantized, opset=opset)
            if opset >= 19:
                for dtype in (np.float16, BF16):
                    inputs = (X.astype(dtype), np.array(0.75, dtype), zero)
                    yield Case("QuantizeLinear", inputs, quantized, opset=opset)
            if opset >= 21:
                attributes = {"output_dtype": BY_NAME[name].code}
                yield Case(
                    "QuantizeLinear", (X, np.float32(0.75)), quantized, attributes, opset=opset
                )
        integers = np.int32([[-300, 7, 2**31 - 1], [-(2**31), 5, 6]])
        if opset < 19:
            yield Case("QuantizeLinear", (integers, np.float32(2)), quantized, opset=opset)
        else:  # the scale has the type of x
            yield Case("QuantizeLinear", (integers, np.int32(2)), quantized, opset=opset)


def dequantize_by_type():
    for opset, names in TYPES.items():
        for name in names:
            dtype = BY_NAME[name]
            codes = np.arange(0, 2**dtype.bits, 1 + 2**dtype.bits // 50).astype(dtype.storage)
            x = codes.view(dtype.public)
            x = x[np.isfinite(x.astype(np.float32))].reshape(1, -1)
            zero = zero_of(name)
            yield Case("DequantizeLinear", (x, np.float32(0.1), zero), dequantized, opset=opset)
            if opset >= 19:
                for to in (np.float16, BF16):
                    yield Case("DequantizeLinear", (x, np.array(0.1, to)), dequantized, opset=opset)
            if opset >= 23:
                attributes = {"output_dtype": TensorProto.FLOAT16}
                inputs = (x, np.float32(0.1), zero)
                yield Case("DequantizeLinear", inputs, dequantized, attributes, opset=opset)
        wide = np.int32([[2**31 - 1, -(2**31), 2**24 + 1, 5]])
        inputs = (wide, np.float32(0.1), np.int32(-(2**31)))
        yield Case("DequantizeLinear", inputs[:2], dequantized, opset=opset)
        yield Case("DequantizeLinear", inputs, dequantized, opset=opset)


# One scale an axis, one a block

CUBE = np.linspace(-300, 300, 2 * 3 * 5, dtype=np.float32).reshape(2, 3, 5)


def scales(*shape):
    return np.linspace(0.5, 4, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def zeros(*shape):
    return np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)


def by_axis_and_block():
    codes = np.arange(30, dtype=np.uint8).reshape(2, 3, 5)
    for axis, size in ((0, 2), (1, 3), (2, 5), (-1, 5), (-3, 2)):
        for opset in (13, 19, 21, 28):
            for inputs in ((scales(size),), (scales(size), zeros(size))):
                yield Case(
                    "QuantizeLinear", (CUBE, *inputs), quantized, {"axis": axis}, opset=opset
                )
                yield Case(
                    "DequantizeLinear", (codes, *inputs), dequantized, {"axis": axis}, opset=opset
                )
    for axis, block, shape in (
        (0, 1, (2, 3, 5)),
        (1, 2, (2, 2, 5)),
        (2, 4, (2, 3, 2)),
        (-1, 9, (2, 3, 1)),
    ):
        attributes = {"axis": axis, "block_size": block}
        for inputs in ((scales(*shape),), (scales(*shape), zeros(*shape))):
            yield Case("QuantizeLinear", (CUBE, *inputs), quantized, attributes)
            yield Case("DequantizeLinear", (codes, *inputs), dequantized, attributes)
    huge = {"axis": 2, "block_size": 2**62}
    yield Case("DequantizeLinear", (codes, scales(2, 3, 1)), dequantized, huge)
    line = {"axis": 0, "block_size": 2}
    yield Case("QuantizeLinear", (CUBE[0, 0].copy(), scales(3)), quantized, line)
    # One scale for all, whatever the axis.
    for shape in ((), (1,)):
        for zero in (np.uint8(5), np.uint8([5])):
            yield Case("QuantizeLinear", (CUBE, scales(*shape), zero), quantized, {"axis": 9})
    yield Case("QuantizeLinear", (np.float32(7), np.float32([2])), np.uint8(4))
    yield Case("DequantizeLinear", (np.uint8(7), np.float32([2])), np.float32(14))
    for shape in ((0, 3), (2, 0)):
        x = np.zeros(shape, np.float32)
        yield Case("QuantizeLinear", (x, scales(shape[1])), x.astype(np.uint8))
        yield Case("QuantizeLinear", (x, np.float32(1)), x.astype(np.uint8))
        yield Case("DequantizeLinear", (x.astype(np.int8), scales(shape[1])), x)


# Precision, ties, and what is no number


def precisions():
    x = np.float32([1000.5, 2049, 3, -70000])
    for name in sorted(FLOATS):
        attributes = {"precision": BY_NAME[name].code, "output_dtype": TensorProto.INT16}
        yield Case("QuantizeLinear", (x, np.float32(0.3)), quantized, attributes)
        yield Case("QuantizeLinear", (x.astype(np.int32), np.int32(3)), quantized, attributes)
        yield Case("QuantizeLinear", (x, np.array(0.5, E8M0)), quantized, attributes)
    # 1 + 2^-12 over 2 is above a tie; in bfloat16 it is one.
    tie = np.float32([1 + 2**-12])
    yield Case("QuantizeLinear", (tie, np.float32(2)), np.uint8([1]))
    yield Case("QuantizeLinear", (tie, np.array(2, BF16)), np.uint8([0]))
    yield Case("QuantizeLinear", (np.int32([2**31 - 1]), np.int32(2**31 - 1)), np.uint8([1]))
    yield Case("QuantizeLinear", (np.int32([5, 7, 9]), np.array(2, E8M0)), np.uint8([2, 4, 4]))
    yield Case(
        "DequantizeLinear",
        (np.uint8([3]), np.array(0.5, E8M0)),
        np.array([1.5], BF16),
        {"output_dtype": TensorProto.BFLOAT16},
    )
    # Just above and below ties, to even and not to zero or up.
    halves = np.float32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, np.nextafter(np.float32(2.5), 3)])
    yield Case(
        "QuantizeLinear", (halves, np.float32(1), np.int8(0)), np.int8([-2, -2, 0, 0, 2, 2, 3])
    )
    # The zero point comes after the rounding.
    yield Case("QuantizeLinear", (halves[:3], np.float32(1), np.int8(1)), np.int8([-1, -1, 1]))
    strange = np.float32([np.inf, -np.inf, np.nan, 6e4])
    yield Case(
        "QuantizeLinear", (strange, np.float32(1), np.int8(3)), np.int8([127, -128, -128, 127])
    )
    yield Case("QuantizeLinear", (strange, np.float32(1)), np.uint8([255, 0, 0, 255]))
    for dtype in (np.float16, BF16):
        inputs = (strange.astype(dtype), np.array(1, dtype), np.int8(3))
        yield Case("QuantizeLinear", inputs, np.int8([127, -128, -128, 127]))
    yield Case("QuantizeLinear", (np.float32([1, 0, -1]), np.float32(0)), np.uint8([255, 0, 0]))
    for saturate in (0, 1):
        for name in EIGHTS:
            attributes = {"saturate": saturate}
            x = np.float32([1e6, -1e6, 0, 1, 448])
            expected = x.astype(public(name))
            if saturate:
                largest = float(BY_NAME[name].largest)
                expected = np.clip(x, -largest, largest).astype(public(name))
            inputs = (x, np.float32(1), np.array(0, public(name)))
            yield Case("QuantizeLinear", inputs, expected, attributes, opset=19)
    e4m3 = np.array([1, 2], ml_dtypes.float8_e4m3fn)
    yield Case(
        "QuantizeLinear",
        (np.float32([[1, 2], [3, 500]]), np.float32([1, 2]), e4m3),
        np.float32([[2, 3], [4, 252]]).astype(ml_dtypes.float8_e4m3fn),
    )
    yield Case("DequantizeLinear", (e4m3[None], np.float32([3, 4]), e4m3), np.float32([[0, 0]]))


# DynamicQuantizeLinear has no kernel: ONNX defines it by others


def dynamic(x):
    low, high = np.minimum(x.min(), np.float32(0)), np.maximum(x.max(), np.float32(0))
    scale = (high - low) / np.float32(255)
    zero = np.clip(np.rint(np.float32(0 - low) / scale), 0, 255)
    y = np.clip(np.rint(x / scale) + zero, 0, 255)
    return y.astype(np.uint8), scale, zero.astype(np.uint8)


def dynamics():
    for x in (X, X[1:], -X[1:], np.float32([-1, 0, 2.55]), np.float32(3)):
        yield Case("DynamicQuantizeLinear", (x,), dynamic)


def refused():
    codes = np.zeros((2, 3), np.uint8)
    for op, x in (("QuantizeLinear", codes.astype(np.float32)), ("DequantizeLinear", codes)):
        for inputs, attributes, error, text in (
            ((scales(2),), {}, ShapeError, "axis 1 needs float[3]"),
            ((scales(3), zeros(2)), {}, ShapeError, "the zero point is uint8[2]"),
            ((scales(3),), {"axis": 2}, ShapeError, "axis=2"),
            ((scales(2, 3),), {}, ShapeError, "needs float[3]"),
            ((scales(2, 2),), {"block_size": 1}, ShapeError, "needs float[2,3]"),
            ((scales(3),), {"block_size": 2}, ShapeError, "needs float[2,2]"),
            ((scales(3),), {"block_size": -1}, SchemaError, "block_size=-1"),
            ((scales(3),), {"output_dtype": 99}, SchemaError, "output_dtype=99"),
        ):
            yield Case(op, (x, *inputs), attributes=attributes, raises=(error, text))
    for attributes, text in (
        ({"output_dtype": TensorProto.INT8}, "output_dtype=3 (int8), but y_zero_point is uint8"),
        ({"saturate": 2}, "saturate=2"),
        ({"precision": TensorProto.INT8}, "precision=3"),
    ):
        inputs = (X, np.float32(1), np.uint8(0))
        yield Case("QuantizeLinear", inputs, attributes=attributes, raises=(SchemaError, text))
    yield Case("DequantizeLinear", (codes, np.array(1, E8M0)), raises=(SchemaError, "float8e8m0"))


CASES = [
    *quantize_by_type(),
    *dequantize_by_type(),
    *by_axis_and_block(),
    *precisions(),
    *dynamics(),
    *refused(),
]
