"""What Cast must compute, by exact rational arithmetic: the oracle of the cast tests.

:func:`cast` decodes one element to its exact value, a sign with a ``Fraction``, and
encodes that value once. It is short and slow on purpose, states the parameters of every
format itself and shares no code with minirt, so that agreement means something.
Types go by their ONNX names (``"float"`` is float32, ``"double"`` float64); an element is its
bit pattern as a non-negative int, whatever the type; a string element is a ``str``.

Where the texts leave something open this module decides, and the tests hold minirt to it:

- A NaN becomes the -0 of float4e2m1, float6e2m3 and float6e3m2 whatever its own sign.
- E8M0 takes -0 like +0. Any number below zero is NaN, be it the string "-1e-999", which
  every other format rounds to zero: the exact number decides, not its rounding. For the
  same reason "1e-999" is True as a bool and code 00 in E8M0.
- The float rule holds for strings, with integers in them too: "4294967301" to int32 is
  -2^31 as 4294967301.0 is, although the int64 of that value keeps its low bits, 5.
- The limits of the float rule are put to the integer *after* rounding: 2147483647.5 rounds
  to 2^31 for int4 and gives 0, but truncates to 2^31 - 1 for int8 and gives -1.
- NaN and -Inf to uint64 are 2^63, as all that is below -2^63.
- Blanks around a number are the six that C's isspace knows. Digits are ASCII.
- Shortest digits: the fewest that read back (ties to even, so an even neighbour owns its
  midpoints); among these the nearest to the value; of two as near the even last digit.
- Every NaN is "NaN" as a string, without its sign.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

__all__ = [
    "E8M0",
    "FLOATS",
    "INTEGERS",
    "NAMES",
    "Exact",
    "Format",
    "bits_of",
    "cast",
    "decode",
    "nearest",
    "parse",
]


class Format(NamedTuple):
    """A signed binary format; the codes are magnitudes, without the sign bit.

    ``over`` is the code for what rounds past ``largest`` and for infinity, ``unsaturated``
    the same under ``saturate=0``. ``nan`` is what a NaN becomes.
    """

    bits: int
    man: int
    bias: int
    largest: int
    over: int
    unsaturated: int
    nan: int


FLOATS = {
    "double": Format(64, 52, 1023, 0x7FEF_FFFF_FFFF_FFFF, 0x7FF0 << 48, 0x7FF0 << 48, 0x7FF8 << 48),
    "float": Format(32, 23, 127, 0x7F7F_FFFF, 0x7F80_0000, 0x7F80_0000, 0x7FC0_0000),
    "float16": Format(16, 10, 15, 0x7BFF, 0x7C00, 0x7C00, 0x7E00),
    "bfloat16": Format(16, 7, 127, 0x7F7F, 0x7F80, 0x7F80, 0x7FC0),
    "float8e4m3fn": Format(8, 3, 7, 0x7E, 0x7E, 0x7F, 0x7F),
    "float8e5m2": Format(8, 2, 15, 0x7B, 0x7B, 0x7C, 0x7E),
    "float8e4m3fnuz": Format(8, 3, 8, 0x7F, 0x7F, 0x80, 0x80),
    "float8e5m2fnuz": Format(8, 2, 16, 0x7F, 0x7F, 0x80, 0x80),
    "float6e2m3": Format(6, 3, 1, 0x1F, 0x1F, 0x1F, 0x20),
    "float6e3m2": Format(6, 2, 3, 0x1F, 0x1F, 0x1F, 0x20),
    "float4e2m1": Format(4, 1, 1, 0x7, 0x7, 0x7, 0x8),
}
FNUZ = ("float8e4m3fnuz", "float8e5m2fnuz")
#: Formats in which a NaN has a payload; float8e5m2 keeps it as a source only.
PAYLOAD = ("double", "float", "float16", "bfloat16")
INTEGERS = {
    **{f"int{n}": (n, True) for n in (2, 4, 8, 16, 32, 64)},
    **{f"uint{n}": (n, False) for n in (2, 4, 8, 16, 32, 64)},
}
E8M0 = "float8e8m0"
#: The castable types.
NAMES = (*FLOATS, E8M0, *INTEGERS, "bool", "string")


@dataclass(frozen=True, slots=True)
class Exact:
    """A number: its sign, and "finite" with a magnitude, "inf", or "nan" with fraction bits."""

    negative: bool
    kind: str
    magnitude: Fraction = Fraction(0)
    payload: str = ""


def cast(
    element: int | str, src: str, dst: str, saturate: bool = True, round_mode: str = "up"
) -> int | str:
    """The ``dst`` element for the ``src`` element; ValueError for a string that is no number."""
    if src == dst:
        return element
    value = parse(element) if isinstance(element, str) else decode(element, src)
    if dst == "string":
        return _to_text(value, src)
    if dst == "bool":
        return int(value.kind != "finite" or value.magnitude != 0)
    if dst == E8M0:
        return _to_e8m0(value, saturate, round_mode)
    if dst in FLOATS:
        return _to_float(value, dst, saturate)
    if src in INTEGERS or src == "bool":
        return _signed_int(value) % (1 << bits_of(dst))
    return _float_to_integer(value, dst)


def bits_of(name: str) -> int:
    """The width of an element of a numeric type."""
    if name in FLOATS:
        return FLOATS[name].bits
    return INTEGERS[name][0] if name in INTEGERS else 8


@lru_cache(maxsize=1 << 18)
def decode(code: int, src: str) -> Exact:
    """The exact value of ``code``."""
    if src in FLOATS:
        return _decode_float(code, src)
    if src == E8M0:
        return Exact(False, "nan") if code == 0xFF else Exact(False, "finite", _power(code - 127))
    bits, signed = INTEGERS.get(src, (8, False))
    value = code - (1 << bits) if signed and code >= 1 << (bits - 1) else code
    return Exact(value < 0, "finite", Fraction(abs(value)))


def _decode_float(code: int, src: str) -> Exact:
    f = FLOATS[src]
    if src in FNUZ and code == 0x80:
        return Exact(True, "nan")
    negative, code = divmod(code, 1 << (f.bits - 1))
    field, fraction = divmod(code, 1 << f.man)
    if code <= f.largest:
        whole = fraction + (1 << f.man) if field else fraction
        return Exact(bool(negative), "finite", whole * _power(max(field, 1) - f.bias - f.man))
    if src == "float8e4m3fn":
        return Exact(bool(negative), "nan")
    if fraction == 0:
        return Exact(bool(negative), "inf")
    return Exact(bool(negative), "nan", payload=f"{fraction:0{f.man}b}")


def _power(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def _floor_log2(x: Fraction) -> int:
    k = x.numerator.bit_length() - x.denominator.bit_length()
    return k if x >= _power(k) else k - 1


# --------------------------------------------------------------------- encoding


def nearest(x: Fraction, f: Format) -> int:
    """The code of ``x`` >= 0 rounded to nearest, ties to even, as if exponents had no end."""
    smallest = 1 - f.bias
    exponent = max(_floor_log2(x), smallest) if x else smallest
    steps = round(x / _power(exponent - f.man))  # Fraction rounds ties to even
    # A carry out of the fraction is a carry into the exponent: codes count on.
    return ((exponent - smallest) << f.man) + steps


def _to_float(value: Exact, dst: str, saturate: bool) -> int:
    f = FLOATS[dst]
    sign = int(value.negative) << (f.bits - 1)
    if value.kind == "nan":
        if dst not in PAYLOAD:
            return f.nan | sign
        payload = ("1" + value.payload[1:])[: f.man].ljust(f.man, "0")  # "1": quiet
        return f.over | int(payload, 2) | sign
    code = nearest(value.magnitude, f) if value.kind == "finite" else f.largest + 1
    if code > f.largest:
        code = f.over if saturate else f.unsaturated
    return code if code == 0 and dst in FNUZ else code | sign


def _to_e8m0(value: Exact, saturate: bool, round_mode: str) -> int:
    nan, x = 0xFF, value.magnitude
    if value.kind == "nan" or (value.negative and (x or value.kind == "inf")):
        return nan
    if value.kind == "inf" or x > _power(127):
        return 0xFE if saturate else nan
    if x < _power(-127):
        return 0 if saturate else nan
    k = _floor_log2(x)
    up = {"up": x > _power(k), "down": False, "nearest": x >= Fraction(3, 2) * _power(k)}
    return k + up[round_mode] + 127


def _signed_int(value: Exact) -> int:
    return int(-value.magnitude if value.negative else value.magnitude)


def _float_to_integer(value: Exact, dst: str) -> int:
    bits, _ = INTEGERS[dst]
    low, high, otherwise = {
        "int32": (-(1 << 31), 1 << 31, 1 << 31),
        "uint32": (-(1 << 63), 1 << 63, 0),
        "int64": (-(1 << 63), 1 << 63, 1 << 63),
        "uint64": (-(1 << 63), 1 << 64, 1 << 63),
    }.get(dst, (-(1 << 31), 1 << 31, 0))
    above = not value.negative and value.kind == "inf"
    if value.kind == "finite":
        size = round(value.magnitude) if bits <= 4 else int(value.magnitude)
        t = -size if value.negative else size
        if low <= t < high:
            return t % (1 << bits)
        above = t >= high
    return 0 if dst == "uint64" and above else otherwise


# ---------------------------------------------------------------------- strings

_NUMBER = re.compile(
    r"([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:e([+-]?\d+))?", re.ASCII | re.IGNORECASE
)
_SPECIAL = re.compile(r"([+-]?)(?:(nan)|inf|infinity)", re.ASCII | re.IGNORECASE)
#: No format distinguishes numbers beyond 10^±_FAR, nor needs more significant digits than
#: _MANY to see on which side of a midpoint a number lies.
_FAR, _MANY = 2000, 1200


def parse(text: str) -> Exact:
    """The exact value of a decimal; ValueError if ``text`` is none."""
    bare = text.strip(" \t\n\r\v\f")
    if match := _SPECIAL.fullmatch(bare):
        return Exact(match[1] == "-", "nan" if match[2] else "inf")
    match = _NUMBER.fullmatch(bare)
    if match is None:
        raise ValueError(f"{text!r} is no number")
    before, after = match[2] or "", match[3] or match[4] or ""
    digits = (before + after).lstrip("0")
    if not digits:
        return Exact(match[1] == "-", "finite")
    exponent = _clamped_int(match[5] or "0") - len(after)
    dropped = max(len(digits) - _MANY, 0)
    if dropped:  # what lies below only says "a little more"
        sticky = "1" if digits[_MANY:].strip("0") else "0"
        digits, exponent = digits[:_MANY] + sticky, exponent + dropped - 1
    exponent = min(max(exponent, -_FAR - len(digits)), _FAR)
    return Exact(match[1] == "-", "finite", int(digits) * Fraction(10) ** exponent)


def _clamped_int(digits: str) -> int:
    """``int(digits)``, or something as far away where it has more digits than Python takes."""
    sign, size = digits[:1] == "-", digits.lstrip("+-").lstrip("0") or "0"
    value = int(size) if len(size) < 20 else 10**20
    return -value if sign else value


def _to_text(value: Exact, src: str) -> str:
    sign = "-" if value.negative else ""
    if value.kind != "finite":
        return "NaN" if value.kind == "nan" else sign + "INF"
    if src in INTEGERS or src == "bool":
        return str(_signed_int(value))
    return sign + _shortest(value.magnitude, src if src in PAYLOAD else "double")


@lru_cache(maxsize=1 << 16)
def _shortest(x: Fraction, home: str) -> str:
    """``x`` >= 0 in the fewest digits that ``home`` reads back, as ``repr(float)`` lays it out."""
    if x == 0:
        return "0"
    f = FLOATS[home]
    code, point = nearest(x, f), _decimal_order(x)
    for count in range(1, 18):
        step = Fraction(10) ** (point - count)
        below = x // step
        fits = [n for n in (below, below + 1) if n and nearest(n * step, f) == code]
        if fits:
            best = min(fits, key=lambda n: (abs(n * step - x), n % 2))
            return _layout(str(best), point + len(str(best)) - count)
    raise AssertionError(f"{x} is no {home}")


def _decimal_order(x: Fraction) -> int:
    """The ``point`` for which 10^(point-1) <= x < 10^point."""
    point = len(str(x.numerator)) - len(str(x.denominator))
    while x >= Fraction(10) ** point:
        point += 1
    return point


def _layout(digits: str, point: int) -> str:
    """0.``digits`` x 10^``point``: exponent form from 1e16 up and below 1e-4, like ``repr``."""
    digits = digits.rstrip("0")
    if point > 16 or point < -3:
        tail = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{digits[0]}{tail}e{point - 1:+03d}"
    if point <= 0:
        return "0." + "0" * -point + digits
    if point >= len(digits):
        return digits.ljust(point, "0")
    return f"{digits[:point]}.{digits[point:]}"
