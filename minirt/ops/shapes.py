"""Shapes that several families of operators work out in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ShapeError
from ..types import Dim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..types import Shape, TensorType

__all__ = ["broadcast", "normalized_axes", "normalized_axis"]


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
