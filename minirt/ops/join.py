"""Operators that put tensors together, take them apart, and repeat them."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, cast

import numpy as np

from .. import kernels
from ..errors import SchemaError, ShapeError
from ..kernels.arrays import Shaped
from ..types import Dim, TensorType, contradiction, merge
from .arguments import attribute_to_operand
from .registry import Alias, op, upgrade
from .shapes import (
    addressable,
    broadcast,
    integers,
    length,
    normalized_axis,
    product,
    total,
    unknown_dims,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Graph, Node
    from ..types import Shape
    from .registry import Run

#: Elements of a run from which on NumPy copies it as fast: it takes long to begin with one.
_LONG = 64


# Joining


@op("Concat")
def concat(*inputs, axis):
    """``inputs`` one after the other along ``axis``; their other sizes are the same.

    https://onnx.ai/onnx/operators/onnx__Concat.html
    """
    output = TensorType(inputs[0].dtype, joined_shape(inputs, axis))
    if len(inputs) == 1:
        return output, Alias("inputs")
    return output, lambda: _joining(output, axis, [type.shape[axis] for type in inputs])


def joined_shape(inputs: Sequence[TensorType], axis: int) -> Shape | None:
    """The shape of ``inputs`` one after the other along ``axis``. Raises ShapeError."""
    rank = next((len(type.shape) for type in inputs if type.shape is not None), None)
    if rank is None:
        return None
    axis = normalized_axis(axis, rank)
    joined = _without_size(inputs[0], axis)
    for type in inputs[1:]:
        both = merge(joined, _without_size(type, axis))
        if both is None:
            message = f"{inputs[0]} and {type} do not fit together along axis {axis}"
            raise contradiction(message, inputs[0], type)
        joined = cast("TensorType", both)
    dims = list(joined.shape or ())
    sizes = [Dim() if type.shape is None else type.shape[axis] for type in inputs]
    dims[axis] = total(sizes)
    return tuple(dims)


def _without_size(type: TensorType, axis: int) -> TensorType:
    if type.shape is None:
        return type.without_value()
    return type.with_shape(*(Dim() if i == axis else dim for i, dim in enumerate(type.shape)))


def _joining(output: TensorType, axis: int, sizes: Sequence[int]) -> Run:
    lines, runs = _lines(output, axis, sizes)
    if lines == 1 or max(runs) > _LONG or output.dtype.storage.hasobject:
        return Shaped(partial(_concatenate, axis))
    run: Run = kernels.join(output.dtype.storage, lines, runs)
    return run


def _lines(type: TensorType, axis: int, sizes: Sequence[int]) -> tuple[int, list[int]]:
    """How many lines there are before ``axis``, and the elements that ``sizes`` are of each."""
    shape = cast("tuple[int, ...]", type.shape)
    axis = normalized_axis(axis, len(shape))
    inner = prod(shape[axis + 1 :])
    return prod(shape[:axis]), [inner * size for size in sizes]


def _concatenate(axis: int, *arrays: np.ndarray) -> None:
    *inputs, out = arrays
    np.concatenate(inputs, axis, out=out)


@upgrade("Concat", to=4)
def _(node: Node, graph: Graph) -> None:
    """Concat-1 joins along axis 1 where it does not say."""
    node.attributes.setdefault("axis", 1)


# Splitting


@op("Split", since=18, contents=("split",), counts="outputs")
def split(input, split=None, *, axis, num_outputs, outputs):
    """Parts of ``input`` along ``axis``, of the sizes ``split`` or as even as they can be.

    https://onnx.ai/onnx/operators/onnx__Split.html
    """
    if (split is None) == (num_outputs is None):
        both = "both" if split else "neither"
        raise SchemaError(f"has {both} of split and num_outputs, but needs one of them")
    if num_outputs not in (None, outputs):
        raise SchemaError(f"num_outputs={num_outputs}, but the node has {outputs} outputs")
    return _split(input, split, axis, outputs, even=False)


@op("Split", contents=("split",), counts="outputs")
def even_split(input, split=None, *, axis, outputs):
    """As before opset 18: without ``split`` all parts have one size.

    https://onnx.ai/onnx/operators/onnx__Split.html
    """
    return _split(input, split, axis, outputs, even=True)


def _split(input: TensorType, split: TensorType | None, axis: int, count: int, *, even: bool):
    if input.shape is None:
        return (input.without_value(),) * count, None
    axis = normalized_axis(axis, len(input.shape))
    sizes = _parts(input, axis, count, even) if split is None else _said(input, axis, count, split)
    types = tuple(
        input.with_shape(*input.shape[:axis], size, *input.shape[axis + 1 :]) for size in sizes
    )
    if count == 1:
        return types, Alias("input")
    return types, lambda: _taking_apart(input, axis, cast("Sequence[int]", sizes))


def _parts(input: TensorType, axis: int, count: int, even: bool) -> Sequence[int | Dim]:
    """The sizes of ``count`` parts of which, if they cannot be ``even``, the last is smaller."""
    size = cast("Shape", input.shape)[axis]
    if isinstance(size, Dim):
        return [size] if count == 1 else [Dim() for _ in range(count)]
    part = -(-size // count)
    rest = size - part * (count - 1)
    if rest < 0 or (even and rest != part):
        how = "evenly " if even else ""
        raise ShapeError(f"axis {axis} of input {input} cannot be split {how}into {count} parts")
    return [part] * (count - 1) + [rest]


def _said(input: TensorType, axis: int, count: int, split: TensorType) -> Sequence[int | Dim]:
    """The sizes that the operand ``split`` holds."""
    said = length(split, "split")
    if said not in (None, count):
        raise ShapeError(f"split is {split}, but the node has {count} outputs")
    sizes = integers(split, "split")
    if sizes is None:
        return [Dim() for _ in range(count)]
    size = cast("Shape", input.shape)[axis]
    if min(sizes) < 0 or (isinstance(size, int) and sum(sizes) != size):
        raise ShapeError(f"split={sizes} does not divide axis {axis} of input {input}")
    return sizes


def _taking_apart(input: TensorType, axis: int, sizes: Sequence[int]) -> Run:
    lines, runs = _lines(input, axis, sizes)
    if lines == 1 or max(runs) > _LONG or input.dtype.storage.hasobject:
        return Shaped(partial(_copy_parts, axis, sizes))
    run: Run = kernels.take_apart(input.dtype.storage, lines, runs)
    return run


def _copy_parts(axis: int, sizes: Sequence[int], data: np.ndarray, *outputs: np.ndarray) -> None:
    start, before = 0, (slice(None),) * axis
    for size, out in zip(sizes, outputs, strict=True):
        if out is not None:
            np.copyto(out, data[(*before, slice(start, start + size))])
        start += size


@upgrade("Split", to=2)
def _(node: Node, graph: Graph) -> None:
    """Split-1 may have the sizes in an operand, which only later versions have again."""
    if len(node.inputs) > 1 and "split" in node.attributes:
        raise SchemaError("has both an attribute and an input called split")


@upgrade("Split", to=13)
def _(node: Node, graph: Graph) -> None:
    """Sizes were an attribute."""
    attribute_to_operand(node, graph, "split")


# Repeating


@op("Expand", contents=("shape",))
def expand(input, shape):
    """``input`` broadcast to ``shape``, which may itself be broadcast.

    https://onnx.ai/onnx/operators/onnx__Expand.html
    """
    sizes = integers(shape, "shape")
    if sizes is None:
        unknown = TensorType(input.dtype, unknown_dims(length(shape, "shape")))
        return TensorType(input.dtype, broadcast(input, unknown)), None
    if min(sizes, default=0) < 0:
        raise ShapeError(f"shape={sizes} has a negative size")
    output = addressable(TensorType(input.dtype, broadcast(input, input.with_shape(*sizes))))
    if not (input.is_concrete and output.is_concrete):
        return output, None
    old, new = cast("tuple[int, ...]", input.shape), cast("tuple[int, ...]", output.shape)
    old = (1,) * (len(new) - len(old)) + old
    repeats = [count if size == 1 else 1 for size, count in zip(old, new, strict=True)]
    return repeated(output, old, repeats, "input")


@op("Tile", since=6, contents=("repeats",))
def tile(input, repeats):
    """``input`` so many times along each axis.

    https://onnx.ai/onnx/operators/onnx__Tile.html
    """
    counts = integers(repeats, "repeats")
    rank = length(repeats, "repeats") if input.shape is None else len(input.shape)
    if length(repeats, "repeats") not in (None, rank):
        raise ShapeError(f"repeats is {repeats}, but input {input} has {rank} axes")
    if counts is None or input.shape is None:
        return TensorType(input.dtype, unknown_dims(rank)), None
    return _tile(input, counts, "repeats")


@op("Tile", contents=("tiles", "axis"))
def tile_axis(input, tiles, axis):
    """As before opset 6: ``input``, ``tiles`` times along ``axis``.

    https://onnx.ai/onnx/operators/onnx__Tile.html
    """
    count = integers(tiles, "tiles", scalar=True)
    along = integers(axis, "axis", scalar=True)
    if count is None or along is None or input.shape is None:
        return TensorType(input.dtype, unknown_dims(input.shape and len(input.shape))), None
    if len(count) != 1 or len(along) != 1:
        raise ShapeError(f"tiles={count} and axis={along} have to be one number each")
    counts = [1] * len(input.shape)
    counts[normalized_axis(along[0], len(counts))] = count[0]
    return _tile(input, counts, "tiles")


def _tile(input: TensorType, counts: list[int], name: str):
    if min(counts, default=0) < 0:
        raise ShapeError(f"{name}={counts} has a negative number")
    sizes = cast("Shape", input.shape)
    output = input.with_shape(*map(product, zip(sizes, counts, strict=True)))
    if not input.is_concrete:
        return output, None
    return repeated(addressable(output), cast("Sequence[int]", sizes), counts, "input")


def repeated(output: TensorType, sizes: Sequence[int], repeats: Sequence[int], operand: str):
    """``output``: what ``operand``, of these ``sizes``, is so many times along each axis."""
    if all(count == 1 for count in repeats):
        return output, Alias(operand)
    groups, storage = _merged(sizes, repeats), output.dtype.storage
    if storage.hasobject or not output.size:
        return output, lambda: Shaped(partial(_broadcast, groups))
    return output, lambda: kernels.repeat(storage, *zip(*groups, strict=True))


def _merged(sizes: Sequence[int], repeats: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs (count, size) of the fewest axes for which repeating is the same."""
    groups: list[tuple[int, int]] = [(1, 1)]
    for size, count in zip(sizes, repeats, strict=True):
        outer_count, outer_size = groups[-1]
        if count == 1:
            groups[-1] = outer_count, outer_size * size
        elif outer_size == 1:
            groups[-1] = outer_count * count, size
        else:
            groups.append((count, size))
    return groups


def _broadcast(groups: Sequence[tuple[int, int]], data: np.ndarray, out: np.ndarray) -> None:
    out = out.reshape([number for group in groups for number in group])
    np.copyto(out, data.reshape([number for _, size in groups for number in (1, size)]))
