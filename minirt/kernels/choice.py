"""The choice between two arrays, element by element, for all types."""

from __future__ import annotations

import numpy as np

__all__ = ["choose"]


def choose(condition: np.ndarray, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """The element of ``x`` where ``condition`` is 1, that of ``y`` where it is 0.

    All are storage arrays, which are broadcast; ``out`` shares no memory with the others.
    """
    if out.dtype.hasobject:
        np.copyto(out, y)
        np.copyto(out, x, where=condition.view(np.bool_))
        return
    # By bits: what copies where a condition holds takes ten times as long.
    if out.itemsize > 8:
        condition, x, y, out = (a.reshape(*a.shape, 1) for a in (condition, x, y, out))
    word = np.dtype(f"u{min(out.itemsize, 8)}")
    x, y, out = x.view(word), y.view(word), out.view(word)
    mask = np.negative(condition, dtype=word)
    np.bitwise_xor(np.bitwise_and(x ^ y, mask), y, out=out)
