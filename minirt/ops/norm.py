"""Normalisation of (N, C, D1, ...), and what is left of all the D of a channel."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from .. import kernels
from ..errors import SchemaError, ShapeError
from ..kernels.arrays import computed, number_dtype
from ..kernels.reductions import means
from ..types import merge
from .registry import op, upgrade

if TYPE_CHECKING:
    from ..graph import Graph, Node
    from ..types import TensorType

#: Lines shorter than this are left to NumPy.
_SHORT = 16

# Normalisation


@op("BatchNormalization")
def batch_normalization(X, scale, B, input_mean, input_var, *, epsilon, momentum, training_mode):
    """``(X - mean) / sqrt(var + epsilon) * scale + B``, with one of each for a channel.

    As before opset 9, there may be one of each for an element: then they have the shape of
    ``X`` without the batch. In training mode mean and variance are those of ``X``, and the
    running ones become ``input * momentum + current * (1 - momentum)``.

    https://onnx.ai/onnx/operators/onnx__BatchNormalization.html
    """
    parameters = {"scale": scale, "B": B, "input_mean": input_mean, "input_var": input_var}
    for name, operand in parameters.items():
        _check_parameter(operand, name, X)
    operands = (X, scale, B, input_mean, input_var)
    outputs = (X.without_value(), input_mean.without_value(), input_var.without_value())

    def train(X, scale, B, input_mean, input_var, Y, running_mean, running_var):
        mean, var = _statistics(X, _shared_axes(input_mean, X))
        _normalize(X, mean, var, _over(scale, X), _over(B, X), epsilon, Y)
        for before, now, after in (
            (input_mean, mean, running_mean),
            (input_var, var, running_var),
        ):
            if after is not None:
                after[...] = before * momentum + now.reshape(before.shape) * (1 - momentum)

    def kernel():
        shift_and_scale = _shift_and_scale(X, scale)

        def infer(X, scale, B, mean, var, Y):
            with np.errstate(all="ignore"):
                factor = _over(scale, X) / _deviation(_over(var, X), epsilon)
                shift_and_scale(X, _over(mean, X), factor, _over(B, X), Y)

        return computed(infer, operands, outputs[:1])

    if training_mode:
        return outputs, lambda: computed(train, operands, outputs)
    return outputs[0], kernel


def _shift_and_scale(X, parameter):
    """``run(X, mean, factor, bias, Y)``: (X - mean) * factor + bias, with broadcasting."""
    number, count = number_dtype(X.dtype), prod(X.shape[2:])
    if count < _SHORT or len(parameter.shape) > 1:

        def run(X, mean, factor, bias, Y):
            np.subtract(X, mean, out=Y)
            np.multiply(Y, factor, out=Y)
            np.add(Y, bias, out=Y)

        return run
    by_lines = kernels.shift_and_scale(number, X.size // count, count)
    return lambda *arrays: by_lines(*(array.reshape(-1) for array in arrays))


def _check_parameter(operand: TensorType, name: str, X: TensorType) -> None:
    """Raise ShapeError unless there is one number for a channel, or one for an element."""
    if X.shape is None:
        return
    channels = X.shape[1] if len(X.shape) > 1 else 1
    if merge(operand, operand.with_shape(channels)) is not None:
        return
    if merge(operand, operand.with_shape(*X.shape[1:])) is None:
        raise ShapeError(f"{name} is {operand}, but {X} has {channels} channels")


def _over(parameter: np.ndarray, X: np.ndarray) -> np.ndarray:
    """A parameter in a shape in which it is broadcast to that of ``X``."""
    return parameter.reshape(-1, *[1] * max(X.ndim - 2, 0)) if parameter.ndim == 1 else parameter


def _deviation(var: np.ndarray, epsilon: float) -> np.ndarray:
    deviation: np.ndarray = np.sqrt(np.add(var, epsilon, dtype=np.float64))
    return deviation


def _shared_axes(parameter: np.ndarray, X: np.ndarray) -> tuple[int, ...]:
    """The axes of ``X`` along which it has the same parameter."""
    return (0, *range(2, X.ndim)) if parameter.ndim == 1 else (0,)


def _statistics(X: np.ndarray, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance along ``axes``, in float64; NaN of nothing."""
    count = np.prod([X.shape[axis] for axis in axes])
    with np.errstate(all="ignore"):
        mean = X.sum(axes, np.float64, keepdims=True) / count
        return mean, np.square(X - mean).sum(axes, keepdims=True) / count


