"""LabelEncoder: a table from keys to values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["encode"]


def encode(
    keys: np.ndarray, values: np.ndarray, default: np.ndarray
) -> Callable[[np.ndarray, np.ndarray], None]:
    """``run(x, out)``: for each of ``x`` the value of the last key that equals it.

    ``default``, 0-d, where there is none. NaN equals NaN.
    """
    find = _finder_of_texts(keys) if keys.dtype.hasobject else _finder(keys)

    def run(x: np.ndarray, out: np.ndarray) -> None:
        out[...] = default
        places = find(x.reshape(-1))
        there = np.flatnonzero(places >= 0)
        out.reshape(-1)[there] = values[places[there]]

    return run


def _finder_of_texts(keys: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Gives the index of the key for each element, -1 where there is none."""
    places = {key: place for place, key in enumerate(keys.tolist())}
    return lambda x: np.array([places.get(text, -1) for text in x.tolist()], np.int64)


def _finder(keys: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """As :func:`_finder_of_texts`, for numbers."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]

    def find(x: np.ndarray) -> np.ndarray:
        if not keys.size:
            return np.full(x.size, -1)
        # The last of those that are not greater; NaN counts as the greatest.
        nearest = np.searchsorted(ordered, x, side="right") - 1
        same = ordered[nearest] == x
        if x.dtype.kind == "f":
            same |= np.isnan(ordered[nearest]) & np.isnan(x)
        return np.where(same, order[nearest], -1)

    return find
