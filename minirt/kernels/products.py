"""Products of matrices of numbers: BLAS where there is one for the type, else loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import kernels
from .blas import alone, multiply_floats
from .reductions import store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Multiply = Callable[[np.ndarray, np.ndarray, np.ndarray], None]

__all__ = [
    "centered",
    "determinants",
    "gemm",
    "matmul",
    "matmul_quantized",
]

_quiet = np.errstate(all="ignore")


def matmul(dtype: np.dtype) -> Multiply:
    """``run(a, b, y)``: y = a b, as ``numpy.matmul``; integers wrap around."""
    return multiply_floats() if dtype.kind == "f" else kernels.multiply_integers(dtype)


def gemm(dtype: np.dtype, alpha: float, beta: float) -> Callable[..., None]:
    """``run(a, b, c, y)``: y = alpha a b + beta c, without c if that is None.

    Integers wrap around if alpha and beta are whole numbers; else the result is cut off.
    """
    multiply = matmul(dtype)

    def run(a: np.ndarray, b: np.ndarray, c: np.ndarray | None, y: np.ndarray) -> None:
        multiply(a, b, y)
        _combine(y, c, alpha, beta)

    return run


@_quiet
def _combine(y: np.ndarray, c: np.ndarray | None, alpha: float, beta: float) -> None:
    """y = alpha y + beta c"""
    if y.dtype.kind == "f":
        if alpha != 1:
            np.multiply(y, y.dtype.type(alpha), y)
        if c is not None and beta != 0:
            np.add(y, c if beta == 1 else c * y.dtype.type(beta), y)
    elif alpha.is_integer() and beta.is_integer():
        np.multiply(y, _wrapped(alpha, y.dtype), y)
        if c is not None:
            np.add(y, c * _wrapped(beta, y.dtype), y)
    else:
        store(alpha * y + (0 if c is None else beta * c), y)


def _wrapped(factor: float, dtype: np.dtype) -> np.ndarray:
    """A whole number as an integer of ``dtype``, of which it keeps the low bits."""
    return np.array([int(factor) & 0xFFFF_FFFF_FFFF_FFFF], np.uint64).astype(dtype)


def centered(x: np.ndarray, zero: np.ndarray | None, shape: tuple[Any, ...]) -> np.ndarray:
    """``x`` less its zero point, which has ``shape``, exactly: bytes as int16."""
    kind = np.float64 if x.dtype.kind == "f" else np.int16
    exact: np.ndarray = x.astype(kind)
    if zero is not None:
        np.subtract(exact, zero.reshape(shape).astype(kind), exact)
    return exact


def matmul_quantized(dtype: np.dtype) -> Callable[..., None]:
    """``run(a, b, scales, zero, y)``, for :func:`centered` a and b, and y of ``dtype``.

    y = a b times the scales of a and b, divided by that of y, plus the zero point of y.
    """
    limits = np.iinfo(dtype) if dtype.kind != "f" else None
    multiply_short, multiply_doubles = kernels.multiply_short(), multiply_floats()

    @_quiet
    def run(
        a: np.ndarray, b: np.ndarray, scales: Sequence[np.ndarray], zero: np.ndarray, y: np.ndarray
    ) -> None:
        if "f" in (a.dtype.kind, b.dtype.kind) or a.shape[-1] > _DEEP:
            total = np.empty(y.shape)
            multiply_doubles(a.astype(np.float64), b.astype(np.float64), total)
        else:
            sums = np.empty(y.shape, np.int32)
            multiply_short(a, b, sums)
            total = sums.astype(np.float64)
        a_scale, b_scale, y_scale = (scale.astype(np.float64) for scale in scales)
        total *= a_scale * b_scale
        total /= y_scale
        if limits is not None:
            np.rint(total, total)
        total += zero
        y[...] = total if limits is None else np.clip(total, limits.min, limits.max)

    return run


#: So many products of integers of 9 bits have a sum of 32 bits.
_DEEP = 1 << 15


@_quiet
def determinants(x: np.ndarray, y: np.ndarray) -> None:
    """The determinants of square matrices, computed in float64."""
    with alone():
        y[...] = np.linalg.det(x.astype(np.float64))