def _normalize(
    X: np.ndarray,
    mean: np.ndarray,
    var: np.ndarray,
    scale: np.ndarray,
    B: np.ndarray,
    epsilon: float,
    Y: np.ndarray,
) -> None:
    """The formula in float64, rounded once."""
    with np.errstate(all="ignore"):
        Y[...] = (X - mean) * (scale / _deviation(var, epsilon)) + B


@upgrade("BatchNormalization", to=14)
def _(node: Node, graph: Graph) -> None:
    """Before 14 it is training if there are statistics among the outputs."""
    for old in ("consumed_inputs", "is_test", "spatial"):
        node.attributes.pop(old, None)
    node.attributes["training_mode"] = int(any(value is not None for value in node.outputs[1:]))


@op("InstanceNormalization")
def instance_normalization(input, scale, B, *, epsilon):
    """``(input - mean) / sqrt(var + epsilon) * scale + B``, with statistics of each channel.

    https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html
    """
    for name, operand in (("scale", scale), ("B", B)):
        _check_parameter(operand, name, input)
    _check_rank(input, "input")
    output = input.without_value()

    def kernel():
        count = prod(input.shape[2:])
        lines = input.size // count if count else 0
        by_lines = kernels.normalize(number_dtype(input.dtype), lines, count, epsilon)

        def run(input, scale, B, output):
            by_lines(input.reshape(-1), scale, B, output.reshape(-1))

        return computed(run, (input, scale, B), (output,))

    return output, kernel


@upgrade("InstanceNormalization", to=6)
def _(node: Node, graph: Graph) -> None:
    """InstanceNormalization-1 has a hint for memory."""
    node.attributes.pop("consumed_inputs", None)


@op("LRN")
def lrn(X, *, alpha, beta, bias, size):
    """``X / (bias + alpha / size * sum) ** beta``, of squares in ``size`` neighbouring channels.

    https://onnx.ai/onnx/operators/onnx__LRN.html
    """
    if size < 1:
        raise SchemaError(f"size={size} is no number of channels")
    _check_rank(X, "X")
    before = (size - 1) // 2
    after = size - 1 - before

    def run(X, Y):
        with np.errstate(all="ignore"):
            squares = np.square(X, dtype=np.float64)
            sums = np.zeros(X.shape)
            channels = X.shape[1]
            for step in range(-min(before, channels), min(after, channels) + 1):
                first, stop = max(0, -step), max(0, channels - max(0, step))
                sums[:, first:stop] += squares[:, first + step : stop + step]
            Y[...] = X / (bias + alpha / size * sums) ** beta

    return X.without_value(), lambda: computed(run, (X,), (X,))


# Pooling


@op("GlobalAveragePool")
def global_average_pool(X):
    """The mean of each channel.

    https://onnx.ai/onnx/operators/onnx__GlobalAveragePool.html
    """
    Y = _pooled(X)

    def kernel():
        axes = tuple(range(2, len(X.shape)))
        return computed(means(number_dtype(X.dtype), X.shape, axes), (X,), (Y,))

    return Y, kernel


@op("GlobalMaxPool")
def global_max_pool(X):
    """The largest of each channel; NaN if there is one.

    https://onnx.ai/onnx/operators/onnx__GlobalMaxPool.html
    """
    Y = _pooled(X)
    if X.shape is not None and 0 in X.shape[2:] and 0 not in X.shape[:2]:
        raise ShapeError(f"X is {X}, which has no elements of which one is the largest")

    def run(X, Y):
        np.max(X, axis=tuple(range(2, X.ndim)), keepdims=True, initial=-np.inf, out=Y)

    return Y, lambda: computed(run, (X,), (Y,))


def _pooled(X: TensorType) -> TensorType:
    if X.shape is None:
        return X.without_value()
    _check_rank(X, "X")
    return X.with_shape(*X.shape[:2], *[1] * (len(X.shape) - 2))


def _check_rank(X: TensorType, name: str) -> None:
    if X.shape is not None and len(X.shape) < 2:
        raise ShapeError(f"{name} is {X}, but it must have a batch and channels")
