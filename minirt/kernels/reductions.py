"""Reductions of arrays of numbers along axes, made of NumPy functions.

A :data:`Reduce` writes to ``out``, which has one element along each of ``axes``, what comes
of all elements along them; of none, the neutral element. Integers wrap around.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from .. import kernels
from ..dtypes import BY_NAME

__all__ = [
    "Find",
    "Reduce",
    "first_largest",
    "first_smallest",
    "indices",
    "l1_norms",
    "l2_norms",
    "log_sum_exps",
    "log_sums",
    "maxima",
    "means",
    "minima",
    "products",
    "sums",
    "sums_of_squares",
]

#: ``reduce(x, axes, out)``
Reduce = Callable[[np.ndarray, tuple[int, ...], np.ndarray], None]
#: ``find(x, axis)``: the indices along ``axis``, which is kept, of the first such elements.
Find = Callable[[np.ndarray, int], np.ndarray]

_quiet = np.errstate(all="ignore")


@_quiet
def sums(x: np.ndarray, axes: tuple[int, ...], out: np.ndarray) -> None:
    """Sums."""
    np.add.reduce(x, axes, x.dtype, out, keepdims=True)


@_quiet
def products(x: np.ndarray, axes: tuple[int, ...], out: np.ndarray) -> None:
    """Products."""
    np.multiply.reduce(x, axes, x.dtype, out, keepdims=True)


@_quiet
def maxima(x: np.ndarray, axes: tuple[int, ...], out: np.ndarray) -> None:
    """The largest, NaN if there is one; of nothing, the lowest value that there is."""
    if x.size:
        np.maximum.reduce(x, axes, x.dtype, out, keepdims=True)
    else:
        out[...] = _limits(x.dtype)[0]


@_quiet
def minima(x: np.ndarray, axes: tuple[int, ...], out: np.ndarray) -> None:
    """The smallest, NaN if there is one; of nothing, the highest value that there is."""
    if x.size:
        np.minimum.reduce(x, axes, x.dtype, out, keepdims=True)
    else:
        out[...] = _limits(x.dtype)[1]


def _limits(dtype: np.dtype) -> tuple[float, float]:
    if dtype.kind == "b":
        return False, True
    if dtype.kind == "f":
        return -np.inf, np.inf
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


@_quiet
def means(x: np.ndarray, axes: tuple[int, ...], out: np.ndarray) -> None:
    """Sums divided by how many there are; for integers, towards zero and without overflow."""
    count = prod(x.shape[axis] for axis in axes)
    if x.dtype.kind == "f":
        sums(x, axes, out)
        np.divide(out, x.dtype.type(count), out)
    else:
        wide = np.dtype(f"{x.dtype.kind}8")
        total = np.add.reduce(x, axes, wide, keepdims=True)
        np.copyto(out, (total - np.fmod(total, count)) // max(count, 1), casting="unsafe")


def l1_norms(x: np.ndarray, axes: tuple[int, ...], out: np.ndarray) -> None:
    """Sums of absolute values."""
    sums(np.abs(x), axes, out)


@_quiet
def sums_of_squares(x: np.ndarray, axes: tuple[int, ...], out: np.ndarray) -> None:
    """Sums of squares."""
    sums(np.square(x), axes, out)


@_quiet
def l2_norms(x: np.ndarray, axes: tuple[int, ...], out: np.ndarray) -> None:
    """Square roots of the sums of squares, which for integers are sums of float64."""
    squares = np.square(_as_floats(x))
    roots = np.sqrt(np.add.reduce(squares, axes, keepdims=True))
    _store(roots, out)


@_quiet
def log_sums(x: np.ndarray, axes: tuple[int, ...], out: np.ndarray) -> None:
    """Logarithms of sums."""
    total = np.add.reduce(x, axes, x.dtype, keepdims=True)
    _store(np.log(_as_floats(total)), out)


@_quiet
def log_sum_exps(x: np.ndarray, axes: tuple[int, ...], out: np.ndarray) -> None:
    """Logarithms of the sums of exponentials, in float64, and without overflow."""
    largest = np.maximum.reduce(x, axes, x.dtype, keepdims=True, initial=_limits(x.dtype)[0])
    largest = np.where(np.isfinite(largest), largest, 0).astype(np.float64)
    total = np.add.reduce(np.exp(x - largest), axes, keepdims=True)
    _store(np.log(total) + largest, out)


def _as_floats(x: np.ndarray) -> np.ndarray:
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def _store(result: np.ndarray, out: np.ndarray) -> None:
    """Write floats, which become integers as Cast makes them."""
    if out.dtype.kind == "f":
        out[...] = result
        return
    src, dst = BY_NAME["double"], BY_NAME[out.dtype.name]
    convert = kernels.convert(src, dst, out.size, saturate=True, round_mode="up")
    convert(result.reshape(-1), out.reshape(-1))


def indices(find: Find, x: np.ndarray, axis: int, last: bool, out: np.ndarray) -> None:
    """Where along ``axis`` stands what ``find`` finds; the last one of equals if ``last``."""
    if not x.size:
        return
    if last:
        x = np.flip(x, axis)
    found = find(x, axis).reshape(out.shape)
    out[...] = x.shape[axis] - 1 - found if last else found


def first_largest(x: np.ndarray, axis: int) -> np.ndarray:
    """Where the first of the largest elements is; NaN is larger than any number."""
    found: np.ndarray = np.argmax(x, axis, keepdims=True)
    return found


def first_smallest(x: np.ndarray, axis: int) -> np.ndarray:
    """Where the first of the smallest elements is; NaN is smaller than any number."""
    found: np.ndarray = np.argmin(x, axis, keepdims=True)
    return found
