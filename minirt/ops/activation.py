"""Activations of neural networks, and the error function.

All that ONNX also defines by other operators have kernels too: old opsets have no such
definition, and one pass over memory is faster than several.
https://onnx.ai/onnx/operators/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import SchemaError
from ..kernels import activations
from ..kernels.arrays import Shaped, elementwise
from .elementwise import aligned, check_fits, map_scalar, scalar
from .registry import op

if TYPE_CHECKING:
    from ..types import TensorType

scalar("Sigmoid", "sigmoid")
scalar("LeakyRelu", "leaky_relu", "alpha")
scalar("ThresholdedRelu", "thresholded_relu", "alpha")
scalar("Elu", "elu", "alpha")
scalar("Selu", "selu", "alpha", "gamma")
scalar("Celu", "celu", "alpha")
scalar("HardSigmoid", "hard_sigmoid", "alpha", "beta")
scalar("HardSwish", "hard_swish")
scalar("Softplus", "softplus")
scalar("Softsign", "softsign", operand="input")
scalar("Swish", "swish", "alpha")
scalar("Mish", "mish")

_GELUS = {"none": "gelu", "tanh": "gelu_tanh"}


@op("Gelu")
def gelu(X, *, approximate):
    """``X`` times the probability that a normal variable is less, or nearly that."""
    if approximate not in _GELUS:
        raise SchemaError(f"approximate={approximate!r} is neither 'none' nor 'tanh'")
    return X.without_value(), lambda: map_scalar(_GELUS[approximate], X)


@op("Relu")
def relu(X):
    """max(X, 0)."""
    if X.dtype.is_float:
        return X.without_value(), lambda: map_scalar("relu", X)
    return X.without_value(), lambda: elementwise(
        lambda x, out: np.maximum(x, 0, out=out), [X], [X]
    )


@op("PRelu")
def prelu_of_channels(X, slope):
    """``X``, or ``slope`` times ``X`` where that is negative: a slope for each channel, or one."""
    along = slope
    if slope.shape is not None and len(slope.shape) == 1:
        along = aligned(X, slope, 1 if X.shape is not None and len(X.shape) > 1 else None)
    return _prelu(X, slope, along)


@op("PRelu", since=7)
def prelu(X, slope):
    """``X``, or ``slope`` times ``X`` where that is negative; ``slope`` is broadcast to ``X``."""
    return _prelu(X, slope, slope)


def _prelu(X: TensorType, slope: TensorType, along: TensorType):
    """PRelu with a ``slope`` that lies along ``X`` as a tensor of the type ``along`` does."""
    check_fits(along, X)

    def thunk() -> Shaped:
        run = elementwise(activations.prelu, [X, along], [X]).function
        return Shaped(lambda x, slope, y: run(x, slope.reshape(along.shape), y))

    return X.without_value(), thunk


@op("Erf")
def erf(input):
    """The error function; of integers, cut towards zero."""
    if input.dtype.is_float:
        return input.without_value(), lambda: map_scalar("erf", input)
    return input.without_value(), lambda: elementwise(activations.integer_erf, [input], [input])


@op("Shrink")
def shrink(input, *, bias, lambd):
    """``input`` nearer to zero by ``bias``, and zero up to ``lambd`` on either side."""
    if input.dtype.is_float:
        return input.without_value(), lambda: map_scalar("shrink", input, bias, lambd)
    return input.without_value(), lambda: elementwise(
        activations.integer_shrink(bias, lambd), [input], [input]
    )
