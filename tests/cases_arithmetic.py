"""Arithmetic and rounding, element by element; sums, means, limits."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from cases import Case
from elementwise_rows import BFLOAT16, allowed, in_float64, integers, rows, samples

from minirt.errors import SchemaError, ShapeError

F4 = np.float32
A = np.arange(24, dtype=F4).reshape(2, 3, 4) - 7
B = np.float32([1.5, -2.0, 4.0])


def per_element(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of Python's integers over arrays of them."""
    return np.vectorize(function, otypes=[object])


# Pairs


def quotient(a: Any, b: Any) -> Any:
    """Towards zero; what is divided by an integer zero is 0."""
    if a.dtype != object:
        return a / b
    return per_element(lambda a, b: int(Fraction(a, b)) if b else 0)(a, b)


PAIRS = {"Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Div": quotient}


def along(function: Any, axis: int | None) -> Any:
    """The oracle of an operator of opset 6, whose second operand lies from ``axis`` on."""

    def oracle(a: np.ndarray, b: np.ndarray, **_: Any) -> Any:
        if axis is not None:
            b = b.reshape(b.shape + (1,) * (a.ndim - axis - b.ndim))
        return in_float64(function)(a, b)

    return oracle


def old_broadcasting() -> Iterator[Case]:
    """Up to opset 6 the second operand is broadcast, if an attribute says so."""
    flag = {"broadcast": 1}
    for (op, function), opset in itertools.product(PAIRS.items(), (1, 6)):
        yield Case(op, (A, -A), along(function, None), opset=opset, elementwise=True)
        yield Case(op, (A, B), along(function, 1), {"axis": 1, **flag}, opset=opset)
        yield Case(op, (A, B), along(function, 1), {"axis": -2, **flag}, opset=opset)
        yield Case(op, (A, A[:, :, 0]), along(function, 0), {"axis": 0, **flag}, opset=opset)
        for b in (A[0], B[:1], B[0].reshape(()), B[:1].reshape(1, 1)):
            yield Case(op, (A, b), along(function, None), flag, opset=opset)
    for b, attributes, text in (
        (A[0], {}, "nothing is broadcast"),
        (B, flag, "float[3] cannot be broadcast to float[2,3,4]"),
        (B, {"axis": 3, **flag}, "float[3] cannot lie along float[2,3,4] from axis 3 on"),
        (B, {"axis": -4, **flag}, "from axis -4 on"),
        (np.stack([A, A]), flag, "float[2,2,3,4] cannot be broadcast to float[2,3,4]"),
    ):
        yield Case("Add", (A, b), attributes=attributes, opset=6, raises=(ShapeError, text))
    wrong = (SchemaError, "broadcast=2 is neither 0 nor 1")
    yield Case("Mul", (A, A), attributes={"broadcast": 2}, opset=6, raises=wrong)
    half, whole = A.astype(np.float16), A.astype(np.uint32)
    yield Case("Add", (half, half[0, :, 0]), along(operator.add, 1), {"axis": 1, **flag}, opset=1)
    yield Case("Sub", (whole, whole[:, 0, 0]), along(operator.sub, 0), {"axis": 0, **flag}, opset=6)
    yield Case("Pow", (A, B), along(np.power, 1), {"axis": 1, **flag}, opset=1, ulp=2)
    yield Case("Add", (A, -A), along(operator.add, None), {"consumed_inputs": [0, 0]}, opset=1)


def broadcasting() -> Iterator[Case]:
    """From opset 7 on, as NumPy."""
    for op, opset in itertools.product(PAIRS, (7, 14)):
        function = in_float64(PAIRS[op])
        for b in (B[0].reshape(()), A[:, :1, :1], A[0, 0], np.stack([A, -A]), A[:, :, :0]):
            x = A[:, :, :1] if 0 in b.shape else A
            yield Case(op, (x, b), function, opset=opset)
            yield Case(op, (b, x), function, opset=opset)
        whole = A.astype(np.int32)
        for b in (whole[0, 0, 0].reshape(()), whole[0, 0], whole[:, :1, :1], whole[:1, :1]):
            yield Case(op, (whole, b), function, opset=opset)
            yield Case(op, (b, whole), function, opset=opset)
        text = "float[2,3,4], float[3] cannot be broadcast together"
        yield Case(op, (A, B), opset=opset, raises=(ShapeError, text))
        yield Case(op, (A, A[..., ::-1]), function, opset=opset, elementwise=True)


