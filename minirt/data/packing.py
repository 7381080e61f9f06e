"""Elements of fewer than 8 bits: one code a byte in memory, no gaps in a file.

ONNX writes 2- and 4-bit elements four and two to a byte and 6-bit elements four to
three bytes, the first element in the lowest bits (``raw_data`` in onnx.proto). So a
*group* of codes is one little-endian word whose bytes each hold one code; packing folds
neighbours together until the bits are contiguous, and drops the bytes left empty.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..dtypes import DType

    Buffer = bytes | bytearray | memoryview

__all__ = ["pack", "unpack"]

# Codes a block: its temporaries stay in the L2 cache, which is 3 times as fast as whole arrays.
_BLOCK = 1 << 17


class _Fold(NamedTuple):
    """Slots of ``slot`` bits, the low ``used`` of them full, joined in pairs."""

    slot: int
    used: int
    even: int  # the used bits of every other slot


class _Layout(NamedTuple):
    word: np.dtype[np.unsignedinteger]  # holds a group, a code a byte
    packed: int  # bytes of a packed group
    folds: tuple[_Fold, ...]


@cache
def _layout(bits: int, group: int) -> _Layout:
    folds = []
    slot, used = 8, bits
    while slot < 8 * group:
        even = sum(((1 << used) - 1) << place for place in range(0, 8 * group, 2 * slot))
        folds.append(_Fold(slot, used, even))
        slot, used = 2 * slot, 2 * used
    return _Layout(np.dtype(f"<u{group}"), bits * group // 8, tuple(folds))


def pack(codes: np.ndarray, dtype: DType) -> np.ndarray:
    """``codes`` of ``dtype`` as ``dtype.packed_size(codes.size)`` bytes.

    ``codes`` is a uint8 array of any shape, taken in C order; bits above the type's
    width are ignored. The bits after the last code are zero. The result is a new 1-D
    uint8 array.
    """
    word, packed, folds = _layout(dtype.bits, dtype.pack_group)
    codes = np.ascontiguousarray(codes).reshape(-1)
    out = np.empty(-(-codes.size // word.itemsize) * packed, np.uint8)
    for block, target in _blocks(codes, word.itemsize, out, packed):
        words = block.view(word)
        for slot, used, even in folds:
            words = words & even | (words >> (slot - used)) & (even << used)
        if packed == 1:
            target[:] = words
        else:
            _copy_bytes(words.view(np.uint8), word.itemsize, target, packed, packed)
    return out[: dtype.packed_size(codes.size)]


def unpack(data: Buffer | np.ndarray, dtype: DType, count: int) -> np.ndarray:
    """The first ``count`` codes of ``dtype`` in ``data``.

    ``data`` is a C-contiguous buffer or a 1-D uint8 array; what follows the last code is
    ignored. The result is a new 1-D uint8 array of codes whose high bits are zero.
    Raises ParseError if ``data`` is too short.
    """
    size = dtype.packed_size(count)
    source = np.frombuffer(data, np.uint8)
    if source.size < size:
        raise ParseError(f"{count} elements of {dtype} take {size} bytes, not {source.size}")
    word, packed, folds = _layout(dtype.bits, dtype.pack_group)
    out = np.empty(-(-count // word.itemsize) * word.itemsize, np.uint8)
    for block, target in _blocks(source[:size], packed, out, word.itemsize):
        if packed == 1:
            words = block.astype(word)
        else:
            words = np.zeros(block.size // packed, word)
            _copy_bytes(block, packed, words.view(np.uint8), word.itemsize, packed)
        for slot, used, even in reversed(folds):
            words = words & even | (words << (slot - used)) & (even << slot)
        target[:] = words.view(np.uint8)
    return out[:count]


def _blocks(
    source: np.ndarray, group: int, out: np.ndarray, out_group: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Matching parts of both buffers, in whole groups; the last source group is zero-filled."""
    step, out_step = _BLOCK // 4 * group, _BLOCK // 4 * out_group
    for index in range(-(-source.size // step)):
        block = source[index * step : (index + 1) * step]
        if missing := -block.size % group:
            block = np.concatenate([block, np.zeros(missing, np.uint8)])
        yield block, out[index * out_step : (index + 1) * out_step]


def _copy_bytes(
    source: np.ndarray, step: int, target: np.ndarray, target_step: int, count: int
) -> None:
    """The first ``count`` bytes of each group, byte by byte: NumPy is slow on short rows."""
    for byte in range(count):
        target[byte::target_step] = source[byte::step]
