"""From columns of exact decimal numbers to the elements of any type: Cast from string.

The columns are those of :mod:`minirt.kernels.texts`. Integers and bools are decided from them
directly. For floats :func:`scale` makes them binary, and :func:`assemble` rounds once, to
float64: to nearest, or *to odd* (cut, and the last bit set if anything was cut), which any
narrower type can then round as if it had seen the exact number.
"""

from __future__ import annotations

import numpy as np

from ..jit import helper, kernel
from .powers import EXACT, HIGHEST, LOWEST, TENS, multiply, normalize, power
from .texts import COLUMNS, INFINITE, KIND, LONGER, NAN, NEGATIVE, UNDECIDED

__all__ = ["assemble", "nonzero", "scale", "significand", "truncate"]

#: Significant digits that decide every rounding: the longest midpoint of float64 has 767.
_DECISIVE = 800

_0, _1 = np.uint64(0), np.uint64(1)
_TOP, _ALL = np.uint64(1 << 63), np.uint64(2**64 - 1)
_FIVES = np.array([5**n for n in range(28)], np.uint64)
#: The low bits of 64 that say no more than one bit does when 53 of them are kept.
_COARSE = np.uint64(511)

# ---- columns to bool and integers


@kernel(whole=(*COLUMNS, "dst"))
def nonzero(digits, exponents, kinds, dst):
    """dst[i] = whether the value is anything but zero; NaN is."""
    for i in range(digits.size):
        dst[i] = kinds[i] & KIND >= INFINITE or digits[i] != _0


@kernel(whole=(*COLUMNS, "dst", "limits"))
def truncate(digits, exponents, kinds, dst, limits, to_nearest, mask):
    """dst[i] = the value cut to an integer (or rounded to nearest even), its low bits.

    ``limits`` (uint64) says which integers fit and what the others become: the largest,
    the size of the smallest, what replaces larger ones, what replaces smaller ones and NaN.
    """
    for i in range(digits.size):
        kind = kinds[i] & KIND
        negative = kinds[i] & NEGATIVE != 0
        fits = kind <= LONGER
        size = _0
        if fits:
            fits, size = _integer(digits[i], exponents[i], kind == LONGER, to_nearest)
        if fits and size <= limits[1 if negative else 0]:
            dst[i] = (_0 - size if negative else size) & mask
        else:
            dst[i] = limits[3 if negative or kind == NAN else 2] & mask


@helper
def _integer(digits, exponent, longer, to_nearest):
    """Whether the integer part fits 64 bits, and the integer."""
    if digits == _0 or exponent < -19:
        return True, _0  # below 2^64 / 10^20 < 1/2
    if exponent > 0:
        # A digit is dropped only where it would have made the integer too large.
        if longer or exponent > 19 or digits > _ALL // TENS[exponent]:
            return False, _0
        return True, digits * TENS[exponent]
    unit = TENS[-exponent]
    whole = digits // unit
    rest = digits - whole * unit
    if to_nearest:
        up = rest > unit - rest
        tie = rest == unit - rest
        whole += _1 if up or (tie and (longer or whole & _1 != _0)) else _0
    return True, whole


# ---- columns to float64


@kernel(whole=(*COLUMNS, "powers"))
def scale(digits, exponents, kinds, powers):
    """Make the columns binary: ``digits`` * 2^``exponents``, the top bit set, the last bit sticky.

    A zero stays zero. Where 128 bits of the power of ten do not decide, or too many
    digits were dropped, the slot is left as it is and its kind becomes ``UNDECIDED``.
    """
    for i in range(digits.size):
        kind = kinds[i] & KIND
        if kind > LONGER or digits[i] == _0:
            continue
        if kind == LONGER:
            decided, m, e = _scale_longer(digits[i], exponents[i], powers)
        else:
            decided, m, e = _scale(digits[i], exponents[i], powers)
        if decided:
            digits[i], exponents[i] = m, e
        else:
            kinds[i] = kinds[i] & NEGATIVE | UNDECIDED


