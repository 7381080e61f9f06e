"""Where in a tensor the elements lie that indices address.

What moves them afterwards is NumPy: it knows every type, and is as fast as a loop of our own once
positions are known. Finding these with NumPy takes several passes over temporary arrays, in
which it spends most of the time; a kernel needs one, which also holds each index against its
bounds.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..jit import helper, kernel
from .bounds import out_of_range

if TYPE_CHECKING:
    from collections.abc import Callable

    Locate = Callable[[np.ndarray], np.ndarray]

__all__ = ["element_positions", "row_positions"]

_INT64 = np.dtype(np.int64)


@helper
def wrapped(index, size):
    """``index`` from the front, without a branch: their signs may be random."""
    return index + (index >> 63 & size)


@kernel(whole=("indices", "starts", "positions", "faults"))
def locate_elements(indices, starts, positions, faults, length, inner, stride, size):
    """positions[o,k,i] = starts[o,i] + indices[o,k,i] * stride, for ``k < length``, ``i < inner``.

    ``faults[0]`` becomes negative if an index is not in [-size, size-1].
    """
    fault = at = 0
    if inner == 1:
        for start in starts:
            row, found = indices[at : at + length], positions[at : at + length]
            for k in range(length):
                index = wrapped(row[k], size)
                fault |= index | size - 1 - index
                found[k] = start + index * stride
            at += length
    else:
        for first in range(0, starts.size, inner):
            lanes = starts[first : first + inner]
            for _ in range(length):
                row, found = indices[at : at + inner], positions[at : at + inner]
                for i in range(inner):
                    index = wrapped(row[i], size)
                    fault |= index | size - 1 - index
                    found[i] = lanes[i] + index * stride
                at += inner
    faults[0] = fault


@kernel(whole=("indices", "sizes", "strides", "positions", "faults"))
def locate_rows(indices, sizes, strides, positions, faults, batch, stride):
    """positions[b,i] = b * stride + the sum of indices[b,i,j] * strides[j], for ``i < batch``.

    ``faults[0]`` becomes negative if an index is not in [-sizes[j], sizes[j]-1].
    """
    fault = at = start = 0
    for first in range(0, positions.size, batch):
        for i in range(first, first + batch):
            position = start
            for j in range(sizes.size):
                index = wrapped(indices[at + j], sizes[j])
                fault |= index | sizes[j] - 1 - index
                position += index * strides[j]
            positions[i] = position
            at += sizes.size
        start += stride
    faults[0] = fault


def element_positions(
    sizes: tuple[int, ...], lengths: tuple[int, ...], axis: int, dtype: np.dtype
) -> Locate:
    """``run(indices)``: the positions in flat data of one element for each index.

    ``sizes`` is the shape of the data, ``lengths`` that of indices of ``dtype``. An index counts
    along ``axis``; along other axes the element lies where its index does. Raises
    ExecutionError for an index that is not there.
    """
    size, strides = sizes[axis], _strides(sizes)
    starts: np.ndarray = np.zeros((), _INT64)
    for other, (count, stride) in enumerate(zip(lengths, strides, strict=True)):
        if other != axis:
            starts = np.add.outer(starts, np.arange(count) * stride)
    starts = starts.reshape(-1)
    length, inner = lengths[axis], prod(lengths[axis + 1 :])
    run = locate_elements.bind(
        dtype, starts, _INT64, _INT64, length, inner, strides[axis], size, size=starts.size
    )
    return _checked(run, prod(lengths), -size, size - 1)


def row_positions(sizes: tuple[int, ...], lengths: tuple[int, ...], batch_dims: int = 0) -> Locate:
    """``run(indices)``: for each tuple of int64 indices, which row of the data it addresses.

    ``sizes`` is the shape of the data, ``lengths`` that of the indices. A tuple is what lies
    along the last axis. It counts along as many axes of the data, from ``batch_dims`` on;
    the axes before, both have in common. A row is what lies along the axes after: it may
    be a single element. Raises ExecutionError for an index that is not there.
    """
    axes = sizes[batch_dims:][: lengths[-1]]
    addressed, strides = np.array(axes, _INT64), np.array(_strides(axes), _INT64)
    count, batch, stride = prod(lengths[:-1]), prod(lengths[batch_dims:-1]), prod(axes)
    run = locate_rows.bind(_INT64, addressed, strides, _INT64, _INT64, batch, stride, size=count)
    return _checked(run, count, -addressed, addressed - 1)


def _checked(
    run: Callable[..., None], count: int, low: int | np.ndarray, high: int | np.ndarray
) -> Locate:
    """``run(indices)``, which gives ``count`` positions."""

    def locate(indices: np.ndarray) -> np.ndarray:
        positions, faults = np.empty(count, _INT64), np.zeros(1, _INT64)
        if count:
            run(indices.reshape(-1), positions, faults)
        if faults[0] < 0:
            raise out_of_range("indices", indices, low, high)
        return positions

    return locate


def _strides(sizes: tuple[int, ...]) -> list[int]:
    """How far apart neighbours along each axis lie, in elements."""
    return [prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
