"""Operators that look at elements in another way, without moving any."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import BY_CODE, BY_NAME, Kind
from ..errors import SchemaError, ShapeError
from ..types import Dim, TensorType
from .arguments import attribute_to_operand, flag
from .registry import Alias, op, upgrade
from .shapes import axes_operand, integers, length, normalized_axes, product, unknown_dims

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Graph, Node
    from ..types import Shape

_INT64 = BY_NAME["int64"]
_LARGEST = np.iinfo(np.int64).max


@op("Identity")
def identity(input):
    """``input`` itself, of any type.

    https://onnx.ai/onnx/operators/onnx__Identity.html
    """
    return input, Alias("input")


# Other shapes


@op("Reshape", contents=("shape",))
def reshape(data, shape, *, allowzero):
    """The elements of ``data`` in their order, in the shape that the contents of ``shape`` say.

    There -1 stands for what is left; 0 for the size that ``data`` has there, unless
    ``allowzero``.

    https://onnx.ai/onnx/operators/onnx__Reshape.html
    """
    allowzero, sizes = flag("allowzero", allowzero), integers(shape, "shape")
    if sizes is None:
        dims = unknown_dims(length(shape, "shape"))
    else:
        dims = _reshaped(data, sizes, allowzero)
    return TensorType(data.dtype, dims), Alias("data")


def _reshaped(data: TensorType, sizes: list[int], allowzero: bool) -> Shape:
    if min(sizes, default=0) < -1 or sizes.count(-1) > 1:
        raise ShapeError(f"shape={sizes} may have one -1, and no other negative size")
    if allowzero and 0 in sizes and -1 in sizes:
        raise ShapeError(f"shape={sizes} has both 0 and -1, which allowzero=1 does not allow")
    kept = {i for i, size in enumerate(sizes) if size == 0 and not allowzero}
    if data.shape is None:
        return tuple(Dim() if size == -1 or i in kept else size for i, size in enumerate(sizes))
    if kept and max(kept) >= len(data.shape):
        raise ShapeError(f"shape={sizes} keeps the size of axis {max(kept)}, but data is {data}")
    dims = [data.shape[i] if i in kept else size for i, size in enumerate(sizes)]
    if -1 in sizes:
        # Sizes that are kept are left out of account, so that a batch of 0 is one like others.
        old = [dim for i, dim in enumerate(data.shape) if i not in kept]
        new = prod(size for i, size in enumerate(sizes) if i not in kept and size != -1)
        dims[sizes.index(-1)] = _quotient(old, new, data, sizes)
    elif data.is_concrete and data.size != product(dims):
        raise ShapeError(f"data {data} has {data.size} elements, but shape={sizes} does not")
    return tuple(dims)


def _quotient(old: Sequence[int | Dim], new: int, data: TensorType, sizes: list[int]) -> int | Dim:
    """The size that -1 stands for, where the others take ``new`` of the elements of ``old``."""
    symbols = [dim for dim in old if isinstance(dim, Dim)]
    number = prod(dim for dim in old if isinstance(dim, int))
    if symbols and number:
        return symbols[0] if len(symbols) == 1 and number == new else Dim()
    if number % new:
        raise ShapeError(f"data is {data}, but shape={sizes} needs a multiple of {new} elements")
    return number // new


@op("Flatten")
def flatten(input, *, axis):
    """A matrix: its rows are the dimensions before ``axis``, its columns the others.

    https://onnx.ai/onnx/operators/onnx__Flatten.html
    """
    if input.shape is None:
        return input.with_shape(Dim(), Dim()), Alias("input")
    rank = len(input.shape)
    if not -rank <= axis <= rank:
        raise ShapeError(f"axis={axis} is not in [{-rank}, {rank}], but input is {input}")
    at = axis + rank if axis < 0 else axis
    matrix = input.with_shape(product(input.shape[:at]), product(input.shape[at:]))
    return matrix, Alias("input")


@op("Squeeze", contents=("axes",))
def squeeze(data, axes=None):
    """``data`` without the dimensions that ``axes`` name, or without any of size 1.

    https://onnx.ai/onnx/operators/onnx__Squeeze.html
    """
    return TensorType(data.dtype, _squeezed(data, axes)), Alias("data")


def _squeezed(data: TensorType, axes: TensorType | None) -> Shape | None:
    shape = data.shape
    if shape is None:
        return None
    if axes is None:
        symbolic = any(isinstance(dim, Dim) for dim in shape)
        return None if symbolic else tuple(dim for dim in shape if dim != 1)
    dropped = axes_operand(axes, len(shape))
    if dropped is None:
        count = length(axes, "axes", scalar=True)
        return None if count is None else unknown_dims(max(len(shape) - count, 0))
    for axis in dropped:
        if isinstance(shape[axis], int) and shape[axis] != 1:
            raise ShapeError(f"axis {axis} of data {data} has size {shape[axis]}, not 1")
    return tuple(dim for i, dim in enumerate(shape) if i not in dropped)


@op("Unsqueeze", contents=("axes",))
def unsqueeze(data, axes):
    """``data`` with dimensions of size 1 where ``axes`` say, counted in the result.

    https://onnx.ai/onnx/operators/onnx__Unsqueeze.html
    """
    return TensorType(data.dtype, _unsqueezed(data, axes)), Alias("data")


def _unsqueezed(data: TensorType, axes: TensorType) -> Shape | None:
    numbers = integers(axes, "axes", scalar=True)
    count = length(axes, "axes", scalar=True)
    if data.shape is None or count is None:
        return None
    rank = len(data.shape) + count
    if numbers is None:
        return unknown_dims(rank)
    added = normalized_axes(numbers, rank)
    rest = iter(data.shape)
    return tuple(1 if i in added else next(rest) for i in range(rank))


@upgrade("Reshape", to=5)
def _(node: Node, graph: Graph) -> None:
    """Reshape-1 has the shape as an attribute."""
    if "shape" not in node.attributes:
        raise SchemaError("attribute shape is missing; Reshape-1 needs it")
    node.attributes.pop("consumed_inputs", None)
    attribute_to_operand(node, graph, "shape")


@upgrade("Squeeze", "Unsqueeze", to=13)
def _(node: Node, graph: Graph) -> None:
    """Axes were an attribute."""
    attribute_to_operand(node, graph, "axes")


# Other types


@op("BitCast")
def bitcast(input, *, to):
    """The bits of ``input`` as the type whose TensorProto.DataType code is ``to``.

    It is as wide. A bool is false if all bits are 0, else true.

    https://onnx.ai/onnx/operators/onnx__BitCast.html
    """
    source, target = input.dtype, BY_CODE.get(to)
    if target is None or target.kind is Kind.STRING:
        raise SchemaError(f"to={to} is no element type that BitCast can make")
    if source.bits != target.bits:
        raise SchemaError(
            f"to={to} ({target}) has {target.bits} bits, but input is {source} of {source.bits}"
        )
    output = input.with_dtype(target)
    if target.kind is Kind.BOOL and source is not target:
        return output, lambda: lambda bits, bools: np.not_equal(bits, 0, out=bools.view(np.bool_))
    if source.storage == target.storage:
        return output, Alias("input")
    return output, lambda: lambda bits, result: np.copyto(result, bits.view(target.storage))


# Shapes as tensors


@op("Shape", type_only=("data",))
def shape(data, *, end, start):
    """The sizes of the dimensions of ``data`` from ``start`` to ``end``, not included, as int64.

    https://onnx.ai/onnx/operators/onnx__Shape.html
    """
    if data.shape is None:
        return TensorType(_INT64, (Dim(),)), None
    dims = data.shape[start:end]
    return _known(dims, (len(dims),)), None


@op("Size", type_only=("data",))
def size(data):
    """The number of elements of ``data`` as int64, 0-d.

    https://onnx.ai/onnx/operators/onnx__Size.html
    """
    return _known([Dim() if data.size is None else data.size], ()), None


def _known(sizes: Sequence[int | Dim], shape: tuple[int, ...]) -> TensorType:
    """An int64 tensor of this shape, with its contents if all are known."""
    if any(isinstance(size, Dim) or size > _LARGEST for size in sizes):
        return TensorType(_INT64, shape)
    array = np.array(sizes, _INT64.storage).reshape(shape)
    array.flags.writeable = False
    return TensorType(_INT64, array.shape, array)
