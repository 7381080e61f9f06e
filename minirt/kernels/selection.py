"""The largest and smallest elements along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import Kind
from ..jit import helper, kernel
from ..jit.lanes import select, smin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..dtypes import DType

__all__ = ["topk"]

#: So many keys are made at once, and passed over at once where none is among the first.
_BLOCK = 256
#: Lines of fewer elements are not sorted by bytes: to count those costs as much as so many.
_FEW = 32


def topk(
    dtype: DType, shape: Sequence[int], axis: int, k: int, largest: bool
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """``run(x, values, indices)``: the ``k`` largest or smallest of ``x`` along ``axis``, in order.

    All are flat storage buffers, ``x`` of ``shape``, which has at least ``k`` elements along
    ``axis``. Of equal ones the lower index comes first. NaN is the largest, and -0 equals 0.
    """
    code = np.dtype(f"i{dtype.storage.itemsize}")
    count, inner = shape[axis], int(np.prod(shape[axis + 1 :], dtype=np.int64))
    by_heap = count < _FEW or k * k < 4 * count  # measured: branches into heaps are mispredicted
    infinity = (dtype.inf_code or 0) if dtype.is_float else -1
    flip = -(1 << dtype.bits - 1) if dtype.kind is Kind.UINT else 0
    numbers = (1 << dtype.bits - 1) - 1, infinity, ~flip if largest else flip
    run = (select_first if by_heap else sort_first).bind(
        code, code, np.dtype(np.int64), count, inner, k, *numbers, size=1
    )
    return lambda x, values, indices: run(x.view(code), values.view(code), indices)


@kernel(whole=("x", "values", "indices"))
def select_first(x, values, indices, count, inner, k, sizes, infinity, flip):
    """The ``k`` first in the order of keys of each line of ``count`` elements, ``inner`` apart.

    ``sizes`` are the bits of a float without its sign, ``infinity`` is its infinity's code, and
    negative for integers; ``flip`` is what turns the order of keys around.
    """
    keys, places = np.empty(k, np.int64), np.empty(k, np.int64)
    block = np.empty(_BLOCK, np.int64)
    for line in range(indices.size // max(k, 1)):
        outer, offset = divmod(line, inner)
        source = x[outer * count * inner + offset :]
        filled = 0
        for first in range(0, count, _BLOCK):
            part = block[: min(_BLOCK, count - first)]
            least = _make_keys(source[first * inner :], inner, sizes, infinity, flip, part)
            start = min(k - filled, part.size)
            for i in range(start):
                _push(keys, places, filled, part[i], first + i)
                filled += 1
            if least < keys[0]:
                for i in range(start, part.size):
                    if part[i] < keys[0]:
                        _sink(keys, places, k, part[i], first + i)
        _sort_heap(keys, places)
        _take(source, inner, places, values, indices, outer * k * inner + offset)


@kernel(whole=("x", "values", "indices"))
def sort_first(x, values, indices, count, inner, k, sizes, infinity, flip):
    """As :func:`select_first`, by sorting whole lines."""
    keys, places = np.empty((2, count), np.int64), np.empty((2, count), np.int64)
    for line in range(indices.size // max(k, 1)):
        outer, offset = divmod(line, inner)
        source = x[outer * count * inner + offset :]
        _make_keys(source, inner, sizes, infinity, flip, keys[0])
        side = _sort_bytes(keys, places, x.itemsize)
        _take(source, inner, places[side, :k], values, indices, outer * k * inner + offset)


@helper
def _take(source, step, places, values, indices, start):
    for i in range(places.size):
        values[start + i * step] = source[places[i] * step]
        indices[start + i * step] = places[i]


@helper
def _make_keys(source, step, sizes, infinity, flip, keys):
    """Integers in the order of the elements, and the least of them: NaN is last, zeros are one."""
    if step == 1:
        line = source[: keys.size]
        for i in range(keys.size):
            keys[i] = line[i]
    else:
        for i in range(keys.size):
            keys[i] = source[i * step]
    if infinity >= 0:
        for i in range(keys.size):
            size = keys[i] & sizes
            number = select(keys[i] < 0, -size, size)
            keys[i] = select(size > infinity, sizes, number)
    least = np.int64((1 << 63) - 1)
    for i in range(keys.size):
        keys[i] ^= flip
        least = smin(least, keys[i])
    return least


# The keys that are the first so far form a heap: that at i comes after those at 2 i + 1 and
# 2 i + 2. Of equal keys the one with the lower place comes first.


@helper
def _is_later(key, place, other_key, other_place):
    return key > other_key or (key == other_key and place > other_place)


@helper
def _push(keys, places, size, key, place):
    """Add a key to a heap of ``size``, all of whose places are lower."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if keys[parent] > key:
            break
        keys[i], places[i] = keys[parent], places[parent]
        i = parent
    keys[i], places[i] = key, place


@helper
def _sink(keys, places, size, key, place):
    """Put a key in place of the last one of all, which is at the top."""
    i, child = 0, 1
    while child < size:
        other = child + 1
        if other < size and _is_later(keys[other], places[other], keys[child], places[child]):
            child = other
        if _is_later(key, place, keys[child], places[child]):
            break
        keys[i], places[i] = keys[child], places[child]
        i, child = child, 2 * child + 1
    keys[i], places[i] = key, place


@helper
def _sort_heap(keys, places):
    """Make a heap a sorted array."""
    for end in range(keys.size - 1, 0, -1):
        key, place = keys[end], places[end]
        keys[end], places[end] = keys[0], places[0]
        _sink(keys, places, end, key, place)


@helper
def _sort_bytes(keys, places, width):
    """Sort the keys in the first row by their ``width`` low bytes, the last of which has a sign.

    They come to lie in the row that is returned, and in the same row of ``places`` where they
    were. Each pass keeps the order of equal bytes.
    """
    side, starts = 0, np.empty(257, np.int64)
    for i in range(keys.shape[1]):
        places[0, i] = i
    for shift in range(0, 8 * width, 8):
        sign = 0x80 if shift == 8 * (width - 1) else 0
        source, places_from = keys[side], places[side]
        target, places_to = keys[1 - side], places[1 - side]
        starts[:] = 0
        for i in range(source.size):
            starts[(((source[i] >> shift) & 0xFF) ^ sign) + 1] += 1
        if starts[(((source[0] >> shift) & 0xFF) ^ sign) + 1] == source.size:
            continue
        for byte in range(256):
            starts[byte + 1] += starts[byte]
        for i in range(source.size):
            byte = ((source[i] >> shift) & 0xFF) ^ sign
            target[starts[byte]], places_to[starts[byte]] = source[i], places_from[i]
            starts[byte] += 1
        side = 1 - side
    return side
