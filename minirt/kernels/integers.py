"""Products of matrices of integers, for which there is no BLAS."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..jit import helper, kernel
from ..jit.dots import COLUMNS, DEPTH, ROWS, dot_tile

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["multiply_integers", "multiply_short"]

#: Fewer columns than that do not fill vector registers: rows do.
_NARROW = 8
#: With fewer rows it takes longer to lay out matrices for tiles than to multiply them otherwise.
_FLAT = 6
_SHORT, _SUM = np.dtype(np.int16), np.dtype(np.int32)


@cache
def multiply_integers(dtype: np.dtype) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """``run(a, b, y)``: y = a b, as ``numpy.matmul``; integers of ``dtype`` wrap around."""
    kind, place = np.dtype(f"u{dtype.itemsize}"), np.dtype(np.int64)
    loop = multiply.bind(kind, kind, kind, place, place, place, size=1)

    def run(a: np.ndarray, b: np.ndarray, y: np.ndarray) -> None:
        flat = (np.ascontiguousarray(x).reshape(-1).view(kind) for x in (a, b))
        loop(*flat, y.reshape(-1).view(kind), *_places(a.shape, b.shape))

    return run


@lru_cache(maxsize=256)
def _places(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the matrices of operands of these shapes begin, and the sizes of the product."""
    left = (1, *a) if len(a) == 1 else a
    right = (*b, 1) if len(b) == 1 else b
    stack = np.broadcast_shapes(left[:-2], right[:-2])
    return _starts(left, stack), _starts(right, stack), np.array([*left[-2:], right[-1]], np.int64)


def _starts(shape: tuple[int, ...], stack: tuple[int, ...]) -> np.ndarray:
    """Where in its memory each matrix of a stack begins, which is broadcast to ``stack``."""
    size = shape[-2] * shape[-1]
    count = int(np.prod(shape[:-2], dtype=np.int64))
    places = np.arange(count).reshape(shape[:-2]) * size
    return np.ascontiguousarray(np.broadcast_to(places, stack)).reshape(-1)


@kernel(whole=("a", "b", "y", "a_starts", "b_starts", "sizes"))
def multiply(a, b, y, a_starts, b_starts, sizes):
    """Each matrix of y is the product of those that begin at ``a_starts`` and ``b_starts``.

    ``sizes`` are the rows of a, the columns of a, and the columns of b.
    """
    rows, inner, columns = sizes
    for matrix in range(a_starts.size):
        left = a[a_starts[matrix] :][: rows * inner]
        right = b[b_starts[matrix] :][: inner * columns]
        result = y[matrix * rows * columns :][: rows * columns]
        if columns < _NARROW:
            _multiply_by_columns(left, right, result, rows, inner, columns)
        else:
            for i in range(rows):
                row = result[i * columns :][:columns]
                _add_rows(left[i * inner :][:inner], right, row)


@helper
def _multiply_by_columns(a, b, y, rows, inner, columns):
    column = np.empty(inner, a.dtype)
    for j in range(columns):
        for k in range(inner):
            column[k] = b[k * columns + j]
        for i in range(rows):
            row, total = a[i * inner :][:inner], np.uint64(0)
            for k in range(inner):
                total += row[k] * column[k]
            y[i * columns + j] = total


@helper
def _add_rows(factors, b, row):
    """row = the sum of the rows of b times their factors, four at a time."""
    columns, whole = row.size, factors.size // 4 * 4
    row[:] = 0
    for k in range(0, whole, 4):
        line_0, line_1 = b[k * columns :][:columns], b[(k + 1) * columns :][:columns]
        line_2, line_3 = b[(k + 2) * columns :][:columns], b[(k + 3) * columns :][:columns]
        for j in range(columns):
            row[j] += (
                factors[k] * line_0[j]
                + factors[k + 1] * line_1[j]
                + factors[k + 2] * line_2[j]
                + factors[k + 3] * line_3[j]
            )
    for k in range(whole, factors.size):
        line = b[k * columns :][:columns]
        for j in range(columns):
            row[j] += factors[k] * line[j]


def multiply_short() -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """``run(a, b, y)``: y = a b, as ``numpy.matmul``, of int16 in int32, which wraps around."""
    wide = multiply_integers(_SUM)
    tiles = multiply_tiles.bind(_SHORT, _SHORT, _SUM, np.dtype(np.int64), size=1)

    def run(a: np.ndarray, b: np.ndarray, y: np.ndarray) -> None:
        if a.ndim == 1 or b.ndim == 1 or a.shape[-2] < _FLAT:
            wide(a.astype(_SUM), b.astype(_SUM), y)
            return
        left, right = _padded(a, ROWS), _padded(b.swapaxes(-1, -2), COLUMNS)
        stack, sizes = y.shape[:-2], (left.shape[-2], right.shape[-2])
        result = np.empty((*stack, *sizes), _SUM)
        left, right = (np.broadcast_to(x, (*stack, *x.shape[-2:])) for x in (left, right))
        shape = np.array([*sizes, left.shape[-1]])
        for place in np.ndindex(*stack):
            tiles(*(x[place].reshape(-1) for x in (left, right, result)), shape)
        y[...] = result[..., : y.shape[-2], : y.shape[-1]]

    return run


def _padded(matrices: np.ndarray, lines: int) -> np.ndarray:
    """With zeros up to multiples of ``lines`` and of the depth of a tile."""
    *stack, rows, columns = matrices.shape
    sizes = -(-rows // lines) * lines, -(-columns // DEPTH) * DEPTH
    padded = np.zeros((*stack, *sizes), _SHORT)
    padded[..., :rows, :columns] = matrices
    return padded


@kernel(whole=("a", "b", "y", "sizes"))
def multiply_tiles(a, b, y, sizes):
    """y = a times b transposed; ``sizes`` are the rows of a, those of b, and their length."""
    rows, columns, depth = sizes
    for i in range(0, rows, ROWS):
        for j in range(0, columns, COLUMNS):
            dot_tile(y, i * columns + j, columns, a, i * depth, b, j * depth, depth)
