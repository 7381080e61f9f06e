"""Bits of integers, element by element.

https://onnx.ai/onnx/operators/
"""

from __future__ import annotations

import numpy as np

from ..errors import SchemaError
from .elementwise import binary, broadcasting, unary
from .registry import op

binary("BitwiseAnd", np.bitwise_and)
binary("BitwiseOr", np.bitwise_or)
binary("BitwiseXor", np.bitwise_xor)
unary("BitwiseNot", np.invert)

_SHIFTS = {"LEFT": np.left_shift, "RIGHT": np.right_shift}


@op("BitShift", inplace=("X", "Y"))
def bit_shift(X, Y, *, direction):
    """The bits of ``X``, moved by ``Y`` places: negative, or too many, they move all out."""
    if direction not in _SHIFTS:
        raise SchemaError(f"direction={direction!r} is neither 'LEFT' nor 'RIGHT'")
    return broadcasting(_SHIFTS[direction], X, Y)
