"""Sparse tensors: the elements that are not zero, and where they are.

https://github.com/onnx/onnx/blob/main/onnx/onnx.in.proto (SparseTensorProto).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from onnx import SparseTensorProto

from ..dtypes import BY_NAME, find
from ..errors import InputError, ParseError, UnsupportedError
from .tensors import MAX_RANK, from_proto, to_proto

if TYPE_CHECKING:
    from ..dtypes import DType
    from .external import ExternalData

__all__ = ["DENSE_LIMIT", "SparseTensor", "sparse_from_proto", "sparse_to_proto"]

#: The most bytes that :meth:`SparseTensor.dense` makes unless told otherwise.
DENSE_LIMIT = 1 << 30

_INT64 = BY_NAME["int64"]


@dataclass(frozen=True, eq=False)
class SparseTensor:
    """A tensor of ``shape`` that is zero (strings: empty) but for ``values`` at ``indices``.

    ``values`` is 1-D, of any element type, in storage or public form. ``indices`` is
    int64: a position in C order a value (``[n]``), or an index a value (``[n, rank]``),
    in ascending order without duplicates. Raises InputError where that is not so.
    """

    values: np.ndarray
    indices: np.ndarray
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        self._require_types()
        count, rank = self.values.size, len(self.shape)
        if self.values.ndim != 1:
            raise InputError(
                f"values have shape {_bracketed(self.values.shape)}, not one dimension"
            )
        if rank > MAX_RANK:
            raise InputError(f"shape has {rank} dimensions; at most {MAX_RANK} are possible")
        if any(dim < 0 for dim in self.shape):
            raise InputError(f"shape {_bracketed(self.shape)} has a negative dimension")
        if self.indices.dtype != np.int64:
            raise InputError(f"indices are {self.indices.dtype}, not int64")
        if self.indices.shape not in ((count,), (count, rank)):
            raise InputError(
                f"indices have shape {_bracketed(self.indices.shape)}; {count} values in a tensor "
                f"of rank {rank} need [{count}] or [{count},{rank}]"
            )
        self._require_in_range()
        self._require_ascending()

    @property
    def dense_bytes(self) -> int:
        """How many bytes :meth:`dense` takes; dimensions of 0 count as 1, as NumPy counts."""
        return prod(dim or 1 for dim in self.shape) * self.values.itemsize

    def dense(self, *, limit: int = DENSE_LIMIT) -> np.ndarray:
        """All elements, as a new array of ``shape`` and the type of ``values``.

        Raises UnsupportedError if that takes more than ``limit`` bytes, before it is
        allocated: a few bytes of a file can ask for any amount of memory.
        """
        size, text = self.dense_bytes, self.values.dtype == object
        what = f"a sparse tensor of shape {_bracketed(self.shape)} takes {size} bytes when dense"
        if size > limit:
            raise UnsupportedError(f"{what}, over the limit of {limit}")
        try:
            dense = np.zeros(self.shape, self.values.dtype)
            if text:
                dense.fill("")
        except MemoryError:
            raise UnsupportedError(f"{what}; memory has less") from None
        dense.reshape(-1)[self._positions()] = self.values
        return dense

    def _positions(self) -> np.ndarray:
        if self.indices.ndim == 1:
            return self.indices
        positions = np.zeros(self.values.size, np.int64)
        for axis, dim in enumerate(self.shape):
            positions = positions * dim + self.indices[:, axis]
        return positions

    def _columns(self) -> list[tuple[np.ndarray, int]]:
        """What each index consists of, most significant part first, with the bound of each."""
        if self.indices.ndim == 1:
            return [(self.indices, prod(self.shape))]
        return [(self.indices[:, axis], dim) for axis, dim in enumerate(self.shape)]

    def _require_types(self) -> None:
        for name in ("values", "indices"):
            part = getattr(self, name)
            if not isinstance(part, np.ndarray):
                raise InputError(f"{name} are of type {type(part).__name__}, not an array")
        if not isinstance(self.shape, tuple) or {*map(type, self.shape)} - {int}:
            raise InputError(f"shape {self.shape!r} is no tuple of int")

    def _require_in_range(self) -> None:
        for column, bound in self._columns():
            outside = np.flatnonzero((column < 0) | (column >= bound))
            if outside.size:
                place = int(outside[0])
                raise InputError(
                    f"index {_bracketed(self.indices[place])} of value {place} is outside of "
                    f"shape {_bracketed(self.shape)}"
                )

    def _require_ascending(self) -> None:
        step = np.zeros(max(self.values.size - 1, 0), np.int64)
        for column, _ in reversed(self._columns()):
            ahead = np.diff(column)
            step = np.where(ahead == 0, step, ahead)
        stuck = np.flatnonzero(step <= 0)
        if stuck.size:
            place = int(stuck[0])
            raise InputError(
                f"index {_bracketed(self.indices[place + 1])} of value {place + 1} comes after "
                f"{_bracketed(self.indices[place])}; indices ascend without duplicates"
            )


def _bracketed(numbers: tuple[int, ...] | np.ndarray) -> str:
    """A shape or an index as types print them: ``[2,3]``."""
    numbers = np.asarray(numbers, object)
    return f"[{','.join(map(str, numbers))}]" if numbers.ndim else str(numbers)


def sparse_from_proto(
    sparse: SparseTensorProto, *, where: str = "", external: ExternalData | None = None
) -> SparseTensor:
    """``sparse`` with its values in storage form, of ``find(sparse.values.data_type)``.

    ``where`` and ``external`` are as for :func:`~minirt.data.tensors.from_proto`. Indices may
    be left out where there are no values. Raises ParseError where a part contradicts
    another; UnsupportedError for float8e8m0, which has no zero.
    """
    where = where or f"sparse tensor {sparse.values.name!r}"
    values = from_proto(sparse.values, where=f"values tensor of {where}", external=external)
    if find(sparse.values.data_type) is BY_NAME["float8e8m0"]:
        raise UnsupportedError(f"{where} is float8e8m0, which has no zero", dtype="float8e8m0")
    indices = np.empty(0, np.int64)
    if sparse.HasField("indices") or values.size:
        indices = from_proto(sparse.indices, where=f"index tensor of {where}", external=external)
    try:
        return SparseTensor(values, indices, tuple(sparse.dims))
    except InputError as error:
        raise ParseError(f"{where}: {error}") from None


def sparse_to_proto(sparse: SparseTensor, dtype: DType, name: str = "") -> SparseTensorProto:
    """``sparse``, whose values are in storage form of ``dtype``, as a SparseTensorProto."""
    return SparseTensorProto(
        values=to_proto(sparse.values, dtype, name),
        indices=to_proto(sparse.indices, _INT64),
        dims=sparse.shape,
    )
