"""Values of every type as kernels hold them: *storage form*.

- A tensor is a storage array (:mod:`minirt.data.arrays`) of its shape.
- A sparse tensor is a :class:`~minirt.data.sparse.SparseTensor` with ``values`` in storage form.
- A sequence is a list, a map a dict from ``int`` or ``str``, of values in storage form.
- An optional is None, or its element in storage form.

Nothing in storage form is changed once it is made, so values may share their parts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import UnsupportedError
from ..types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type

__all__ = ["element_of", "public_copy"]


def public_copy(value: Any, type: Type) -> Any:
    """``value``, in storage form, as callers hold it: new, and sharing memory with nothing.

    Arrays are of ``dtype.public`` and own their memory.
    """
    match type:
        case TensorType(dtype=dtype):
            array = np.empty(value.shape, dtype.public)
            array.view(dtype.storage)[...] = value
            return array
        case SparseTensorType(dtype=dtype):
            values = public_copy(value.values, TensorType(dtype))
            return replace(value, values=values, indices=value.indices.copy())
        case SequenceType():
            return [public_copy(item, element_of(type)) for item in value]
        case MapType():
            return {key: public_copy(item, element_of(type)) for key, item in value.items()}
    return None if value is None else public_copy(value, element_of(type))


def element_of(type: SequenceType | MapType | OptionalType) -> Type:
    """The type of what ``type`` holds. Raises UnsupportedError if the model leaves it open."""
    if type.element is None:
        raise UnsupportedError(f"the model does not say what {type} consists of")
    return type.element
