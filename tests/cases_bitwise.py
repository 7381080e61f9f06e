"""Bits of integers."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
from cases import Case
from elementwise_rows import allowed, in_float64, integers, pairs, rows

from minirt.errors import SchemaError


def shift(x: Any, y: Any, direction: str) -> Any:
    """Python's integers have bits without end: nothing is left of too many places."""
    left = direction == "LEFT"

    def one(x: int, y: int) -> int:
        y = y if 0 <= y < 64 else 64
        return x << y if left else x >> y

    return np.vectorize(one, otypes=[object])(x, y)


def shifts() -> Iterator[Case]:
    for opset in (11, 28):
        for dtype in allowed("BitShift", opset):
            bits = dtype.itemsize * 8
            y = np.array([0, 1, 2, bits - 1, bits, bits + 1, 100]).astype(dtype)
            y = np.concatenate([y, -y[1:]]) if dtype.kind == "i" else y
            for direction in ("LEFT", "RIGHT"):
                x = (integers(dtype)[:, None], y)
                yield Case("BitShift", x, in_float64(shift), {"direction": direction}, opset=opset)
    x = np.uint8([1, 2, 200])
    for direction in ("LEFT", "RIGHT"):
        attributes = {"direction": direction}
        yield Case("BitShift", (x, x), in_float64(shift), attributes, elementwise=True)
    wrong = (SchemaError, "direction='left' is neither 'LEFT' nor 'RIGHT'")
    yield Case("BitShift", (x, x), attributes={"direction": "left"}, raises=wrong)


CASES = [
    *rows("BitwiseAnd", in_float64(operator.and_), pairs),
    *rows("BitwiseOr", in_float64(operator.or_), pairs),
    *rows("BitwiseXor", in_float64(operator.xor), pairs),
    *rows("BitwiseNot", in_float64(operator.invert), lambda d: (integers(d),), elementwise=True),
    *shifts(),
]
