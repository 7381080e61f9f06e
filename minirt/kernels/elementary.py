"""Elementary functions for kernels.

In float32 they are polynomials without branches, so that loops vectorise: within a few units
in the last place over the whole range; infinities, NaN and subnormal numbers are as they must
be. Each is a fixed sequence of operations that IEEE 754 defines to the bit, so that every
processor gives the same. In float64 they are those of the C library.

The coefficients are minimax fits: of :func:`_exp_less_1` to (e^r - 1 - r) / r^2, of ``log1p``
and :func:`_erf_by_x` to what follows the first term of their series, of :func:`_tail` to
erfc(t) e^(t^2) in u = 1 / (1 + 0.45 t).
"""

from __future__ import annotations

import math

import numpy as np

from ..jit import Scalar, helper
from ..jit.lanes import add, and_, ashr, bits, from_bits, or_, select, shl, sub
from ..jit.lanes import multiply_add as fma

__all__ = ["below_normal", "erf", "exp", "expm1", "log1p", "sigmoid", "tanh"]

_F = np.float32
_ONE, _TWO, _HALF = _F(1), _F(2), _F(0.5)

#: Added to a number of at most 22 bits it leaves the nearest integer in the low bits.
_MAGIC, _MAGIC_BITS = _F(3 << 22), np.int32(int(_F(3 << 22).view(np.int32)))
_LOG2E = _F(1 / math.log(2))
#: -ln 2 in two parts: the product of the first with an exponent is exact.
_LN2_HIGH, _LN2_LOW = _F(-0.693359375), _F(0.693359375 - math.log(2))
_BIAS, _FRACTION = np.int32(127), np.int32(23)
_SIGN = np.int32(-1 << 31)


@helper
def _clamp(x, low, high):
    """NaN stays."""
    return select(x < low, low, select(x > high, high, x))


@helper
def _copy_sign(size, x):
    """``size``, which has no sign, with the sign of ``x``."""
    return from_bits(or_(bits(size), and_(bits(x), _SIGN)))


@helper
def _power_of_2(k):
    return from_bits(shl(add(k, _BIAS), _FRACTION))


@helper
def _reduce(x, rest):
    """k as an integer, and r, |r| <= 0.4, where x + rest = k ln 2 + r."""
    shifted = fma(x, _LOG2E, _MAGIC)
    n = shifted - _MAGIC
    r = fma(n, _LN2_LOW, fma(n, _LN2_HIGH, x)) + rest
    return sub(bits(shifted), _MAGIC_BITS), r


@helper
def _exp_less_1(r):
    """e^r - 1 of |r| <= 0.4."""
    q = fma(r, _F(0.0013970983), _F(0.0083807185))
    q = fma(r, fma(r, q, _F(0.04166585)), _F(0.16666405))
    return fma(r * r, fma(r, q, _F(0.5)), r)


@helper
def _exp_of_sum(x, rest):
    """e^(x + rest), where ``rest`` is small and as good as exact."""
    k, r = _reduce(_clamp(x, _F(-104), _F(89)), rest)
    # Twice, as 2^k need not be a normal number where the result is one, and vice versa.
    half = ashr(k, np.int32(1))
    return (_ONE + _exp_less_1(r)) * _power_of_2(half) * _power_of_2(sub(k, half))


@Scalar
def exp(real):
    """e^x."""
    if real is np.float64:
        return lambda x: math.exp(x)
    return lambda x: _exp_of_sum(x, _F(0))


@Scalar
def expm1(real):
    """e^x - 1, exact in digits for small x too."""
    if real is np.float64:
        return lambda x: math.expm1(x)

    def expm1(x):
        # Below, the result is -1; what is clamped above is infinite.
        k, r = _reduce(_clamp(x, _F(-80), _F(89)), _F(0))
        half = _power_of_2(sub(k, np.int32(1)))  # a number also where 2^k is none
        result = _TWO * fma(half, _exp_less_1(r), half - _HALF)
        return select(x == _F(0), x, result)  # keeps the sign of zero

    return expm1


@Scalar
def log1p(real):
    """ln(1 + x), for 0 <= x <= 1 alone."""
    if real is np.float64:
        return lambda x: math.log1p(x)

    def log1p(x):
        s = x / (_TWO + x)
        z = s * s
        p = fma(z, fma(z, _F(0.14012232), _F(0.1399957)), _F(0.2001085))
        return _TWO * fma(s * z, fma(z, p, _F(0.33333206)), s)

    return log1p


@Scalar
def sigmoid(real):
    """1 / (1 + e^-x)."""
    one, e_to = real(1), exp(real)

    def sigmoid(x):
        e = e_to(-abs(x))
        return select(x < real(0), e, one) / (one + e)

    return sigmoid


@Scalar
def tanh(real):
    """The hyperbolic tangent: (e^2x - 1) / (e^2x + 1)."""
    if real is np.float64:
        return lambda x: math.tanh(x)
    less = expm1(real)

    def tanh(x):
        size = abs(x)
        t = less(_TWO * select(size > _F(20), _F(20), size))  # beyond, the quotient is 1
        return _copy_sign(t / (t + _TWO), x)

    return tanh


@helper
def _erf_by_x(s):
    """erf(x) / x of s = x^2 <= 0.26."""
    p = fma(s, fma(s, _F(0.0047009676), _F(-0.026749706)), _F(0.11282723))
    return fma(s, fma(s, p, _F(-0.37612605)), _F(1.1283791))


@helper
def _tail(t, power, rest):
    """erfc(t) of t >= 0.5, where ``power + rest`` is -t^2."""
    u = _ONE / fma(_F(0.45), t, _ONE)
    p = fma(u, fma(u, _F(0.084149644), _F(-0.30384085)), _F(0.30582955))
    p = fma(u, fma(u, p, _F(-0.039174978)), _F(0.22646502))
    p = fma(u, fma(u, p, _F(0.2175396)), _F(0.25527465))
    return fma(u, fma(u, p, _F(0.25378528)), _F(3.0008428e-06)) * _exp_of_sum(power, rest)


@Scalar
def erf(real):
    """The error function."""
    if real is np.float64:
        return lambda x: math.erf(x)

    def erf(x):
        t = abs(x)
        t = select(t > _F(10.5), _F(10.5), t)
        square = t * t
        far = _ONE - _tail(t, -square, fma(-t, t, square))
        return _copy_sign(select(t < _HALF, t * _erf_by_x(square), far), x)

    return erf


@Scalar
def below_normal(real):
    """The probability that a standard normal variable is below x."""
    scale, half = real(math.sqrt(0.5)), real(0.5)
    if real is np.float64:
        return lambda x: half * math.erfc(-scale * x)

    def below_normal(x):
        t = abs(x)
        t = select(t > _F(14.8), _F(14.8), t)
        power = _HALF * t * t
        far = _HALF * _tail(scale * t, -power, fma(-_HALF * t, t, power))
        near = fma(_HALF * scale * x, _erf_by_x(power), _HALF)
        return select(t < _F(0.7), near, select(x < _F(0), far, _ONE - far))

    return below_normal
