"""Runs of elements that are joined, taken apart and repeated: NumPy's concatenate, split, tile."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minirt import kernels

STORAGES = [np.dtype(s) for s in ("u1", "i2", "f4", "f8", "c8", "c16")]

each_storage = pytest.mark.parametrize("storage", STORAGES, ids=str)
#: The first of each storage compiles.
unhurried = settings(deadline=None, max_examples=25)
runs_of_lines = given(
    st.integers(1, 9), st.lists(st.sampled_from([0, 1, 3, 8, 17, 70]), min_size=1)
)


def counted(storage: np.dtype, *shape: int) -> np.ndarray:
    """Elements that differ, none of which is 0."""
    return (np.arange(1, prod(shape) + 1) % 251 + 1).astype(storage).reshape(shape)


class Guarded:
    """An array of zeros, and what is around it."""

    def __init__(self, storage: np.dtype, size: int) -> None:
        self._memory = np.zeros(size + 128, storage)
        self.array = self._memory[64 : 64 + size]

    def holds(self, expected: np.ndarray) -> bool:
        """Whether it is ``expected``, and nothing was written beside it."""
        right = np.array_equal(self.array, expected.reshape(-1))
        return right and not self._memory[:64].any() and not self._memory[-64:].any()


@each_storage
@unhurried
@runs_of_lines
def test_join(storage, lines, runs):
    whole = counted(storage, lines, sum(runs))
    parts = np.split(whole, np.cumsum(runs)[:-1], 1)
    out = Guarded(storage, whole.size)
    join = kernels.join(storage, lines, runs)
    join(*(np.ascontiguousarray(part).reshape(-1) for part in parts), out.array)
    assert out.holds(whole)


@each_storage
@unhurried
@runs_of_lines
def test_take_apart(storage, lines, runs):
    whole = counted(storage, lines, sum(runs))
    outs = [Guarded(storage, lines * run) for run in runs]
    # One that nobody wants is not there.
    wanted = [None if i == 1 else out.array for i, out in enumerate(outs)]
    kernels.take_apart(storage, lines, runs)(whole.reshape(-1), *wanted)
    for i, part in enumerate(np.split(whole, np.cumsum(runs)[:-1], 1)):
        assert outs[i].holds(np.zeros_like(part) if i == 1 else part)


@each_storage
@unhurried
@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 5)), min_size=1, max_size=3))
def test_repeat(storage, groups):
    check_repeat(storage, *zip(*groups, strict=True))


@each_storage
@pytest.mark.parametrize(
    ("counts", "sizes"),
    [
        ((700,), (1,)),
        ((700,), (3,)),
        ((3,), (5000,)),
        ((1, 500), (40, 1)),
        ((9, 65), (7, 64)),
        ((2, 3, 1), (2, 2, 4097)),
        ((3, 2), (1, 9000)),
    ],
)
def test_repeat_more_than_stays_in_the_cache(storage, counts, sizes):
    check_repeat(storage, counts, sizes)


def check_repeat(storage, counts, sizes):
    x = counted(storage, *sizes)
    spread = np.broadcast_to(
        x.reshape([n for size in sizes for n in (1, size)]),
        [n for group in zip(counts, sizes, strict=True) for n in group],
    )
    out = Guarded(storage, spread.size)
    kernels.repeat(storage, counts, sizes)(x.reshape(-1), out.array)
    assert out.holds(spread)
