"""Trigonometric and hyperbolic functions."""

from __future__ import annotations

import numpy as np
from cases import Case
from elementwise_rows import in_float64, rows, spaced


def around(limit: float, offset: float = 0.0):
    """Inputs on both sides of 0, or of ``offset``, with what is special."""

    def inputs(dtype: np.dtype) -> tuple[np.ndarray]:
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-3, 2e-5]
        return (np.array([*special, *(spaced(40, limit) + offset)]).astype(dtype),)

    return inputs


FUNCTIONS = {
    "Sin": (np.sin, 30.0),
    "Cos": (np.cos, 30.0),
    "Tan": (np.tan, 30.0),
    "Asin": (np.arcsin, 1.2),
    "Acos": (np.arccos, 1.2),
    "Atan": (np.arctan, 20.0),
    "Sinh": (np.sinh, 8.0),
    "Cosh": (np.cosh, 8.0),
    "Tanh": (np.tanh, 4.0),
    "Asinh": (np.arcsinh, 50.0),
    "Acosh": (np.arccosh, 50.0),
    "Atanh": (np.arctanh, 1.2),
}

CASES: list[Case] = [
    row
    for op, (function, limit) in FUNCTIONS.items()
    for row in rows(op, in_float64(function), around(limit), ulp=4, narrow_ulp=1, elementwise=True)
]
