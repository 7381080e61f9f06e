"""Packed elements in kernels, as ``raw_data`` has them (onnx.proto).

Elements of 2 and 4 bits lie four and two to a byte, those of 6 bits four to three bytes,
the first in the lowest bits. A *group* is the fewest elements that fill whole bytes.
"""

from __future__ import annotations

import numpy as np
from numba.extending import overload, register_jitable

from .codecs import CodecType
from .lanes import and_, lshr, or_, shl

__all__ = ["pack", "unpack"]


def unpack(codec, packed, first, codes):
    """codes[i] = element ``first + i`` of the bytes ``packed``; in kernels only.

    ``first`` is a multiple of 4.
    """
    raise NotImplementedError("unpack is for kernels")


def pack(codec, codes, packed, first):
    """Element ``first + i`` of the bytes ``packed`` = codes[i]; in kernels only.

    ``first`` is a multiple of 4. Spare bits of the last byte become zero.
    """
    raise NotImplementedError("pack is for kernels")


@overload(unpack)
def _unpack(codec, packed, first, codes):
    if not isinstance(codec, CodecType):
        return None
    bits, group = codec.codec.dtype.bits, codec.codec.dtype.pack_group
    mask, load = np.int32(codec.codec.dtype.code_mask), _load(bits * group // 8)

    def impl(codec, packed, first, codes):
        packed = packed[first * bits // 8 :]
        whole = codes.size // group
        for i in range(whole):
            word = load(packed, i)
            for k in range(group):
                codes[group * i + k] = np.uint8(and_(lshr(word, np.int32(k * bits)), mask))
        for i in range(group * whole, codes.size):
            at = i * bits
            # Its first and its last byte, which may be the same.
            low, high = np.int32(packed[at // 8]), np.int32(packed[(at + bits - 1) // 8])
            word = or_(low, shl(high, np.int32(8)))
            codes[i] = np.uint8(and_(lshr(word, np.int32(at % 8)), mask))

    return impl


@overload(pack)
def _pack(codec, codes, packed, first):
    if not isinstance(codec, CodecType):
        return None
    bits, group = codec.codec.dtype.bits, codec.codec.dtype.pack_group
    store = _store(bits * group // 8)

    def impl(codec, codes, packed, first):
        packed = packed[first * bits // 8 :]
        whole = codes.size // group
        for i in range(whole):
            word = np.int32(0)
            for k in range(group):
                word = or_(word, shl(np.int32(codes[group * i + k]), np.int32(k * bits)))
            store(packed, i, word)
        for j in range(whole * bits * group // 8, (codes.size * bits + 7) // 8):
            packed[j] = 0
        for i in range(group * whole, codes.size):
            at = i * bits
            word = shl(np.int32(codes[i]), np.int32(at % 8))
            packed[at // 8] |= np.uint8(word)
            packed[(at + bits - 1) // 8] |= np.uint8(lshr(word, np.int32(8)))

    return impl


def _load(size: int):
    """Group ``i`` of as many bytes."""

    def one(packed, i):
        return np.int32(packed[i])

    def three(packed, i):
        low = or_(np.int32(packed[3 * i]), shl(np.int32(packed[3 * i + 1]), np.int32(8)))
        return or_(low, shl(np.int32(packed[3 * i + 2]), np.int32(16)))

    return register_jitable(three if size == 3 else one)


def _store(size: int):
    """Make a word group ``i`` of as many bytes."""

    def one(packed, i, word):
        packed[i] = np.uint8(word)

    def three(packed, i, word):
        packed[3 * i] = np.uint8(word)
        packed[3 * i + 1] = np.uint8(lshr(word, np.int32(8)))
        packed[3 * i + 2] = np.uint8(lshr(word, np.int32(16)))

    return register_jitable(three if size == 3 else one)
