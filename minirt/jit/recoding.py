"""From one element type to another in one step."""

from __future__ import annotations

import numba
import numpy as np
from numba.extending import overload, register_jitable

from ..dtypes import BY_NAME, DType, Kind
from .codecs import CodecType, layout_of
from .decoding import decode
from .encoding import encode
from .lanes import and_, bits, from_bits, half_to_float, lshr, select, shl, smax, smin
from .small_floats import rounds_bits
from .target import has_half

__all__ = ["copies", "recode"]

_FLOAT = BY_NAME["float"]
_BFLOAT16 = BY_NAME["bfloat16"]
_E8M0 = BY_NAME["float8e8m0"]
#: float32 has every integer up to here.
_EXACT = 1 << 24


def recode(to, from_, x):
    """``encode(to, decode(from_, x))``; in kernels only."""
    raise NotImplementedError("recode is for kernels")


def copies(to, from_):
    """Whether ``recode`` leaves bits as they are: a constant; in kernels only."""
    raise NotImplementedError("copies is for kernels")


@overload(copies)
def _copies(to, from_):
    same = to.codec == from_.codec
    return lambda to, from_: same


@overload(recode)
def _recode(to, from_, x):
    """The same bits by a shorter way, where one was measured to matter."""
    if not (isinstance(to, CodecType) and isinstance(from_, CodecType)):
        return None
    src, dst = from_.codec.dtype, to.codec.dtype
    if dst is _BFLOAT16 and src.bits <= 8:
        return _upper_half
    if dst.kind is Kind.BOOL and src.is_float and src.bits <= 8:
        return _is_not_zero(src)
    if dst.is_float and dst.bits <= 8 and dst is not _E8M0 and _has_lanes(src):
        rounded = rounds_bits(to.codec, src)
        return lambda to, from_, x: rounded(np.int16(x))
    if src.name == "float16" and dst.is_integer and dst.bits <= 16 and has_half():
        return _half_to_integer(dst)
    if src is _BFLOAT16 and dst is not _FLOAT:
        return _from_raw_bfloat16
    if dst.is_float and not src.is_float and dst.bits < 64:
        if src.bits <= 16:
            return lambda to, from_, x: encode(to, np.float32(decode(from_, x)))
        if dst.largest < _EXACT:
            return _clamped(src)
    return lambda to, from_, x: encode(to, decode(from_, x))


def _has_lanes(src: DType) -> bool:
    """Whether a small float is rounded faster from the bits of a ``src``. (1.1 x.)"""
    return src is _BFLOAT16 or (src.name == "float16" and has_half())


def _is_not_zero(src: DType):
    """Of a small float, by its code: an FNUZ format has no -0, float8e8m0 no zero. (5 x.)"""
    layout = layout_of(src)
    sign = 0 if layout.nan == "neg_zero" else 1 << (src.bits - 1)
    mask = np.uint8(src.code_mask & ~sign)
    if not layout.signed:
        return lambda to, from_, x: np.uint8(1)
    return lambda to, from_, x: np.uint8(and_(x, mask) != np.uint8(0))


def _upper_half(to, from_, x):
    """bfloat16 has every number of 8 bits: nothing is to be rounded. (3 x as fast.)"""
    return np.uint16(lshr(bits(np.float32(decode(from_, x))), np.int32(16)))


def _from_raw_bfloat16(to, from_, x):
    """``decode`` quietens a NaN; all that is wider or narrower does so itself. (1.2 x.)"""
    return encode(to, from_bits(shl(np.int32(x), np.int32(16))))


def _half_to_integer(dst: DType):
    """Every finite half is in range. (2 x.)"""
    slot, mask = numba.from_dtype(dst.storage), np.int32(dst.code_mask)
    magic, all_used = np.float32(3 << 22), np.int32(-2)

    def nearest(to, from_, x):
        # The sum has the integer in its low bits; there infinity and NaN have zeros.
        return slot(and_(bits(half_to_float(np.uint16(x)) + magic), mask))

    def truncated(to, from_, x):
        h = np.int16(x)
        finite = and_(h, np.int16(0x7FFF)) < np.int16(0x7C00)
        real = half_to_float(np.uint16(select(finite, h, np.int16(0))))
        # Clears a bit that is clear, so that LLVM converts float32, not half: four at a time.
        return slot(np.int32(from_bits(and_(bits(real), all_used))))

    return nearest if dst.bits < 8 else truncated


def _clamped(src: DType):
    """Cut to 2^24, beyond which all is too large for ``to``: float32 then has it exactly.

    Twice as fast as rounding to odd.
    """
    lane = np.int32 if src.bits == 32 else np.int64
    limit, signed = lane(_EXACT), src.kind is Kind.INT

    @register_jitable
    def clamp(x):
        t = lane(x)
        if signed:
            return smax(smin(t, limit), lane(-_EXACT))
        return select(t < lane(0), limit, smin(t, limit))

    return lambda to, from_, x: encode(to, np.float32(np.int32(clamp(x))))
