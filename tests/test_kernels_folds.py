"""Sums in their documented order, to the bit; products of integers of all sizes of matrices."""

from __future__ import annotations

import numpy as np
import pytest

from minirt import kernels
from minirt.jit.dots import COLUMNS, DEPTH, ROWS
from minirt.jit.folds import LANES
from minirt.kernels import folds

RANDOM = np.random.default_rng(3)


def halved(lanes):
    """The upper half is added to the lower one until there is one."""
    while lanes.size > 1:
        lanes = lanes[: lanes.size // 2] + lanes[lanes.size // 2 :]
    return lanes[0]


def line_sum(line):
    """Lanes of a block in the type, blocks and what is left in float64."""
    whole = line.size // LANES * LANES
    total = np.float64(-0.0)
    for first in range(0, whole, folds._BLOCK):
        block = line[first : min(first + folds._BLOCK, whole)].reshape(-1, LANES)
        total += np.float64(halved(np.add.accumulate(block, 0)[-1]))
    for item in line[whole:]:
        total += np.float64(item)
    return total


def column_sums(matrix):
    """Some rows in the type, their sums in float64."""
    total = np.full(matrix.shape[1], -0.0)
    for first in range(0, len(matrix), folds._ROWS):
        total += np.add.accumulate(matrix[first : first + folds._ROWS], 0)[-1]
    return total


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 31, 32, 33, 511, 512, 513, 1100])
def test_the_order_of_sums(dtype, count):
    x = RANDOM.standard_normal((3, count)).astype(dtype)
    out = np.empty(3, dtype)
    kernels.fold("sum", x.dtype, x.shape, (1,), 7)(x.reshape(-1), out)
    assert out.tobytes() == np.array([line_sum(line) / 7 for line in x]).astype(dtype).tobytes()
    columns = np.ascontiguousarray(x.T)
    kernels.fold("sum", x.dtype, columns.shape, (0,), 7)(columns.reshape(-1), out)
    assert out.tobytes() == (column_sums(columns) / 7).astype(dtype).tobytes()


def test_more_columns_than_are_summed_at_once():
    x = RANDOM.integers(-9, 9, (2, 40, folds._COLUMNS + 5)).astype(np.float32)
    out = np.empty((2, x.shape[2]), np.float32)
    kernels.fold("sum", x.dtype, x.shape, (1,))(x.reshape(-1), out.reshape(-1))
    assert (out == x.sum(1)).all()


@pytest.mark.parametrize("axes", [(), (0,), (1, 3), (0, 2, 4), (0, 1, 2, 3, 4), (2, 3), (3, 4)])
@pytest.mark.parametrize("name", ["sum", "product", "largest", "smallest"])
def test_folds_along_any_axes(name, axes):
    function = {"sum": np.sum, "product": np.prod, "largest": np.max, "smallest": np.min}[name]
    x = RANDOM.integers(1, 3, (2, 3, 1, 4, 5)).astype(np.float64)
    out = np.empty(function(x, axes).shape)
    kernels.fold(name, x.dtype, x.shape, axes)(x.reshape(-1), out.reshape(-1))
    assert (out == function(x, axes)).all()


@pytest.mark.parametrize("count", [1, 32, 33, 200])
@pytest.mark.parametrize("inner", [1, 3])
def test_a_nan_anywhere_is_an_extreme(count, inner):
    for place in range(0, count, 7):
        x = np.ones((1, count, inner), np.float32)
        x[0, place, -1] = np.nan
        for name in ("largest", "smallest"):
            out = np.empty(inner, np.float32)
            kernels.fold(name, x.dtype, x.shape, (1,))(x.reshape(-1), out)
            assert np.isnan(out[-1]) and (out[:-1] == 1).all()


SIZES = [1, 2, 5, 7, 8, 9, 16, 17, 40]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.uint64, np.int64])
def test_products_of_integers(dtype):
    multiply = kernels.multiply_integers(np.dtype(dtype))
    limits = np.iinfo(dtype)
    for rows, inner, columns in ((r, k, c) for r in (1, 5) for k in SIZES for c in SIZES):
        a, b = (
            RANDOM.integers(limits.min, limits.max, shape, dtype, endpoint=True)
            for shape in ((rows, inner), (inner, columns))
        )
        y = np.empty((rows, columns), dtype)
        multiply(a, b, y)
        with np.errstate(over="ignore"):
            assert (y == np.matmul(a, b)).all()


@pytest.mark.parametrize("rows", [1, 5, 6, 7, ROWS * 4])
@pytest.mark.parametrize("inner", [1, DEPTH - 1, DEPTH, DEPTH + 1, 100])
@pytest.mark.parametrize("columns", [1, COLUMNS - 1, COLUMNS, COLUMNS + 1, 30])
def test_products_of_short_integers(rows, inner, columns):
    a, b = (
        RANDOM.integers(-(2**15), 2**15, shape).astype(np.int16)
        for shape in ((2, 1, rows, inner), (3, inner, columns))
    )
    a[0, 0, 0, :], b[0, :, 0] = -(2**15), -(2**15)
    y = np.empty((2, 3, rows, columns), np.int32)
    kernels.multiply_short()(a, b, y)
    assert (y == np.matmul(a.astype(np.int64), b.astype(np.int64)).astype(np.int32)).all()
