"""Softmax, LogSoftmax and Hardmax: loops over lines along the middle one of three dimensions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..jit import call, helper, kernel
from ..jit.folds import LANES, largest_of_lanes
from ..jit.lanes import select
from .elementary import exp
from .folds import sum_of_line

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[np.ndarray, np.ndarray], None]

__all__ = ["hardmax", "log_softmax", "softmax"]

#: Columns at a time: their rows stay in the nearest cache.
_COLUMNS = 512


def softmax(dtype: np.dtype, count: int, inner: int) -> Run:
    """``run(x, out)``: exp(x) divided by its sum, over lines of ``count``, ``inner`` apart.

    Both are flat buffers of ``dtype``, float32 or float64, and not the same one: loops over one
    are not vectorised.
    """
    return _bind(dtype, count, inner, logarithm=False)


def log_softmax(dtype: np.dtype, count: int, inner: int) -> Run:
    """As :func:`softmax`, its logarithm: x less the logarithm of the sum of exp(x)."""
    return _bind(dtype, count, inner, logarithm=True)


def _bind(dtype: np.dtype, count: int, inner: int, *, logarithm: bool) -> Run:
    loop = normalize_lines if inner == 1 else normalize_columns
    numbers = (count,) if inner == 1 else (count, inner)
    run: Run = loop.bind(dtype, dtype, *numbers, exp, logarithm, size=1)
    return run


def hardmax(dtype: np.dtype, count: int, inner: int) -> Run:
    """``run(x, out)``: 1 for the first of the largest in a line, 0 for all others."""

    def run(x: np.ndarray, out: np.ndarray) -> None:
        if x.size:
            parts = x.reshape(-1, count, inner)
            first = np.argmax(parts, 1, keepdims=True)
            out.fill(0)
            np.put_along_axis(out.reshape(parts.shape), first, 1, 1)

    return run


# The largest element is subtracted first, so that nothing overflows.


@kernel(whole=("x", "out"))
def normalize_lines(x, out, count, e_to, logarithm):
    """Softmax, or its logarithm, of lines of ``count`` neighbours."""
    powers = np.empty(count if logarithm else 0, x.dtype)
    for start in range(0, x.size, max(count, 1)):
        line, result = x[start : start + count], out[start : start + count]
        largest = _largest(line)
        if logarithm:
            for i in range(count):
                result[i] = line[i] - largest
                powers[i] = call(e_to, result[i], largest, largest)
            less = line.dtype.type(math.log(sum_of_line(powers, 0, count)))
            for i in range(count):
                result[i] -= less
        else:
            for i in range(count):
                result[i] = call(e_to, line[i] - largest, largest, largest)
            total = line.dtype.type(sum_of_line(out, start, count))
            for i in range(count):
                result[i] /= total


@kernel(whole=("x", "out"))
def normalize_columns(x, out, count, inner, e_to, logarithm):
    """Softmax, or its logarithm, of lines of ``count`` elements, ``inner`` apart."""
    largest, total = np.empty(_COLUMNS, x.dtype), np.empty(_COLUMNS)
    for block in range(0, x.size, max(count * inner, 1)):
        for first in range(block, block + inner, _COLUMNS):
            width = min(_COLUMNS, block + inner - first)
            top, sums = largest[:width], total[:width]
            _largest_of_rows(x, first, count, inner, top)
            sums[:] = 0
            for i in range(count):
                start = first + i * inner
                row, result = x[start : start + width], out[start : start + width]
                for j in range(width):
                    power = call(e_to, row[j] - top[j], top[j], top[j])
                    result[j] = row[j] - top[j] if logarithm else power
                    sums[j] += power
            if logarithm:
                for j in range(width):
                    sums[j] = math.log(sums[j])
            for i in range(count):
                start = first + i * inner
                result = out[start : start + width]
                for j in range(width):
                    number = x.dtype.type(sums[j])
                    result[j] = result[j] - number if logarithm else result[j] / number


@helper
def _largest(line):
    """The largest element; a NaN may be passed over, as it makes a sum of NaN anyway."""
    stop = line.size // LANES * LANES
    found = largest_of_lanes(line, 0, stop)
    for i in range(stop, line.size):
        found = select(line[i] > found, line[i], found)
    return found


@helper
def _largest_of_rows(x, first, count, inner, top):
    top[:] = -np.inf
    for i in range(count):
        start = first + i * inner
        row = x[start : start + top.size]
        for j in range(top.size):
            top[j] = select(row[j] > top[j], row[j], top[j])
