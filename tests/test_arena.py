"""Buffers in one block of memory: apart while both are alive, reused afterwards."""

import random
from itertools import pairwise

import pytest

from minirt.runtime.arena import ALIGNMENT, Arena


def padded(size: int) -> int:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


@pytest.mark.parametrize("seed", range(20))
def test_buffers_that_are_alive_together_are_apart(seed: int) -> None:
    rng = random.Random(seed)
    arena, alive, together = Arena(), [], 0
    for _ in range(300):
        if alive and rng.random() < 0.5:
            arena.give(*alive.pop(rng.randrange(len(alive))))
        else:
            size = rng.choice([0, 1, 63, 64, 65, 1000, rng.randrange(5000)])
            alive.append((arena.take(size), size))
        together = max(together, sum(padded(size) for _, size in alive))
        blocks = sorted((offset, offset + size) for offset, size in alive if size)
        assert all(offset % ALIGNMENT == 0 for offset, _ in alive)
        assert all(end <= start for (_, end), (start, _) in pairwise(blocks))
        assert all(end <= arena.bytes for _, end in blocks)
    assert arena.bytes <= 2 * together


def test_a_chain_takes_two_buffers() -> None:
    arena = Arena()
    previous = arena.take(1000)
    for _ in range(50):
        following = arena.take(1000)
        arena.give(previous, 1000)
        previous = following
    assert arena.bytes == 2 * padded(1000)


def test_freed_neighbours_join() -> None:
    arena = Arena()
    offsets = [arena.take(64) for _ in range(4)]
    for index in (0, 2, 1, 3):
        arena.give(offsets[index], 64)
    assert arena.take(256) == 0
    assert arena.bytes == 256


def test_the_gap_at_the_end_is_grown() -> None:
    arena = Arena()
    arena.take(64)
    arena.give(arena.take(64), 64)
    assert arena.take(128) == 64
    assert arena.bytes == 192


def test_the_smallest_gap_that_fits_is_taken() -> None:
    arena = Arena()
    sizes = [256, 64, 128, 64]
    offsets = [arena.take(size) for size in sizes]
    arena.give(offsets[0], 256)
    arena.give(offsets[2], 128)
    assert arena.take(100) == offsets[2]


def test_nothing_takes_no_room() -> None:
    arena = Arena()
    arena.give(arena.take(0), 0)
    assert arena.bytes == 0
