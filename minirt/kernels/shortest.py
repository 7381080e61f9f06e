"""From numbers to columns of decimals: of floats the shortest that reads back as the same.

What reads back as a float v = c * 2^q is the interval between the midpoints to its
neighbours, which themselves belong to it if c is even. Let 10^k be the largest power of
ten no wider than that interval. Then a multiple of 10^k is in the interval, and at most
one of 10^(k+1): that one is the shortest, or else the multiples next to v decide, the
nearer first. In quarters of 10^k all of this is comparison of integers: v and the midpoints
are rounded to odd (cut, and the last bit set if anything was cut), which nothing that
compares them with even numbers can tell from the exact values.
(After the Schubfach method of R. Giulietti.)
"""

from __future__ import annotations

import numpy as np

from ..jit import helper, kernel
from .powers import multiply, power
from .texts import COLUMNS, FINITE, INFINITE, NAN, NEGATIVE

__all__ = ["float_columns", "floor_log10", "integer_columns"]

_0, _1, _2, _4, _10, _40, _59 = (np.uint64(n) for n in (0, 1, 2, 4, 10, 40, 59))


@kernel(whole=("src", *COLUMNS))
def integer_columns(src, digits, exponents, kinds):
    """The columns of integers: the size and the sign."""
    for i in range(src.size):
        negative = src[i] < 0
        size = np.uint64(src[i])
        digits[i] = _0 - size if negative else size
        exponents[i] = 0
        kinds[i] = NEGATIVE if negative else FINITE


@kernel(whole=("codes", "powers", *COLUMNS))
def float_columns(codes, man, exponent_bits, powers, digits, exponents, kinds):
    """The columns of IEEE floats, given as their bits and the widths of the fields."""
    for i in range(codes.size):
        code = np.uint64(codes[i])
        digits[i], exponents[i], kind = _decimal(code, man, exponent_bits, powers)
        negative = code >> np.uint64(man + exponent_bits) != _0
        kinds[i] = kind | (NEGATIVE if negative and kind != NAN else FINITE)


@helper
def _decimal(code, man, exponent_bits, powers):
    """The size of one float: digits, exponent, kind."""
    hidden = _1 << np.uint64(man)
    highest = (1 << exponent_bits) - 1
    fraction = code & (hidden - _1)
    field = np.int64(code >> np.uint64(man)) & highest
    if field == highest:
        return _0, 0, INFINITE if fraction == _0 else NAN
    if field == 0 and fraction == _0:
        return _0, 0, FINITE
    q = max(field, 1) - (highest >> 1) - man
    c = fraction | hidden if field != 0 else fraction
    digits, k = _shortest(c, q, fraction == _0 and field > 1, powers)
    return digits, k, FINITE


@helper
def _shortest(c, q, narrow, powers):
    """The shortest decimal digits * 10^k of c * 2^q, the nearest of them, a tie to even.

    ``narrow``: the next smaller float is only half as far away as the next larger one.
    """
    k = floor_log10(q, narrow)
    high, low, log2 = power(powers, -k)
    shift = np.uint64(q + log2 + 1)
    middle = c << _2
    v = _scaled(middle << shift, high, low)
    # An odd c does not own the midpoints.
    outside = c & _1
    lower = _scaled(middle - (_1 if narrow else _2) << shift, high, low) + outside
    upper = _scaled(middle + _2 << shift, high, low) - outside

    below = v >> _2
    if below >= _10:
        tens = below // _10
        floor, ceiling = lower <= tens * _40, tens * _40 + _40 <= upper
        if floor != ceiling:
            return tens + (_1 if ceiling else _0), k + 1
    floor, ceiling = lower <= below * _4, below * _4 + _4 <= upper
    if floor == ceiling:
        half = below * _4 + _2
        ceiling = v > half or (v == half and below & _1 != _0)
    return below + (_1 if ceiling else _0), k


@helper
def floor_log10(q, narrow):
    """floor(log10(2^q)), or of 3/4 * 2^q if ``narrow``, for -1100 < q < 1100."""
    return (q * 1262611 - (524031 if narrow else 0)) >> 22


@helper
def _scaled(x, high, low):
    """x * T / 2^128 for x < 2^59, rounded to odd.

    T is too large by less than one, the product by less than 2^59: that makes an integer
    look like one and a bit. What is no integer is at least 2^-66 away from one.
    """
    top, middle, bottom = multiply(x, high, low)
    return top | (_1 if middle != _0 or bottom >> _59 != _0 else _0)
