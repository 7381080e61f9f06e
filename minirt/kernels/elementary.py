"""Elementary functions for kernels.

They are polynomials without branches, so that loops vectorise: within a few units in the last
place over the whole range; infinities, NaN and subnormal numbers are as they must be. Each is a
fixed sequence of operations that IEEE 754 defines to the bit, so that every processor gives the
same. Only ``erf`` and ``below_normal`` are those of the C library in float64.

The coefficients are minimax fits: for ``exp`` to (e^r - 1 - r) / r^2, for ``log1p`` and
:func:`_erf_by_x` to what follows the first term of their series, in :func:`_tail` to
erfc(t) e^(t^2) in u = 1 / (1 + 0.45 t).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..jit import Scalar, helper
from ..jit.lanes import add, and_, ashr, bits, from_bits, or_, select, shl, sub
from ..jit.lanes import multiply_add as fma

__all__ = ["below_normal", "erf", "exp", "expm1", "log", "log1p", "sigmoid", "tanh"]

_F = np.float32
_ONE, _TWO, _HALF = _F(1), _F(2), _F(0.5)


@dataclass(frozen=True)
class _Format:
    """A floating-point type: the integer of its size, and where its exponent is.

    -ln 2 is ``ln2_high + ln2_low``: the product of the first with an exponent is exact. e^x is
    0 below ``lowest`` and infinite above ``highest``.
    """

    lane: Any
    fraction: int
    bias: int
    ln2_high: float
    ln2_low: float
    lowest: float
    highest: float
    exp: tuple[float, ...]
    log1p: tuple[float, ...]


_FORMATS: dict[type, _Format] = {
    np.float32: _Format(
        np.int32,
        23,
        127,
        -0.693359375,
        0.693359375 - math.log(2),
        -104,
        89,
        (0.5, 0.16666405, 0.04166585, 0.0083807185, 0.0013970983),
        (0.33333206, 0.2001085, 0.1399957, 0.14012232),
    ),
    np.float64: _Format(
        np.int64,
        52,
        1023,
        -0.6931471803691238,
        -1.9082149292705877e-10,
        -746,
        710,
        (
            0.5,
            0.16666666666666669,
            0.04166666666662324,
            0.008333333333329994,
            0.0013888888917654016,
            0.00019841269863392214,
            2.4801520613566223e-05,
            2.7557267935231926e-06,
            2.762041219449885e-07,
            2.5100634461878497e-08,
        ),
        (
            0.3333333333333333,
            0.20000000000007292,
            0.14285714283554374,
            0.11111111358714365,
            0.09090894718049491,
            0.07692785032868271,
            0.06657072099430736,
            0.060005364492832634,
            0.04400369042555965,
            0.08082023186439444,
        ),
    ),
}


def _polynomial(real: type, coefficients: tuple[float, ...]) -> Callable[[Any], Any]:
    """The function of x with these coefficients, the constant one first; in kernels only."""
    first, *others = map(real, coefficients)
    function: Callable[[Any], Any] = helper(lambda x: first)
    if others:
        rest = _polynomial(real, coefficients[1:])
        function = helper(lambda x: fma(x, rest(x), first))
    return function


def _magic(real: type) -> tuple[Any, Any]:
    """A number, and its bits: the sum with a small one has the nearest integer in the low bits."""
    form = _FORMATS[real]
    number = real(3 << (form.fraction - 1))
    return number, form.lane(int(number.view(form.lane)))


@helper
def _clamp(x, low, high):
    """NaN stays."""
    return select(x < low, low, select(x > high, high, x))


@Scalar
def _copy_sign(real):
    """``size``, which has no sign, with the sign of ``x``."""
    lane = _FORMATS[real].lane
    sign = lane(-1 << (lane(0).itemsize * 8 - 1))
    return lambda size, x: from_bits(or_(bits(size), and_(bits(x), sign)))


@Scalar
def _power_of_2(real):
    """2^k of an integer k."""
    form = _FORMATS[real]
    bias, fraction = form.lane(form.bias), form.lane(form.fraction)
    return lambda k: from_bits(shl(add(k, bias), fraction))


@Scalar
def _reduce(real):
    """k as an integer, and r, |r| <= 0.4, where x + rest = k ln 2 + r."""
    form = _FORMATS[real]
    magic, magic_bits = _magic(real)
    log2e, high, low = real(1 / math.log(2)), real(form.ln2_high), real(form.ln2_low)

    def reduce(x, rest):
        shifted = fma(x, log2e, magic)
        n = shifted - magic
        return sub(bits(shifted), magic_bits), fma(n, low, fma(n, high, x)) + rest

    return reduce


@Scalar
def _exp_less_1(real):
    """e^r - 1 of |r| <= 0.4."""
    tail = _polynomial(real, _FORMATS[real].exp)
    return lambda r: fma(r * r, tail(r), r)


@Scalar
def _exp_of_sum(real):
    """e^(x + rest), where ``rest`` is small and as good as exact."""
    lowest, highest = real(_FORMATS[real].lowest), real(_FORMATS[real].highest)
    reduce, less_1, power_of_2 = _reduce(real), _exp_less_1(real), _power_of_2(real)
    one, shift = real(1), _FORMATS[real].lane(1)

    def exp_of_sum(x, rest):
        k, r = reduce(_clamp(x, lowest, highest), rest)
        # Twice, as 2^k need not be a normal number where the result is one, and vice versa.
        half = ashr(k, shift)
        return (one + less_1(r)) * power_of_2(half) * power_of_2(sub(k, half))

    return exp_of_sum


@Scalar
def exp(real):
    """e^x."""
    exp_of_sum, zero = _exp_of_sum(real), real(0)
    return lambda x: exp_of_sum(x, zero)


@Scalar
def expm1(real):
    """e^x - 1, exact in digits for small x too."""
    highest, lowest = real(_FORMATS[real].highest), real(-80)  # below, the result is -1
    reduce, less_1, power_of_2 = _reduce(real), _exp_less_1(real), _power_of_2(real)
    zero, half, two, unit = real(0), real(0.5), real(2), _FORMATS[real].lane(1)

    def expm1(x):
        k, r = reduce(_clamp(x, lowest, highest), zero)
        power = power_of_2(sub(k, unit))  # a number also where 2^k is none
        result = two * fma(power, less_1(r), power - half)
        return select(x == zero, x, result)  # keeps the sign of zero

    return expm1


@Scalar
def log1p(real):
    """ln(1 + x), for 0 <= x <= 1 alone: 2 artanh(x / (2 + x))."""
    tail, two = _polynomial(real, _FORMATS[real].log1p), real(2)

    def log1p(x):
        s = x / (two + x)
        z = s * s
        return two * fma(s * z, tail(z), s)

    return log1p


@Scalar
def log(real):
    """The natural logarithm: k ln 2 + ln m, where x = 2^k m and m is nearest to 1."""
    form = _FORMATS[real]
    low, high = -real(form.ln2_low), -real(form.ln2_high)
    magic, magic_bits = _magic(real)
    least_m = form.lane(int(real(math.sqrt(0.5)).view(form.lane)))
    fraction, places = form.lane(form.fraction), real(form.fraction)
    normal, scale = np.finfo(real).tiny, real(2.0**form.fraction)
    zero, one, two, infinity, nan = real(0), real(1), real(2), real(np.inf), real(np.nan)
    tail = _polynomial(real, form.log1p)

    def log(x):
        u = bits(select(x < normal, x * scale, x))
        k = ashr(sub(u, least_m), fraction)
        f = from_bits(sub(u, shl(k, fraction))) - one
        s = f / (two + f)
        z = s * s
        n = from_bits(add(k, magic_bits)) - magic - select(x < normal, places, zero)
        y = fma(n, high, fma(n, low, two * fma(s * z, tail(z), s)))
        y = select(x < infinity, y, x)
        return select(x > zero, y, select(x == zero, -infinity, nan))

    return log


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
    less, copy_sign, two, large = expm1(real), _copy_sign(real), real(2), real(20)

    def tanh(x):
        size = abs(x)
        t = less(two * select(size > large, large, size))  # beyond, the quotient is 1
        return copy_sign(t / (t + two), x)

    return tanh


@helper
def _erf_by_x(s):
    """erf(x) / x of s = x^2 <= 0.26."""
    p = fma(s, fma(s, _F(0.0047009676), _F(-0.026749706)), _F(0.11282723))
    return fma(s, fma(s, p, _F(-0.37612605)), _F(1.1283791))


_float_exp = _exp_of_sum(np.float32)


@helper
def _tail(t, power, rest):
    """erfc(t) of t >= 0.5, where ``power + rest`` is -t^2."""
    u = _ONE / fma(_F(0.45), t, _ONE)
    p = fma(u, fma(u, _F(0.084149644), _F(-0.30384085)), _F(0.30582955))
    p = fma(u, fma(u, p, _F(-0.039174978)), _F(0.22646502))
    p = fma(u, fma(u, p, _F(0.2175396)), _F(0.25527465))
    return fma(u, fma(u, p, _F(0.25378528)), _F(3.0008428e-06)) * _float_exp(power, rest)


@Scalar
def erf(real):
    """The error function."""
    if real is np.float64:
        return lambda x: math.erf(x)
    copy_sign = _copy_sign(real)

    def erf(x):
        t = abs(x)
        t = select(t > _F(10.5), _F(10.5), t)
        square = t * t
        far = _ONE - _tail(t, -square, fma(-t, t, square))
        return copy_sign(select(t < _HALF, t * _erf_by_x(square), far), x)

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
