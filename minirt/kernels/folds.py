"""Sums, products and extremes of floats along axes."""

from __future__ import annotations

from itertools import groupby
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..jit import helper, kernel
from ..jit.folds import (
    LANES,
    largest_of_lanes,
    product_of_lanes,
    smallest_of_lanes,
    sum_of_lanes,
)
from ..jit.lanes import select

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["fold", "sum_of_line"]

#: Elements summed in their own type, before float64 takes over: a multiple of the lanes.
_BLOCK = 16 * LANES
#: Rows so summed, and columns at a time: what is added to stays in the nearest cache.
_ROWS, _COLUMNS = 16, 1024
#: What changes no number that is added to it, -0 included.
_NOTHING = -0.0


def fold(
    name: str, dtype: np.dtype, shape: Sequence[int], axes: Sequence[int], count: int = 1
) -> Callable[[np.ndarray, np.ndarray], None]:
    """``run(x, out)``: what elements along ``axes`` of ``x`` make, always in the same order.

    ``name`` is "sum", for sums divided by ``count``, "product", "largest" or "smallest"; the last
    two are NaN if there is one. Both are flat buffers of ``dtype``, float32 or float64, and ``x``
    has ``shape``. Sums of short parts are added in float64, and products multiplied.
    """
    steps = list(_steps(shape, axes)) or [(prod(shape), 1, 1)]
    divisors = [1.0] * (len(steps) - 1) + [float(count)]
    runs = [
        _KERNELS[name].bind(dtype, dtype, *step[1:], divisor, size=1)
        for step, divisor in zip(steps, divisors, strict=True)
    ]
    sizes = [outer * inner for outer, _, inner in steps[:-1]]

    def run(x: np.ndarray, out: np.ndarray) -> None:
        for step, size in zip(runs, sizes, strict=False):
            sums = np.empty(size, dtype)
            step(x, sums)
            x = sums
        runs[-1](x, out)

    return run


def _steps(shape: Sequence[int], axes: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """What to sum in turn: (outer, count, inner), neighbours at once, the last axes first."""
    inner = 1
    groups = [
        (k, prod(shape[a] for a in g)) for k, g in groupby(range(len(shape)), lambda a: a in axes)
    ]
    for position in range(len(groups) - 1, -1, -1):
        is_summed, size = groups[position]
        if is_summed:
            yield prod(size for _, size in groups[:position]), size, inner
        else:
            inner *= size


@kernel(whole=("x", "out"))
def add(x, out, count, inner, divisor):
    """out[b, j] = sum over i of x[b, i, j], with ``count`` rows i of ``inner`` elements j."""
    if count == 0:
        out[:] = 0.0 / divisor
    elif inner == 1:
        for line in range(out.size):
            out[line] = sum_of_line(x, line * count, count) / divisor
    else:
        part, total = np.empty(min(inner, _COLUMNS), out.dtype), np.empty(min(inner, _COLUMNS))
        for block in range(out.size // max(inner, 1)):
            for first in range(0, inner, _COLUMNS):
                width = min(_COLUMNS, inner - first)
                start = block * count * inner + first
                _columns(x, start, count, inner, part[:width], total[:width])
                sums = out[block * inner + first : block * inner + first + width]
                for j in range(width):
                    sums[j] = total[j] / divisor


@helper
def sum_of_line(x, start, count):
    """The sum of ``count`` elements one after the other."""
    total, stop = _NOTHING, start + count
    lanes_stop = start + count // LANES * LANES
    for first in range(start, lanes_stop, _BLOCK):
        total += sum_of_lanes(x, first, min(first + _BLOCK, lanes_stop))
    for i in range(lanes_stop, stop):
        total += x[i]
    return total


@helper
def _columns(x, start, count, inner, part, total):
    """The sums of neighbouring columns: of some rows in ``part``, of all in ``total``."""
    total[:] = _NOTHING
    for first in range(0, count, _ROWS):
        part[:] = _NOTHING
        for i in range(first, min(first + _ROWS, count)):
            row = x[start + i * inner : start + i * inner + part.size]
            for j in range(part.size):
                part[j] += row[j]
        for j in range(part.size):
            total[j] += part[j]


@kernel(whole=("x", "out"))
def multiply(x, out, count, inner, divisor):
    """As :func:`add`: products in float64, without the divisor."""
    if inner == 1:
        for line in range(out.size):
            stop = line * count + count // LANES * LANES
            total = product_of_lanes(x, line * count, stop)
            for i in range(stop, (line + 1) * count):
                total *= x[i]
            out[line] = total
    else:
        total = np.empty(inner)
        for block in range(out.size // max(inner, 1)):
            total[:] = 1
            for i in range(count):
                row = x[(block * count + i) * inner :][:inner]
                for j in range(inner):
                    total[j] *= row[j]
            out[block * inner : (block + 1) * inner] = total


@kernel(whole=("x", "out"))
def take_largest(x, out, count, inner, divisor):
    """As :func:`add`: the largest of at least one element."""
    if inner == 1:
        for line in range(out.size):
            stop = line * count + count // LANES * LANES
            found = largest_of_lanes(x, line * count, stop)
            for i in range(stop, (line + 1) * count):
                found = _larger(found, x[i])
            out[line] = found
    else:
        _pick_from_rows(x, out, count, inner, True)


@kernel(whole=("x", "out"))
def take_smallest(x, out, count, inner, divisor):
    """As :func:`add`: the smallest of at least one element."""
    if inner == 1:
        for line in range(out.size):
            stop = line * count + count // LANES * LANES
            found = smallest_of_lanes(x, line * count, stop)
            for i in range(stop, (line + 1) * count):
                found = _smaller(found, x[i])
            out[line] = found
    else:
        _pick_from_rows(x, out, count, inner, False)


@helper
def _larger(a, b):
    return select(b > a or b != b, b, a)


@helper
def _smaller(a, b):
    return select(b < a or b != b, b, a)


@helper
def _pick_from_rows(x, out, count, inner, largest):
    for block in range(out.size // max(inner, 1)):
        result = out[block * inner :][:inner]
        result[:] = x[block * count * inner :][:inner]
        for i in range(1, count):
            row = x[(block * count + i) * inner :][:inner]
            if largest:
                for j in range(inner):
                    result[j] = _larger(result[j], row[j])
            else:
                for j in range(inner):
                    result[j] = _smaller(result[j], row[j])


_KERNELS = {"sum": add, "product": multiply, "largest": take_largest, "smallest": take_smallest}
