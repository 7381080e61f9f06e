"""Gather and Scatter, once it is known where elements lie: NumPy moves them.

Data are storage arrays of any type. :mod:`minirt.kernels.bounds` has what needs no positions.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from .combine import combine_rows
from .overwrite import begin
from .positions import element_positions, row_positions

if TYPE_CHECKING:
    from collections.abc import Callable

    from .positions import Locate

    Sizes = tuple[int, ...]
    #: What combines elements, and the type of these; None where they are replaced.
    Reduction = tuple[str, np.dtype] | None
    Gather = Callable[[np.ndarray, np.ndarray, np.ndarray], None]
    Scatter = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]

__all__ = ["gather_elements", "gather_rows", "scatter_elements", "scatter_rows"]

#: The most bytes of a row that are moved as one item: for more it makes no difference.
_WIDE = 4096


def gather_elements(sizes: Sizes, lengths: Sizes, axis: int, dtype: np.dtype) -> Gather:
    """``run(data, indices, out)``; see :func:`~minirt.kernels.positions.element_positions`."""
    return _gather(element_positions(sizes, lengths, axis, dtype), 1)


def gather_rows(sizes: Sizes, lengths: Sizes, batch_dims: int) -> Gather:
    """``run(data, indices, out)``; see :func:`~minirt.kernels.positions.row_positions`."""
    row = prod(sizes[batch_dims + lengths[-1] :])
    return _gather(row_positions(sizes, lengths, batch_dims), row)


def scatter_elements(
    sizes: Sizes, lengths: Sizes, axis: int, dtype: np.dtype, reduction: Reduction
) -> Scatter:
    """``run(data, indices, updates, out)``: data with updates where indices say.

    They replace what is there, the last of several in one place, or with a ``reduction`` are
    combined with it. See :func:`~minirt.kernels.positions.element_positions`.
    """
    return _scatter(element_positions(sizes, lengths, axis, dtype), 1, reduction)


def scatter_rows(sizes: Sizes, lengths: Sizes, reduction: Reduction) -> Scatter:
    """As :func:`scatter_elements`, for :func:`~minirt.kernels.positions.row_positions`."""
    return _scatter(row_positions(sizes, lengths), prod(sizes[lengths[-1] :]), reduction)


def _gather(locate: Locate, row: int) -> Gather:
    def run(data: np.ndarray, indices: np.ndarray, out: np.ndarray) -> None:
        positions = locate(indices)
        if out.size:
            _rows(data, row).take(positions, 0, _rows(out, row), "clip")

    return run


def _scatter(locate: Locate, row: int, reduction: Reduction) -> Scatter:
    combine = None if reduction is None else combine_rows(*reduction, row)

    def run(data: np.ndarray, indices: np.ndarray, updates: np.ndarray, out: np.ndarray) -> None:
        positions = locate(indices)
        updates = begin(data, updates, out).reshape(-1)
        if not updates.size:
            return
        if combine is None:
            _rows(out, row)[positions] = _rows(updates, row)
        else:
            combine(out.reshape(-1), positions, updates)

    return run


def _rows(array: np.ndarray, row: int) -> np.ndarray:
    """One item for each row, which NumPy indexes faster than two axes."""
    flat, width = array.reshape(-1), row * array.itemsize
    if row == 1:
        return flat
    if array.dtype.hasobject or width > _WIDE:
        return flat.reshape(-1, row)
    return flat.view(f"V{width}")
