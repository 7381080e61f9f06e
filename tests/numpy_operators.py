"""Operators for tests of what is made of operators: a few, by NumPy, for float types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minirt.ops.registry import op
from minirt.types import TensorType

__all__ = ["binary", "reduction", "unary"]


def unary(name: str, function: Callable[[Any], Any]) -> None:
    """Register ``name`` for the length of a test."""

    @op(name)
    def apply(X):
        def run(x, y):
            y[:] = function(x)

        return X, lambda: run


def binary(name: str, function: Callable[[Any, Any], Any]) -> None:
    """Register ``name``, which broadcasts; of a dimension that is not known the first is taken."""

    @op(name)
    def apply(A, B):
        result = A.with_shape(*_broadcast(A, B))

        def run(a, b, c):
            c.reshape(result.shape)[...] = function(a.reshape(A.shape), b.reshape(B.shape))

        return result, lambda: run


def _broadcast(A: TensorType, B: TensorType) -> list[Any]:
    rank = max(len(A.shape), len(B.shape))
    padded = [(1,) * (rank - len(shape)) + shape for shape in (A.shape, B.shape)]
    return [b if a == 1 else a for a, b in zip(*padded, strict=True)]


def reduction(name: str, function: Callable[..., Any]) -> None:
    """Register ``name``, whose axes must be constant."""

    @op(name)
    def apply(data, axes, *, keepdims, noop_with_empty_axes):
        reduced = {int(axis) % len(data.shape) for axis in axes.value}
        shape = [1 if i in reduced else d for i, d in enumerate(data.shape)]
        result = data.with_shape(*shape)

        def run(x, _, y):
            y.reshape(shape)[...] = function(x.reshape(data.shape), tuple(reduced), keepdims=True)

        return result, lambda: run


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    """By its definition, in float64."""
    exp = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return exp / exp.sum(axis, keepdims=True)
