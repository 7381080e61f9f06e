"""Types of the values that flow along graph edges.

A shape is a tuple of dimensions, each an ``int`` or a :class:`Dim`, or None where
not even the rank is known. There is no algebra on symbols: a graph is typed again
with concrete sizes when it is planned, by the same operator functions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from .dtypes import DType

__all__ = [
    "Dim",
    "MapType",
    "OptionalType",
    "SequenceType",
    "Shape",
    "SparseTensorType",
    "TensorType",
    "Type",
]


class Dim:
    """A dimension whose size is not known: a named symbol, or unknown.

    Two symbols are equal if their names are; an unknown dimension equals itself alone.
    """

    __slots__ = ("name",)

    def __init__(self, name: str | None = None) -> None:
        self.name = name or None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Dim) and self.name is not None and self.name == other.name

    def __hash__(self) -> int:
        return id(self) if self.name is None else hash(self.name)

    def __repr__(self) -> str:
        return self.name or "?"


Shape = tuple[int | Dim, ...]


@dataclass(frozen=True)
class TensorType:
    """A dense tensor: element type, shape, and contents where they are constant.

    ``value`` is a C-contiguous array of ``dtype.storage`` with the type's shape.
    """

    dtype: DType
    shape: Shape | None = None
    value: np.ndarray | None = None

    # Contents are no part of a type's identity.
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorType):
            return NotImplemented
        return self.dtype is other.dtype and self.shape == other.shape

    def __hash__(self) -> int:
        return hash((self.dtype.code, self.shape))

    def with_dtype(self, dtype: DType) -> TensorType:
        """This shape with another element type; the contents are not carried over."""
        return TensorType(dtype, self.shape)

    def with_shape(self, *shape: int | Dim) -> TensorType:
        """This element type with another shape; the contents are not carried over."""
        return TensorType(self.dtype, shape)

    def without_value(self) -> TensorType:
        """The type alone."""
        return self if self.value is None else replace(self, value=None)

    @property
    def size(self) -> int | None:
        """Number of elements, None while a dimension is not known."""
        if self.shape is None:
            return None
        sizes = [d for d in self.shape if isinstance(d, int)]
        return prod(sizes) if len(sizes) == len(self.shape) else None

    @property
    def is_concrete(self) -> bool:
        """Whether every dimension is a number."""
        return self.size is not None

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.dtype}[...]"
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class SparseTensorType:
    """A sparse tensor: element type and dense shape."""

    dtype: DType
    shape: Shape | None = None

    def __str__(self) -> str:
        return f"sparse({TensorType(self.dtype, self.shape)})"


@dataclass(frozen=True)
class SequenceType:
    """A list of values of one type; None where it is not declared."""

    element: Type | None = None

    def __str__(self) -> str:
        return f"seq({'?' if self.element is None else self.element})"


@dataclass(frozen=True)
class OptionalType:
    """A value or nothing."""

    element: Type | None = None

    def __str__(self) -> str:
        return f"optional({'?' if self.element is None else self.element})"


@dataclass(frozen=True)
class MapType:
    """A dictionary from integers or strings to values of one type."""

    key: DType
    element: Type | None = None

    def __str__(self) -> str:
        return f"map({self.key},{'?' if self.element is None else self.element})"


Type = TensorType | SparseTensorType | SequenceType | OptionalType | MapType
