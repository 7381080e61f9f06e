"""Element types as Numba types, with ``decode`` and ``encode`` built from the dtype table.

A :class:`Codec` is an element type with the options that rounding to it has. As a kernel
argument it *is* a type, so one kernel body serves every element type and is compiled,
and cached, once for each::

    dst[i] = encode(to, decode(from_, src[i]))

``decode`` gives the exact value in the narrowest carrier that holds it: int32, int64,
uint64, float32 or float64. ``encode`` rounds once, from the carrier to the codec.
Where a carrier is too wide for one step it is first *rounded to odd*: cut to fewer
bits, the last of which is set if any that was cut was. Rounding that again, to at
least two bits fewer, gives what rounding the exact value gives.

What ONNX says of Cast, with the specification's gaps filled once and for all, is in the
docstrings of the ``_to_*`` functions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numba import types
from numba.extending import (
    NativeValue,
    models,
    overload,
    register_jitable,
    register_model,
    typeof_impl,
    unbox,
)

from ..dtypes import BY_NAME, DType, Kind
from .lanes import (
    add,
    and_,
    ashr,
    bits,
    float_to_half,
    from_bits,
    half_to_float,
    lshr,
    or_,
    select,
    shl,
    smin,
    sub,
    xor,
)
from .target import has_half

__all__ = ["Codec", "decode", "encode"]

_E8M0 = BY_NAME["float8e8m0"]
_BFLOAT16 = BY_NAME["bfloat16"]
_REAL = {types.float32: np.float32, types.float64: np.float64}


@dataclass(frozen=True)
class Codec:
    """An element type and how values are rounded to it.

    ``saturate`` means something for the float 8 types, ``round_mode`` (``"up"``, ``"down"``,
    ``"nearest"``) for float8e8m0; elsewhere both become the default, so that one pair of
    types is one kernel.
    """

    dtype: DType
    saturate: bool = True
    round_mode: str = "up"

    def __post_init__(self) -> None:
        if not (self.dtype.is_float and self.dtype.bits == 8):
            object.__setattr__(self, "saturate", True)
        if self.dtype is not _E8M0:
            object.__setattr__(self, "round_mode", "up")

    def __str__(self) -> str:
        saturate = "" if self.saturate else ",saturate=0"
        round_mode = f",{self.round_mode}" if self.dtype is _E8M0 else ""
        return f"{self.dtype}{saturate}{round_mode}"


class CodecType(types.Opaque):
    """The Numba type of one codec."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        super().__init__(f"Codec({codec})")


@typeof_impl.register(Codec)
def _typeof_codec(value, context):
    return CodecType(value)


register_model(CodecType)(models.OpaqueModel)


@unbox(CodecType)
def _unbox_codec(typ, value, context):
    return NativeValue(context.context.get_dummy_value())


def decode(codec, x):
    """The exact value of storage slot ``x``; in kernels only."""
    raise NotImplementedError("decode is for kernels")


def encode(codec, x):
    """The storage slot of the value ``x``, rounded once to ``codec``; in kernels only."""
    raise NotImplementedError("encode is for kernels")


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


