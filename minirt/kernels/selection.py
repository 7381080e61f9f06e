"""The largest and smallest elements along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import Kind
from ..jit import helper, kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..dtypes import DType

__all__ = ["topk"]

# How elements become keys: as they are, with the sign turned, or as floats.
_PLAIN, _SIGNED, _FLOAT = range(3)


def topk(
    dtype: DType, shape: Sequence[int], axis: int, k: int, largest: bool
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """``run(x, values, indices)``: the ``k`` largest or smallest of ``x`` along ``axis``, in order.

    All are flat storage buffers, ``x`` of ``shape``, which has at least ``k`` elements along
    ``axis``. Of equal ones the lower index comes first. NaN is the largest, and -0 equals 0.
    """
    code = np.dtype(f"u{dtype.storage.itemsize}")
    count, inner = shape[axis], int(np.prod(shape[axis + 1 :], dtype=np.int64))
    kind = _FLOAT if dtype.is_float else _SIGNED if dtype.kind is Kind.INT else _PLAIN
    infinity = (dtype.inf_code or 0) if dtype.is_float else 0
    numbers = (1 << dtype.bits - 1, infinity, dtype.code_mask if largest else 0)
    run = select_first.bind(
        code, code, np.dtype(np.int64), count, inner, k, kind, *map(np.uint64, numbers), size=1
    )
    return lambda x, values, indices: run(x.view(code), values.view(code), indices)


@kernel(whole=("x", "values", "indices"))
def select_first(x, values, indices, count, inner, k, kind, top, infinity, flip):
    """The ``k`` first in the order of keys of each line of ``count`` codes, ``inner`` apart.

    ``top`` is the bit of the sign, ``flip`` is what turns the order around.
    """
    keys, places = np.empty(k, np.uint64), np.empty(k, np.int64)
    for line in range(indices.size // max(k, 1)):
        block, offset = divmod(line, inner)
        source = x[block * count * inner + offset :]
        for i in range(count):
            key = _key(np.uint64(source[i * inner]), kind, top, infinity) ^ flip
            if i < k:
                _push(keys, places, i, key)
            elif key < keys[0]:
                _sink(keys, places, k, key, i)
        _sort(keys, places)
        start = block * k * inner + offset
        for i in range(k):
            values[start + i * inner] = source[places[i] * inner]
            indices[start + i * inner] = places[i]


@helper
def _key(code, kind, top, infinity):
    """An unsigned integer in the order of the elements: NaN is the last, and both zeros are one."""
    if kind == _PLAIN:
        return code
    if kind == _SIGNED:
        return code ^ top
    size = code & ~top
    if size > infinity:
        return top + top - np.uint64(1)
    return top + size if code == size else top - size


# The keys that are the first so far form a heap: that at i comes after those at 2 i + 1 and
# 2 i + 2. Of equal keys the one with the lower place comes first.


@helper
def _is_later(key, place, other_key, other_place):
    return key > other_key or (key == other_key and place > other_place)


@helper
def _push(keys, places, i, key):
    """Add a key from place ``i`` to a heap of ``i``."""
    place = i
    while i > 0:
        parent = (i - 1) >> 1
        if _is_later(keys[parent], places[parent], key, place):
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
def _sort(keys, places):
    """Make a heap a sorted array."""
    for end in range(keys.size - 1, 0, -1):
        key, place = keys[end], places[end]
        keys[end], places[end] = keys[0], places[0]
        _sink(keys, places, end, key, place)
