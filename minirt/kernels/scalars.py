"""Functions applied to each element: activations, and what they are made of.

Formulas are those of the ONNX pages of the operators, in forms that lose no digits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..jit import Scalar, call, kernel
from ..jit.lanes import multiply_add, select
from . import elementary
from .elementary import below_normal, exp, expm1, log1p, sigmoid

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["map_scalar"]


# Work for a byte of both buffers: an exponential takes as long as a copy of 30 bytes.
@kernel(cost=3)
def apply(x, y, function, a, b):
    """y[i] = function(x[i]), which may have parameters ``a`` and ``b``."""
    for i in range(x.size):
        y[i] = call(function, x[i], a, b)


@Scalar
def relu(real):
    """max(x, 0)."""
    zero = real(0)
    return lambda x: select(x <= zero, zero, x)


@Scalar
def leaky_relu(real):
    """x, or alpha x where it is negative."""
    zero = real(0)
    return lambda x, alpha: select(x < zero, alpha * x, x)


@Scalar
def thresholded_relu(real):
    """x where it is greater than alpha, else 0."""
    zero = real(0)
    return lambda x, alpha: select(x > alpha, x, zero)


@Scalar
def elu(real):
    """x, or alpha (e^x - 1) where it is negative."""
    zero, less = real(0), expm1(real)
    return lambda x, alpha: select(x < zero, alpha * less(x), x)


@Scalar
def selu(real):
    """gamma x, or gamma alpha (e^x - 1) where it is not positive."""
    zero, less = real(0), expm1(real)
    return lambda x, alpha, gamma: gamma * select(x > zero, x, alpha * less(x))


@Scalar
def celu(real):
    """max(0, x) + min(0, alpha (e^(x / alpha) - 1))."""
    zero, less = real(0), expm1(real)

    def celu(x, alpha):
        y = alpha * less(x / alpha)
        return select(x < zero, zero, x) + select(y > zero, zero, y)

    return celu


@Scalar
def hard_sigmoid(real):
    """max(0, min(1, alpha x + beta))."""
    zero, one = real(0), real(1)

    def hard_sigmoid(x, alpha, beta):
        y = multiply_add(alpha, x, beta)
        return select(y < zero, zero, select(y > one, one, y))

    return hard_sigmoid


@Scalar
def hard_swish(real):
    """x max(0, min(1, x / 6 + 1 / 2))."""
    zero, three, six, sixth = real(0), real(3), real(6), real(1 / 6)

    def hard_swish(x):
        y = x + three
        return x * (select(y < zero, zero, select(y > six, six, y)) * sixth)

    return hard_swish


@Scalar
def softplus(real):
    """ln(1 + e^x)."""
    zero, e_to, log_1_plus = real(0), exp(real), log1p(real)
    return lambda x: select(x < zero, zero, x) + log_1_plus(e_to(-abs(x)))


@Scalar
def softsign(real):
    """x / (1 + |x|)."""
    one = real(1)
    return lambda x: x / (one + abs(x))


@Scalar
def swish(real):
    """x sigmoid(alpha x)."""
    inner = sigmoid(real)
    return lambda x, alpha: x * inner(alpha * x)


@Scalar
def mish(real):
    """x tanh(ln(1 + e^x)): with w = e^x (e^x + 2), that is x w / (w + 2)."""
    two, e_to, large = real(2), exp(real), real(20)

    def mish(x):
        e = e_to(select(x > large, large, x))  # beyond, the factor is 1
        w = e * (e + two)
        return x * (w / (w + two))

    return mish


@Scalar
def gelu(real):
    """x times the probability that a standard normal variable is less."""
    below = below_normal(real)
    return lambda x: x * below(x)


@Scalar
def gelu_tanh(real):
    """x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): 1 + tanh(z) is 2 sigmoid(2 z)."""
    inner = sigmoid(real)
    linear, cubic = real(2 * math.sqrt(2 / math.pi)), real(0.044715)
    return lambda x: x * inner(linear * (x + cubic * x * x * x))


@Scalar
def shrink(real):
    """x + bias below -lambd, x - bias above lambd, else 0."""
    zero = real(0)
    return lambda x, bias, lambd: select(x < -lambd, x + bias, select(x > lambd, x - bias, zero))


FUNCTIONS = {
    name: value
    for name, value in (vars(elementary) | globals()).items()
    if isinstance(value, Scalar) and not name.startswith("_")
}


def map_scalar(
    name: str, dtype: np.dtype, size: int, a: float = 0.0, b: float = 0.0
) -> Callable[[np.ndarray, np.ndarray], None]:
    """``run(x, y)`` that applies the function ``name`` to ``size`` elements.

    Both are flat buffers of ``dtype``, float32 or float64. ``a`` and ``b`` are the function's
    parameters, as many as it has.
    """
    real = dtype.type
    run: Callable[..., None] = apply.bind(
        dtype, dtype, FUNCTIONS[name], real(a), real(b), size=size
    )
    return run
