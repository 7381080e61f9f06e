"""The oracle of :mod:`exact` over whole arrays, in 64-bit integer arithmetic.

A numeric element of at most 64 bits is ``size * 2**exponent`` with an integer size below
2^64, so each rounding is a right shift and a look at what was shifted out. Codes are uint64
bit patterns. The tests of the oracle hold this module against :mod:`exact` wherever it is used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from exact import E8M0, FLOATS, FNUZ, INTEGERS, PAYLOAD, Format, bits_of

__all__ = ["Numbers", "cast", "decode"]

_U = np.uint64
_ONE = _U(1)


class Numbers(NamedTuple):
    """Sign, ``size * 2**exponent``, and where it is infinite or NaN with which fraction bits."""

    negative: np.ndarray
    size: np.ndarray
    exponent: np.ndarray
    inf: np.ndarray
    nan: np.ndarray
    payload: np.ndarray  # uint64, the first fraction bit at bit 51


def cast(
    codes: np.ndarray, src: str, dst: str, saturate: bool = True, round_mode: str = "up"
) -> np.ndarray:
    """The ``dst`` code for each ``src`` code, numeric types only."""
    if src == dst:
        return codes
    numbers = decode(codes, src)
    if dst == "bool":
        return ((numbers.size != 0) | numbers.inf | numbers.nan).astype(_U)
    if dst == E8M0:
        return _to_e8m0(numbers, saturate, round_mode)
    if dst in FLOATS:
        return _to_float(numbers, dst, saturate)
    if src in INTEGERS or src == "bool":
        return _signed(numbers.size, numbers.negative) & _mask(bits_of(dst))
    return _float_to_integer(numbers, dst)


def decode(codes: np.ndarray, src: str) -> Numbers:
    """The exact value of each code."""
    no = np.zeros(codes.shape, bool)
    none = np.zeros(codes.shape, _U)
    zero = np.zeros(codes.shape, np.int64)
    if src == E8M0:
        return Numbers(no, none + _ONE, codes.astype(np.int64) - 127, no, codes == 0xFF, none)
    if src not in FLOATS:
        bits, signed = INTEGERS.get(src, (8, False))
        negative = no if not signed else codes >> _U(bits - 1) != 0
        size = np.where(negative, (none - codes) & _mask(bits), codes)
        return Numbers(negative, size, zero, no, no, none)
    f = FLOATS[src]
    magnitude = codes & _mask(f.bits - 1)
    fraction = codes & _mask(f.man)
    field = (magnitude >> _U(f.man)).astype(np.int64)
    size = np.where(field != 0, fraction | _U(1 << f.man), fraction)
    special = magnitude > _U(f.largest)
    has_payload = src in PAYLOAD or src == "float8e5m2"
    inf = special & (magnitude == f.largest + 1) if has_payload else no
    nan = codes == 0x80 if src in FNUZ else special & ~inf
    payload = fraction << _U(52 - f.man) if has_payload else none
    exponent = np.maximum(field, 1) - f.bias - f.man
    return Numbers(codes >> _U(f.bits - 1) != 0, size, exponent, inf, nan, payload)


def _mask(bits: int) -> np.uint64:
    return _U((1 << bits) - 1)


def _signed(size: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """Two's complement."""
    return np.where(negative, ~size + _ONE, size)


def _top(numbers: Numbers) -> np.ndarray:
    """floor(log2(value)); meaningless for zero."""
    smeared = numbers.size.copy()
    for distance in (1, 2, 4, 8, 16, 32):
        smeared |= smeared >> _U(distance)
    return np.bitwise_count(smeared).astype(np.int64) - 1 + numbers.exponent


def _shift(size: np.ndarray, places: np.ndarray, nearest: bool) -> np.ndarray:
    """``size / 2**places``, to nearest even or down; to the left only where it fits."""
    right = np.clip(places, 0, 64).astype(_U)
    down = size >> right  # NumPy defines a shift by 64 or more: zero
    if nearest:
        rest = size - (down << right)
        half = _ONE << (np.maximum(right, _ONE) - _ONE)
        odd = down & _ONE != 0
        down += (places > 0) & (places <= 64) & ((rest > half) | ((rest == half) & odd))
    return down << np.clip(-places, 0, 63).astype(_U)


def _to_float(numbers: Numbers, dst: str, saturate: bool) -> np.ndarray:
    f: Format = FLOATS[dst]
    sign = np.where(numbers.negative, _U(1 << (f.bits - 1)), _U(0))
    smallest = 1 - f.bias
    exponent = np.where(numbers.size != 0, np.maximum(_top(numbers), smallest), smallest)
    steps = _shift(numbers.size, exponent - f.man - numbers.exponent, nearest=True)
    code = ((exponent - smallest).astype(_U) << _U(f.man)) + steps
    over = numbers.inf | (code > f.largest)
    code = np.where(over, _U(f.over if saturate else f.unsaturated), code)
    if dst in PAYLOAD:
        nan = _U(f.nan) | numbers.payload >> _U(52 - f.man)
    else:
        nan = np.full_like(code, f.nan)
    code = np.where(numbers.nan, nan, code)
    return np.where((code == 0) & (dst in FNUZ), code, code | sign)


def _to_e8m0(numbers: Numbers, saturate: bool, round_mode: str) -> np.ndarray:
    k = _top(numbers)
    power = numbers.size & (numbers.size - _ONE) == 0
    half = _ONE << np.maximum(k - numbers.exponent - 1, 0).astype(_U)
    beyond_half = (numbers.size & half != 0) & ~power
    up = {"up": ~power, "down": np.zeros_like(power), "nearest": beyond_half}[round_mode]
    code = np.clip(k + up + 127, 0, 254)
    under = (numbers.size == 0) | (k < -127)
    over = numbers.inf | (k > 127) | ((k == 127) & ~power)
    code = np.where(under, 0 if saturate else 255, code)
    code = np.where(over & ~under | numbers.inf, 254 if saturate else 255, code)
    below_zero = numbers.negative & ((numbers.size != 0) | numbers.inf)
    return np.where(numbers.nan | below_zero, 255, code).astype(_U)


def _float_to_integer(numbers: Numbers, dst: str) -> np.ndarray:
    bits = bits_of(dst)
    size = _shift(numbers.size, -numbers.exponent, nearest=bits <= 4)
    finite = ~(numbers.inf | numbers.nan)
    small = finite & ((numbers.size == 0) | (_top(numbers) < 64))
    limit = 63 if dst in ("uint32", "int64", "uint64") else 31
    below = size <= _U(1 << limit)
    above = below & (size != 1 << limit) if dst != "uint64" else np.ones_like(below)
    fits = small & np.where(numbers.negative, below, above)
    otherwise = {"int32": 1 << 31, "int64": 1 << 63, "uint64": 1 << 63}.get(dst, 0)
    code = np.where(fits, _signed(size, numbers.negative) & _mask(bits), _U(otherwise))
    if dst == "uint64":
        code[~fits & ~numbers.negative & ~numbers.nan] = 0
    return code
