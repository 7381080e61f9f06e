"""Operators that keep a part of a tensor."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ShapeError
from ..kernels.arrays import Shaped
from ..types import Dim
from .arguments import attribute_to_operand, flag, single
from .registry import Alias, op, upgrade
from .shapes import axes_operand, integers, length

if TYPE_CHECKING:
    from ..dtypes import DType
    from ..graph import Graph, Node
    from ..types import TensorType

#: Ends that lie so far out are beyond any dimension: what exporters write for "to the end".
_FAR = np.iinfo(np.int32).max


@op("Slice", contents=("starts", "ends", "axes", "steps"))
def slice_(data, starts, ends, axes=None, steps=None):
    """``data`` from ``starts`` to ``ends``, not included, in steps, along ``axes``.

    https://onnx.ai/onnx/operators/onnx__Slice.html
    """
    operands = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
    count = _common_length({name: t for name, t in operands.items() if t is not None})
    if data.shape is None:
        return data, None
    along = _axes(data, axes, count)
    if along is None:
        return data.with_shape(*(Dim() for _ in data.shape)), None
    first, last = integers(starts, "starts"), integers(ends, "ends")
    by = [1] * len(along) if steps is None else integers(steps, "steps")
    dims, cuts = list(data.shape), [slice(None)] * len(data.shape)
    if first is None or last is None or by is None:
        return data.with_shape(*(Dim() if i in along else d for i, d in enumerate(dims))), None
    for axis, start, end, step in zip(along, first, last, by, strict=True):
        dims[axis], cuts[axis] = _cut(dims[axis], start, end, step)
    output = data.with_shape(*dims)
    if all(cut == slice(None) for cut in cuts):
        return output, Alias("data")
    return output, lambda: Shaped(lambda data, out: np.copyto(out, data[tuple(cuts)]))


def _common_length(operands: dict[str, TensorType]) -> int | None:
    """How many axes are cut, None while that is not known."""
    lengths = {name: length(operand, name) for name, operand in operands.items()}
    known = {count for count in lengths.values() if count is not None}
    if len(known) > 1:
        counts = ", ".join(f"{name} {n}" for name, n in lengths.items() if n is not None)
        raise ShapeError(f"operands have different lengths: {counts}")
    return known.pop() if known else None


def _axes(data: TensorType, axes: TensorType | None, count: int | None) -> tuple[int, ...] | None:
    """The axes that are cut, by default the first ones; None while they are not known."""
    rank = len(data.shape or ())
    if axes is not None:
        return axes_operand(axes, rank)
    if count is not None and count > rank:
        raise ShapeError(f"starts has {count} numbers, but data {data} has {rank} axes")
    return None if count is None else tuple(range(count))


def _cut(size: int | Dim, start: int, end: int, step: int) -> tuple[int | Dim, slice]:
    """What is left of a dimension, and how it is taken: ``slice(None)`` for all of it."""
    if step == 0:
        raise ShapeError("steps has a 0")
    whole = start == 0 and end >= _FAR and step == 1
    if isinstance(size, Dim):
        turned = start in (-1, _FAR) and end <= -_FAR and step == -1
        return size if whole or turned else Dim(), slice(None) if whole else slice(start, end, step)
    lowest, highest = (0, size) if step > 0 else (-1, size - 1)
    start, end = (bound + size if bound < 0 else bound for bound in (start, end))
    start = min(max(start, 0), highest)
    end = min(max(end, lowest), highest)
    count = len(range(start, end, step))
    if count == size and step > 0:
        return size, slice(None)
    return count, slice(start, None if end < 0 else end, step)


@upgrade("Slice", to=10)
def _(node: Node, graph: Graph) -> None:
    """Bounds were attributes."""
    for name in ("starts", "ends", "axes"):
        attribute_to_operand(node, graph, name)


@op("Trilu")
def trilu(input, k=None, *, upper):
    """The matrices of ``input`` with zeros below their ``k``-th diagonal, or above it.

    https://onnx.ai/onnx/operators/onnx__Trilu.html
    """
    upper = flag("upper", upper)
    if input.shape is not None and len(input.shape) < 2:
        raise ShapeError(f"input is {input}, but needs two axes")
    if k is not None:
        single("k", k)
    return input, lambda: Shaped(partial(_triangle, zero(input.dtype), upper))


def zero(dtype: DType) -> object:
    """What stands for nothing in storage of this type: 0, false, or the empty string."""
    return "" if dtype.storage.hasobject else 0


def _triangle(
    nothing: object, upper: bool, data: np.ndarray, k: np.ndarray | None, out: np.ndarray
) -> None:
    rows, columns = data.shape[-2:]
    # Farther out there are no diagonals, but NumPy's integers would overflow.
    diagonal = 0 if k is None else min(max(int(k.reshape(-1)[0]), -rows), columns)
    below = np.tri(rows, columns, diagonal - 1 if upper else diagonal, np.bool_)
    out[...] = nothing
    np.copyto(out, data, where=~below if upper else below)
