"""The different elements of a tensor, or different parts along an axis."""

from __future__ import annotations

from math import prod
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
        along = x.reshape(-1) if axis is None else x
        keys = np.moveaxis(comparable(along), axis or 0, -1)
        groups = _groups(keys.reshape(prod(keys.shape[:-1]), keys.shape[-1]))
        first, which, counts = groups if in_order else _as_they_occur(*groups)
        return along.take(first, axis or 0), first, which, counts

    return run


def _comparable(dtype: DType, size: int) -> Callable[[np.ndarray], np.ndarray]:
    """Shows ``size`` elements in a type that NumPy orders as numbers, NaN last."""
    if dtype.kind is Kind.STRING:
        return _ranks
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


def _ranks(texts: np.ndarray) -> np.ndarray:
    """For each text how many others come before it, as the shortest integers."""
    items = texts.reshape(-1).tolist()
    ranks = {text: rank for rank, text in enumerate(sorted(set(items)))}
    number = np.min_scalar_type(len(ranks))  # those of 16 bits are sorted 20 times as fast
    return np.array([ranks[text] for text in items], number).reshape(texts.shape)


def _groups(keys: np.ndarray) -> Groups:
    """For each different column of ``keys``, in order: where it is first, and its count.

    In between, for each column which one it is. Columns are compared from the top.
    """
    count = keys.shape[1]
    order = np.lexsort(keys[::-1]) if len(keys) else np.arange(count)
    ordered = keys[:, order]
    after, before = ordered[:, 1:], ordered[:, :-1]
    same = after == before
    if keys.dtype.kind in "fc":
        same |= np.isnan(after) & np.isnan(before)
    starts = np.ones(count, np.bool_)
    np.logical_not(same.all(axis=0), out=starts[1:])
    which = np.empty(count, np.int64)
    which[order] = np.cumsum(starts) - 1
    at = np.flatnonzero(starts)
    return order[at], which, np.diff(at, append=count)


def _as_they_occur(first: np.ndarray, which: np.ndarray, counts: np.ndarray) -> Groups:
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return first[order], place[which], counts[order]
