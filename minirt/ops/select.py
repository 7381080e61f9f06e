"""Operators that select what the contents of tensors say: how much that is, only they know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import BY_NAME
from ..errors import ExecutionError
from ..kernels.arrays import Shaped, computed
from ..kernels.unique import unique as find_unique
from ..types import Dim, TensorType
from .arguments import flag
from .registry import op
from .shapes import fit, normalized_axis, product

if TYPE_CHECKING:
    from collections.abc import Callable

_INT64 = BY_NAME["int64"]


@op("Compress", returns=True)
def compress(input, condition, *, axis):
    """The entries along ``axis`` of which ``condition`` is true, without ``axis`` the elements.

    https://onnx.ai/onnx/operators/onnx__Compress.html
    """
    fit("condition", condition, Dim())
    if axis is None:
        return input.with_shape(Dim()), lambda: Shaped(_compress(None))
    if input.shape is None:
        return TensorType(input.dtype), None
    axis = normalized_axis(axis, len(input.shape))
    output = input.with_shape(*input.shape[:axis], Dim(), *input.shape[axis + 1 :])
    return output, lambda: Shaped(_compress(axis))


def _compress(axis: int | None) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    def run(input: np.ndarray, condition: np.ndarray) -> np.ndarray:
        data, along = (input.reshape(-1), 0) if axis is None else (input, axis)
        chosen, size = np.flatnonzero(condition.view(np.bool_)), data.shape[along]
        if chosen.size and chosen[-1] >= size:
            first = int(chosen[np.searchsorted(chosen, size)])
            raise ExecutionError(f"condition[{first}] is true, but there are {size} to choose from")
        return data.take(chosen, along)

    return run


@op("NonZero", returns=True)
def non_zero(X):
    """Where the elements of X lie that are not zero: a column for each, a row for each axis.

    NaN is not zero, an empty string is. For a 0-d X there is one column, or none, and no row.

    https://onnx.ai/onnx/operators/onnx__NonZero.html
    """
    rank = Dim() if X.shape is None else len(X.shape)
    return TensorType(_INT64, (rank, Dim())), lambda: computed(_non_zero, (X,), ())


def _non_zero(numbers: np.ndarray) -> np.ndarray:
    (rest,) = _differs_from_zero(numbers.reshape(-1)).nonzero()
    places = np.empty((numbers.ndim, rest.size), np.int64)
    for axis in reversed(range(1, numbers.ndim)):
        np.divmod(rest, numbers.shape[axis], out=(rest, places[axis]))
    places[:1] = rest
    return places


def _differs_from_zero(numbers: np.ndarray) -> Any:
    if numbers.dtype.hasobject:
        return numbers != ""
    zero = numbers.dtype.type(0)
    if numbers.dtype.kind != "c":
        return numbers != zero
    with np.errstate(invalid="ignore"):  # which NumPy does by itself for real numbers
        return numbers != zero


@op("Unique", returns=True)
def unique(X, *, axis, sorted):
    """The different elements of X, or parts along ``axis``, in order or as they first occur.

    Then, for each, where it first occurs; for each of X, which it is; and how often each
    occurs. Order is that of NumPy: NaN is last, and all NaN are one.

    https://onnx.ai/onnx/operators/onnx__Unique.html
    """
    in_order = flag("sorted", sorted)
    count, known = Dim(), X.shape is not None
    if axis is None:
        size, output = product(X.shape) if known else Dim(), X.with_shape(count)
    elif known:
        axis = normalized_axis(axis, len(X.shape))
        size, output = X.shape[axis], X.with_shape(*X.shape[:axis], count, *X.shape[axis + 1 :])
    else:
        size, output = Dim(), TensorType(X.dtype)
    types = (output, *(TensorType(_INT64, (n,)) for n in (count, size, count)))
    return types, lambda: Shaped(find_unique(X.dtype, X.size, axis, in_order))
