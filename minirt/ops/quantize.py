"""Operators between numbers and fewer bits with a scale and a zero point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import kernels
from ..dtypes import BY_CODE, BY_NAME
from ..errors import SchemaError, ShapeError
from ..kernels.arrays import computed, number_dtype
from ..types import Dim, merge
from .element_types import result_dtype
from .registry import op
from .shapes import normalized_axis

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..dtypes import DType
    from ..kernels.arrays import Shaped
    from ..kernels.quantized import Run
    from ..types import TensorType

    #: From a scale or zero point to an array that is broadcast to the shape of ``x``.
    Spread = Callable[[np.ndarray], np.ndarray]

_FLOAT, _DOUBLE = BY_NAME["float"], BY_NAME["double"]
_UINT8, _UINT16 = BY_NAME["uint8"], BY_NAME["uint16"]
_PRECISIONS = (_FLOAT, BY_NAME["float16"], _DOUBLE, BY_NAME["bfloat16"])


@op("QuantizeLinear")
def quantize_linear(
    x, y_scale, y_zero_point=None, *, axis, block_size, output_dtype, precision, saturate
):
    """``x / y_scale + y_zero_point``, rounded half to even and saturated.

    There is one scale, or one for each position along ``axis``, or one for each ``block_size``
    positions there. The quotient has the type ``precision``, by default that of ``y_scale``;
    where this is int32 or float8e8m0, float32, or float64 for integers. It is rounded to an
    integer before the zero point is added; if the result is a float, the sum is rounded to it.
    NaN becomes the smallest integer.

    https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html
    """
    default = _UINT8 if y_zero_point is None else y_zero_point.dtype
    dtype = result_dtype("QuantizeLinear", "y", output_dtype or None, default, "output_dtype")
    if y_zero_point is not None and dtype is not default:
        raise SchemaError(f"output_dtype={output_dtype} ({dtype}), but y_zero_point is {default}")
    if saturate not in (0, 1):
        raise SchemaError(f"saturate={saturate} is neither 0 nor 1")
    quotient = _quotient_dtype(x.dtype, y_scale.dtype, precision)
    spread = _spread(x, y_scale, y_zero_point, axis, block_size)
    operands = (x, y_scale, y_zero_point)
    y = x.with_dtype(dtype)

    def to_integers():
        if quotient is _FLOAT and x.dtype.is_float:
            places = _places(x, y_scale, axis, block_size)
            # Codes are what it writes.
            codes = y.with_dtype(_UINT16 if dtype.bits == 16 else _UINT8)
            return _by_places(kernels.quantize(dtype, places), operands, codes)
        divide = _division(x, y_scale, quotient, spread)
        return computed(
            lambda x, s, z, y: _store(divide(x, s), z, spread, y, dtype), operands, (y,)
        )

    def to_floats():
        divide = _division(x, y_scale, quotient, spread)
        source = _DOUBLE if quotient is _DOUBLE else _FLOAT
        convert = kernels.convert(source, dtype, x.size, saturate=bool(saturate), round_mode="up")

        def run(x, scale, zero, y):
            numbers = divide(x, scale)
            if zero is not None:
                numbers += spread(zero)
            convert(numbers.reshape(-1), y.reshape(-1))

        return computed(run, operands, (y.with_dtype(_UINT8),))

    return y, to_integers if dtype.is_integer else to_floats


def _store(
    numbers: np.ndarray, zero: np.ndarray | None, spread: Spread, y: np.ndarray, dtype: DType
) -> None:
    np.rint(numbers, out=numbers)
    if zero is not None:
        numbers += spread(zero)
    # Unlike minimum and maximum, these leave no NaN, of which no integer can be made.
    np.fmax(numbers, int(dtype.smallest), out=numbers)
    np.fmin(numbers, int(dtype.largest), out=numbers)
    np.copyto(y, numbers, casting="unsafe")


def _quotient_dtype(x: DType, scale: DType, precision: int) -> DType:
    if precision:
        dtype = BY_CODE.get(precision)
        if dtype not in _PRECISIONS:
            known = ", ".join(f"{d.code} ({d.name})" for d in _PRECISIONS)
            raise SchemaError(f"precision={precision} is no type to divide in; there are {known}")
        return dtype
    if scale in _PRECISIONS:
        return scale
    return _FLOAT if x.is_float else _DOUBLE


def _division(
    x: TensorType, scale: TensorType, quotient: DType, spread: Spread
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """``divide(x, scale)``: new numbers that are those of the type ``quotient``."""
    number = number_dtype(quotient)

    def divide(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        result = np.empty(x.shape, number)
        with np.errstate(all="ignore"):
            np.divide(x, spread(scale), out=result, dtype=number, casting="unsafe")
        return result

    if quotient.bits >= 32:
        return divide
    round_x, round_scale, again = (
        _rounder(type, quotient) for type in (x, scale, x.with_dtype(_FLOAT))
    )
    return lambda x, scale: again(divide(round_x(x), round_scale(scale)))


def _rounder(type: TensorType, target: DType) -> Callable[[np.ndarray], np.ndarray]:
    """A function that rounds the numbers of ``type`` to ``target``, and gives them in float32."""
    source = _FLOAT if type.dtype.is_float and type.dtype.bits < 32 else type.dtype
    narrow = kernels.convert(source, target, type.size, saturate=True, round_mode="up")
    widen = kernels.convert(target, _FLOAT, type.size, saturate=True, round_mode="up")

    def round(numbers: np.ndarray) -> np.ndarray:
        codes, result = np.empty(numbers.size, target.storage), np.empty(numbers.shape, np.float32)
        narrow(numbers.reshape(-1), codes)
        widen(codes, result.reshape(-1))
        return result

    return round


@op("DequantizeLinear")
def dequantize_linear(x, x_scale, x_zero_point=None, *, axis, block_size, output_dtype):
    """``(x - x_zero_point) * x_scale``, as QuantizeLinear has scales.

    The difference is exact, the product that of float32, rounded to the type of the result.

    https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html
    """
    default = x_scale.dtype
    dtype = result_dtype("DequantizeLinear", "y", output_dtype or None, default, "output_dtype")
    spread = _spread(x, x_scale, x_zero_point, axis, block_size)
    y, operands = x.with_dtype(dtype), (x, x_scale, x_zero_point)
    # The difference of two int32 has 33 bits, more than float32 holds.
    exact = np.dtype(np.float64 if x.dtype.bits == 32 else np.float32)

    if x.dtype.is_integer and x.dtype.bits <= 16:
        number = number_dtype(x.dtype)
        return y, lambda: _by_places(
            kernels.dequantize(number, _places(x, x_scale, axis, block_size)), operands, y
        )

    def run(x, scale, zero, y):
        with np.errstate(all="ignore"):
            zero = exact.type(0) if zero is None else spread(zero)
            numbers = np.subtract(x, zero, dtype=exact, casting="unsafe")
            np.multiply(numbers, spread(scale), out=y, dtype=np.float32, casting="unsafe")

    return y, lambda: computed(run, operands, (y,))


def _places(x, scale, axis: int, block_size: int):
    """How ``scale`` is laid over ``x``, for kernels."""
    if x.size == 0 or _may_be_single(scale):
        return kernels.Places.single(x.size)
    return kernels.Places.along(x.shape, axis % len(x.shape), block_size)


def _by_places(run: Run, operands: Sequence[TensorType | None], result: TensorType) -> Shaped:
    """A kernel over numbers, of one over flat buffers."""

    def call(x, scale, zero, y):
        run(x.reshape(-1), scale, zero, y.reshape(-1))

    return computed(call, operands, (result,))


def _spread(
    x: TensorType, scale: TensorType, zero: TensorType | None, axis: int, block_size: int
) -> Spread:
    """How scales and zero points are laid over ``x``. Raises ShapeError if they do not fit."""
    if block_size < 0:
        raise SchemaError(f"block_size={block_size} is negative")
    if zero is not None and not _same_shape(zero, scale):
        raise ShapeError(f"the zero point is {zero}, but the scale is {scale}")
    if x.shape is None or scale.shape is None:
        return np.asarray  # not to be run
    if _may_be_single(scale):
        return lambda array: array.reshape(())
    axis = normalized_axis(axis, len(x.shape))
    before, size, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    if block_size:
        blocks = -(-size // block_size) if isinstance(size, int) else Dim()
        wanted = scale.with_shape(*before, blocks, *after)
    else:
        wanted = scale.with_shape(size)
    if merge(scale, wanted) is None:
        blocked = f" in blocks of {block_size}" if block_size else ""
        raise ShapeError(f"the scale is {scale}, but {x}{blocked} along axis {axis} needs {wanted}")
    if block_size and isinstance(size, int):
        repeats = min(block_size, max(size, 1))
        return lambda array: np.repeat(array, repeats, axis)[(slice(None),) * axis + (slice(size),)]
    return lambda array: array.reshape(-1, *[1] * len(after))


def _may_be_single(type: TensorType) -> bool:
    """Whether it may have one element, which then counts for all."""
    return type.shape is None or (len(type.shape) < 2 and type.size in (None, 1))


def _same_shape(zero: TensorType, scale: TensorType) -> bool:
    """Whether a zero point may stand with a scale; one element may be 0-d or 1-d."""
    if scale.shape is None or (_may_be_single(zero) and _may_be_single(scale)):
        return True
    return merge(zero, zero.with_shape(*scale.shape)) is not None
