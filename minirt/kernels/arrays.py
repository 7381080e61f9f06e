"""Kernels made of NumPy functions.

Most operators do what NumPy does as fast as any loop: they move elements, or compute on types
that NumPy has. Their kernels are functions over arrays of the operands' shapes,
:class:`Shaped`; :func:`computed` makes one of a function that knows numbers only, and
:func:`elementwise` one that goes through memory once, of a function of single elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import kernels
from ..dtypes import BY_NAME, DType, Kind
from ..types import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..types import Type

__all__ = ["Shaped", "computed", "elementwise", "number_dtype"]


@dataclass(frozen=True, slots=True)
class Shaped:
    """A kernel ``function(*operands, *outputs)`` over C-contiguous storage arrays in their shapes.

    Where other kernels get flat buffers, this one gets tensors as arrays of the shapes that
    their types have. It writes to outputs only, and must not keep what it gets.
    """

    function: Callable[..., Any]


def number_dtype(dtype: DType) -> np.dtype:
    """The NumPy type in which :func:`computed` shows elements of ``dtype``.

    NumPy's own where it has the type, bool too; float32 for narrower floats, which it
    holds exactly; int8 and uint8 for narrower integers.
    """
    if dtype.kind is Kind.BOOL:
        return np.dtype(np.bool_)
    if dtype.is_float and dtype.bits < 32:
        return _FLOAT.storage
    if dtype.kind is Kind.INT and dtype.bits < 8:
        return np.dtype(np.int8)
    return dtype.storage


def computed(
    function: Callable[..., Any], operands: Sequence[Type | None], results: Sequence[Type]
) -> Shaped:
    """The kernel that ``function(*operands, *outputs)`` is, written for arrays of numbers.

    The arrays have the types of :func:`number_dtype`. Narrow floats are computed in float32 and
    rounded once, at the end, as Cast rounds; narrow integers wrap around. ``operands`` are the
    types of all that the kernel gets, None for an omitted one, ``results`` those of the outputs
    that it writes. What is no tensor is passed as it is.
    """
    loads = [_load(type) if isinstance(type, TensorType) else None for type in operands]
    stores = [_store(type) if isinstance(type, TensorType) else None for type in results]
    if not any(loads) and not any(stores):
        return Shaped(function)

    def run(*arrays: Any) -> Any:
        given = [
            array if load is None or array is None else load(array)
            for load, array in zip(loads, arrays, strict=False)
        ]
        outputs = arrays[len(given) :]
        targets = [
            array if store is None or array is None else store[0](array)
            for store, array in zip(stores, outputs, strict=True)
        ]
        returned = function(*given, *targets)
        for store, array, target in zip(stores, outputs, targets, strict=True):
            if store is not None and array is not None:
                store[1](target, array)
        return returned

    return Shaped(run)


#: Elements of a block: what is computed for one stays in the cache.
_BLOCK = 32 << 10


def elementwise(
    function: Callable[..., Any],
    operands: Sequence[TensorType | None],
    results: Sequence[TensorType],
) -> Shaped:
    """As :func:`computed`, of a function that makes each element of elements in the same place.

    ``operands`` are tensors that are broadcast, ``results`` have the shape that comes of it. What
    has to be widened is, block by block, in the cache. Nothing warns of overflow and the like.
    """
    size = results[0].size or 0
    narrow = [t for t in (*operands, *results) if t and _is_widened(t.dtype)]
    if narrow and size > _BLOCK:
        run = _in_blocks(function, operands, results, size)
    else:
        run = computed(function, operands, results).function
    return Shaped(np.errstate(all="ignore")(run))


def _in_blocks(
    function: Callable[..., Any],
    operands: Sequence[TensorType | None],
    results: Sequence[TensorType],
    size: int,
) -> Callable[..., None]:
    """As :func:`computed`, for parts of arrays along the first axis of their merged shapes."""
    types = (*operands, *results)
    shapes = _merged([() if t is None else t.shape or () for t in types])
    rows = shapes[-1][0]
    step = max(1, _BLOCK * rows // size)

    def part(count: int) -> Callable[..., Any]:
        cut = [
            t and t.with_shape(*shape if shape[0] == 1 else (count, *shape[1:]))
            for t, shape in zip(types, shapes, strict=True)
        ]
        outputs = [t for t in cut[len(operands) :] if t]
        return computed(function, cut[: len(operands)], outputs).function

    block, rest = part(step), part(rows % step)

    def run(*arrays: np.ndarray | None) -> None:
        views = [
            None if array is None else array.reshape(shape)
            for array, shape in zip(arrays, shapes, strict=True)
        ]
        for start in range(0, rows, step):
            compute = block if start + step <= rows else rest
            compute(*[v if v is None or len(v) == 1 else v[start : start + step] for v in views])

    return run


def _is_widened(dtype: DType) -> bool:
    return number_dtype(dtype).itemsize > dtype.storage.itemsize


def _merged(shapes: Sequence[Sequence[Any]]) -> list[tuple[int, ...]]:
    """Shapes that broadcast in the same way, with as few axes as can be, all equally many.

    Axes are as one where each tensor has both or neither.
    """
    rank = max(map(len, shapes))
    merged: list[tuple[int, ...]] = []
    for sizes in zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in shapes), strict=True):
        if merged and all((a == 1) == (b == 1) for a, b in zip(merged[-1], sizes, strict=True)):
            merged[-1] = tuple(a * b for a, b in zip(merged[-1], sizes, strict=True))
        elif max(sizes) > 1:
            merged.append(sizes)
    return list(zip(*merged, strict=True))


_FLOAT = BY_NAME["float"]


def _as_bools(array: np.ndarray) -> np.ndarray:
    return array.view(np.bool_)


def _load(type: TensorType) -> Callable[[np.ndarray], np.ndarray] | None:
    """What makes numbers of a storage array, None if it holds them as they are."""
    dtype = type.dtype
    if dtype.kind is Kind.BOOL:
        return _as_bools
    if dtype.kind is Kind.INT and dtype.bits < 8:
        unused = 8 - dtype.bits
        return lambda array: (array << unused).view(np.int8) >> unused
    if not dtype.is_float or dtype.bits >= 32:
        return None
    convert = _convert(dtype, _FLOAT, type)

    def load(array: np.ndarray) -> np.ndarray:
        numbers = np.empty(array.shape, np.float32)
        convert(array.reshape(-1), numbers.reshape(-1))
        return numbers

    return load


def _store(
    type: TensorType,
) -> tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray, np.ndarray], None]] | None:
    """What makes an array for numbers, and what then writes them to the storage array."""
    dtype = type.dtype
    if dtype.kind is Kind.BOOL:
        return _as_bools, lambda numbers, array: None
    number = number_dtype(dtype)
    if dtype.is_integer and dtype.bits < 8:
        mask = np.uint8(dtype.code_mask)
        return (
            lambda array: np.empty(array.shape, number),
            lambda numbers, array: _write(array, numbers.view(np.uint8) & mask),
        )
    if not dtype.is_float or dtype.bits >= 32:
        return None
    convert = _convert(_FLOAT, dtype, type)
    return (
        lambda array: np.empty(array.shape, number),
        lambda numbers, array: convert(numbers.reshape(-1), array.reshape(-1)),
    )


def _write(array: np.ndarray, contents: np.ndarray) -> None:
    array[...] = contents


def _convert(src: DType, dst: DType, type: TensorType) -> Callable[..., None]:
    convert: Callable[..., None]
    convert = kernels.convert(src, dst, type.size or 0, saturate=True, round_mode="up")
    return convert
