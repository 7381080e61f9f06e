"""Operators that draw at random.

ONNX leaves open which values a seed gives, so they are others than those of another runtime.
Here a seed gives the same ones in every run, on every machine, with every version of NumPy: they
come from a Mersenne Twister, whose stream NumPy keeps as it is for good. Without a seed each
run draws new ones.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from .. import kernels
from ..dtypes import BY_NAME
from ..errors import ExecutionError, SchemaError, ShapeError
from ..kernels.arrays import computed
from ..types import Dim, TensorType
from .element_types import result_dtype
from .registry import op

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["generator"]

_FLOAT, _DOUBLE, _INT32 = BY_NAME["float"], BY_NAME["double"], BY_NAME["int32"]


def generator(seed: float | None) -> np.random.RandomState:
    """A source of numbers, of its own for each run, as runs share no state. See the module."""
    if seed is None:
        return np.random.RandomState()
    if 0 <= seed < 1 << 32 and seed == int(seed):
        return np.random.RandomState(int(seed))
    # Any other seed, with a fraction, a sign or too large, counts with all its bits.
    return np.random.RandomState(np.array([seed]).view(np.uint32))


# From attributes alone


@op("RandomNormal", deterministic=False)
def random_normal(*, dtype, mean, scale, seed, shape):
    """Numbers of a normal distribution of this ``mean`` and standard deviation, ``scale``.

    https://onnx.ai/onnx/operators/onnx__RandomNormal.html
    """
    dtype = result_dtype("RandomNormal", "output", dtype, _FLOAT)
    return _normal(TensorType(dtype, _sizes(shape)), mean, scale, seed)


@op("RandomNormalLike", type_only=("input",), deterministic=False)
def random_normal_like(input, *, dtype, mean, scale, seed):
    """As RandomNormal, in the shape and, by default, of the type of ``input``.

    https://onnx.ai/onnx/operators/onnx__RandomNormalLike.html
    """
    dtype = result_dtype("RandomNormalLike", "output", dtype, input.dtype)
    return _normal(input.with_dtype(dtype), mean, scale, seed)


@op("RandomUniform", deterministic=False)
def random_uniform(*, dtype, high, low, seed, shape):
    """Numbers evenly spread from ``low`` to ``high``.

    https://onnx.ai/onnx/operators/onnx__RandomUniform.html
    """
    dtype = result_dtype("RandomUniform", "output", dtype, _FLOAT)
    return _uniform(TensorType(dtype, _sizes(shape)), low, high, seed)


@op("RandomUniformLike", type_only=("input",), deterministic=False)
def random_uniform_like(input, *, dtype, high, low, seed):
    """As RandomUniform, in the shape and, by default, of the type of ``input``.

    https://onnx.ai/onnx/operators/onnx__RandomUniformLike.html
    """
    dtype = result_dtype("RandomUniformLike", "output", dtype, input.dtype)
    return _uniform(input.with_dtype(dtype), low, high, seed)


def _sizes(shape: Sequence[int]) -> tuple[int, ...]:
    if any(size < 0 for size in shape):
        raise SchemaError(f"shape={shape} has a negative size")
    return tuple(shape)


def _normal(output: TensorType, mean: float, scale: float, seed: float | None):
    if not (scale >= 0 and isfinite(scale) and isfinite(mean)):
        raise SchemaError(f"mean={mean} and scale={scale} are those of no normal distribution")

    def draw(count: int) -> np.ndarray:
        return generator(seed).standard_normal(count) * scale + mean

    return output, lambda: _rounded(draw, output)


def _uniform(output, low: float, high: float, seed: float | None):
    if not (low <= high and isfinite(high - low)):
        raise SchemaError(f"low={low} and high={high} bound no range")
    # No more digits than the type has: 1 is never reached by rounding.
    layout = output.dtype.float
    steps = 2.0 ** (layout.man + 1)

    def draw(count: int) -> np.ndarray:
        digits = np.floor(generator(seed).random_sample(count) * steps)
        numbers: np.ndarray = low + digits / steps * (high - low)
        return numbers

    return output, lambda: _rounded(draw, output)


def _rounded(draw: Callable[[int], np.ndarray], output):
    """A kernel that draws in float64 and rounds once, to the type of ``output``."""
    count = output.size
    if output.dtype.bits >= 32:
        return lambda result: np.copyto(result, draw(count), casting="same_kind")
    convert = kernels.convert(_DOUBLE, output.dtype, count, saturate=True, round_mode="up")
    return lambda result: convert(draw(count), result)


# From probabilities


@op("Bernoulli", deterministic=False)
def bernoulli(input, *, dtype, seed):
    """1 with the probability that each element of ``input`` is, else 0.

    Raises ExecutionError for what is no probability.

    https://onnx.ai/onnx/operators/onnx__Bernoulli.html
    """
    output = input.with_dtype(result_dtype("Bernoulli", "output", dtype, input.dtype))

    def draw(input: np.ndarray, output: np.ndarray) -> None:
        _require(input, (input >= 0) & (input <= 1), "no probability, which is from 0 to 1")
        output[...] = generator(seed).random_sample(input.shape) < input

    return output, lambda: computed(draw, (input,), (output,))


@op("Multinomial", deterministic=False)
def multinomial(input, *, dtype, sample_size, seed):
    """Numbers of columns of ``input`` (batch, classes), ``sample_size`` for each row.

    A column is drawn with a probability proportional to e to the power of its element. Raises
    ExecutionError for NaN, infinity, and rows in which no column is possible.

    https://onnx.ai/onnx/operators/onnx__Multinomial.html
    """
    if sample_size < 0:
        raise SchemaError(f"sample_size={sample_size} is negative")
    batch, classes = _matrix(input)
    if classes == 0 and batch != 0 and sample_size:
        raise ShapeError(f"input is {input}, which has no classes to draw from")
    result = TensorType(result_dtype("Multinomial", "output", dtype, _INT32), (batch, sample_size))

    def draw(input: np.ndarray, output: np.ndarray) -> None:
        _require(input, input < np.inf, "no log-probability")
        numbers = generator(seed).random_sample(output.shape)
        for row, (logits, points) in enumerate(zip(input, numbers, strict=True)):
            output[row] = _columns(np.asarray(logits, np.float64), points, row)

    return result, lambda: computed(draw, (input,), (result,))


def _matrix(input: TensorType) -> tuple[int | Dim, int | Dim]:
    if input.shape is None:
        return Dim(), Dim()
    if len(input.shape) != 2:
        raise ShapeError(f"input is {input}, but it must have two dimensions")
    return input.shape[0], input.shape[1]


def _columns(logits: np.ndarray, points: np.ndarray, row: int) -> np.ndarray:
    """Where ``points``, from 0 to 1, fall if the interval is shared out by these weights."""
    if not logits.size:
        return points
    highest = logits.max()
    if highest == -np.inf:
        raise ExecutionError(f"no column of row {row} is possible: all are -inf")
    bounds = np.cumsum(np.exp(logits - highest))
    columns: np.ndarray = np.searchsorted(bounds, points * bounds[-1], side="right")
    return columns


def _require(values: np.ndarray, allowed: np.ndarray, what: str) -> None:
    if not allowed.all():
        index = np.unravel_index(int(np.argmin(allowed)), values.shape)
        place = f"[{','.join(map(str, map(int, index)))}]" if index else ""
        raise ExecutionError(f"input{place} is {values[index]}, which is {what}")
