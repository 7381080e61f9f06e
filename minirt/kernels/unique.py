"""The different elements of a tensor, or different parts along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import kernels
from ..dtypes import BY_NAME, DType, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    Groups = tuple[np.ndarray, np.ndarray, np.ndarray]

__all__ = ["unique"]


def unique(
    dtype: DType, size: int, axis: int | None, in_order: bool
) -> Callable[[np.ndarray], tuple[np.ndarray, ...]]:
    """``run(x)`` for ``size`` elements in storage: the different ones, and three int64 arrays.

    These are where each first occurs; which each element or part of ``x`` is; and how often
    each occurs. Not ``in_order`` they stand as they first occur. NaN equals NaN, 0 equals -0.
    """

    comparable = _comparable(dtype, size)

    def run(x: np.ndarray) -> tuple[np.ndarray, ...]:
        keys = comparable(x)
        if axis is None:
            x = x.reshape(-1)
            groups = _groups(keys.reshape(-1))
        else:
            groups = _groups(_rows(np.moveaxis(keys, axis, 0)))
        first, which, counts = groups if in_order else _as_they_occur(*groups)
        return x.take(first, axis or 0), first, which, counts

    return run


def _comparable(dtype: DType, size: int) -> Callable[[np.ndarray], np.ndarray]:
    """Shows ``size`` elements in a type that NumPy orders as numbers, NaN last."""
    if dtype.kind is Kind.COMPLEX:  # NumPy orders NaNs by the part that is one
        return lambda x: np.where(np.isnan(x), x.dtype.type(complex("nan+nanj")), x)
    if not dtype.is_float or dtype.bits >= 32:
        return lambda x: x
    convert = kernels.convert(dtype, BY_NAME["float"], size, saturate=True, round_mode="up")

    def numbers(x: np.ndarray) -> np.ndarray:
        result = np.empty(x.shape, np.float32)
        convert(x.reshape(-1), result.reshape(-1))
        return result

    return numbers


def _groups(keys: np.ndarray) -> Groups:
    """For each different one of ``keys``, in order: where it is first, and its count.

    In between, for each key which one it is.
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.ones(keys.size, np.bool_)
    same = ordered[1:] == ordered[:-1]
    if keys.dtype.kind in "fc":
        same |= np.isnan(ordered[1:]) & np.isnan(ordered[:-1])
    np.logical_not(same, out=starts[1:])
    which = np.empty(keys.size, np.int64)
    which[order] = np.cumsum(starts) - 1
    at = np.flatnonzero(starts)
    return order[at], which, np.diff(at, append=keys.size)


def _rows(keys: np.ndarray) -> np.ndarray:
    """A key for each entry along the first axis, which compares as its elements do in turn.

    Made of their ranks, as bytes: so it makes no difference what type they have.
    """
    ranks = _groups(keys.reshape(-1))[1].reshape(len(keys), keys[:1].size)
    if not ranks.shape[1]:
        return np.zeros(len(keys), np.int64)  # nothing in them differs
    return np.ascontiguousarray(ranks, ">i8").view(f"V{8 * ranks.shape[1]}").reshape(-1)


def _as_they_occur(first: np.ndarray, which: np.ndarray, counts: np.ndarray) -> Groups:
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return first[order], place[which], counts[order]
