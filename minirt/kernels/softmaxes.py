"""Softmax, LogSoftmax and Hardmax of arrays of numbers, made of NumPy functions.

Each works along the middle one of three dimensions, and may write to what it reads.
"""

from __future__ import annotations

import numpy as np

__all__ = ["hardmax", "log_softmax", "softmax"]

_quiet = np.errstate(all="ignore")


@_quiet
def softmax(x: np.ndarray, out: np.ndarray) -> None:
    """exp(x) divided by its sum. Infinities beside finite numbers count as in the formula:
    +Inf makes NaN, -Inf makes 0."""
    if x.size:
        np.subtract(x, np.maximum.reduce(x, 1, keepdims=True), out)
        np.exp(out, out)
        np.divide(out, np.add.reduce(out, 1, keepdims=True), out)


@_quiet
def log_softmax(x: np.ndarray, out: np.ndarray) -> None:
    """x less the logarithm of the sum of exp(x)."""
    if x.size:
        np.subtract(x, np.maximum.reduce(x, 1, keepdims=True), out)
        total = np.add.reduce(np.exp(out), 1, keepdims=True)
        np.subtract(out, np.log(total), out)


def hardmax(x: np.ndarray, out: np.ndarray) -> None:
    """1 for the first of the largest, 0 for all others."""
    if x.size:
        first = np.argmax(x, 1, keepdims=True)
        out.fill(0)
        np.put_along_axis(out, first, 1, 1)
