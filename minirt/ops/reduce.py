"""Reductions along axes: Reduce*, ArgMax and ArgMin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..dtypes import BY_NAME
from ..errors import ShapeError
from ..kernels import reductions
from ..kernels.arrays import computed, number_dtype
from ..types import Dim, TensorType
from .arguments import attribute_to_operand, flag
from .registry import op, upgrade
from .shapes import integers, normalized_axes, normalized_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Graph, Node
    from ..kernels.arrays import Shaped
    from ..types import Shape

_INT64 = BY_NAME["int64"]


def _reduction(name: str, reduction: reductions.Reduction, *, of_nothing: bool = True) -> None:
    """Register the operator that ``reduction`` computes on numbers.

    ``of_nothing`` says whether no integers at all have a result; no floats always have one.

    https://onnx.ai/onnx/operators/onnx__ReduceSum.html
    """

    @op(name, contents=("axes",))
    def apply(data, axes=None, *, keepdims, noop_with_empty_axes):
        keep, noop = flag("keepdims", keepdims), flag("noop_with_empty_axes", noop_with_empty_axes)
        over = _axes(data, axes, noop)
        if over is None:
            return TensorType(data.dtype, _possible_shape(data, axes, keep, noop)), None
        reduced = data.with_shape(*_reduced_shape(data.shape, over, keep))
        if not of_nothing and not data.dtype.is_float:
            _check_not_empty(data, over, reduced)
        return reduced, lambda: _run(reduction, data, over, reduced)


_reduction("ReduceSum", reductions.sums)
_reduction("ReduceMean", reductions.means, of_nothing=False)
_reduction("ReduceMax", reductions.maxima)
_reduction("ReduceMin", reductions.minima)
_reduction("ReduceProd", reductions.products)
_reduction("ReduceL1", reductions.l1_norms)
_reduction("ReduceL2", reductions.l2_norms)
_reduction("ReduceLogSum", reductions.log_sums, of_nothing=False)
_reduction("ReduceLogSumExp", reductions.log_sum_exps, of_nothing=False)
_reduction("ReduceSumSquare", reductions.sums_of_squares)


@upgrade("ReduceSum", to=13)
@upgrade(
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean"),
    *("ReduceMin", "ReduceProd", "ReduceSumSquare"),
    to=18,
)
def _(node: Node, graph: Graph) -> None:
    """Axes were an attribute."""
    attribute_to_operand(node, graph, "axes")


def _arg(name: str, find: reductions.Find) -> None:
    """Register the operator that gives the index of what ``find`` finds.

    NaN counts as more than any number for ArgMax and as less for ArgMin, as in NumPy.

    https://onnx.ai/onnx/operators/onnx__ArgMax.html
    """

    @op(name)
    def apply(data, *, axis, keepdims, select_last_index):
        keep, last = flag("keepdims", keepdims), flag("select_last_index", select_last_index)
        if data.shape is None:
            return TensorType(_INT64), None
        over = normalized_axis(axis, len(data.shape))
        reduced = TensorType(_INT64, _reduced_shape(data.shape, (over,), keep))
        _check_not_empty(data, (over,), reduced)
        return reduced, lambda: computed(
            lambda x, out: reductions.indices(find, x, over, last, out), [data], [reduced]
        )


_arg("ArgMax", reductions.first_largest)
_arg("ArgMin", reductions.first_smallest)


def _axes(data: TensorType, axes: TensorType | None, noop: bool) -> tuple[int, ...] | None:
    """The axes over which to reduce, None while they are not known."""
    if data.shape is None:
        return None
    if axes is None or axes.size == 0:
        return () if noop else tuple(range(len(data.shape)))
    numbers = integers(axes, "axes")
    return None if numbers is None else normalized_axes(numbers, len(data.shape))


def _reduced_shape(shape: Shape, over: Sequence[int], keep: bool) -> Shape:
    if keep:
        return tuple(1 if axis in over else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in over)


def _possible_shape(
    data: TensorType, axes: TensorType | None, keep: bool, noop: bool
) -> Shape | None:
    """What is known of the result while the axes, or the shape of ``data``, are not."""
    if axes is None or axes.size == 0:
        return None if keep or noop else ()
    if data.shape is None:
        return None
    count = axes.size
    if keep:
        return tuple(1 if size == 1 else Dim() for size in data.shape)
    return None if count is None else tuple(Dim() for _ in range(len(data.shape) - count))


def _check_not_empty(data: TensorType, over: Sequence[int], reduced: TensorType) -> None:
    """Raise ShapeError if a result would be made of no elements."""
    shape = data.shape or ()
    if reduced.size and any(shape[axis] == 0 for axis in over):
        raise ShapeError(f"{data} has no elements along axes {list(over)}: no result is defined")


def _run(
    reduction: reductions.Reduction, data: Any, over: tuple[int, ...], reduced: TensorType
) -> Shaped:
    run = reduction(number_dtype(data.dtype), data.shape, over)
    kept = _reduced_shape(data.shape, over, keep=True)
    return computed(lambda x, out: run(x, out.reshape(kept)), [data], [reduced])
