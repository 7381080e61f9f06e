"""Decimal text to columns of numbers, and back: the loops between bytes and arithmetic.

Text is one buffer of ASCII bytes, a separator after each element. Columns hold a block of
elements, one slot each:

- ``digits`` (uint64): the significant digits as an integer, as many as fit;
- ``exponents`` (int64): the power of ten of its last digit;
- ``kinds`` (uint8): one of the kinds below, with ``NEGATIVE`` for a minus sign.

A value is ``digits`` * 10^``exponents`` exactly or, where its kind is ``LONGER``, strictly
between that and one more in the last digit.
"""

from __future__ import annotations

import numpy as np

from ..jit import helper, kernel
from ..jit.lanes import leading_zeros
from .powers import TENS

__all__ = [
    "COLUMNS",
    "FINITE",
    "INFINITE",
    "KIND",
    "LONGER",
    "LONGEST",
    "NAN",
    "NEGATIVE",
    "SEPARATOR",
    "UNDECIDED",
    "scan",
    "write",
]

#: What kernels call the columns. They come in blocks too small for threads: all are whole.
COLUMNS = ("digits", "exponents", "kinds")

FINITE, LONGER, UNDECIDED, INFINITE, NAN = range(5)
NEGATIVE, KIND = 0x80, 0x7F

#: Ends each text; no number contains it.
SEPARATOR = ","
#: Bytes that a written text and its separator take at most: -1.2345678901234567e-308
LONGEST = 25

#: Exponents that are read stay below this, so that adding the length of a text cannot overflow.
_FAR = 10**17
_PLUS, _COMMA, _MINUS, _POINT, _ZERO, _NINE, _E, _A, _F, _I, _N = b"+,-.09eaFIN"
_0, _10 = np.uint64(0), np.uint64(10)
_LAST_FIT, _LAST_FIT_DIGIT = np.uint64((2**64 - 1) // 10), np.uint64((2**64 - 1) % 10)

# ---- reading


@kernel(whole=("text", *COLUMNS, "end"))
def scan(text, digits, exponents, kinds, end):
    """Read the texts up to the first that is no number.

    end[0] is how many were read, end[1] how many bytes: all of both, if all is well.
    """
    i = n = 0
    while n < digits.size and i < text.size:
        i = _blanks(text, i)
        # Branches on the sign would go wrong every other time.
        kind = NEGATIVE * np.int64(text[i] == _MINUS)
        i += np.int64(text[i] == _MINUS or text[i] == _PLUS)
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
    i, digits, dropped, longer = _digits(text, i, _0, 0, FINITE)
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
    digit = np.uint64(text[i]) - np.uint64(_ZERO)
    while digit < _10 and digits < _LAST_FIT:
        digits = digits * _10 + digit
        i += 1
        digit = np.uint64(text[i]) - np.uint64(_ZERO)
    while digit < _10:
        if dropped == 0 and digits == _LAST_FIT and digit <= _LAST_FIT_DIGIT:
            digits = digits * _10 + digit
        else:
            dropped += 1
            longer |= LONGER if digit != _0 else FINITE
        i += 1
        digit = np.uint64(text[i]) - np.uint64(_ZERO)
    return i, digits, dropped, longer


@helper
def _exponent(text, i):
    """Read ``-3``: (where it ends or -1, its value, clamped)."""
    negative = text[i] == _MINUS
    if negative or text[i] == _PLUS:
        i += 1
    start, value = i, np.int64(0)
    while _ZERO <= text[i] <= _NINE:
        if value < _FAR:
            value = value * 10 + (np.int64(text[i]) - _ZERO)
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


# ---- writing


@kernel(whole=(*COLUMNS, "text", "end"))
def write(digits, exponents, kinds, widest, text, end):
    """Write the texts, and in end[0] how many bytes they take.

    They are laid out as Python's ``repr`` of a float without a trailing ``.0``: with an
    exponent below 1e-4, and where more than ``widest`` digits would stand before the point.
    """
    at = np.int64(0)
    for i in range(digits.size):
        kind = kinds[i] & KIND
        text[at] = _MINUS
        at += np.int64(kinds[i] >= NEGATIVE)
        if kind == NAN:
            at = _write_word(text, at, _N, _A, _N)
        elif kind == INFINITE:
            at = _write_word(text, at, _I, _N, _F)
        elif digits[i] == _0:
            text[at] = _ZERO
            at += 1
        else:
            at = _write_number(text, at, digits[i], exponents[i], widest)
        text[at] = _COMMA
        at += 1
    end[0] = at


@helper
def _write_word(text, at, a, b, c):
    text[at], text[at + 1], text[at + 2] = a, b, c
    return at + 3


@helper
def _write_number(text, at, digits, k, widest):
    """Write digits * 10^k > 0 at ``at`` and return where it ends."""
    rest = digits // _10
    while digits == rest * _10:
        digits, rest = rest, rest // _10
        k += 1
    count = _count(digits)
    point = count + k  # the value is 0.digits * 10^point
    if point > widest or point < -3:
        return _write_scientific(text, at, digits, count, point - 1)
    if k >= 0:
        _write_digits(text, at + count, count, digits)
        for i in range(at + count, at + point):
            text[i] = _ZERO
        return at + point
    if point <= 0:
        text[at], text[at + 1] = _ZERO, _POINT
        _write_digits(text, at + 2 - k, -k, digits)
        return at + 2 - k
    end = at + count + 1
    whole = _write_digits(text, end, -k, digits)
    text[at + point] = _POINT
    _write_digits(text, at + point, point, whole)
    return end


@helper
def _write_scientific(text, at, digits, count, exponent):
    """Write ``d.ddde+dd``: no point after a single digit, two digits of exponent at least."""
    end = at + count + (1 if count > 1 else 0)
    lead = _write_digits(text, end, count - 1, digits)
    if count > 1:
        text[at + 1] = _POINT
    text[at] = _ZERO + lead
    text[end], text[end + 1] = _E, _PLUS if exponent >= 0 else _MINUS
    size = abs(exponent)
    width = 2 if size < 100 else 3
    _write_digits(text, end + 2 + width, width, np.uint64(size))
    return end + 2 + width


@helper
def _write_digits(text, end, count, digits):
    """Write the last ``count`` digits so that they end before ``end``; return the others."""
    for i in range(end - 1, end - count - 1, -1):
        rest = digits // _10
        text[i] = _ZERO + (digits - rest * _10)
        digits = rest
    return digits


@helper
def _count(digits):
    """How many decimal digits ``digits`` > 0 has, from how many binary ones."""
    count = ((64 - np.int64(leading_zeros(digits))) * 1233) >> 12
    return count + np.int64(digits >= TENS[count])
