"""Sums and products of the elements up to each one along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..jit import helper, kernel

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["cumulate"]


def cumulate(
    dtype: np.dtype, count: int, inner: int, *, multiply: bool, exclusive: bool, reverse: bool
) -> Callable[[np.ndarray, np.ndarray], None]:
    """``run(x, out)``: sums, or products, along lines of ``count`` elements, ``inner`` apart.

    Both are flat buffers of ``dtype``; integers wrap around. If ``exclusive``, an element has
    no part in its own result; if ``reverse``, lines begin at their ends.
    """
    kind = np.dtype(f"u{dtype.itemsize}") if dtype.kind in "iu" else dtype
    loop = cumulate_products if multiply else cumulate_sums
    run = loop.bind(kind, kind, count, inner, exclusive, reverse, size=1)
    return lambda x, out: run(x.view(kind), out.view(kind))


@kernel(whole=("x", "out"))
def cumulate_sums(x, out, count, inner, exclusive, reverse):
    """Sums of ``count`` elements, ``inner`` apart, up to each of them."""
    _cumulate(x, out, count, inner, exclusive, reverse, x.dtype.type(0), _add)


@kernel(whole=("x", "out"))
def cumulate_products(x, out, count, inner, exclusive, reverse):
    """Products of ``count`` elements, ``inner`` apart, up to each of them."""
    _cumulate(x, out, count, inner, exclusive, reverse, x.dtype.type(1), _multiply)


@helper
def _add(a, b):
    return a + b


@helper
def _multiply(a, b):
    return a * b


@helper
def _cumulate(x, out, count, inner, exclusive, reverse, neutral, combine):
    for block in range(0, x.size, max(count * inner, 1)):
        first, step = block, inner
        if reverse:
            first, step = block + (count - 1) * inner, -inner
        source = first if exclusive else first + step
        if inner == 1:
            total = neutral if exclusive else x[first]
            out[first] = total
            for k in range(count - 1):
                total = combine(total, x[source + k * step])
                out[first + (k + 1) * step] = total
        else:
            row = out[first : first + inner]
            row[:] = neutral
            if not exclusive:
                row[:] = x[first : first + inner]
            for k in range(count - 1):
                start = first + (k + 1) * step
                added, result = x[source + k * step :][:inner], out[start : start + inner]
                for j in range(inner):
                    result[j] = combine(row[j], added[j])
                row = result
