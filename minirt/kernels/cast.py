"""Element conversion over flat buffers: Cast, CastLike."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..dtypes import BY_NAME, DType, Kind
from ..jit import Codec, kernel, recode
from ..jit.codecs import layout_of
from ..jit.permute import LINE, look_up_line, widest_entry
from ..jit.recoding import copies
from ..jit.streams import elements_to_line, fence, new_block, stream
from . import strings

__all__ = ["convert"]

#: Bytes of both buffers from which on the result is streamed past the caches. Measured with
#: 32 MB of them: a loop over buffers that fit gets slower, over larger ones 1.1 to 1.5 x faster.
_STREAMED = 36 << 20
#: As many bytes are copied in the cache while one element is rounded to few bits.
_ROUNDING = 12
#: Memory waits for a conversion that costs more than so many copies of its bytes.
_DEAR = 4


@kernel
def cast(src, dst, from_, to):
    """dst[i] = src[i], rounded to the codec ``to``."""
    for i in range(src.size):
        dst[i] = recode(to, from_, src[i])


@kernel
def cast_streamed(src, dst, from_, to):
    """As :func:`cast`, past the caches."""
    block = new_block(dst)
    start = elements_to_line(dst)
    stop = start + (src.size - start) // block.size * block.size
    if start < 0 or stop <= start:
        start = stop = 0
    for i in range(start):
        dst[i] = recode(to, from_, src[i])
    for first in range(start, stop, block.size):
        part = src[first : first + block.size]
        if copies(to, from_):
            stream(dst, first, part)
        else:
            for i in range(part.size):
                block[i] = recode(to, from_, part[i])
            stream(dst, first, block)
    fence()
    src, dst = src[stop:], dst[stop:]
    for i in range(src.size):
        dst[i] = recode(to, from_, src[i])


@kernel(whole=("table",), cost=5)
def look_up(src, dst, table):
    """dst[i] = table[src[i]], for sources of one byte."""
    for i in range(src.size):
        dst[i] = table[src[i]]


@kernel(whole=("table", "planes"), cost=2)
def look_up_lines(src, dst, table, planes):
    """As :func:`look_up`, with the bytes of the table plane by plane too."""
    lines = src.size - src.size % LINE
    for i in range(0, lines, LINE):
        look_up_line(dst, src, i, planes)
    for i in range(lines, src.size):
        dst[i] = table[src[i]]


def convert(src: DType, dst: DType, size: int, *, saturate: bool, round_mode: str):
    """A ``run(src_buffer, dst_buffer)`` that converts ``size`` elements of ``src`` to ``dst``.

    Both are flat storage buffers. ``src`` is not ``dst``.
    """
    to = Codec(dst, saturate, round_mode)
    if dst.kind is Kind.STRING:
        return strings.to_string(src)
    if src.kind is Kind.STRING:
        return strings.from_string(dst, to.saturate, to.round_mode)
    if _has_table(src, dst):
        return _look_up(src, to, size)
    from_, to = _same_bits(src, to)
    moved = src.storage.itemsize + dst.storage.itemsize
    rounds = dst.bits <= 8 and (dst.is_float or (src.is_float and dst.bits < 8))
    cost = _ROUNDING / moved if rounds else 1.0
    run = cast_streamed if size * moved >= _STREAMED and cost < _DEAR else cast
    return run.bind(from_.dtype.storage, to.dtype.storage, from_, to, size=size, cost=cost)


def _has_table(src: DType, dst: DType) -> bool:
    """Whether the 256 bytes of ``src`` are looked up in a table.

    That costs no kernel for the pair. Loads take a third of a nanosecond an element: that is
    fast enough for floats that become 8 bytes wide, and narrower results need instructions
    that look up many at once. Between integers, and to bool, arithmetic is still faster.
    """
    if src.bits > 8 or dst.kind is Kind.BOOL or not (src.is_float or dst.is_float):
        return False
    size = dst.storage.itemsize
    return size <= max(widest_entry(), 1) or (size == 8 and src.is_float)


def _same_bits(src: DType, to: Codec) -> tuple[Codec, Codec]:
    """Codecs for one kernel for all pairs that differ in signs which do not matter.

    Integers become narrower or as wide by keeping their low bits, and so do floats that
    become integers of at most 16 bits.
    """
    dst = to.dtype
    if not src.is_float or dst.bits <= 16:
        to = Codec(_without_sign(dst), to.saturate, to.round_mode)
    if not dst.is_float and dst.bits <= src.bits:
        src = _without_sign(src)
    return Codec(src), to


def _without_sign(dtype: DType) -> DType:
    return BY_NAME[f"u{dtype.name}"] if dtype.kind is Kind.INT else dtype


def _look_up(src: DType, to: Codec, size: int):
    byte, table = np.dtype("u1"), _table(src, to)
    if table.itemsize > widest_entry():
        return look_up.bind(byte, table.dtype, table, size=size)
    return look_up_lines.bind(byte, table.dtype, table, _planes(src, to), size=size)


@cache
def _planes(src: DType, to: Codec) -> np.ndarray:
    """Byte k of entry i of the table at ``256 * k + i``, from the start of a cache line."""
    planes = _table(src, to).view("u1").reshape(256, -1).T
    memory = np.empty(planes.size + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    aligned = memory[start : start + planes.size]
    aligned.reshape(planes.shape)[:] = planes
    return aligned


@cache
def _table(src: DType, to: Codec) -> np.ndarray:
    """What each of the 256 bytes of ``src`` becomes, as unsigned storage of ``to``."""
    carrier = BY_NAME["float" if src.is_float else "int32"]
    values = _float_values(src) if src.is_float else _integer_values(src)
    table = values
    if to.dtype is not carrier:
        table = np.empty(256, to.dtype.storage)
        from_, to = _same_bits(carrier, to)
        run = cast.bind(carrier.storage, to.dtype.storage, from_, to, size=256)
        run(values, table)
    return table.view(f"u{table.itemsize}")


def _integer_values(dtype: DType) -> np.ndarray:
    """What each byte means as an integer or bool, as int32."""
    return np.array([dtype.value_of(byte) for byte in range(256)], "i4")


def _float_values(dtype: DType) -> np.ndarray:
    """What each byte means as a float of at most 8 bits, as float32: all are exact.

    A NaN is quiet; it keeps its sign, and its payload if the format is an IEEE one.
    """
    layout = layout_of(dtype)
    patterns = np.empty(256, "u4")
    for byte in range(256):
        code = byte & dtype.code_mask
        value = dtype.value_of(code)
        if value == "nan":
            payload = code & (1 << layout.man) - 1 if layout.nan == "ieee" else 0
            pattern = 0x7FC00000 | payload << 23 - layout.man
        else:
            pattern = int(np.float32(abs(float(value))).view("u4"))
        negative = layout.signed and code >> dtype.bits - 1
        patterns[byte] = pattern | (0x80000000 if negative else 0)
    return patterns.view("f4")
