"""From exact values to storage slots, rounding once.

Where a carrier is too wide for one step it is first *rounded to odd*: cut to fewer bits,
the last of which is set if any that was cut was. Rounding that again, to at least two bits
fewer, gives what rounding the exact value gives.

What ONNX says of Cast, with the specification's gaps filled once and for all, is in the
docstrings of the functions here and in :mod:`.small_floats`.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from ..dtypes import BY_NAME, DType, Kind
from .codecs import Codec, CodecType
from .lanes import (
    add,
    and_,
    ashr,
    bits,
    float_to_half,
    from_bits,
    lshr,
    or_,
    select,
    smin,
    sub,
    xor,
)
from .small_floats import rounds_bits
from .target import has_half

__all__ = ["encode"]

_E8M0 = BY_NAME["float8e8m0"]
_BFLOAT16 = BY_NAME["bfloat16"]
_FLOAT = BY_NAME["float"]
_DOUBLE = BY_NAME["double"]
_REAL = {types.float32: np.float32, types.float64: np.float64}


def encode(codec, x):
    """The storage slot of the value ``x``, rounded once to ``codec``; in kernels only."""
    raise NotImplementedError("encode is for kernels")


@overload(encode)
def _encode(codec, x):
    if not isinstance(codec, CodecType):
        return None
    dtype = codec.codec.dtype
    if dtype.kind is Kind.BOOL:
        return _to_bool
    if dtype.is_integer:
        return _float_to_integer(dtype, _REAL[x]) if x in _REAL else _wrap(dtype)
    if not dtype.is_float:
        return None
    if dtype.bits >= 32:
        cast = np.float32 if dtype.bits == 32 else np.float64
        return lambda codec, x: cast(x)
    return _to_small_float(codec.codec, x)


# ---- encode: bool and integers


def _to_bool(codec, x):
    """Zero of either sign is False, all else True, NaN too."""
    return np.uint8(x != 0)


def _wrap(dtype: DType):
    """Integer to integer keeps the low bits."""
    slot = numba.from_dtype(dtype.storage)
    if dtype.bits >= 8:
        return lambda codec, x: slot(x)
    mask = np.int32(dtype.code_mask)
    return lambda codec, x: slot(and_(np.int32(x), mask))


def _float_to_integer(dtype: DType, real):
    """Truncated (4- and 2-bit types: to nearest, ties to even), then the low bits.

    Out of range means: 0 for the types up to 16 bits where the integer is not in
    [-2^31, 2^31) and for uint32 where it is not in [-2^63, 2^63); the most negative
    value for int32 and int64; :func:`_float_to_uint64` for uint64.
    """
    if dtype.bits < 8:
        return _float_to_sub_byte(dtype, real)
    if dtype.name == "uint64":
        return _float_to_uint64(real)
    slot = numba.from_dtype(dtype.storage)
    wide = np.int64 if dtype.bits == 64 or dtype.name == "uint32" else np.int32
    lowest = np.iinfo(wide).min
    outside = wide(lowest if dtype.storage == wide else 0)
    limit, zero = real(-float(lowest)), real(0)

    def impl(codec, x):
        fits = abs(x) < limit
        return slot(select(fits, wide(select(fits, x, zero)), outside))

    return impl


def _float_to_sub_byte(dtype: DType, real):
    """Adding and taking away 2^23 (2^52) rounds a magnitude below it to even."""
    mask = np.int32(dtype.code_mask)
    magic, limit, zero = real(2.0 ** (23 if real is np.float32 else 52)), real(2.0**31), real(0)

    def impl(codec, x):
        a = abs(x)
        rounded = select(a < magic, (a + magic) - magic, a)
        t = np.int32(select(rounded < limit, rounded, zero))
        return np.uint8(and_(select(x < zero, sub(np.int32(0), t), t), mask))

    return impl


def _float_to_uint64(real):
    """t in [-2^63, 2^64): its low 64 bits; t of 2^64 and more: 0; NaN and t below: 2^63."""
    half, limit, zero = real(2.0**63), real(2.0**64), real(0)
    top = np.int64(-(2**63))

    def impl(codec, x):
        high = x >= half
        y = select(high, x - half, x)
        fits = abs(y) < half
        t = np.int64(select(fits, y, zero))
        t = select(high, xor(t, top), t)
        return np.uint64(select(fits, t, select(x >= limit, np.int64(0), top)))

    return impl


# ---- encode: floats of 16 bits and fewer


@register_jitable
def _int32_to_odd(x):
    """An int32 as float32, rounded to odd: beyond 2^24 the low 7 bits become one sticky bit."""
    low = and_(x, np.int32(127))
    cut = or_(and_(x, np.int32(~127)), and_(add(low, np.int32(127)), np.int32(128)))
    small = xor(x, ashr(x, np.int32(31))) < np.int32(1 << 24)
    return np.float32(select(small, x, cut))


@register_jitable
def _int64_to_odd(x):
    """An int64 as float64, rounded to odd: beyond 2^53 the low 11 bits become one sticky bit."""
    low = and_(x, np.int64(2047))
    cut = or_(and_(x, np.int64(~2047)), and_(add(low, np.int64(2047)), np.int64(2048)))
    small = xor(x, ashr(x, np.int64(63))) < np.int64(1 << 53)
    return np.float64(select(small, x, cut))


@register_jitable
def _uint64_to_odd(x):
    """A uint64 as float64, rounded to odd, as an int64 is."""
    t = np.int64(x)
    low = and_(t, np.int64(2047))
    cut = or_(and_(t, np.int64(~2047)), and_(add(low, np.int64(2047)), np.int64(2048)))
    small = lshr(t, np.int64(53)) == np.int64(0)
    return np.float64(np.uint64(select(small, t, cut)))


@register_jitable
def _float64_to_odd(x):
    """A float64 as float32, rounded to odd, where it is a normal float32.

    Below that it is rounded twice, which no type whose smallest midpoint is a normal
    float32 can see; bfloat16 and float8e8m0 can.
    """
    u = bits(x)
    low = and_(u, np.int64(0x1FFFFFFF))
    sticky = and_(add(low, np.int64(0x1FFFFFFF)), np.int64(0x20000000))
    return np.float32(from_bits(or_(and_(u, np.int64(~0x1FFFFFFF)), sticky)))


def _to_small_float(codec: Codec, x):
    """Bring the carrier to float32 or float64, rounded to odd, and encode that."""
    if isinstance(x, types.Integer):
        if codec.dtype is _BFLOAT16 and x is types.int32:  # without a NaN: 1.3 x
            return lambda codec, x: np.uint16(_upper_half(bits(_int32_to_odd(x))))
        to_odd = {
            types.int32: _int32_to_odd,
            types.int64: _int64_to_odd,
            types.uint64: _uint64_to_odd,
        }[x]
        return lambda codec, x: encode(codec, to_odd(x))
    lane = np.int32 if x == types.float32 else np.int64
    if codec.dtype is _E8M0:
        return _float_to_e8m0(codec, lane)
    if lane is np.int64 and codec.dtype is not _BFLOAT16:
        return lambda codec, x: encode(codec, _float64_to_odd(x))
    if codec.dtype is _BFLOAT16 and lane is np.int32:
        return _float_to_bfloat16
    if codec.dtype.name == "float16" and has_half():
        return lambda codec, x: float_to_half(x)
    rounded = rounds_bits(codec, _FLOAT if lane is np.int32 else _DOUBLE)
    return lambda codec, x: rounded(bits(x))


@register_jitable
def _upper_half(u):
    """To nearest even, by adding just under half a unit, and the last kept bit."""
    last = and_(lshr(u, np.int32(16)), np.int32(1))
    return lshr(add(add(u, np.int32(0x7FFF)), last), np.int32(16))


def _float_to_bfloat16(codec, x):
    """The exponents are those of float32: subnormal numbers and infinity need no case."""
    u = bits(x)
    quiet = or_(lshr(u, np.int32(16)), np.int32(0x0040))
    nan = and_(u, np.int32(0x7FFFFFFF)) > np.int32(0x7F800000)
    return np.uint16(select(nan, quiet, _upper_half(u)))


def _float_to_e8m0(codec: Codec, lane):
    """The exponent field after rounding up, down, or to the nearer power (a tie goes up).

    NaN and every negative value but -0 give NaN. Below 2^-127 and above 2^127 the end of
    the range if the codec saturates, else NaN.
    """
    wide = lane is np.int64
    man, offset, width = (52, 1023 - 127, 64) if wide else (23, 0, 32)
    magnitude = lane((1 << width - 1) - 1)
    infinity = lane((2047 if wide else 255) << man)
    high = lane(254 + offset << man)
    # 2^-127 and 1.5 * 2^-127 are subnormal in float32.
    low = lane(offset << man if wide else 1 << 22)
    middle = lane((offset << man) + (1 << man - 1) if wide else 3 << 21)
    zero_through = lane(int(middle) - 1) if codec.round_mode == "nearest" else low
    bump = lane({"up": (1 << man) - 1, "down": 0, "nearest": 1 << man - 1}[codec.round_mode])
    shift, saturate = lane(man), codec.saturate

    def impl(codec, x):
        u = bits(x)
        a = and_(u, magnitude)
        r = smin(sub(lshr(add(a, bump), shift), lane(offset)), lane(254))
        r = select(a <= zero_through, lane(0), r)
        if not saturate:
            r = select(a < low, lane(255), select(a > high, lane(255), r))
        r = select(a > infinity, lane(255), r)
        return np.uint8(select(u > lane(-1), r, select(a == lane(0), r, lane(255))))

    return impl
