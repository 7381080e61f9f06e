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
    run = cumulate_lines.bind(kind, kind, count, inner, exclusive, reverse, multiply, size=1)
    return lambda x, out: run(x.view(kind), out.view(kind))


@helper
def _combined(a, b, multiply):
    return a * b if multiply else a + b


@kernel(whole=("x", "out"))
def cumulate_lines(x, out, count, inner, exclusive, reverse, multiply):
    """Sums, or products, of ``count`` elements, ``inner`` apart, up to each of them."""
    neutral = x.dtype.type(1 if multiply else 0)
    for block in range(0, x.size, max(count * inner, 1)):
        first, step = block, inner
        if reverse:
            first, step = block + (count - 1) * inner, -inner
        source = first if exclusive else first + step
        if inner == 1:
            total = neutral if exclusive else x[first]
            out[first] = total
            for k in range(count - 1):
                total = _combined(total, x[source + k * step], multiply)
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
                    result[j] = _combined(row[j], added[j], multiply)
                row = result
