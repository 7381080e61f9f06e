"""Trigonometric and hyperbolic functions.

https://onnx.ai/onnx/operators/
"""

from __future__ import annotations

import numpy as np

from .elementwise import scalar, unary

for _name, _function in (
    ("Sin", np.sin),
    ("Cos", np.cos),
    ("Tan", np.tan),
    ("Asin", np.arcsin),
    ("Acos", np.arccos),
    ("Atan", np.arctan),
    ("Sinh", np.sinh),
    ("Cosh", np.cosh),
    ("Asinh", np.arcsinh),
    ("Acosh", np.arccosh),
    ("Atanh", np.arctanh),
):
    unary(_name, _function, operand="input")

scalar("Tanh", "tanh", operand="input")
