"""QuantizeLinear and DequantizeLinear between float32 and integers of at most 16 bits.

Where the scale stays the same for some neighbours, they are a *block*; where it is another for
each, they are a *row*. :class:`Places` says which, and which scales go with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..jit import kernel
from ..jit.lanes import and_, select

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..dtypes import DType

    #: ``run(x, scale, zero, out)``, x and out flat; scale and zero, if any, of any type and shape.
    Run = Callable[[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray], None]

__all__ = ["Places", "dequantize", "quantize"]

#: The length of blocks where there is one scale for all.
_BLOCK = 1024
#: 1.5 * 2**23: added to a smaller float32, and taken away again, it leaves an integer.
_ROUNDER = np.float32(12582912.0)


@dataclass(frozen=True)
class Places:
    """How scales are laid over elements in C order.

    There are ``count`` blocks or rows. Blocks have ``width`` elements, but the last of each
    ``period`` elements may be shorter; they take scales one after the other, again and again.
    Rows have ``width`` elements and as many scales; ``period`` rows have ``scales`` rows of these,
    each for ``repeats`` of them.
    """

    is_rows: bool
    count: int
    width: int
    period: int
    repeats: int = 1
    scales: int = 1

    @staticmethod
    def single(size: int) -> Places:
        """One scale for ``size`` elements."""
        return Places(False, -(-size // _BLOCK), _BLOCK, size)

    @staticmethod
    def along(shape: Sequence[int], axis: int, block_size: int) -> Places:
        """A scale for each position along ``axis``, or for each ``block_size`` of them."""
        before, size, after = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
        if not block_size:
            if after == 1:
                return Places(True, before, size, 1)
            return Places(False, before * size, after, size * after)
        block_size = min(block_size, size)
        blocks = -(-size // block_size)
        if after == 1:
            return Places(False, before * blocks, block_size, size)
        return Places(True, before * size, after, size, block_size, blocks)

    @property
    def cost(self) -> float:
        """The work for one block or row, in bytes of its number."""
        return self.width * 5 / 8


@kernel(whole=("x", "out", "scale", "zero"))
def quantize_blocks(blocks, x, out, scale, zero, width, period, low, high, mask):
    """out = x / scale, rounded, + zero, between low and high; NaN is low."""
    in_period = (period + width - 1) // width
    for k in range(blocks.size):
        start = blocks[k] // in_period * period
        stop = start + period
        start += blocks[k] % in_period * width
        part = x[start : min(start + width, stop)]
        codes = out[start : start + part.size]
        s, z = scale[blocks[k] % scale.size], zero[blocks[k] % scale.size]
        least, most = low - z, high - z
        for i in range(part.size):
            number = part[i] / s
            # Before it is rounded, as the bounds are integers: NaN is not greater than one.
            number = select(number > least, number, least)
            number = select(number < most, number, most)
            number = (number + _ROUNDER) - _ROUNDER + z
            codes[i] = and_(np.int32(number), mask)


@kernel(whole=("x", "out", "scale", "zero"))
def quantize_rows(rows, x, out, scale, zero, width, period, repeats, scales, low, high, mask):
    """As :func:`quantize_blocks`, with a scale for each element of a row."""
    for k in range(rows.size):
        start = rows[k] * width
        first = (rows[k] // period * scales + rows[k] % period // repeats) * width % scale.size
        part, codes = x[start : start + width], out[start : start + width]
        s, z = scale[first : first + width], zero[first : first + width]
        for i in range(width):
            number = part[i] / s[i]
            number = select(number > low - z[i], number, low - z[i])
            number = select(number < high - z[i], number, high - z[i])
            number = (number + _ROUNDER) - _ROUNDER + z[i]
            codes[i] = and_(np.int32(number), mask)


@kernel(whole=("x", "out", "scale", "zero"))
def dequantize_blocks(blocks, x, out, scale, zero, width, period):
    """out = (x - zero) * scale."""
    in_period = (period + width - 1) // width
    for k in range(blocks.size):
        start = blocks[k] // in_period * period
        stop = start + period
        start += blocks[k] % in_period * width
        part = x[start : min(start + width, stop)]
        numbers = out[start : start + part.size]
        s, z = scale[blocks[k] % scale.size], zero[blocks[k] % scale.size]
        for i in range(part.size):
            numbers[i] = (np.float32(part[i]) - z) * s


@kernel(whole=("x", "out", "scale", "zero"))
def dequantize_rows(rows, x, out, scale, zero, width, period, repeats, scales):
    """As :func:`dequantize_blocks`, with a scale for each element of a row."""
    for k in range(rows.size):
        start = rows[k] * width
        first = (rows[k] // period * scales + rows[k] % period // repeats) * width % scale.size
        part, numbers = x[start : start + width], out[start : start + width]
        s, z = scale[first : first + width], zero[first : first + width]
        for i in range(width):
            numbers[i] = (np.float32(part[i]) - z[i]) * s[i]


def quantize(dtype: DType, places: Places) -> Run:
    """``run(x, scale, zero, out)``: codes of ``dtype`` of float32."""
    low, high = np.float32(int(dtype.smallest)), np.float32(int(dtype.largest))
    mask = np.int32(dtype.code_mask)
    code, number = np.dtype(f"u{dtype.storage.itemsize}"), np.dtype("f4")
    loop = quantize_rows if places.is_rows else quantize_blocks
    return _bind(loop, number, code, places, low, high, mask)


def dequantize(dtype: np.dtype, places: Places) -> Run:
    """``run(x, scale, zero, out)``: float32 of integers of ``dtype``."""
    loop = dequantize_rows if places.is_rows else dequantize_blocks
    return _bind(loop, dtype, np.dtype("f4"), places)


def _bind(loop, source: np.dtype, target: np.dtype, places: Places, *bounds) -> Run:
    real = np.dtype("f4")
    numbers = [places.width, places.period]
    if places.is_rows:
        numbers += [places.repeats, places.scales]
    run = loop.bind(
        np.arange(places.count),
        source,
        target,
        real,
        real,
        *numbers,
        *bounds,
        size=places.count,
        cost=places.cost,
    )

    def call(x: np.ndarray, scale: np.ndarray, zero: np.ndarray | None, out: np.ndarray) -> None:
        scale = scale.astype(real).reshape(-1)
        zero = np.zeros(scale.size, real) if zero is None else zero.astype(real).reshape(-1)
        run(x, out.view(target), scale, zero)

    return call
