"""The choice between two arrays, element by element: by their bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..jit import kernel
from ..jit.lanes import select

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["chooser"]


@kernel
def choose(condition, x, y, out):
    """out[i] = x[i] where condition[i] is not 0, else y[i]."""
    for i in range(out.size):
        out[i] = select(condition[i] != 0, x[i], y[i])


def chooser(
    dtype: np.dtype, size: int, threads: int | None = None
) -> Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]:
    """``run(condition, x, y, out)``: of x where the condition is 1, of y where it is 0.

    All are storage arrays, of numbers, which are broadcast to the ``size`` elements of ``out``.
    """
    word, words = np.dtype(f"u{min(dtype.itemsize, 8)}"), -(-dtype.itemsize // 8)
    bound = choose.bind(np.dtype("u1"), word, word, word, size=size * words, threads=threads)

    def run(condition: np.ndarray, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        shape = (*out.shape, words)
        operands = (np.broadcast_to(_words(a), shape) for a in (condition, x, y))
        # A broadcast array of one element would still be flat without a copy.
        flat = (np.ascontiguousarray(a).reshape(-1) for a in operands)
        bound(*flat, _words(out).reshape(-1))

    return run


def _words(array: np.ndarray) -> np.ndarray:
    """The same memory as unsigned integers of at most 64 bits, along an axis of their own."""
    return array.reshape(*array.shape, 1).view(f"u{min(array.itemsize, 8)}")
