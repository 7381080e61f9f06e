"""Operators that pick elements by their indices."""

from __future__ import annotations

from .. import kernels
from ..errors import SchemaError, ShapeError
from ..kernels.arrays import Shaped
from ..kernels.bounds import take
from ..types import TensorType
from .registry import op
from .shapes import fit, normalized_axis, unknown_dims

__all__ = ["element_axis"]


@op("Gather")
def gather(data, indices, *, axis):
    """The entries of ``data`` along ``axis`` that ``indices`` name, whose axes replace that one.

    https://onnx.ai/onnx/operators/onnx__Gather.html
    """
    if data.shape is None:
        return TensorType(data.dtype), None
    axis = normalized_axis(axis, len(data.shape))
    if indices.shape is None:
        return TensorType(data.dtype), None
    output = data.with_shape(*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])
    return output, lambda: Shaped(take(axis, data.shape[axis], output.size))


@op("GatherElements")
def gather_elements(data, indices, *, axis):
    """An element of ``data`` for each index, which says where along ``axis`` it lies.

    https://onnx.ai/onnx/operators/onnx__GatherElements.html
    """
    axis = element_axis(data, indices, axis)
    shape = unknown_dims(_rank(data)) if indices.shape is None else indices.shape
    return TensorType(data.dtype, shape), lambda: Shaped(
        kernels.gather_elements(data.shape, indices.shape, axis, indices.dtype.storage)
    )


@op("GatherND")
def gather_nd(data, indices, *, batch_dims):
    """The part of ``data`` that each tuple along the last axis of ``indices`` addresses.

    The first ``batch_dims`` axes of both are the same.

    https://onnx.ai/onnx/operators/onnx__GatherND.html
    """
    ranks = [_rank(data), _rank(indices)]
    if batch_dims < 0 or any(rank is not None and batch_dims >= rank for rank in ranks):
        raise SchemaError(
            f"batch_dims={batch_dims}, but must be at least 0 and less than the ranks "
            f"of data {data} and indices {indices}"
        )
    if data.shape is None or indices.shape is None:
        return TensorType(data.dtype), None
    *rows, depth = indices.shape
    batches = fit(
        "data",
        data,
        *rows[:batch_dims],
        *data.shape[batch_dims:],
        why=f" for indices {indices} and batch_dims={batch_dims}",
    )[:batch_dims]
    if not isinstance(depth, int):
        return TensorType(data.dtype), None
    if not 1 <= depth <= len(data.shape) - batch_dims:
        raise ShapeError(
            f"indices {indices} address {depth} axes, but data {data} has "
            f"{len(data.shape) - batch_dims} after {batch_dims} that are batches"
        )
    rest = data.shape[batch_dims + depth :]
    output = data.with_shape(*batches, *rows[batch_dims:], *rest)
    return output, lambda: Shaped(kernels.gather_rows(data.shape, indices.shape, batch_dims))


def element_axis(data: TensorType, indices: TensorType, axis: int) -> int:
    """The axis, counted from the front, along which each of ``indices`` finds its element.

    ``indices`` have the rank of ``data`` and are, along other axes, no longer; else
    ShapeError. Where neither rank is known the axis is returned as it is.
    """
    if data.shape is None and indices.shape is None:
        return axis
    known = [type.shape for type in (data, indices) if type.shape is not None]
    axis = normalized_axis(axis, len(known[0]))
    if len(known) < 2:
        return axis
    if len(known[0]) != len(known[1]):
        raise ShapeError(f"data {data} and indices {indices} differ in rank")
    for other, (size, length) in enumerate(zip(*known, strict=True)):
        if other != axis and isinstance(size, int) and isinstance(length, int) and length > size:
            raise ShapeError(
                f"indices {indices} are longer than data {data} along axis {other}, "
                f"but only axis {axis} is indexed"
            )
    return axis


def _rank(type: TensorType) -> int | None:
    return None if type.shape is None else len(type.shape)
