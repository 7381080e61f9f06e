"""From decimal text to exact numbers: the loops behind Cast from string.

:func:`scan` reads a block of texts into columns, one slot an element:

- ``digits`` (uint64): the leading significant digits as an integer, as many as fit;
- ``exponents`` (int64): the power of ten of its last digit;
- ``kinds`` (uint8): one of the kinds below, with ``NEGATIVE`` for a minus sign.

The value is ``digits`` * 10^``exponents`` exactly, or, where the kind is ``LONGER``, something
strictly between that and one more in the last digit. Integers and bools are decided from
the columns. For floats :func:`scale` makes the columns binary, and :func:`assemble` rounds
once, to float64: to nearest, or *to odd* (cut, and the last bit set if anything was cut),
which any narrower type can then round as if it had seen the exact number.
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from .powers import EXACT, HIGHEST, LOWEST, helper, multiply, normalize, power

__all__ = [
    "FINITE",
    "INFINITE",
    "KIND",
    "LONGER",
    "NAN",
    "NEGATIVE",
    "SEPARATOR",
    "UNDECIDED",
    "assemble",
    "nonzero",
    "scale",
    "scan",
    "significand",
    "truncate",
]

FINITE, LONGER, UNDECIDED, INFINITE, NAN = range(5)
NEGATIVE = 0x80
KIND = 0x7F

#: Ends each text of a block; no number contains it.
SEPARATOR = ","

#: Significant digits that decide every rounding: the longest midpoint of float64 has 767.
_DECISIVE = 800
#: Exponents stay below this, so that adding the length of a text cannot overflow.
_FAR = 10**17

_0, _1, _10 = np.uint64(0), np.uint64(1), np.uint64(10)
_ALL = np.uint64(2**64 - 1)
_LAST_FIT, _LAST_FIT_DIGIT = np.uint64((2**64 - 1) // 10), np.uint64((2**64 - 1) % 10)
_TENS = np.array([10**n for n in range(20)], np.uint64)
_FIVES = np.array([5**n for n in range(28)], np.uint64)
_COARSE = np.uint64(511)
_TOP = np.uint64(1 << 63)
_PLUS, _COMMA, _MINUS, _POINT, _NINE, _E = b"+,-.9e"

# ---- text to columns


@kernel(whole=("text", "digits", "exponents", "kinds", "end"))
def scan(text, digits, exponents, kinds, end):
    """Read the texts, each ended by the separator, up to the first that is no number.

    end[0] is how many were read, end[1] how many bytes: all of both, if all is well.
    """
    i = n = 0
    while n < digits.size and i < text.size:
        i = _blanks(text, i)
        kind = NEGATIVE if text[i] == _MINUS else 0
        if text[i] == _MINUS or text[i] == _PLUS:
            i += 1
        if text[i] <= _NINE:
            i, digits[n], exponents[n], longer = _number(text, i)
            kind |= longer
        else:
            i, special = _word(text, i)
            kind |= special
        if i < 0:
            break
        i = _blanks(text, i)
        if text[i] != _COMMA:
            break
        kinds[n] = kind
        i += 1
        n += 1
    end[0], end[1] = n, i


@helper
def _blanks(text, i):
    """Past space, tab, newline, vertical tab, form feed, carriage return."""
    while text[i] == 32 or 9 <= text[i] <= 13:
        i += 1
    return i


@helper
def _number(text, i):
    """Read ``12.5e-3``: (where it ends or -1, digits, exponent, whether longer)."""
    start = i
    i, digits, dropped, longer = _digits(text, i, _0, 0, 0)
    count, exponent = i - start, 0
    if text[i] == _POINT:
        start = i + 1
        i, digits, dropped, longer = _digits(text, start, digits, dropped, longer)
        exponent = start - i
        count -= exponent
    if count == 0:
        return -1, digits, exponent, longer
    if text[i] | 32 == _E:
        i, given = _exponent(text, i + 1)
        exponent += given
    return i, digits, exponent + dropped, longer


@helper
def _digits(text, i, digits, dropped, longer):
    """Read digits on to ``digits``; once one does not fit, it and all that follow are dropped."""
    digit = np.uint64(text[i]) - np.uint64(48)
    while digit < _10:
        if dropped == 0 and (
            digits < _LAST_FIT or (digits == _LAST_FIT and digit <= _LAST_FIT_DIGIT)
        ):
            digits = digits * _10 + digit
        else:
            dropped += 1
            longer |= LONGER if digit != _0 else 0
        i += 1
        digit = np.uint64(text[i]) - np.uint64(48)
    return i, digits, dropped, longer


@helper
def _exponent(text, i):
    """Read ``-3``: (where it ends or -1, its value, clamped)."""
    negative = text[i] == _MINUS
    if negative or text[i] == _PLUS:
        i += 1
    start, value = i, np.int64(0)
    while 48 <= text[i] <= _NINE:
        if value < _FAR:
            value = value * 10 + (np.int64(text[i]) - 48)
        i += 1
    return i if i > start else -1, -value if negative else value


@helper
def _word(text, i):
    """Read ``nan``, ``inf`` or ``infinity`` in any case: (where it ends or -1, kind)."""
    if _spells(text, i, b"nan"):
        return i + 3, NAN
    if _spells(text, i, b"infinity"):
        return i + 8, INFINITE
    if _spells(text, i, b"inf"):
        return i + 3, INFINITE
    return -1, NAN


@helper
def _spells(text, i, word):
    """Whether ``word`` (lower case) is at ``i``; the separator stops the comparison in time."""
    k = 0
    while k < len(word) and text[i + k] | 32 == word[k]:
        k += 1
    return k == len(word)


# ---- columns to bool and integers


@kernel
def nonzero(digits, kinds, dst):
    """dst[i] = whether the value is anything but zero; NaN is."""
    for i in range(digits.size):
        dst[i] = kinds[i] & KIND >= INFINITE or digits[i] != _0


@kernel
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
        if longer or exponent > 19 or digits > _ALL // _TENS[exponent]:
            return False, _0
        return True, digits * _TENS[exponent]
    unit = _TENS[-exponent]
    whole = digits // unit
    rest = digits - whole * unit
    if to_nearest:
        up = rest > unit - rest
        tie = rest == unit - rest
        whole += _1 if up or (tie and (longer or whole & _1 != _0)) else _0
    return True, whole


# ---- columns to float64


@kernel(whole=("powers",))
def scale(digits, exponents, kinds, powers):
    """Make the columns binary: ``digits`` * 2^``exponents``, the top bit set, the last bit sticky.

    A zero stays zero. Where 128 bits of the power of ten do not decide, or too many
    digits were dropped, the slot is left as it is and its kind becomes ``UNDECIDED``.
    """
    for i in range(digits.size):
        kind = kinds[i] & KIND
        if kind > LONGER or digits[i] == _0:
            continue
        decided, m, e = _scale(digits[i], exponents[i], powers)
        if kind == LONGER and LOWEST <= exponents[i] <= HIGHEST:
            # The value lies between two decimals: their common upper bits are its own.
            decided_too, m_next, e_next = _next(digits[i], exponents[i], powers)
            decided &= decided_too and e == e_next and m | _COARSE == m_next | _COARSE
            m = m & ~_COARSE | _1
        if decided:
            digits[i], exponents[i] = m, e
        else:
            kinds[i] = kinds[i] & NEGATIVE | UNDECIDED


@helper
def _next(digits, exponent, powers):
    """:func:`_scale` of one more in the last digit."""
    if digits != _ALL:
        return _scale(digits + _1, exponent, powers)
    decided, m, e = _scale(_TOP, exponent, powers)
    return decided, m, e + 1


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
    # The table is rounded up: the product is too large by less than 2^64, here doubled.
    if middle > _1:
        return True, top | _1, e
    if -28 < exponent < 0 and digits % _FIVES[-exponent] == _0:
        m, zeros = normalize(digits // _FIVES[-exponent])
        return True, m, exponent - zeros
    return False, top, e


@kernel
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
        infinity = np.uint64(0x7FF0 << 48)
        return infinity if to_nearest else infinity - _1
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
    mantissa = text.lower().partition("e")[0]
    every = "".join(c for c in mantissa if c in "0123456789").lstrip("0")
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
