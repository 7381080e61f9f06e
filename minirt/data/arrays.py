"""Arrays as callers hold them, and as kernels index them.

A *public* array has any layout and byte order and an ml_dtypes type where NumPy has
none. A *storage* array is C-contiguous, aligned, in native byte order, of
``dtype.storage``; its codes have zero high bits, its bools are 0 or 1, its strings
``str``. Both ways cost a view where the memory is already right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import TABLE, Kind, find
from ..errors import InputError

if TYPE_CHECKING:
    from ..dtypes import DType

__all__ = ["canonical", "to_public", "to_storage"]

# NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED: one attribute instead of two flags.
_READY = 0x0101

_PLAIN = frozenset(d for d in TABLE if d.storage == d.public and d.kind is not Kind.STRING)


def to_storage(array: np.ndarray, dtype: DType) -> np.ndarray:
    """``array`` as a storage array of ``dtype`` with the same shape, copied only if need be.

    ``array`` has the NumPy type ``dtype.public`` in any byte order, layout and alignment;
    for ``string`` it is a U, S or StringDType array, or an object array of str and UTF-8
    bytes. It is never written to; the result may share its memory.

    Raises InputError for another element type, for a masked array with masked elements
    and for an element that is not text, whose index it names.
    """
    if (
        type(array) is not np.ndarray
        or array.dtype is not dtype.public
        or array.flags.num & _READY != _READY
    ):
        return _rearranged(array, dtype)
    if dtype in _PLAIN:
        return array
    if dtype.kind is Kind.STRING:
        return _text(array)
    return canonical(array.view(dtype.storage), dtype)


def to_public(storage: np.ndarray, dtype: DType) -> np.ndarray:
    """A storage array of ``dtype`` as the type that callers hold: a view, of the same shape."""
    return storage if storage.dtype == dtype.public else storage.view(dtype.public)


def canonical(codes: np.ndarray, dtype: DType) -> np.ndarray:
    """``codes`` with zero bits above the width of ``dtype``, and bools as 0 or 1.

    A copy only where that changes something: no one promises that the memory behind
    ml_dtypes' narrow types or a view as bool is canonical.
    """
    if dtype.kind is Kind.BOOL:
        return (codes != 0).view(np.uint8) if _exceeds(codes, 1) else codes
    if dtype.is_packed and _exceeds(codes, dtype.code_mask):
        return codes & np.uint8(dtype.code_mask)
    return codes


def _exceeds(codes: np.ndarray, limit: int) -> bool:
    return codes.size > 0 and bool(codes.max() > limit)


def _rearranged(array: Any, dtype: DType) -> np.ndarray:
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise InputError(f"{array.mask.sum()} elements are masked; pass array.filled(value)")
    array = np.asarray(array)
    found = find(array.dtype)
    if found is not dtype:
        raise InputError(f"expected {dtype}, got {found or array.dtype}")
    if dtype.kind is Kind.STRING:
        return _text(array)
    # As storage first: ml_dtypes' types cannot be byte-swapped, and NaN bits must survive.
    codes = array.view(dtype.storage.newbyteorder(array.dtype.byteorder))
    codes = np.asarray(codes, dtype.storage, order="C")
    return canonical(codes if codes.flags.aligned else codes.copy(), dtype)


def _text(array: np.ndarray) -> np.ndarray:
    """An object array of exact ``str``, which is ``array`` itself if it is one."""
    items = array.ravel().tolist()
    if array.dtype.kind == "O" and array.flags.c_contiguous and set(map(type, items)) <= {str}:
        return array
    texts = np.empty(array.shape, object)
    texts.reshape(-1)[:] = [_str(item, i, array.shape) for i, item in enumerate(items)]
    return texts


def _str(item: object, position: int, shape: tuple[int, ...]) -> str:
    try:
        if isinstance(item, str):
            return str.__str__(item)  # numpy.str_ and other subclasses
        if isinstance(item, bytes):
            return item.decode()
    except UnicodeDecodeError as error:
        fault = f"is not UTF-8: {error.reason} at byte {error.start}"
    else:
        fault = f"is of type {type(item).__name__}, not text"
    index = ",".join(map(str, np.unravel_index(position, shape)))
    raise InputError(f"element [{index}] {fault}")
