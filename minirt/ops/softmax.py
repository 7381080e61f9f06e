"""Softmax, LogSoftmax and Hardmax."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from .. import kernels
from ..kernels.arrays import computed, number_dtype
from .registry import op
from .shapes import normalized_axis

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    #: ``make(dtype, count, inner)``: ``run(x, out)`` over lines of elements ``inner`` apart.
    Make = Callable[[np.dtype, int, int], Callable[[np.ndarray, np.ndarray], None]]


def _softmax(name: str, make: Make) -> None:
    """Register both meanings of the operator that ``make`` has along one axis.

    https://onnx.ai/onnx/operators/onnx__Softmax.html
    """

    @op(name)
    def over_matrix(input, *, axis):
        """Up to opset 12 along all axes from ``axis`` on: rows of a matrix."""
        return _along(make, input, axis, to_the_end=True)

    @op(name, since=13)
    def over_axis(input, *, axis):
        return _along(make, input, axis, to_the_end=False)


def _along(make: Make, input: Any, axis: int, *, to_the_end: bool):
    if input.shape is None:
        return input.without_value(), None
    rank = len(input.shape)
    first = normalized_axis(axis, rank)
    last = rank if to_the_end else first + 1

    output, shape = input.without_value(), input.shape

    def thunk():
        run = make(number_dtype(input.dtype), prod(shape[first:last]), prod(shape[last:]))
        return computed(lambda x, out: run(x.reshape(-1), out.reshape(-1)), [input], [output])

    return output, thunk


_softmax("Softmax", lambda *line: kernels.softmax(*line))
_softmax("LogSoftmax", lambda *line: kernels.log_softmax(*line))
_softmax("Hardmax", lambda *line: kernels.hardmax(*line))
