"""Casts that read or write packed elements, as ``raw_data`` has them, without an unpacked copy."""

from __future__ import annotations

from ..dtypes import DType
from ..jit import Codec, Packed, kernel, recode
from ..jit.groups import pack, unpack
from ..jit.streams import new_block

__all__ = ["convert_from_packed", "convert_to_packed"]


@kernel(cost=2)
def cast_from_packed(src, dst, from_, to):
    """dst[i] = element i packed in ``src``, rounded to the codec ``to``."""
    block = new_block(src)
    for start in range(0, dst.size, block.size):
        part = dst[start : start + block.size]
        codes = block[: part.size]
        unpack(from_, src, start, codes)
        for i in range(part.size):
            part[i] = recode(to, from_, codes[i])


@kernel(cost=2)
def cast_to_packed(src, dst, from_, to):
    """Element i packed in ``dst`` = src[i], rounded to the codec ``to``."""
    block = new_block(dst)
    for start in range(0, src.size, block.size):
        part = src[start : start + block.size]
        codes = block[: part.size]
        for i in range(part.size):
            codes[i] = recode(to, from_, part[i])
        pack(to, codes, dst, start)


def convert_from_packed(src: DType, dst: DType, size: int, *, saturate: bool, round_mode: str):
    """A ``run(packed, dst_buffer)`` that converts ``size`` elements of a type that is packed.

    ``packed`` has ``src.packed_size(size)`` bytes, as uint8; ``dst_buffer`` is flat storage.
    """
    to = Codec(dst, saturate, round_mode)
    return cast_from_packed.bind(Packed(src.bits), dst.storage, Codec(src), to, size=size)


def convert_to_packed(src: DType, dst: DType, size: int, *, saturate: bool, round_mode: str):
    """A ``run(src_buffer, packed)`` that converts ``size`` elements to a type that is packed."""
    to = Codec(dst, saturate, round_mode)
    return cast_to_packed.bind(src.storage, Packed(dst.bits), Codec(src), to, size=size)
