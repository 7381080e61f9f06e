"""Normalisation of long tensors, whose lines several threads share, against float64."""

from __future__ import annotations

import numpy as np
import pytest

from minirt.conformance import Tolerance, compare
from models import session

#: Lines of 301 elements: as many as two threads share, and a rest.
SHAPE = (3, 67, 7, 43)
DRAW = np.random.RandomState(9)
X = DRAW.uniform(-2, 6, SHAPE)
CHANNELS = [DRAW.uniform(0.5, 2, SHAPE[1]) for _ in range(4)]

TYPES = pytest.mark.parametrize(("dtype", "name"), [(np.float32, "float"), (np.float64, "double")])


def run(name: str, body: str, *arrays: np.ndarray) -> np.ndarray:
    declared = ", ".join(f"{name}[] x{i}" for i in range(len(arrays)))
    made = session(declared, "y", body)
    one, two = (made.run(list(arrays), threads=threads)[0] for threads in (1, 2))
    assert one.tobytes() == two.tobytes()
    return one


def check(expected: np.ndarray, actual: np.ndarray, ulp: int) -> None:
    result = compare(expected.astype(actual.dtype), actual, Tolerance(ulp=ulp))
    assert result.passed, result.problem


def over(parameter: np.ndarray) -> np.ndarray:
    return parameter.reshape(-1, 1, 1).astype(np.float64)


@TYPES
def test_batches(dtype, name):
    x, (s, b, m, v) = X.astype(dtype), [p.astype(dtype) for p in CHANNELS]
    b = b + 50  # nothing cancels
    y = run(name, "y = BatchNormalization<epsilon=0.5>(x0, x1, x2, x3, x4)", x, s, b, m, v)
    check((x - over(m)) / np.sqrt(over(v) + 0.5) * over(s) + over(b), y, ulp=2)


@TYPES
def test_instances(dtype, name):
    x, s, b = X.astype(dtype), CHANNELS[0].astype(dtype), CHANNELS[1].astype(dtype) + 50
    y = run(name, "y = InstanceNormalization<epsilon=0.5>(x0, x1, x2)", x, s, b)
    numbers = x.astype(np.float64)
    mean, var = numbers.mean((2, 3), keepdims=True), numbers.var((2, 3), keepdims=True)
    check(
        (numbers - mean) / np.sqrt(var + 0.5) * over(s) + over(b),
        y,
        ulp=1 if name == "float" else 4,
    )


def test_instances_far_from_zero():
    """A mean of many times the deviation does not drown it."""
    x = (DRAW.uniform(-1, 1, SHAPE) + 1000).astype(np.float32)
    ones = np.ones(SHAPE[1], np.float32)
    y = run("float", "y = InstanceNormalization<epsilon=0.0>(x0, x1, x2)", x, ones, ones * 50)
    numbers = x.astype(np.float64)
    mean, std = numbers.mean((2, 3), keepdims=True), numbers.std((2, 3), keepdims=True)
    check((numbers - mean) / std + 50, y, ulp=1)


def test_an_instance_without_variance():
    x = np.full((1, 2, 40), 3, np.float32)
    scale, bias = np.float32([2, 4]), np.float32([5, -1])
    y = run("float", "y = InstanceNormalization(x0, x1, x2)", x, scale, bias)
    assert (y == bias[:, None]).all()
