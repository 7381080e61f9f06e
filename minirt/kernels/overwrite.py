"""Tensors of which a part is overwritten, perhaps in their own memory."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from .bounds import check_indices

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["begin", "write_cache"]


def begin(data: np.ndarray, updates: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Make ``out`` equal to ``data``, whose memory it may have; return updates to write there.

    They have memory of their own: what is written changes none that is still to be read.
    """
    if not np.may_share_memory(data, out):
        np.copyto(out, data)
    return updates.copy() if np.may_share_memory(updates, out) else updates


def write_cache(
    sizes: tuple[int, ...], count: int, axis: int, circular: bool
) -> Callable[[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray], None]:
    """``run(cache, update, starts, out)``: the cache with ``count`` entries of the update.

    ``sizes`` is the shape of the cache. ``starts`` are, for each entry along the first axis,
    where to begin along ``axis``; None stands for zeros. What goes past the end is an
    ExecutionError, or if ``circular`` goes to the beginning.
    """
    batch, length = sizes[0], sizes[axis]
    before, after = prod(sizes[1:axis]), prod(sizes[axis + 1 :])

    def run(
        cache: np.ndarray, update: np.ndarray, starts: np.ndarray | None, out: np.ndarray
    ) -> None:
        starts = np.zeros(batch, np.int64) if starts is None else starts
        if circular:
            starts = starts % max(length, 1)
        else:
            check_indices("write_indices", starts, 0, length - count)
        source = begin(cache, update, out).reshape(batch, before, count, after)
        target = out.reshape(batch, before, length, after)
        for entry, start in enumerate(starts.tolist()):
            fitting = min(count, length - start)
            target[entry, :, start : start + fitting] = source[entry, :, :fitting]
            target[entry, :, : count - fitting] = source[entry, :, fitting:]

    return run
