"""Elements of every type, for rows that move them."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minirt.dtypes import Kind, find

__all__ = ["elements"]


def elements(dtype: Any, *shape: int) -> np.ndarray:
    """Elements that differ, as far as there are so many: texts, complex numbers, or any codes."""
    found, indices = find(dtype), np.arange(prod(shape))
    assert found is not None
    if found.kind is Kind.STRING:
        array = np.array([f"text {i}" if i else "" for i in indices], object)
    elif found.kind is Kind.COMPLEX:
        array = (indices - 1j * (indices % 5)).astype(found.public)
    elif found.is_float and found.bits >= 32:
        array = (indices - 2.5).astype(found.public)
    else:
        unsigned = f"u{found.storage.itemsize}"
        largest = 1 if found.kind is Kind.BOOL else found.code_mask
        codes = indices.astype(np.uint64) * np.uint64(0x9E37_79B9_7F4A_7C15) >> np.uint64(
            64 - largest.bit_length()
        )
        array = codes.astype(unsigned).view(found.public)
    return array.reshape(shape)
