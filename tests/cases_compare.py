"""Comparison, logic, and the choice between two tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
from cases import Case
from elementwise_rows import BFLOAT16, allowed, pairs, rows, samples

from minirt.errors import SchemaError, ShapeError

COMPARISONS = {
    "Equal": operator.eq,
    "Less": operator.lt,
    "Greater": operator.gt,
    "LessOrEqual": operator.le,
    "GreaterOrEqual": operator.ge,
    "And": operator.and_,
    "Or": operator.or_,
    "Xor": operator.ne,
}
#: Those of which opset 1 broadcasts as it then did.
OLD = ("Equal", "Less", "Greater", "And", "Or", "Xor")


def by_element(function: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    """``function`` of Python's values; floats are exact as float64."""

    def oracle(a: np.ndarray, b: np.ndarray, **_: Any) -> np.ndarray:
        if a.dtype == BFLOAT16:
            a, b = a.astype(np.float32), b.astype(np.float32)
        a, b = np.broadcast_arrays(a, b)
        flat = [bool(function(p, q)) for p, q in zip(a.reshape(-1), b.reshape(-1), strict=True)]
        return np.array(flat, bool).reshape(a.shape)

    return oracle


def comparisons() -> Iterator[Case]:
    for op, function in COMPARISONS.items():
        yield from rows(op, by_element(function), oldest=7)
        dtype = bool if op in ("And", "Or", "Xor") else np.int64
        a = (np.arange(24).reshape(2, 3, 4) % 5).astype(dtype)
        yield Case(op, (a, a[..., ::-1]), by_element(function), elementwise=True)
        yield Case(op, (a, a[:, :1]), by_element(function))
        yield Case(op, (a[0, 0], a), by_element(function))
        yield Case(op, (a, a[0, :, 0]), raises=(ShapeError, "cannot be broadcast together"))
    for op in OLD:
        dtype = allowed(op, 1)[0]
        a = (np.arange(24).reshape(2, 3, 4) % 5).astype(dtype)

        def oracle(a: Any, b: Any, op: str = op, **_: Any) -> Any:
            return by_element(COMPARISONS[op])(a, b[:, None] if b.ndim else b)

        yield Case(op, (a, a[..., ::-1].copy()), by_element(COMPARISONS[op]), opset=1)
        yield Case(op, (a, a[1, :, 0]), oracle, {"broadcast": 1, "axis": 1}, opset=1)
        yield Case(op, (a, a[1, 1, 1].reshape(())), oracle, {"broadcast": 1}, opset=1)
        yield Case(op, (a, a[0]), opset=1, raises=(ShapeError, "nothing is broadcast"))


# Infinities and NaN


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, **attributes: function(x.astype(np.float64), **attributes)


def is_inf(x: Any, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    return ((x == np.inf) & bool(detect_positive)) | ((x == -np.inf) & bool(detect_negative))


def every_code(dtype: np.dtype) -> tuple[np.ndarray]:
    """All values of a type of 8 bits, samples of others."""
    if dtype.itemsize > 1:
        return (samples(dtype),)
    return (np.arange(256, dtype=np.uint8).view(dtype),)


def infinities() -> Iterator[Case]:
    yield from rows("IsNaN", in_float32(np.isnan), every_code, elementwise=True)
    yield from rows("IsInf", in_float32(is_inf), every_code, elementwise=True)
    for negative, positive in ((0, 1), (1, 0), (0, 0), (1, 1)):
        attributes = {"detect_negative": negative, "detect_positive": positive}
        for dtype in (np.float32, np.float16, ml_dtypes.float8_e5m2):
            x = every_code(np.dtype(dtype))
            yield Case("IsInf", x, in_float32(is_inf), attributes, elementwise=True)
    wrong = (SchemaError, "detect_positive=2 is neither 0 nor 1")
    x = samples(np.dtype(np.float32))
    yield Case("IsInf", (x,), attributes={"detect_positive": 2}, raises=wrong)


# Choice


def where() -> Iterator[Case]:
    """Every type, moved bit by bit; NaN keeps what it carries."""
    for opset in (9, 16):
        for dtype in allowed("Where", opset, 1):
            x, y = pairs(dtype)
            condition = np.arange(x.size * y.size).reshape(x.size, y.size) % 3 == 1
            yield Case("Where", (condition, x, y), choose, opset=opset, id=str(dtype))
    condition, x = np.array([True, False, True]), np.float32([[1, 2, 3], [4, 5, 6]])
    yield Case("Where", (condition, x[0], -x[0]), choose, elementwise=True)
    yield Case("Where", (condition, x, np.float32(0).reshape(())), choose)
    yield Case("Where", (condition[:1].reshape(()), x, x[1]), choose)
    yield Case("Where", (condition[:, None], x[0], x[1, :1]), choose)
    yield Case("Where", (condition, x[0], x[0]), x[0])
    text = "bool[3], float[2], float[3] cannot be broadcast together"
    yield Case("Where", (condition, x[:, 0], x[0]), raises=(ShapeError, text))


def choose(condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    condition, x, y = np.broadcast_arrays(condition, x, y)
    chosen = [
        p if c else q
        for c, p, q in zip(condition.reshape(-1), x.reshape(-1), y.reshape(-1), strict=True)
    ]
    return np.array(chosen, x.dtype).reshape(x.shape)


CASES = [
    *comparisons(),
    *rows("Not", operator.invert, lambda dtype: (samples(dtype),), elementwise=True),
    *infinities(),
    *where(),
]
