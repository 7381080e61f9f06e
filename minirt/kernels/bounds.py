"""Indices held against their bounds, and :func:`take`, which does so as cheaply as may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import ExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["check_indices", "out_of_range", "take"]

#: Up to so many elements NumPy's own check is cheaper, though it writes through a copy.
_SMALL = 4096


def take(axis: int, size: int, count: int) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """``run(data, indices, out)``, which copies the entries along ``axis`` that indices name.

    ``size`` is how many there are, and ``count`` the elements of ``out``. Negative indices
    count from the back; one that is not there is an ExecutionError.
    """

    def run_small(data: np.ndarray, indices: np.ndarray, out: np.ndarray) -> None:
        try:
            data.take(indices, axis, out)
        except IndexError:
            raise out_of_range("indices", indices, -size, size - 1) from None

    def run(data: np.ndarray, indices: np.ndarray, out: np.ndarray) -> None:
        check_indices("indices", indices, -size, size - 1)
        data.take(indices, axis, out, "wrap")

    # An output without elements NumPy does not check at all.
    return run_small if 0 < count <= _SMALL else run


def check_indices(name: str, indices: np.ndarray, low: int, high: int) -> None:
    """Raise ExecutionError unless all ``indices``, an array of integers, are in [low, high]."""
    if indices.size and (indices.min() < low or indices.max() > high):
        raise out_of_range(name, indices, low, high)


def out_of_range(
    name: str, indices: np.ndarray, low: int | np.ndarray, high: int | np.ndarray
) -> ExecutionError:
    """The error for the first of ``indices`` that is not in [low, high], of which there is one.

    The bounds may be arrays that are broadcast to the shape of ``indices``.
    ``"indices[1,0] = 7 is not in [-3, 2]"``
    """
    bad = np.flatnonzero((indices < low) | (indices > high))
    place = tuple(map(int, np.unravel_index(bad[0], indices.shape)))
    lowest, highest = (int(np.broadcast_to(bound, indices.shape)[place]) for bound in (low, high))
    where = f"[{','.join(map(str, place))}]" if place else ""
    allowed = (
        f"is not in [{lowest}, {highest}]"
        if lowest <= highest
        else "names nothing: the axis is empty"
    )
    return ExecutionError(f"{name}{where} = {int(indices[place])} {allowed}")