@helper
def _scale_longer(digits, exponent, powers):
    """:func:`_scale` of what lies between two decimals: the bits that they share are its own."""
    decided, m, e = _scale(digits, exponent, powers)
    if exponent > HIGHEST or exponent < LOWEST:
        return decided, m, e
    if digits == _ALL:
        return False, m, e
    decided_too, m_next, e_next = _scale(digits + _1, exponent, powers)
    shared = e == e_next and m | _COARSE == m_next | _COARSE
    return decided and decided_too and shared, m & ~_COARSE | _1, e


@helper
def _scale(digits, exponent, powers):
    """digits * 10^exponent as m * 2^e, m of 64 bits, the last one sticky: (decided, m, e)."""
    x, zeros = normalize(digits)
    if exponent > HIGHEST or exponent < LOWEST:
        return True, _TOP | _1, np.int64(2000 if exponent > 0 else -2000)  # beyond every float64
    high, low, log2 = power(powers, exponent)
    top, middle, bottom = multiply(x, high, low)
    e = log2 - zeros + 1
    if top >> np.uint64(63) == _0:
        top = top << _1 | middle >> np.uint64(63)
        middle <<= _1
        e -= 1
    if 0 <= exponent <= EXACT:
        return True, top | (_1 if middle | bottom != _0 else _0), e
    # The table is rounded up: the product was too large by less than a unit of its middle word.
    if middle != _0:
        return True, top | _1, e
    if -28 < exponent < 0 and digits % _FIVES[-exponent] == _0:
        m, zeros = normalize(digits // _FIVES[-exponent])
        return True, m, exponent - zeros
    return False, top, e


@kernel(whole=(*COLUMNS, "bits"))
def assemble(digits, exponents, kinds, to_nearest, bits):
    """bits[i] (uint64) = the float64 of the binary columns, rounded to nearest even or to odd."""
    for i in range(digits.size):
        kind = kinds[i] & KIND
        if kind <= UNDECIDED:
            magnitude = _float64(digits[i], exponents[i], to_nearest)
        else:
            magnitude = np.uint64(0x7FF0 if kind == INFINITE else 0x7FF8) << np.uint64(48)
        bits[i] = magnitude | np.uint64(kinds[i] & NEGATIVE) << np.uint64(56)


@helper
def _float64(m, e, to_nearest):
    """The bits of m * 2^e, where the last bit of m only says that there is more."""
    field = e + 63 + 1023
    if m == _0 or field < -52:
        return _0 if m == _0 or to_nearest else _1
    if field > 2046:
        return np.uint64(0x7FF0 << 48)  # to odd too: no type tells infinity from what is too large
    m = m >> _1 | m & _1  # so that no shift is by 64
    cut = np.uint64(10 if field > 0 else 11 - field)
    kept = m >> cut
    rest = m - (kept << cut)
    if to_nearest:
        half = _1 << (cut - _1)
        kept += _1 if rest > half or (rest == half and kept & _1 != _0) else _0
    else:
        kept |= _1 if rest != _0 else _0
    # The leading one of a normal number counts as one in the exponent field.
    return kept + (np.uint64(max(field - 1, 0)) << np.uint64(52))


def significand(text: str, digits: int, exponent: int) -> tuple[int, int]:
    """What :func:`scale` could not decide, by integers of any length: (m, e), m * 2^e.

    ``digits`` and ``exponent`` are what :func:`scan` read from ``text``.
    """
    mantissa = text.lower().partition("e")[0].replace(".", "")
    every = mantissa.strip(" \t\n\r\v\f+-").lstrip("0")
    exponent += len(str(digits)) - len(every)
    if len(every) > _DECISIVE:
        exponent += len(every) - _DECISIVE - 1
        every = every[:_DECISIVE] + ("1" if every[_DECISIVE:].strip("0") else "0")
    numerator, denominator = int(every) * 10 ** max(exponent, 0), 10 ** max(-exponent, 0)
    shift = 65 - numerator.bit_length() + denominator.bit_length()
    m, rest = divmod(numerator << max(shift, 0), denominator << max(-shift, 0))
    spare = m.bit_length() - 64
    sticky = rest != 0 or m & (1 << spare) - 1 != 0
    return m >> spare | sticky, spare - shift
