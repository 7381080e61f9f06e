"""OneHot."""

from __future__ import annotations

from math import prod

from .. import kernels
from ..errors import ShapeError
from ..kernels.arrays import Shaped
from ..types import Dim, TensorType
from .registry import op
from .shapes import addressable, fit, normalized_axis


@op("OneHot", since=9, contents=("depth",))
def one_hot_9(indices, depth, values, *, axis):
    """As later, but negative indices name nothing.

    https://onnx.ai/onnx/operators/text_diff_OneHot_9_11.html
    """
    return _one_hot(indices, depth, values, axis, counts_back=False)


@op("OneHot", since=11, contents=("depth",))
def one_hot(indices, depth, values, *, axis):
    """The second of ``values`` where an index says, along a new ``axis`` of size ``depth``.

    The first is everywhere else. Indices that are not in [-depth, depth-1] name nothing.

    https://onnx.ai/onnx/operators/onnx__OneHot.html
    """
    return _one_hot(indices, depth, values, axis, counts_back=True)


def _one_hot(indices, depth, values, axis, *, counts_back):
    fit("values", values, 2)
    size = _depth(depth)
    if indices.shape is None:
        return TensorType(values.dtype), None
    axis = normalized_axis(axis, len(indices.shape) + 1)
    before, after = indices.shape[:axis], indices.shape[axis:]
    output = addressable(values.with_shape(*before, Dim() if size is None else size, *after))
    number = indices.dtype.public
    return output, lambda: Shaped(kernels.one_hot(number, size, prod(after), counts_back))


def _depth(depth):
    """The size of the new axis, None while it is not known."""
    if depth.size not in (None, 1) or len(depth.shape or ()) > 1:
        raise ShapeError(f"depth is {depth}, but must be a scalar or a single element")
    if depth.value is None:
        return None
    number = depth.value.view(depth.dtype.public).item()
    if not 0 <= number < 1 << 63:
        raise ShapeError(f"depth={number} is no size")
    return int(number)
