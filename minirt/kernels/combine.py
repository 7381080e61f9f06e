"""Reductions of Scatter: rows combined with updates, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..jit import helper, kernel

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["combine_rows"]

_INT64 = np.dtype(np.int64)
#: To cut a row out of an array takes longer than to combine so many elements one by one.
_SHORT = 16


@helper
def computed(old, new, multiply):
    """The product, or the sum."""
    return old * new if multiply else old + new


@helper
def chosen(old, new, below):
    """The smaller, or the larger. NaN is either."""
    better = new < old if below else new > old
    return new if better or new != new else old


@kernel(whole=("out", "positions", "updates"))
def accumulate(out, positions, updates, row, multiply):
    """Add to each row of ``out`` at one of ``positions`` the next of ``updates``, or multiply."""
    for i in range(positions.size):
        to, at = positions[i] * row, i * row
        if row < _SHORT:
            for k in range(row):
                out[to + k] = computed(out[to + k], updates[at + k], multiply)
        else:
            old, new = out[to : to + row], updates[at : at + row]
            for k in range(row):
                old[k] = computed(old[k], new[k], multiply)


@kernel(whole=("out", "positions", "updates"))
def bound(out, positions, updates, row, below):
    """As :func:`accumulate`, the larger of both, or the smaller."""
    for i in range(positions.size):
        to, at = positions[i] * row, i * row
        if row < _SHORT:
            for k in range(row):
                out[to + k] = chosen(out[to + k], updates[at + k], below)
        else:
            old, new = out[to : to + row], updates[at : at + row]
            for k in range(row):
                old[k] = chosen(old[k], new[k], below)


def combine_rows(
    reduction: str, dtype: np.dtype, row: int
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """``run(out, positions, updates)`` on flat arrays of numbers, in rows of ``row``.

    ``reduction`` is add, mul, max or min. Integers wrap around.
    """
    combine, other = (accumulate, "mul") if reduction in ("add", "mul") else (bound, "min")
    run: Callable[..., None] = combine.bind(dtype, _INT64, dtype, row, reduction == other, size=0)
    return run
