"""Element conversion over flat buffers: Cast, CastLike."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..dtypes import BY_NAME, DType, Kind
from ..jit import Codec, decode, encode, kernel
from . import strings

__all__ = ["convert"]


@kernel
def cast(src, dst, from_, to):
    """dst[i] = src[i], rounded to the codec ``to``."""
    for i in range(src.size):
        dst[i] = encode(to, decode(from_, src[i]))


@kernel(whole=("table",))
def look_up(src, dst, table):
    """dst[i] = table[src[i]], for sources of one byte."""
    for i in range(src.size):
        dst[i] = table[src[i]]


def convert(src: DType, dst: DType, size: int, *, saturate: bool, round_mode: str):
    """A ``run(src_buffer, dst_buffer)`` that converts ``size`` elements of ``src`` to ``dst``.

    Every source of at most 8 bits goes through a table of its 256 bytes: a conversion
    from one then costs no kernel of its own, and no value of a spare bit can matter.
    """
    to = Codec(dst, saturate, round_mode)
    if dst.kind is Kind.STRING:
        return strings.to_string(src)
    if src.kind is Kind.STRING:
        return strings.from_string(dst, to.saturate, to.round_mode)
    if src.bits <= 8:
        run = look_up.bind(np.dtype("u1"), dst.storage, _table(src, to), size=size)
        return run if src.storage == "u1" else lambda s, d: run(s.view("u1"), d)
    return cast.bind(src.storage, dst.storage, Codec(src), to, size=size)


@cache
def _table(src: DType, to: Codec) -> np.ndarray:
    """What each of the 256 bytes of ``src`` becomes, as storage of ``to``."""
    carrier = BY_NAME["float" if src.is_float else "int32"]
    values = _float_values(src) if src.is_float else _integer_values(src)
    if to.dtype is carrier:
        return values
    table = np.empty(256, to.dtype.storage)
    run = cast.bind(carrier.storage, to.dtype.storage, Codec(carrier), to, size=256)
    run(values, table)
    return table


def _integer_values(dtype: DType) -> np.ndarray:
    """What each byte means as an integer or bool, as int32."""
    return np.array([dtype.value_of(byte) for byte in range(256)], "i4")


def _float_values(dtype: DType) -> np.ndarray:
    """What each byte means as a float of at most 8 bits, as float32: all are exact.

    A NaN is quiet; it keeps its sign, and its payload if the format is an IEEE one.
    """
    layout = dtype.float
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
