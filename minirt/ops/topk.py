"""TopK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import kernels
from ..dtypes import BY_NAME
from ..errors import ShapeError
from ..types import Dim, TensorType
from .arguments import attribute_to_operand, flag, single
from .registry import op, upgrade
from .shapes import normalized_axis

if TYPE_CHECKING:
    from ..graph import Graph, Node

_INT64 = BY_NAME["int64"]


@op("TopK", contents=("K",))
def topk(X, K, *, axis, largest, sorted):
    """The K largest or smallest elements along ``axis``, in order, and where they are.

    Of equal elements the one with the lower index comes first. NaN is larger than any number,
    and 0 equals -0. The result is in order even if it need not be (``sorted`` is 0).

    https://onnx.ai/onnx/operators/onnx__TopK.html
    """
    largest = flag("largest", largest)
    flag("sorted", sorted)
    k = single("K", K)
    if k is not None and k < 0:
        raise ShapeError(f"K={k} is negative")
    if X.shape is None:
        return (TensorType(X.dtype), TensorType(_INT64)), None
    along = normalized_axis(axis, len(X.shape))
    size = X.shape[along]
    if k is not None and isinstance(size, int) and k > size:
        raise ShapeError(f"K={k}, but X {X} has {size} elements along axis {along}")
    values = X.with_shape(*X.shape[:along], Dim() if k is None else k, *X.shape[along + 1 :])
    indices = values.with_dtype(_INT64)
    return (values, indices), lambda: kernels.topk(X.dtype, X.shape, along, k, largest)


@upgrade("TopK", to=10)
def _(node: Node, graph: Graph) -> None:
    """K was an attribute."""
    attribute_to_operand(node, graph, "k")
