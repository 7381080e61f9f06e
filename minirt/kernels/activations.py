"""Activations of more than one number, and of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arithmetic import choose, store

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["integer_erf", "integer_shrink", "prelu"]


def prelu(x: np.ndarray, slope: np.ndarray, out: np.ndarray) -> None:
    """x, or slope x where it is negative."""
    choose(np.less(x, 0).view(np.uint8), slope * x, x, out)


def integer_erf(x: np.ndarray, out: np.ndarray) -> None:
    """The error function, cut towards zero: from 6 on it is 1, as float64 has it."""
    np.subtract(x >= 6, x <= -6, dtype=out.dtype, out=out)


def integer_shrink(bias: float, lambd: float) -> Callable[[np.ndarray, np.ndarray], None]:
    """x + bias below -lambd, x - bias above lambd, else 0, with the bias that Cast makes of it."""

    def run(x: np.ndarray, out: np.ndarray) -> None:
        step = np.empty((), x.dtype)
        store(np.array(bias), step)
        moved = np.where(x < -lambd, x + step, x - step)
        np.multiply(moved, (x < -lambd) | (x > lambd), out=out)

    return run
