"""Shapes that several families of operators work out in the same way."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ShapeError
from ..types import Dim, TensorType, merge

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..types import Shape

__all__ = [
    "addressable",
    "axes_operand",
    "broadcast",
    "fit",
    "integers",
    "length",
    "normalized_axes",
    "normalized_axis",
    "product",
    "total",
    "unknown_dims",
]

#: The most bytes of a tensor: sizes and addresses are 64-bit integers with a sign.
_MOST_BYTES = np.iinfo(np.int64).max


# Sizes


def product(dims: Iterable[int | Dim]) -> int | Dim:
    """The size that ``dims`` have together: a symbol where it is that of one dimension alone."""
    dims = tuple(dims)
    number = prod(dim for dim in dims if isinstance(dim, int))
    symbols = [dim for dim in dims if isinstance(dim, Dim)]
    if not symbols or number == 0:
        return number
    return symbols[0] if len(symbols) == 1 and number == 1 else Dim()


def total(dims: Iterable[int | Dim]) -> int | Dim:
    """The sum of ``dims``: a symbol where the others are 0."""
    dims = tuple(dims)
    number = sum(dim for dim in dims if isinstance(dim, int))
    symbols = [dim for dim in dims if isinstance(dim, Dim)]
    if not symbols:
        return number
    return symbols[0] if len(symbols) == 1 and number == 0 else Dim()


def unknown_dims(count: int | None) -> Shape | None:
    """So many dimensions of which nothing is known; None if not even their number is."""
    return None if count is None else tuple(Dim() for _ in range(count))


def addressable(type: TensorType) -> TensorType:
    """``type``, unless no memory could hold the tensor: then ShapeError.

    For operators whose results may be larger than all that they get.
    """
    sizes = [dim for dim in type.shape or () if isinstance(dim, int)]
    if max((type.size or 0) * type.dtype.storage.itemsize, *sizes, 0) > _MOST_BYTES:
        raise ShapeError(f"the output {type} is larger than what can be addressed")
    return type


# Operands that hold integers


def integers(operand: TensorType, name: str, *, scalar: bool = False) -> list[int] | None:
    """The contents of an operand that is a list of integers, None while they are not known.

    A ``scalar`` may stand for a list of one. In the first opsets integers are floats. Raises
    ShapeError for other ranks, and for what is no integer.
    """
    length(operand, name, scalar=scalar)
    if operand.value is None:
        return None
    items = operand.value.reshape(-1).view(operand.dtype.public).tolist()
    if not all(float(item).is_integer() for item in items):
        raise ShapeError(f"{name}={items} has to be integers")
    return list(map(int, items))


def length(operand: TensorType, name: str, *, scalar: bool = False) -> int | None:
    """How many integers an operand holds, None while that is not known."""
    shape = (1,) if scalar and operand.shape == () else operand.shape
    if shape is None:
        return None
    if len(shape) != 1:
        raise ShapeError(f"{name} is {operand}, but should have one dimension")
    return shape[0] if isinstance(shape[0], int) else None


def axes_operand(axes: TensorType | None, rank: int) -> tuple[int, ...] | None:
    """The axes of a tensor of ``rank`` dimensions that an operand names, counted from the front.

    All of them if it is omitted, None while its contents are not known. Raises ShapeError.
    """
    if axes is None:
        return tuple(range(rank))
    numbers = integers(axes, "axes", scalar=True)
    return None if numbers is None else normalized_axes(numbers, rank)


# Broadcasting


def broadcast(*types: TensorType) -> Shape | None:
    """The shape to which all ``types`` are broadcast, None while a rank is not known.

    https://onnx.ai/onnx/repo-docs/Broadcasting.html
    """
    shapes = [type.shape for type in types if type.shape is not None]
    if len(shapes) < len(types):
        return None
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        size = _common(sizes)
        if size is None:
            raise ShapeError(f"{', '.join(map(str, types))} cannot be broadcast together")
        result.append(size)
    return tuple(result)


def _common(sizes: Sequence[int | Dim]) -> int | Dim | None:
    """What dimensions of these sizes are broadcast to, None if they contradict each other."""
    numbers = {size for size in sizes if isinstance(size, int) and size != 1}
    if numbers:
        return numbers.pop() if len(numbers) == 1 else None
    symbols = [size for size in sizes if isinstance(size, Dim)]
    if not symbols:
        return 1
    return symbols[0] if all(size == symbols[0] for size in symbols) else Dim()


# Axes


def normalized_axis(axis: int, rank: int, name: str = "axis") -> int:
    """``axis`` counted from the front; negative ones count from the back.

    Raises ShapeError if a tensor of ``rank`` dimensions has no such axis.
    """
    if not -rank <= axis < rank:
        bounds = f"[{-rank}, {rank - 1}]" if rank else "a tensor without dimensions"
        raise ShapeError(f"{name}={axis} is not in {bounds}")
    return axis % rank


def normalized_axes(axes: Sequence[int], rank: int, name: str = "axes") -> tuple[int, ...]:
    """Each of ``axes`` counted from the front. Raises ShapeError, also for one named twice."""
    found = tuple(normalized_axis(int(axis), rank, name) for axis in axes)
    if len(set(found)) < len(found):
        raise ShapeError(f"{name}={list(map(int, axes))} names an axis twice")
    return found


def fit(name: str, operand: TensorType, *shape: int | Dim, why: str = "") -> Shape:
    """What the shape of an operand and the one that it must have say together.

    Raises ShapeError, which ends in ``why``, where they contradict each other.
    """
    wanted = operand.with_shape(*shape)
    both = merge(operand, wanted)
    if not isinstance(both, TensorType) or both.shape is None:
        raise ShapeError(f"{name} is {operand}, but must be {wanted}{why}")
    return both.shape
