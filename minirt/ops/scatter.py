"""Operators that write elements where indices say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import kernels
from ..dtypes import Kind
from ..errors import SchemaError, ShapeError, UnsupportedError
from ..kernels.arrays import Shaped, computed, number_dtype
from ..kernels.overwrite import write_cache
from ..types import Dim, TensorType
from .gather import element_axis
from .registry import op, upgrade
from .shapes import fit, normalized_axis

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from ..dtypes import DType
    from ..graph import Graph, Node

#: Each reduction, and which one does the same to bytes that are 0 and 1.
_ON_BOOLS = {"add": "max", "mul": "min", "max": "max", "min": "min"}


@op("ScatterElements", inplace=("data",))
def scatter_elements(data, indices, updates, *, axis, reduction):
    """``data`` with each of ``updates`` where its index says, along ``axis``.

    https://onnx.ai/onnx/operators/onnx__ScatterElements.html
    """
    _check_reduction(reduction, data.dtype)
    axis = element_axis(data, indices, axis)
    if indices.shape is not None:
        fit("updates", updates, *indices.shape, why=f" as indices {indices}")
    return data.without_value(), lambda: _combining(
        reduction,
        data,
        lambda how: kernels.scatter_elements(
            data.shape, indices.shape, axis, indices.dtype.storage, how
        ),
    )


@op("ScatterND", inplace=("data",))
def scatter_nd(data, indices, updates, *, reduction):
    """``data`` with each part of ``updates`` where a tuple along the last axis of ``indices`` says.

    https://onnx.ai/onnx/operators/onnx__ScatterND.html
    """
    _check_reduction(reduction, data.dtype)
    output = data.without_value()
    if data.shape is None or indices.shape is None:
        return output, None
    if not data.shape or not indices.shape:
        raise ShapeError(f"data {data} and indices {indices} must have at least one axis each")
    *rows, depth = indices.shape
    if not isinstance(depth, int):
        return output, None
    if depth > len(data.shape):
        raise ShapeError(f"indices {indices} address {depth} axes, but data {data} has fewer")
    fit("updates", updates, *rows, *data.shape[depth:], why=f" for {data} and indices {indices}")
    return output, lambda: _combining(
        reduction, data, lambda how: kernels.scatter_rows(data.shape, indices.shape, how)
    )


@op("TensorScatter", inplace=("past_cache",))
def tensor_scatter(past_cache, update, write_indices, *, axis, mode):
    """``past_cache`` with ``update`` in it, from where ``write_indices`` say along ``axis``.

    There is one of these for each entry along the first axis; without them all are 0. In mode
    ``circular`` what would lie past the end comes to lie at the beginning.

    https://onnx.ai/onnx/operators/onnx__TensorScatter.html
    """
    if mode not in ("linear", "circular"):
        raise SchemaError(f"mode={mode!r} is neither 'linear' nor 'circular'")
    output = past_cache.without_value()
    if past_cache.shape is None or update.shape is None:
        return output, None
    axis = normalized_axis(axis, len(past_cache.shape))
    if axis == 0:
        raise ShapeError(f"axis 0 of {past_cache} is the batch, along which nothing is written")
    batch, *others = past_cache.shape
    others[axis - 1] = Dim() if axis >= len(update.shape) else update.shape[axis]
    fit("update", update, batch, *others, why=f" for past_cache {past_cache}")
    if write_indices is not None:
        fit("write_indices", write_indices, batch, why=f" for past_cache {past_cache}")
    _check_length(update.shape[axis], past_cache.shape[axis])
    return output, lambda: Shaped(
        write_cache(past_cache.shape, update.shape[axis], axis, mode == "circular")
    )


def _check_reduction(reduction: str, dtype: DType) -> None:
    if reduction == "none":
        return
    if reduction not in _ON_BOOLS:
        raise SchemaError(f"reduction={reduction!r} is none of none, {', '.join(_ON_BOOLS)}")
    without_order = dtype.kind is Kind.COMPLEX and reduction in ("max", "min")
    if dtype.kind is Kind.STRING or without_order:
        raise UnsupportedError(
            f"reduction={reduction!r} means nothing for elements of type {dtype}",
            dtype=dtype.name,
        )


def _combining(
    reduction: str, data: TensorType, bind: Callable[[tuple[str, np.dtype] | None], Callable]
) -> Shaped:
    """The kernel that ``bind`` makes of a reduction, on numbers where it computes."""
    if reduction == "none":
        return Shaped(bind(None))
    if data.dtype.kind is Kind.BOOL:
        return Shaped(bind((_ON_BOOLS[reduction], data.dtype.storage)))
    return computed(bind((reduction, number_dtype(data.dtype))), (data, None, data), (data,))


def _check_length(count: int | Dim, length: int | Dim) -> None:
    if isinstance(count, int) and isinstance(length, int) and count > length:
        raise ShapeError(f"an update of {count} entries does not fit into a cache of {length}")


@upgrade("Scatter", to=11)
def _(node: Node, graph: Graph) -> None:
    """Scatter is ScatterElements under its first name."""
    node.op_type = "ScatterElements"
