"""Axes in another order, over flat buffers: NumPy's transpose, whatever the shape."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minirt import kernels
from minirt.kernels.axes import merged_axes

STORAGES = [np.dtype(s) for s in ("u1", "i2", "f4", "f8", "c8", "c16", "O")]


@st.composite
def orders(draw, most, sizes):
    """A shape, and an order of its axes."""
    shape = draw(st.lists(sizes, max_size=most))
    return shape, draw(st.permutations(range(len(shape))))


@given(orders(5, st.integers(0, 5)))
def test_merged_axes_move_the_same(case):
    shape, order = case
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    sizes, merged = merged_axes(shape, order)
    moved = x.reshape(sizes).transpose(merged)
    assert np.array_equal(moved.reshape(-1), x.transpose(order).reshape(-1))
    assert 1 not in sizes
    assert not any(b == a + 1 for a, b in pairwise(merged))


def check(storage, shape, order):
    """Transpose into memory that is guarded on both sides."""
    count = int(np.prod(shape))
    x = np.arange(1, count + 1).astype(storage)
    memory = np.zeros(count + 128, storage)
    out = memory[64 : 64 + count]
    kernels.transpose(storage, shape, order)(x, out)
    assert np.array_equal(out, x.reshape(shape).transpose(order).reshape(-1))
    assert not memory[:64].any() and not memory[64 + count :].any()


@pytest.mark.parametrize("storage", STORAGES, ids=str)
@settings(deadline=None, max_examples=25)  # kernels are compiled
@given(case=orders(4, st.sampled_from([0, 1, 2, 3, 7, 8, 16, 17])))
def test_any_order(storage, case):
    check(storage, *case)


@pytest.mark.parametrize("storage", STORAGES, ids=str)
@pytest.mark.parametrize(
    "shape",
    [
        (64, 64),
        (65, 67),
        (1, 200),
        (2, 1200),
        (1200, 2),
        (3, 1201),
        (1201, 3),
        (15, 513),
        (513, 15),
        (128, 33),
        (3, 3),
    ],
)
def test_tiles_and_what_is_left_of_them(storage, shape):
    check(storage, shape, (1, 0))
    check(storage, (2, *shape), (0, 2, 1))
    check(storage, (*shape, 3), (1, 0, 2))


def test_kernels_check_their_arguments(monkeypatch):
    monkeypatch.setenv("MINIRT_CHECK", "1")
    for storage in STORAGES:
        check(storage, (20, 3, 17), (2, 0, 1))
        check(storage, (5, 3, 4), (1, 0, 2))
