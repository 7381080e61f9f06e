"""Runs of elements that lie side by side, over flat buffers: joined, taken apart, repeated.

Elements are codes of 1, 2, 4 or 8 bytes. NumPy copies a run in 5 to 10 nanoseconds, however
short; here that is 2 to 3. Where runs are long, it is as fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..jit import helper, kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["as_codes", "join", "move_runs", "repeat", "take_apart"]

#: Elements that are copied again and again while they are in the cache.
_CACHED = 4096
#: Elements that are written one by one before they are copied.
_FIRST = 64


@helper
def place(index, outer):
    """Where what has these indices on the axes of ``outer`` begins in source and result.

    ``outer`` has for each axis its size and its two steps.
    """
    from_, to = 0, 0
    for axis in range(outer.size - 3, -1, -3):
        index, at = divmod(index, outer[axis])
        from_ += at * outer[axis + 1]
        to += at * outer[axis + 2]
    return from_, to


@helper
def _multiply(dst, start, block, done, end):
    """Up to ``end`` the ``block`` elements at ``start``, of which there are ``done`` already."""
    most = block * max(1, _CACHED // block)
    while done < end:
        count = min(done, end - done, most)
        source, target = dst[start : start + count], dst[start + done : start + done + count]
        for i in range(count):
            target[i] = source[i]
        done += count


@kernel(whole=("src", "dst", "outer"))
def move_runs(src, dst, outer, stacks, from_, to, count, from_step, to_step, run):
    """In each stack ``count`` runs, ``from_step`` and ``to_step`` elements apart."""
    for stack in range(stacks):
        begin, end = place(stack, outer)
        # Unsigned, because Numba looks whether others count from the end; and here, because LLVM
        # would make a function of its own a call that costs more than a short run.
        source, target = np.uint64(from_ + begin), np.uint64(to + end)
        for _ in range(count):
            for i in range(run):
                dst[target + np.uint64(i)] = src[source + np.uint64(i)]
            source += np.uint64(from_step)
            target += np.uint64(to_step)


@kernel(whole=("src", "dst", "counts", "sizes"))
def repeat_blocks(src, dst, counts, sizes):
    """The result from front to back: when a block is complete, it is copied."""
    last = sizes.size - 1
    run, times, to = sizes[last], counts[last], 0
    first = times if run == 1 else min(times, max(1, _FIRST // run))
    outermost = 0 if counts[0] == 1 else -1
    for row in range(src.size // run):
        if run == 1:
            value, line = src[row], dst[to : to + times]
            for i in range(times):
                line[i] = value
        else:
            source, target = np.uint64(row * run), np.uint64(to)
            for _ in range(first):
                for i in range(run):
                    dst[target + np.uint64(i)] = src[source + np.uint64(i)]
                target += np.uint64(run)
        if first < times:
            _multiply(dst, to, run, first * run, times * run)
        to += run * times
        done, block = row + 1, run * times
        for axis in range(last - 1, outermost, -1):
            if done % sizes[axis]:
                break
            done //= sizes[axis]
            block *= sizes[axis]
            _multiply(dst, to - block, block, block, block * counts[axis])
            to += block * (counts[axis] - 1)
            block *= counts[axis]


def as_codes(storage: np.dtype) -> tuple[np.dtype, int]:
    """The unsigned integers as which elements are moved, and how many make one."""
    size = min(storage.itemsize, 8)
    return np.dtype(f"u{size}"), storage.itemsize // size


def join(storage: np.dtype, lines: int, runs: Sequence[int]) -> Callable[..., None]:
    """A ``run(*inputs, out)``: each of ``lines`` of ``out`` is a run of each input."""
    code, width = as_codes(storage)
    moves = _moves(code, lines, [width * run for run in runs], joins=True)

    def run(*arrays: np.ndarray) -> None:
        *inputs, out = (array.view(code) for array in arrays)
        for move, array in zip(moves, inputs, strict=True):
            move(array, out)

    return run


def take_apart(storage: np.dtype, lines: int, runs: Sequence[int]) -> Callable[..., None]:
    """A ``run(input, *outs)``, the reverse of :func:`join`; an output may be None."""
    code, width = as_codes(storage)
    moves = _moves(code, lines, [width * run for run in runs], joins=False)

    def run(array: np.ndarray, *outs: np.ndarray | None) -> None:
        array = array.view(code)
        for move, out in zip(moves, outs, strict=True):
            if out is not None:
                move(array, out.view(code))

    return run


def _moves(
    code: np.dtype, lines: int, runs: Sequence[int], *, joins: bool
) -> list[Callable[[np.ndarray, np.ndarray], None]]:
    moves, start, line = [], 0, sum(runs)
    for run in runs:
        places = (0, start, lines, run, line) if joins else (start, 0, lines, line, run)
        moves.append(move_runs.bind(code, code, _NO_AXES, 1, *places, run, size=lines * run))
        start += run
    return moves


_NO_AXES = np.empty(0, np.int64)


def repeat(
    storage: np.dtype, counts: Sequence[int], sizes: Sequence[int]
) -> Callable[[np.ndarray, np.ndarray], None]:
    """A ``run(src, dst)``: the blocks of each axis so many times. Neither is empty."""
    code, width = as_codes(storage)
    if width > 1:
        counts, sizes = [*counts, 1], [*sizes, width]
    tables = np.array(counts, np.int64), np.array(sizes, np.int64)
    run = repeat_blocks.bind(code, code, *tables, size=0)
    return lambda src, dst: run(src.view(code), dst.view(code))
