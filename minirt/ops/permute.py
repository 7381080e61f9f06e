"""Operators that put elements into another order."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from .. import kernels
from ..errors import ExecutionError, SchemaError, ShapeError
from ..kernels.arrays import Shaped
from ..kernels.axes import merged_axes
from ..types import Dim, TensorType
from .registry import Alias, op
from .shapes import addressable, product

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..types import Shape


@op("Transpose")
def transpose(data, *, perm):
    """``data`` with its axes in the order ``perm``, by default from last to first.

    https://onnx.ai/onnx/operators/onnx__Transpose.html
    """
    if perm is not None and sorted(perm) != list(range(len(perm))):
        raise SchemaError(f"perm={perm} has not each of 0 to {len(perm) - 1} once")
    shape = data.shape
    if shape is None and perm is None:
        return data, None
    if shape is None:
        shape = tuple(Dim() for _ in perm)
    if perm is not None and len(perm) != len(shape):
        raise ShapeError(f"perm={perm} has {len(perm)} axes, but data is {data}")
    order = range(len(shape))[::-1] if perm is None else perm
    return _moved(data, shape, order, tuple(shape[axis] for axis in order), "data")


def _moved(source: TensorType, shape: Shape, order: Sequence[int], result: Shape, name: str):
    """``source``, seen in ``shape``, with its axes in ``order``, and that seen as ``result``."""
    output = addressable(source.with_shape(*result))
    if not source.is_concrete:
        return output, None
    sizes = cast("Sequence[int]", shape)
    if source.size == 0 or len(merged_axes(sizes, order)[1]) < 2:
        return output, Alias(name)
    return output, lambda: kernels.transpose(source.dtype.storage, sizes, order)


# Depth and space

#: For each mode the axes ``[N, C, rows, H, columns, W]`` of an image, in which blocks have rows and
#: columns, in the order in which they lie where blocks are depth.
_DEPTH_ORDERS = {"DCR": (0, 3, 5, 1, 2, 4), "CRD": (0, 1, 3, 5, 2, 4)}


@op("DepthToSpace")
def depth_to_space(input, *, mode, blocksize):
    """Channels of ``input`` [N,C,H,W] as blocks of ``blocksize`` rows and columns.

    https://onnx.ai/onnx/operators/onnx__DepthToSpace.html
    """
    batch, channels, height, width = _image(input, mode, blocksize)
    depth = _divided(channels, blocksize**2, "channels", input)
    sizes = batch, depth, height, blocksize, width, blocksize
    order = _DEPTH_ORDERS[mode]
    shape = tuple(sizes[axis] for axis in order)
    result = batch, depth, product((height, blocksize)), product((width, blocksize))
    return _moved(input, shape, [order.index(axis) for axis in range(6)], result, "input")


@op("SpaceToDepth")
def space_to_depth(input, *, mode, blocksize):
    """Blocks of ``blocksize`` rows and columns of ``input`` [N,C,H,W] as channels.

    https://onnx.ai/onnx/operators/onnx__SpaceToDepth.html
    """
    batch, channels, height, width = _image(input, mode, blocksize)
    down = _divided(height, blocksize, "rows", input)
    across = _divided(width, blocksize, "columns", input)
    shape = batch, channels, down, blocksize, across, blocksize
    result = batch, product((channels, blocksize**2)), down, across
    return _moved(input, shape, _DEPTH_ORDERS[mode], result, "input")


def _image(input: TensorType, mode: str, blocksize: int) -> Shape:
    if mode not in _DEPTH_ORDERS:
        raise SchemaError(f"mode={mode!r} is none of {', '.join(_DEPTH_ORDERS)}")
    if blocksize < 1:
        raise SchemaError(f"blocksize={blocksize} is not positive")
    if input.shape is None:
        return Dim(), Dim(), Dim(), Dim()
    if len(input.shape) != 4:
        raise ShapeError(f"input is {input}, but has to be [N,C,H,W]")
    return input.shape


def _divided(size: int | Dim, parts: int, what: str, input: TensorType) -> int | Dim:
    if isinstance(size, Dim):
        return size if parts == 1 else Dim()
    if size % parts:
        raise ShapeError(f"input {input} has {size} {what}, not a multiple of {parts}")
    return size // parts


# Sequences from their ends


@op("ReverseSequence")
def reverse_sequence(input, sequence_lens, *, batch_axis, time_axis):
    """``input`` with so many first steps of each sequence of a batch turned round.

    https://onnx.ai/onnx/operators/onnx__ReverseSequence.html
    """
    if sorted((batch_axis, time_axis)) != [0, 1]:
        raise SchemaError(
            f"batch_axis={batch_axis} and time_axis={time_axis} have to be 0 and 1, or 1 and 0"
        )
    if input.shape is not None and len(input.shape) < 2:
        raise ShapeError(f"input is {input}, but needs a batch and a time axis")
    if input.shape is not None and sequence_lens.shape is not None:
        batch, *rest = sequence_lens.shape or (None,)
        sizes = {size for size in (batch, input.shape[batch_axis]) if isinstance(size, int)}
        if rest or batch is None or len(sizes) > 1:
            raise ShapeError(
                f"sequence_lens is {sequence_lens}, but axis {batch_axis} of input {input} "
                "has one sequence for each"
            )
    return input.without_value(), lambda: Shaped(_reverse if time_axis else _reverse_columns)


def _reverse(sequences: np.ndarray, lengths: np.ndarray, out: np.ndarray) -> None:
    """With sequences along axis 1."""
    most = sequences.shape[1]
    wrong = np.flatnonzero((lengths < 0) | (lengths > most))
    if wrong.size:
        raise ExecutionError(
            f"sequence_lens[{wrong[0]}]={lengths[wrong[0]]} is not in [0, {most}], "
            "the steps of a sequence"
        )
    for sequence, length, result in zip(sequences, lengths, out, strict=True):
        result[:length] = sequence[:length][::-1]
        result[length:] = sequence[length:]


def _reverse_columns(sequences: np.ndarray, lengths: np.ndarray, out: np.ndarray) -> None:
    _reverse(sequences.swapaxes(0, 1), lengths, out.swapaxes(0, 1))
