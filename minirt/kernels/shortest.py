"""From binary floats to the shortest decimal text that reads back as the same float.

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

from ..jit import kernel
from .powers import helper, multiply, power

__all__ = ["LONGEST", "SEPARATOR", "floor_log10", "write"]

#: Bytes that one text and its separator take at most: -1.2345678901234567e-308
LONGEST = 25
SEPARATOR = ","

_0, _1, _2, _4, _10, _40, _59 = (np.uint64(n) for n in (0, 1, 2, 4, 10, 40, 59))
_COMMA, _MINUS, _PLUS, _POINT, _ZERO, _E, _A, _F, _I, _N = b",-+.0eaFIN"


@kernel(whole=("codes", "powers", "text", "end"))
def write(codes, man, exponent_bits, powers, text, end):
    """Write the texts of IEEE floats, given as their bits, each ended by the separator.

    ``man`` and ``exponent_bits`` are the widths of the fields; end[0] is how many bytes
    were written.
    """
    at = 0
    for i in range(codes.size):
        at = _write_float(np.uint64(codes[i]), man, exponent_bits, powers, text, at)
        text[at] = _COMMA
        at += 1
    end[0] = at


@helper
def _write_float(code, man, exponent_bits, powers, text, at):
    """Write one text at ``at`` and return where it ends."""
    hidden = _1 << np.uint64(man)
    highest = (1 << exponent_bits) - 1
    fraction = code & (hidden - _1)
    field = np.int64(code >> np.uint64(man)) & highest
    if field == highest and fraction != _0:
        return _write_word(text, at, _N, _A, _N)
    if code >> np.uint64(man + exponent_bits) != _0:
        text[at] = _MINUS
        at += 1
    if field == highest:
        return _write_word(text, at, _I, _N, _F)
    if field == 0 and fraction == _0:
        text[at] = _ZERO
        return at + 1
    q = max(field, 1) - (highest >> 1) - man
    narrow = fraction == _0 and field > 1
    digits, k = _shortest(fraction | hidden if field else fraction, q, narrow, powers)
    return _lay_out(text, at, digits, k)


@helper
def _write_word(text, at, a, b, c):
    text[at], text[at + 1], text[at + 2] = a, b, c
    return at + 3


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


@helper
def _lay_out(text, at, digits, k):
    """Write digits * 10^k as Python's ``repr`` does, but for a trailing ``.0``."""
    while digits % _10 == _0:
        digits //= _10
        k += 1
    count = _count(digits)
    point = count + k  # the value is 0.digits * 10^point
    if point > 16 or point < -3:
        return _write_exponent(text, _write_scientific(text, at, digits, count), point - 1)
    if point <= 0:
        text[at], text[at + 1] = _ZERO, _POINT
        end = at + 2 - point + count
        return _write_digits(text, at + 2, end, end, digits)
    if k >= 0:
        return _write_digits(text, at, at + point, at + count, digits)
    split = np.uint64(10) ** np.uint64(-k)
    whole = digits // split
    _write_digits(text, at, at + point, at + point, whole)
    text[at + point] = _POINT
    end = at + count + 1
    return _write_digits(text, at + point + 1, end, end, digits - whole * split)


@helper
def _count(digits):
    """How many digits the number has."""
    count, limit = 1, _10
    while count < 19 and digits >= limit:
        limit *= _10
        count += 1
    return count


@helper
def _write_digits(text, at, end, last, digits):
    """Fill text[at:end] with zeros, but with the digits right-aligned in text[at:last]."""
    for i in range(last, end):
        text[i] = _ZERO
    for i in range(last - 1, at - 1, -1):
        rest = digits // _10
        text[i] = _ZERO + (digits - rest * _10)
        digits = rest
    return end


@helper
def _write_scientific(text, at, digits, count):
    """Write ``d.ddd``, or ``d``."""
    end = _write_digits(text, at + 1, at + 1 + count, at + 1 + count, digits)
    text[at], text[at + 1] = text[at + 1], _POINT
    return end if count > 1 else at + 1


@helper
def _write_exponent(text, at, exponent):
    """Write ``e+dd``: a sign and at least two digits."""
    text[at], text[at + 1] = _E, _PLUS if exponent >= 0 else _MINUS
    end = at + (4 if -100 < exponent < 100 else 5)
    return _write_digits(text, at + 2, end, end, np.uint64(abs(exponent)))
