"""Reductions of arrays of numbers along axes.

A :data:`Reduction` makes ``run(x, out)`` for arrays ``x`` of a type and shape; ``out`` has one
element along each of the axes. Of no elements comes the neutral one. Integers wrap around.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from .. import kernels
from ..dtypes import BY_NAME

__all__ = [
    "Find",
    "Reduction",
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
    "store",
    "sums",
    "sums_of_squares",
]

Run = Callable[[np.ndarray, np.ndarray], None]
#: ``reduction(dtype, shape, axes)``
Reduction = Callable[[np.dtype, Sequence[int], tuple[int, ...]], Run]
#: ``find(x, axis)``: the indices along ``axis``, which is kept, of the first such elements.
Find = Callable[[np.ndarray, int], np.ndarray]

_quiet = np.errstate(all="ignore")


def sums(dtype: np.dtype, shape: Sequence[int], axes: tuple[int, ...], count: int = 1) -> Run:
    """Sums; those of floats are divided by ``count``."""
    if dtype.kind == "f":
        return _fold("sum", dtype, shape, axes, count)
    return _by_ufunc(np.add, dtype, axes)


def products(dtype: np.dtype, shape: Sequence[int], axes: tuple[int, ...]) -> Run:
    """Products."""
    if dtype.kind == "f":
        return _fold("product", dtype, shape, axes)
    return _by_ufunc(np.multiply, dtype, axes)


def maxima(dtype: np.dtype, shape: Sequence[int], axes: tuple[int, ...]) -> Run:
    """The largest, NaN if there is one; of nothing, the lowest value that there is."""
    if not prod(shape):
        return lambda x, out: out.fill(_limits(dtype)[0])
    if dtype.kind == "f":
        return _fold("largest", dtype, shape, axes)
    return _by_ufunc(np.maximum, dtype, axes)


def minima(dtype: np.dtype, shape: Sequence[int], axes: tuple[int, ...]) -> Run:
    """The smallest, NaN if there is one; of nothing, the highest value that there is."""
    if not prod(shape):
        return lambda x, out: out.fill(_limits(dtype)[1])
    if dtype.kind == "f":
        return _fold("smallest", dtype, shape, axes)
    return _by_ufunc(np.minimum, dtype, axes)


def _fold(
    name: str, dtype: np.dtype, shape: Sequence[int], axes: tuple[int, ...], count: int = 1
) -> Run:
    run = kernels.fold(name, dtype, shape, axes, count)
    return lambda x, out: run(x.reshape(-1), out.reshape(-1))


def _by_ufunc(combine: np.ufunc, dtype: np.dtype, axes: tuple[int, ...]) -> Run:
    @_quiet
    def run(x: np.ndarray, out: np.ndarray) -> None:
        combine.reduce(x, axes, dtype, out, keepdims=True)

    return run


def _limits(dtype: np.dtype) -> tuple[float, float]:
    if dtype.kind == "b":
        return False, True
    if dtype.kind == "f":
        return -np.inf, np.inf
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def means(dtype: np.dtype, shape: Sequence[int], axes: tuple[int, ...]) -> Run:
    """Sums divided by how many there are; for integers, towards zero and without overflow."""
    count = prod(shape[axis] for axis in axes)
    if dtype.kind == "f":
        return sums(dtype, shape, axes, count)
    wide = np.dtype(f"{dtype.kind}8")

    def run(x: np.ndarray, out: np.ndarray) -> None:
        total = np.add.reduce(x, axes, wide, keepdims=True)
        np.copyto(out, (total - np.fmod(total, count)) // count, casting="unsafe")

    return run


def l1_norms(dtype: np.dtype, shape: Sequence[int], axes: tuple[int, ...]) -> Run:
    """Sums of absolute values."""
    add = sums(dtype, shape, axes)
    return lambda x, out: add(np.abs(x), out)


def sums_of_squares(dtype: np.dtype, shape: Sequence[int], axes: tuple[int, ...]) -> Run:
    """Sums of squares."""
    add, square = sums(dtype, shape, axes), _quiet(np.square)
    return lambda x, out: add(square(x), out)


def l2_norms(dtype: np.dtype, shape: Sequence[int], axes: tuple[int, ...]) -> Run:
    """Square roots of the sums of squares, which for integers are sums of float64."""
    real = dtype if dtype.kind == "f" else np.dtype(np.float64)
    add = sums_of_squares(real, shape, axes)

    def run(x: np.ndarray, out: np.ndarray) -> None:
        total = np.empty(out.shape, real)
        add(x.astype(real, copy=False), total)
        store(np.sqrt(total), out)

    return run


def log_sums(dtype: np.dtype, shape: Sequence[int], axes: tuple[int, ...]) -> Run:
    """Logarithms of sums."""
    add = sums(dtype, shape, axes)

    @_quiet
    def run(x: np.ndarray, out: np.ndarray) -> None:
        total = np.empty(out.shape, dtype)
        add(x, total)
        store(np.log(_as_floats(total)), out)

    return run


def log_sum_exps(dtype: np.dtype, shape: Sequence[int], axes: tuple[int, ...]) -> Run:
    """Logarithms of the sums of exponentials, in float64, and without overflow."""
    add = sums(np.dtype(np.float64), shape, axes)

    @_quiet
    def run(x: np.ndarray, out: np.ndarray) -> None:
        largest = np.maximum.reduce(x, axes, dtype, keepdims=True, initial=_limits(dtype)[0])
        largest = np.where(np.isfinite(largest), largest, 0).astype(np.float64)
        total = np.empty(out.shape)
        add(np.exp(x - largest), total)
        store(np.log(total) + largest, out)

    return run


def _as_floats(x: np.ndarray) -> np.ndarray:
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def store(result: np.ndarray, out: np.ndarray) -> None:
    """Write floats, which become integers as Cast makes them of float64."""
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