# ---- decode


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
    if dtype.bits == 16 and has_half():
        return lambda codec, x: half_to_float(x)
    return _from_small_float(dtype)


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
    """Exponent and fraction moved to their place in a float32, and the bias made up for.

    The product is exact, subnormals too. NaN: of the IEEE formats the fraction is kept
    and the quiet bit set; the one NaN of an FNUZ format is negative.
    """
    layout = dtype.float
    shift = np.int32(23 - layout.man)
    scale = np.float32(2.0 ** (127 - layout.bias))
    magnitude = np.int32((1 << (dtype.bits - 1)) - 1)
    sign = np.int32(1 << (dtype.bits - 1))
    sign_shift = np.int32(32 - dtype.bits)
    infinity = np.int32(((1 << layout.exp) - 1) << layout.man)
    style = layout.nan

    def impl(codec, x):
        code = np.int32(x)
        a = and_(code, magnitude)
        u = bits(from_bits(shl(a, shift)) * scale)
        if style == "ieee":
            top = or_(shl(a, shift), np.int32(0x7F800000))
            u = select(a == infinity, np.int32(0x7F800000), u)
            u = select(a > infinity, or_(top, np.int32(0x00400000)), u)
        elif style == "all_ones":
            u = select(a == magnitude, np.int32(0x7FC00000), u)
        elif style == "neg_zero":
            u = select(and_(code, or_(magnitude, sign)) == sign, np.int32(0x7FC00000), u)
        return from_bits(or_(u, shl(and_(code, sign), sign_shift)))

    return impl


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
    """A uint64 as float64, rounded to odd: its halves meet where an int64 would be too small."""
    t = np.int64(x)
    odd = or_(lshr(t, np.int64(1)), and_(t, np.int64(1)))
    return select(t < np.int64(0), _int64_to_odd(odd) * 2.0, _int64_to_odd(t))


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
    if codec.dtype.name == "float16" and has_half():
        return lambda codec, x: float_to_half(x)
    return _float_to_small_float(codec, lane)


def _float_to_small_float(codec: Codec, lane):
    """To nearest even, for every signed format, on integer lanes.

    A magnitude that is a normal number of the format is rounded by adding just under
    half a unit, and the last kept bit; a subnormal one by adding, in floating point, the
    power of two whose unit is the format's smallest number.

    Over the largest value after rounding: the largest if the codec saturates or has no
    NaN, else infinity if it has one, else NaN. NaN keeps its sign, and in the 16-bit
    formats its leading payload bits, and becomes quiet; a format without NaN gives -0.
    """
    dtype, layout = codec.dtype, codec.dtype.float
    man, exponent_bias, width = (23, 127, 32) if lane is np.int32 else (52, 1023, 64)
    slot = numba.from_dtype(dtype.storage)
    shift_ = man - layout.man
    smallest_exponent = 1 - layout.bias
    magic_exponent = man + smallest_exponent - layout.man
    magic = lane(magic_exponent + exponent_bias << man)
    normal = lane(smallest_exponent + exponent_bias << man)
    rebias = lane((layout.bias - exponent_bias << man) + (1 << shift_ - 1) - 1)
    largest = lane((dtype.largest_code >> layout.man) + exponent_bias - layout.bias << man
                   | (dtype.largest_code & (1 << layout.man) - 1) << shift_)  # fmt: skip
    # Halfway to the next value ties to even: up, if the largest code is odd.
    over = lane(int(largest) + (1 << shift_ - 1) - (dtype.largest_code & 1))
    infinity = lane(((1 << width - 1 - man) - 1) << man)
    magnitude = lane((1 << width - 1) - 1)
    sign = lane(1 << dtype.bits - 1)
    shift, sign_shift, one = lane(shift_), lane(width - dtype.bits), lane(1)
    saturates = dtype.nan_code is None or (dtype.bits == 8 and codec.saturate)
    over_code = lane(dtype.inf_code if layout.inf else dtype.nan_code or 0)
    nan_code = lane(sign if dtype.nan_code is None else dtype.nan_code)
    payload = lane((1 << layout.man) - 1 if dtype.bits == 16 else 0)
    one_zero = layout.nan == "neg_zero"

    def impl(codec, x):
        u = bits(x)
        a = and_(u, magnitude)
        c = smin(a, largest) if saturates else a
        subnormal = sub(bits(from_bits(c) + from_bits(magic)), magic)
        rounded = lshr(add(add(c, rebias), and_(lshr(c, shift), one)), shift)
        r = select(c < normal, subnormal, rounded)
        if not saturates:
            r = select(a > over, over_code, r)
        s = and_(lshr(u, sign_shift), sign)
        if one_zero:
            s = select(r == lane(0), lane(0), s)
        r = select(a > infinity, or_(nan_code, and_(lshr(a, shift), payload)), r)
        return slot(or_(r, s))

    return impl


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
