"""Activations, and the error function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from cases import Case
from elementwise_rows import allowed, in_float64, integers, rows, samples, spaced

from minirt.errors import SchemaError, ShapeError

F4 = np.float32
NARROW = "rounds to 16 bits after each operation"


def finite(dtype: np.dtype, limit: float = 9.0) -> tuple[np.ndarray]:
    """Ordinary numbers, and zeros."""
    if dtype.kind in "iu":
        return (integers(dtype),)
    return (np.array([0.0, -0.0, *spaced(60, limit)]).astype(dtype),)


def one(dtype: np.dtype) -> tuple[np.ndarray]:
    return (samples(dtype),)


def elements(function: Callable[[float], float]) -> Callable[[Any], Any]:
    return np.vectorize(function, otypes=[float])


erf, erfc = elements(math.erf), elements(math.erfc)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def elu(x: Any, alpha: float = 1.0) -> Any:
    return np.where(x < 0, alpha * np.expm1(x), x)


def selu(x: Any, alpha: float = 1.6732631921768188, gamma: float = 1.0507010221481323) -> Any:
    return gamma * np.where(x > 0, x, alpha * np.expm1(x))


def hard_sigmoid(x: Any, alpha: float = F4(0.2), beta: float = 0.5) -> Any:
    return np.maximum(0, np.minimum(1, float(alpha) * x + beta))


def hard_swish(x: Any) -> Any:
    return x * np.clip(x + 3, 0, 6) / 6


def gelu(x: Any, approximate: str = "none") -> Any:
    if approximate == "tanh":
        z = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return x * sigmoid(2 * z)  # as 1 + tanh(z) is 2 sigmoid(2 z)
    return x / 2 * erfc(-x / math.sqrt(2))


def shrink(x: Any, bias: float = 0.0, lambd: float = 0.5) -> Any:
    if x.dtype == object:
        bias = int(bias)
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0))


def leaky_relu(x: Any, alpha: float = F4(0.01)) -> Any:
    return np.where(x < 0, float(alpha) * x, x)


def celu(x: Any, alpha: float = 1.0) -> Any:
    return np.maximum(0, x) + np.minimum(0, alpha * np.expm1(x / alpha))


#: The oracle, attributes to try, and how many units in the last place a float32 may be away;
#: then how many what ONNX defines it by, None where that loses the digits of small results.
FUNCTIONS: dict[str, tuple[Callable[..., Any], list[dict[str, Any]], int, int | None]] = {
    "Sigmoid": (sigmoid, [{}], 2, None),
    "Relu": (lambda x: np.where(x > 0, x, 0.0), [{}], 0, 0),
    "LeakyRelu": (leaky_relu, [{}, {"alpha": 0.5}, {"alpha": -2.0}], 0, 0),
    "ThresholdedRelu": (
        lambda x, alpha=1.0: np.where(x > alpha, x, 0),
        [{}, {"alpha": 2.5}, {"alpha": -1.0}],
        0,
        0,
    ),
    "Elu": (elu, [{}, {"alpha": 2.5}], 2, 32),
    "Selu": (selu, [{}, {"alpha": 2.0, "gamma": 3.0}], 3, 32),
    "Celu": (celu, [{}, {"alpha": 2.0}], 3, 32),
    "HardSigmoid": (hard_sigmoid, [{}, {"alpha": 0.5, "beta": 0.25}], 4, 32),
    "HardSwish": (hard_swish, [{}], 2, 64),
    "Softplus": (lambda x: np.logaddexp(x, 0), [{}], 3, None),
    "Softsign": (lambda x: x / (1 + np.abs(x)), [{}], 1, 2),
    "Mish": (lambda x: x * np.tanh(np.logaddexp(x, 0)), [{}], 4, None),
    "Gelu": (gelu, [{}, {"approximate": "tanh"}], 16, None),
    "Swish": (lambda x, alpha=1.0: x * sigmoid(alpha * x), [{}, {"alpha": 1.5}], 3, 32),
    "Shrink": (shrink, [{}, {"bias": 1.5, "lambd": 2.0}], 0, 0),
    "Erf": (erf, [{}], 4, None),
}


def functions() -> Iterator[Case]:
    """Every type and version."""
    for op, (function, attributes, ulp, body_ulp) in FUNCTIONS.items():
        oracle = in_float64(function)
        # Larger numbers, rounded when they are multiplied, go through an exponential.
        inputs = partial(finite, limit=3.0) if op in ("Gelu", "Swish") else finite
        oldest = 6 if op == "Selu" else 1  # opset 1 has other defaults
        for each in attributes:
            options = {"attributes": each, "oldest": oldest}
            for row in rows(op, oracle, inputs, ulp=ulp, narrow_ulp=1, **options):
                x = row.inputs[0]
                if body_ulp is None or x.itemsize == 2:
                    lost = NARROW if x.itemsize == 2 else "loses the digits of small results"
                    yield replace(row, no_body=lost)
                elif x.dtype.kind == "u":
                    yield replace(row, no_body="negates unsigned numbers")
                elif op == "HardSwish" and x.itemsize == 8:
                    yield replace(row, no_body="has 1 / 6 as float32")
                else:
                    yield replace(row, body_ulp=body_ulp)
            near = spaced(60, 1.0).astype(F4)
            if op != "Erf":
                yield Case(op, (near,), oracle, each, ulp=ulp, body_ulp=128, elementwise=True)


def special() -> Iterator[Case]:
    """Infinities, NaN and the largest numbers."""
    inf, nan = np.inf, np.nan
    x = np.array([inf, -inf, nan, 1e30, -1e30, 100, -80, -85, 0.0, -0.0])
    low, lower = math.exp(-80), math.exp(-85)
    expected: dict[str, list[float]] = {
        "Sigmoid": [1, 0, nan, 1, 0, 1, low, lower, 0.5, 0.5],
        "Relu": [inf, 0, nan, 1e30, 0, 100, 0, 0, 0, 0],
        "LeakyRelu": [inf, -inf, nan, 1e30, -1e30, 100, -80, -85, 0, -0.0],
        "Elu": [inf, -1, nan, 1e30, -1, 100, -1, -1, 0, -0.0],
        "Celu": [inf, -1, nan, 1e30, -1, 100, -1, -1, 0, 0],
        "HardSigmoid": [1, 0, nan, 1, 0, 1, 0, 0, 0.5, 0.5],
        "Softplus": [inf, 0, nan, 1e30, 0, 100, low, lower, math.log(2), math.log(2)],
        "Softsign": [nan, nan, nan, 1, -1, 100 / 101, -80 / 81, -85 / 86, 0, -0.0],
        "Mish": [inf, nan, nan, 1e30, -0.0, 100, -80 * low, -85 * lower, 0, -0.0],
        "Swish": [inf, nan, nan, 1e30, -0.0, 100, -80 * low, -85 * lower, 0, -0.0],
        "Gelu": [inf, nan, nan, 1e30, -0.0, 100, -0.0, -0.0, 0, -0.0],
        "Tanh": [1, -1, nan, 1, -1, 1, -1, -1, 0, -0.0],
        "Erf": [1, -1, nan, 1, -1, 1, -1, -1, 0, -0.0],
        "ThresholdedRelu": [inf, 0, 0, 1e30, 0, 100, 0, 0, 0, 0],
        "Shrink": [inf, -inf, 0, 1e30, -1e30, 100, -80, -85, 0, 0],
    }
    reason = "overflows on the way, or gives zero another sign"
    for op, values in expected.items():
        attributes = {"alpha": 1.0} if op in ("LeakyRelu",) else {}
        y = np.array(values).astype(F4)
        yield Case(op, (x.astype(F4),), y, attributes, ulp=4, no_body=reason)


def slopes() -> Iterator[Case]:
    """PRelu: a slope for each channel up to opset 6, then broadcast to the input."""

    def oracle(x: Any, slope: Any) -> Any:
        return np.where(x < 0, x * slope, x)

    def two(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        x = integers(dtype) if dtype.kind in "iu" else finite(dtype)[0]
        return x[:, None] + np.zeros(4, dtype), np.array([0, 1, 2, 3]).astype(dtype)

    for row in rows("PRelu", in_float64(oracle), two, oldest=7):
        yield replace(row, no_body=NARROW if row.inputs[0].itemsize == 2 else "")
    x = spaced(24).reshape(2, 3, 4).astype(F4)
    slope = F4([0.5, -1.0, 2.0])
    for opset in (1, 6):
        each = np.where(x < 0, x * slope[:, None], x)
        yield Case("PRelu", (x, slope), each, opset=opset)
        yield Case("PRelu", (x, slope[:1]), in_float64(oracle), opset=opset)
        yield Case("PRelu", (x, x[::-1]), in_float64(oracle), opset=opset, elementwise=True)
        yield Case("PRelu", (x[0, :, 0], slope), in_float64(oracle), opset=opset)
        text = "float[4] cannot be broadcast to float[2,3,4]"
        yield Case("PRelu", (x, x[0, 0]), opset=opset, raises=(ShapeError, "[2,3,4]"))
    for opset in (7, 9, 16):
        for b in (slope[:, None], slope[:1].reshape(()), x[:1], x[0, 0]):
            yield Case("PRelu", (x, b), in_float64(oracle), opset=opset)
        text = "float[2,3,4] cannot be broadcast to float[4]"
        yield Case("PRelu", (x[0, 0], x), opset=opset, raises=(ShapeError, text))
    yield Case(
        "PRelu", (F4([-1, 1, -np.inf]), F4([np.inf, np.inf, 0.5])), F4([-np.inf, 1, -np.inf])
    )


def whole_numbers() -> Iterator[Case]:
    """Activations of integers."""
    for dtype in (d for d in allowed("Relu", 14) if d.kind == "i"):
        x = integers(dtype)
        yield Case("Relu", (x,), np.where(x > 0, x, 0).astype(dtype))
    for dtype in (d for d in allowed("Erf", 9) if d.kind in "iu"):
        x = np.array([0, 1, 5, 6, 100, *([-1, -5, -6, -128] if dtype.kind == "i" else [])], dtype)
        one = (x >= 6).astype(int) - (x.astype(float) <= -6)
        yield Case("Erf", (x,), one.astype(dtype), opset=9)
    for dtype in (d for d in allowed("Shrink", 9) if d.kind in "iu"):
        unsigned = "negates unsigned numbers" if dtype.kind == "u" else ""
        for attributes in ({}, {"bias": 1.5, "lambd": 2.5}, {"bias": -3.0, "lambd": 1.0}):
            x = integers(dtype)
            yield Case("Shrink", (x,), in_float64(shrink), attributes, no_body=unsigned)


CASES = [
    *functions(),
    *special(),
    *slopes(),
    Case(
        "Celu",
        finite(np.dtype(F4)),
        in_float64(celu),
        {"alpha": -0.5},
        ulp=3,
        no_body="is not the formula for a negative alpha",
    ),
    *whole_numbers(),
    *rows("Erf", in_float64(erf), one, ulp=4, narrow_ulp=1, oldest=13),
    Case("Erf", (spaced(60, 2.0).astype(F4),), in_float64(erf), opset=9, ulp=4, elementwise=True),
    Case("Selu", (F4([-1, 2]),), lambda x: selu(x, 1.6732, 1.0507).astype(F4), opset=1, ulp=3),
    Case(
        "Gelu",
        (spaced(4).astype(F4),),
        attributes={"approximate": "erf"},
        raises=(SchemaError, "approximate='erf' is neither 'none' nor 'tanh'"),
    ),
]
