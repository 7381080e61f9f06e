"""Softmax, LogSoftmax and Hardmax."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ..kernels import softmaxes
from ..kernels.arrays import computed
from .registry import op
from .shapes import normalized_axis

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    #: ``compute(x, out)`` over arrays of three dimensions, along the middle one.
    Compute = Callable[[np.ndarray, np.ndarray], None]


def _softmax(name: str, compute: Compute) -> None:
    """Register both meanings of the operator that ``compute`` is along one axis.

    https://onnx.ai/onnx/operators/onnx__Softmax.html
    """

    @op(name, inplace=("input",))
    def over_matrix(input, *, axis):
        """Up to opset 12 along all axes from ``axis`` on: rows of a matrix."""
        return _along(compute, input, axis, to_the_end=True)

    @op(name, since=13, inplace=("input",))
    def over_axis(input, *, axis):
        return _along(compute, input, axis, to_the_end=False)


def _along(compute: Compute, input: Any, axis: int, *, to_the_end: bool):
    if input.shape is None:
        return input.without_value(), None
    rank = len(input.shape)
    first = normalized_axis(axis, rank)
    last = rank if to_the_end else first + 1

    output, shape = input.without_value(), input.shape

    def thunk():
        parts = prod(shape[:first]), prod(shape[first:last]), prod(shape[last:])
        return computed(
            lambda x, out: compute(x.reshape(parts), out.reshape(parts)), [input], [output]
        )

    return output, thunk


_softmax("Softmax", softmaxes.softmax)
_softmax("LogSoftmax", softmaxes.log_softmax)
_softmax("Hardmax", softmaxes.hardmax)
