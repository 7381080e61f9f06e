"""Rounding to the small floating-point formats, one generator for all signed ones."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.extending import register_jitable

from ..dtypes import BY_NAME, DType
from .codecs import Codec, layout_of
from .lanes import add, and_, bits, from_bits, half_to_float, lshr, or_, select, shl, smax, smin

__all__ = ["rounds_bits"]

_LANES: dict[int, Any] = {16: np.int16, 32: np.int32, 64: np.int64}
_FLOAT = BY_NAME["float"]
_BFLOAT16 = BY_NAME["bfloat16"]


def rounds_bits(codec: Codec, src: DType):
    """A function from the bits of a ``src`` to the storage slot of ``codec``, for kernels.

    ``src`` is double, float, bfloat16, or, where there are half instructions, float16;
    its bits come as a signed integer as wide. To nearest even.

    Over the largest value after rounding: the largest if the codec saturates or has no
    NaN, else infinity if it has one, else NaN. NaN keeps its sign, and in the 16-bit
    formats its leading payload bits, and becomes quiet; a format without NaN gives -0.
    """
    dtype, layout, given = codec.dtype, layout_of(codec.dtype), layout_of(src)
    lane, slot = _LANES[src.bits], numba.from_dtype(dtype.storage)
    cut = given.man - layout.man
    exponent, fraction = divmod(dtype.largest_code, 1 << layout.man)
    exponent += given.bias - layout.bias
    largest = lane((exponent << given.man) + (fraction << cut))
    # Halfway to the next value ties to even: up, if the largest code is odd.
    over = lane(int(largest) + (1 << cut - 1) - (dtype.largest_code & 1))
    infinity = lane(((1 << given.exp) - 1) << given.man)
    magnitude = lane((1 << src.bits - 1) - 1)
    saturates = dtype.nan_code is None or (dtype.bits == 8 and codec.saturate)
    # From 16 bits the last steps are faster in the lanes of the code, from more in those of u.
    last = slot if src.bits == 16 else lane
    over_code = last((dtype.inf_code if layout.inf else dtype.nan_code) or 0)
    sign, kept, zero = lane(1 << dtype.bits - 1), last(dtype.code_mask), last(0)
    nan_code = last(sign if dtype.nan_code is None else dtype.nan_code)
    payload = lane((1 << layout.man) - 1 if dtype.bits == 16 else 0)
    shift, sign_shift = lane(cut), lane(src.bits - dtype.bits)
    one_zero = layout.nan == "neg_zero"
    widen, code_of = _widen(src), _code_of_magnitude(dtype, src.bits)

    @register_jitable
    def impl(u):
        a = and_(u, magnitude)
        r = last(code_of(widen(smin(a, largest))))
        if not saturates:
            r = select(a > over, over_code, r)
        s = last(and_(lshr(u, sign_shift), sign))
        if one_zero:
            r = select(and_(r, kept) == zero, zero, or_(r, s))
            return slot(select(a > infinity, nan_code, r))
        nan = or_(nan_code, last(and_(lshr(a, shift), payload)))
        return slot(or_(select(a > infinity, nan, r), s))

    return impl


def _widen(src: DType):
    """From the bits of a ``src`` to a float32, or a float64 if it is one."""
    if src.bits > 16:
        return from_bits
    if src is _BFLOAT16:
        return register_jitable(lambda u: from_bits(shl(np.int32(u), np.int32(16))))
    return register_jitable(lambda u: half_to_float(np.uint16(u)))


def _code_of_magnitude(dtype: DType, width: int):
    """A function from a magnitude, at most the largest, to its code in the low bits.

    The sum with a power of two rounds to the format's unit, which is that of the value's
    exponent, or of the smallest exponent for subnormal numbers. What the sum has in its
    low bits, and the exponent above that, are the code.
    """
    layout, carrier = layout_of(dtype), layout_of(BY_NAME["double"] if width == 64 else _FLOAT)
    lane = np.int64 if width == 64 else np.int32
    cut = carrier.man - layout.man
    first = carrier.bias + 1 - layout.bias
    smallest = lane(first << carrier.man)
    exponents = lane(((1 << carrier.exp) - 1) << carrier.man)
    # Less the code that the smallest exponent has, in as many bits as are kept.
    zero = -(first << layout.man) & (1 << 8 * dtype.storage.itemsize) - 1
    power, shift = lane((cut << carrier.man) + zero), lane(cut)

    @register_jitable
    def impl(x):
        e = smax(and_(bits(x), exponents), smallest)
        return add(bits(x + from_bits(add(e, power))), lshr(e, shift))

    return impl