def moderate(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Pairs whose remainders and sums are exact."""
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -4.25, 7.0, -0.75, 96.0])
    x = integers(dtype) if dtype.kind in "iu" else x.astype(dtype)
    return x[:, None], x[::-1].copy()


def modulo(a: Any, b: Any, fmod: int) -> Any:
    """The sign is the divisor's, or the dividend's; an integer zero as divisor gives 0."""
    if a.dtype != object:
        return np.fmod(a, b) if fmod else np.mod(a, b)
    if fmod:
        return per_element(lambda a, b: int(a - int(Fraction(a, b)) * b) if b else 0)(a, b)
    return per_element(lambda a, b: a % b if b else 0)(a, b)


# Powers


def integer_power(x: int, y: int) -> int:
    """To negative powers quotients cut towards zero, and 0 of 0."""
    if y < 0:
        return {1: 1, -1: -1 if y % 2 else 1}.get(x, 0)
    return pow(x, y, 1 << 64)


def power(x: Any, y: Any) -> Any:
    return np.power(x, y) if x.dtype != object else per_element(integer_power)(x, y)


def cut_power(x: Any, y: Any) -> Any:
    """Integers to the power of floats."""
    return np.trunc(x.astype(np.float64) ** y.astype(np.float64)).astype(x.dtype)


def powers() -> Iterator[Case]:
    """Every type to the power of every type."""
    bases = np.array([0.5, 1.0, 2.0, 3.0, -1.0, -2.0, 0.0, -0.0, 10.0, np.inf, np.nan])[:, None]
    exponents = np.array([0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 5.0, 0.5, 2.75, -np.inf])
    for x, y in itertools.product(allowed("Pow", 15), allowed("Pow", 15, 1)):
        exponent = integers(y) if y.kind in "iu" else exponents.astype(y)
        if x.kind not in "iu":
            ulp = 1 if x.itemsize == 2 else 4
            yield Case("Pow", (bases.astype(x), exponent), in_float64(power), ulp=ulp)
        elif y.kind in "iu":
            yield Case("Pow", (integers(x)[:, None], exponent), in_float64(power))
        else:
            some = np.array([[0], [1], [2], [3], [10]], x), np.array([0, 0.5, 1, 2.5, 3], y)
            yield Case("Pow", some, cut_power)
    x = np.float32([0.1, -3.3, 1e20, -1e-30])
    for y in (2.0, 3.0, 1.0, -1.0):  # one exponent for all
        yield Case("Pow", (x, F4(y).reshape(())), in_float64(power), ulp=1)
        yield Case("Pow", (x, np.float64([y])), in_float64(power), ulp=1)
    whole = np.int32([3, -46_341])
    for y in (F4([2.0]), F4([2.0, 2.0])):  # in float64, and then out of range
        yield Case("Pow", (whole, y), np.int32([9, -(1 << 31)]))
    yield Case("Pow", (whole, np.int32([2])), np.int32([9, 46_341**2 - (1 << 32)]))
    yield Case("Pow", (x, x), in_float64(power), ulp=4, elementwise=True)
    for opset in (1, 7, 12, 13):
        yield Case("Pow", (abs(x), x), in_float64(power), opset=opset, ulp=4)


# One operand


def one(dtype: np.dtype) -> tuple[np.ndarray]:
    return (samples(dtype),)


def sign(x: Any) -> Any:
    """That of NaN is NaN, that of -0 is 0."""
    if x.dtype == object:
        return per_element(lambda n: (n > 0) - (n < 0))(x)
    return np.where(np.isnan(x), x, (x > 0).astype(float) - (x < 0))


ONE = {
    "Neg": operator.neg,
    "Abs": abs,
    "Sign": sign,
    "Reciprocal": lambda x: 1 / x,
    "Sqrt": np.sqrt,
    "Floor": np.floor,
    "Ceil": np.ceil,
}


def halves(x: Any) -> Any:
    """The nearest integer, of two the even one, by Python's own rule."""
    nearest = [float(round(n)) if np.isfinite(n) else n for n in x.reshape(-1).tolist()]
    return np.array(nearest).reshape(x.shape)


def rounding() -> Iterator[Case]:
    for opset, dtype in ((11, F4), (22, F4), (22, np.float16), (22, np.float64)):
        x = np.array([0.5, 1.5, 2.5, 2.5001, 0.49, 1e4, np.inf, np.nan], dtype)
        yield Case("Round", (x,), in_float64(halves), opset=opset, elementwise=True)
        yield Case("Round", (-x,), in_float64(lambda x: -halves(-x)), opset=opset)


# Any number of operands


VARIADIC: dict[str, Callable[..., Any]] = {
    "Sum": lambda *x: reduce(operator.add, x),
    "Mean": lambda *x: reduce(operator.add, x) / len(x),
    "Max": lambda *x: reduce(np.maximum, x),
    "Min": lambda *x: reduce(np.minimum, x),
}


def ordered(dtype: np.dtype) -> tuple[np.ndarray, ...]:
    """Three tensors of one shape, without -0, whose order is not defined."""
    x = (
        integers(dtype)
        if dtype.kind in "iu"
        else np.array([2.5, -1, np.inf, np.nan, 0]).astype(dtype)
    )
    return tuple(np.broadcast_arrays(x[:, None], x[::-1].copy(), x[:1].copy()))


def variadic() -> Iterator[Case]:
    for op, function in VARIADIC.items():
        oracle = in_float64(function)
        yield from rows(op, oracle, ordered)
        for opset in (1, 6, 8, 13):
            yield Case(op, (A, A[::-1], A * 2), oracle, opset=opset, elementwise=True)
            yield Case(op, (A,), oracle, opset=opset)
        for opset in (8, 13):
            yield Case(op, (A, A[0], A[:, :1, 1:2]), oracle, opset=opset)
            yield Case(op, (A[0, 0], A, np.stack([A, A])), oracle, opset=opset)
            yield Case(op, (A, B), opset=opset, raises=(ShapeError, "cannot be broadcast"))
        yield Case(op, (A, A[0]), opset=6, raises=(ShapeError, "nothing is broadcast"))
    half = np.array([60000.0, 60000.0, -65000.0], np.float16)
    yield Case("Mean", (half, half), half)  # of which the sum is no float16
    yield Case("Sum", (half, half, -half, -half, half), half)


# Limits


def clip(x: Any, low: Any = None, high: Any = None) -> Any:
    """Min(high, Max(x, low))."""
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def clip_to_attributes(x: Any, min: float = -3.4028235e38, max: float = 3.4028235e38) -> Any:
    return np.clip(x, min, max)


def between(dtype: np.dtype) -> tuple[np.ndarray, ...]:
    low, high = (1, 7) if dtype.kind == "u" else (-3, 5)
    return samples(dtype), np.array(low).astype(dtype), np.array(high).astype(dtype)


def clips() -> Iterator[Case]:
    def oracle(x: np.ndarray, low: Any = None, high: Any = None) -> np.ndarray:
        return clip(x, low, high)

    for row in rows("Clip", oracle, between, oldest=11):
        bfloat16 = row.inputs[0].dtype == BFLOAT16
        yield replace(row, no_body="uses a Where without bfloat16") if bfloat16 else row
    for dtype in (F4, np.float16, np.int8, np.uint8):
        x, low, high = between(np.dtype(dtype))
        for limits in ((low, None), (None, high), (high, low), (low.reshape(1), high)):
            yield Case("Clip", (x, *limits), oracle)
        yield Case("Clip", (x,), x)
    yield Case("Clip", (A, F4(-1), F4(4)), oracle, elementwise=True)
    no_body = "there nothing is less than NaN, so it is no limit"
    yield Case("Clip", (A, F4(np.nan), F4(4)), np.full_like(A, np.nan), no_body=no_body)
    yield Case("Clip", (A, F4([0, 1]), None), raises=(ShapeError, "min is float[2]"))
    x = samples(np.dtype(F4))
    for opset in (1, 6):
        attributes = {"min": -2.5, "max": 3.0}
        yield Case("Clip", (A,), clip_to_attributes, attributes, opset=opset, elementwise=True)
        yield Case("Clip", (x,), lambda x, max: np.minimum(x, F4(max)), {"max": 3.0}, opset=1)
    yield Case("Clip", (x,), x, opset=1)
    yield Case("Clip", (x,), in_float64(clip_to_attributes), opset=6)
    half = samples(np.dtype(np.float16))
    yield Case("Clip", (half,), half, opset=6)


CASES = [
    *(row for op, function in PAIRS.items() for row in rows(op, in_float64(function), oldest=7)),
    *old_broadcasting(),
    *broadcasting(),
    *rows("Mod", in_float64(modulo), moderate, attributes={"fmod": 0}),
    *rows("Mod", in_float64(modulo), moderate, attributes={"fmod": 1}),
    Case("Mod", (A, A), attributes={"fmod": 2}, raises=(SchemaError, "fmod=2 is neither 0 nor 1")),
    *powers(),
    *(
        row
        for op, function in ONE.items()
        for row in rows(op, in_float64(function), one, elementwise=True)
    ),
    *rounding(),
    *rows("Exp", in_float64(np.exp), one, ulp=1, elementwise=True),
    *rows("Log", in_float64(np.log), one, ulp=2, narrow_ulp=1, elementwise=True),
    *variadic(),
    *clips(),
]
