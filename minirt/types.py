"""Types of the values that flow along graph edges.

A shape is a tuple of dimensions, each an ``int`` or a :class:`Dim`, or None where
not even the rank is known. There is no algebra on symbols: a graph is typed again
with concrete sizes when it is planned, by the same operator functions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from .errors import ModelError, SchemaError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    "contradiction",
    "merge",
    "union",
    "with_sizes",
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
        # Cut: a name stands in the types of any number of values.
        name = self.name or "?"
        return name if len(name) <= 200 else f"{name[:200]}..."


Shape = tuple[int | Dim, ...]


@dataclass(frozen=True)
class TensorType:
    """A dense tensor: element type, shape, and contents where they are constant.

    ``value`` is an array of ``dtype.storage`` with the type's shape. It is C-contiguous, or
    one element that is shown many times.
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
    """A list of values of one type; None where it is not declared.

    ``empty``: there are none for sure, whatever shape ``element`` allows them.
    """

    element: Type | None = None
    empty: bool = False

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


def merge(first: Type, second: Type) -> Type | None:
    """What two statements about one value say together, None if they contradict each other.

    Of two dimensions a number wins over a name and a name over nothing; of two names
    ``first`` has its way. The contents of ``first`` are kept.
    """
    if isinstance(first, TensorType | SparseTensorType):
        if type(first) is not type(second) or first.dtype is not second.dtype:
            return None
        if not _agree(first.shape, second.shape):
            return None
        return replace(first, shape=_merge_shapes(first.shape, second.shape))
    if isinstance(second, TensorType | SparseTensorType) or type(first) is not type(second):
        return None
    if isinstance(first, MapType) and isinstance(second, MapType) and first.key != second.key:
        return None
    if first.element is None or second.element is None:
        return second if first.element is None else first
    element = merge(first.element, second.element)
    return element and replace(first, element=element)


def contradiction(message: str, first: Type, second: Type) -> ModelError:
    """The error for two types that :func:`merge` does not bring together."""
    if not (isinstance(first, TensorType) and isinstance(second, TensorType)):
        return SchemaError(message)
    return ShapeError(message) if first.dtype is second.dtype else SchemaError(message)


def _agree(first: Shape | None, second: Shape | None) -> bool:
    """Whether one shape may be both."""
    if first is None or second is None:
        return True
    return len(first) == len(second) and not any(
        isinstance(a, int) and isinstance(b, int) and a != b
        for a, b in zip(first, second, strict=True)
    )


def _merge_shapes(first: Shape | None, second: Shape | None) -> Shape | None:
    if first is None or second is None:
        return second if first is None else first
    return tuple(map(_merge_dims, first, second))


def _merge_dims(first: int | Dim, second: int | Dim) -> int | Dim:
    if isinstance(first, int) or isinstance(second, int):
        return first if isinstance(first, int) else second
    return first if first.name or not second.name else second


def union(first: Type, second: Type, unknown: set[Dim] | None = None) -> Type | None:
    """The type of a value that is of one of two types, None if no type covers both.

    A dimension in which they differ is not known. Those that earlier unions so made, which
    ``unknown`` has, stay, and new ones are added: then what is united with more and more types
    comes to rest.
    """
    if isinstance(first, TensorType | SparseTensorType):
        if type(first) is not type(second) or first.dtype is not second.dtype:
            return None
        shape = _unite_shapes(first.shape, second.shape, set() if unknown is None else unknown)
        return type(first)(first.dtype, shape)
    if isinstance(second, TensorType | SparseTensorType) or type(first) is not type(second):
        return None
    if isinstance(first, MapType) and isinstance(second, MapType) and first.key != second.key:
        return None
    element = None
    if first.element is not None and second.element is not None:
        element = union(first.element, second.element, unknown)
        if element is None:
            return None
    if isinstance(first, SequenceType) and first.empty:
        return second
    if isinstance(second, SequenceType) and second.empty:
        return first
    return replace(first, element=element)


def _unite_shapes(first: Shape | None, second: Shape | None, unknown: set[Dim]) -> Shape | None:
    if first is None or second is None or len(first) != len(second):
        return None
    return tuple(_unite_dims(a, b, unknown) for a, b in zip(first, second, strict=True))


def _unite_dims(first: int | Dim, second: int | Dim, unknown: set[Dim]) -> int | Dim:
    if first == second or first in unknown:
        return first
    dim = Dim()
    unknown.add(dim)
    return dim


def with_sizes(type: Type, sizes: Mapping[str, int]) -> Type:
    """``type`` with numbers in place of the named dimensions that ``sizes`` has."""
    if isinstance(type, TensorType | SparseTensorType):
        if type.shape is None:
            return type
        shape = tuple(d if isinstance(d, int) else sizes.get(d.name or "", d) for d in type.shape)
        return replace(type, shape=shape)
    if type.element is None:
        return type
    return replace(type, element=with_sizes(type.element, sizes))
