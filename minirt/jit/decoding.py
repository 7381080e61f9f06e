"""From storage slots to exact values."""

from __future__ import annotations

import numpy as np
from numba.extending import overload, register_jitable

from ..dtypes import BY_NAME, DType, Kind
from .codecs import CodecType, layout_of
from .lanes import and_, ashr, bits, from_bits, half_to_float, lshr, or_, select, shl
from .target import has_half

__all__ = ["decode"]

_E8M0 = BY_NAME["float8e8m0"]
_BFLOAT16 = BY_NAME["bfloat16"]


def decode(codec, x):
    """The exact value of storage slot ``x``; in kernels only."""
    raise NotImplementedError("decode is for kernels")


@overload(decode)
def _decode(codec, x):
    if not isinstance(codec, CodecType):
        return None
    dtype = codec.codec.dtype
    if dtype.kind is Kind.BOOL:
        return lambda codec, x: np.int32(x != 0)
    if dtype.is_integer:
        return _from_integer(dtype)
    return _from_float(dtype) if dtype.is_float else None


def _from_integer(dtype: DType):
    if dtype.bits < 8:
        spare = np.int32(32 - dtype.bits)
        if dtype.kind is Kind.INT:
            return lambda codec, x: ashr(shl(np.int32(x), spare), spare)
        return lambda codec, x: lshr(shl(np.int32(x), spare), spare)
    if dtype.bits < 32 or dtype.name == "int32":
        return lambda codec, x: np.int32(x)
    if dtype.name == "uint32":
        return lambda codec, x: np.int64(x)
    return lambda codec, x: x


def _from_float(dtype: DType):
    if dtype.bits >= 32:
        return lambda codec, x: x
    if dtype is _BFLOAT16:
        return _from_bfloat16
    if dtype is _E8M0:
        return _from_e8m0
    if not has_half():
        return _from_small_float(dtype)
    if dtype.bits == 16:
        return lambda codec, x: half_to_float(x)
    # The largest exponent of a half is for infinity and NaN: e5m2fnuz has numbers there.
    layout = layout_of(dtype)
    fits = layout.exp < 5 or layout.nan == "ieee"
    return _through_half(dtype) if fits else _from_small_float(dtype)


def _from_bfloat16(codec, x):
    """A shift; a signalling NaN is quietened, as every other conversion does."""
    u = shl(np.int32(x), np.int32(16))
    nan = and_(u, np.int32(0x7FFFFFFF)) > np.int32(0x7F800000)
    return from_bits(select(nan, or_(u, np.int32(0x00400000)), u))


def _from_e8m0(codec, x):
    """2^(code - 127): the exponent field of a float32, but for 2^-127 (a subnormal) and NaN."""
    code = np.int32(x)
    u = select(code == np.int32(0), np.int32(0x00400000), shl(code, np.int32(23)))
    return from_bits(select(code == np.int32(255), np.int32(0x7FC00000), u))


def _from_small_float(dtype: DType):
    """By way of a float32 that has sign, exponent and fraction in their places.

    The bias is made up for by a product, which is exact, for subnormal numbers too.
    """
    place = _place(dtype, np.int32, 8, 23)
    scale = np.float32(2.0 ** (127 - layout_of(dtype).bias))
    quiet = _quiet_nan(dtype, np.int32, 8, 23)

    def impl(codec, x):
        u = place(x)
        return from_bits(quiet(u, bits(from_bits(u) * scale)))

    return impl


def _through_half(dtype: DType):
    """By way of a float16: half as wide, and no slower for subnormal numbers.

    (Products of subnormal float32 cost some processors a hundred cycles.)
    """
    place = _place(dtype, np.int16, 5, 10)
    scale = np.float32(2.0 ** (15 - layout_of(dtype).bias))
    quiet = _quiet_nan(dtype, np.int16, 5, 10)

    def impl(codec, x):
        h = place(x)
        return half_to_float(np.uint16(quiet(h, h))) * scale

    return impl


def _place(dtype: DType, lane, exponent: int, fraction: int):
    """A code's sign, exponent and fraction where a wider format has them, bias unchanged.

    The wider one fills ``lane`` with a sign, ``exponent`` bits and ``fraction`` bits.
    """
    layout, width = layout_of(dtype), 1 + exponent + fraction
    sign = -1 << (width - 1)
    magnitude = (1 << (dtype.bits - 1)) - 1
    kept = lane(sign | magnitude << (fraction - layout.man))
    spare, gained = lane(width - dtype.bits), lane(exponent - layout.exp)

    @register_jitable
    def place(x):
        # The shift to the right fills the wider exponent with copies of the sign.
        return and_(ashr(shl(lane(x), spare), gained), kept)

    return place


def _quiet_nan(dtype: DType, lane, exponent: int, fraction: int):
    """Where the placed bits ``u`` are special, what is special of the wider format, else ``r``.

    Of the IEEE formats a NaN keeps its fraction, with the quiet bit set, and its sign; the
    one NaN of an FNUZ format is negative.
    """
    layout, width = layout_of(dtype), 1 + exponent + fraction
    sign = lane(-1 << (width - 1))
    magnitude = lane(((1 << (dtype.bits - 1)) - 1) << (fraction - layout.man))
    special = lane(((1 << layout.exp) - 1) << fraction)
    infinity = lane(((1 << exponent) - 1) << fraction)
    quiet = lane(1 << (fraction - 1))
    nan = lane(int(infinity) | int(quiet))
    negative_nan = lane(int(nan) | int(sign))
    style, same_infinity = layout.nan, layout.exp == exponent

    @register_jitable
    def quieten(u, r):
        if style == "ieee":
            m = and_(u, magnitude)
            if not same_infinity:
                r = select(m >= special, or_(u, infinity), r)
            r = select(m > special, or_(r, quiet), r)
        elif style == "all_ones":
            r = select(and_(u, magnitude) == magnitude, or_(and_(u, sign), nan), r)
        elif style == "neg_zero":
            r = select(u == sign, negative_nan, r)
        return r

    return quieten
