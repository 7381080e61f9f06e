"""Axes in another order, over flat buffers: Transpose and what is made of it.

Elements are codes of 1, 2, 4 or 8 bytes. One axis lies densely in the source, one in the
result. Where they are two, they span *planes*, each a matrix that is transposed in square
tiles of vector registers; NumPy, which moves one element at a time, takes 2 to 9 times as
long. Where it is one axis, *runs* of elements are copied.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..jit import helper, kernel
from ..jit.tiles import tile_lanes, transpose_tile
from .axes import merged_axes
from .runs import as_codes, move_runs, place

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Run = Callable[[np.ndarray, np.ndarray], None]

__all__ = ["transpose"]

#: Vectors of a strip: in each line of the source a tile row reads a cache line from end to end.
_STRIP = 4
#: Elements of a line that are moved before the next one's, so that they stay in the cache.
_PART = 512


@helper
def _move(src, from_, from_step, dst, to, to_step, count):
    """dst[to + i * to_step] = src[from_ + i * from_step]"""
    # Unsigned, because Numba looks whether others count from the end.
    source, target = np.uint64(from_), np.uint64(to)
    for _ in range(count):
        dst[target] = src[source]
        source += np.uint64(from_step)
        target += np.uint64(to_step)


@helper
def _transpose_plane(src, from_, from_step, dst, to, to_step, rows, columns):
    """dst[to + i * to_step + j] = src[from_ + j * from_step + i]"""
    lanes = tile_lanes(src)
    full_rows, full_columns = rows // lanes * lanes, columns // lanes * lanes
    for top in range(0, full_rows, lanes * _STRIP):
        bottom = min(top + lanes * _STRIP, full_rows)
        for j in range(0, full_columns, lanes):
            for i in range(top, bottom, lanes):
                target, source = to + i * to_step + j, from_ + j * from_step + i
                transpose_tile(dst, target, to_step, src, source, from_step)
    for top in range(0, full_rows, _PART):
        count = min(_PART, full_rows - top)
        for j in range(full_columns, columns):
            target, source = to + top * to_step + j, from_ + j * from_step + top
            _move(src, source, 1, dst, target, to_step, count)
    for left in range(0, columns, _PART):
        count = min(_PART, columns - left)
        for i in range(full_rows, rows):
            target, source = to + i * to_step + left, from_ + left * from_step + i
            _move(src, source, from_step, dst, target, 1, count)


@helper
def _take_pixels_apart(src, from_, dst, to, to_step, count):
    """As :func:`_transpose_plane`, of dense rows of 3: LLVM knows how to take that apart."""
    pixels, red = src[from_ : from_ + 3 * count], dst[to : to + count]
    green = dst[to + to_step : to + to_step + count]
    blue = dst[to + 2 * to_step : to + 2 * to_step + count]
    for i in range(count):
        red[i], green[i], blue[i] = pixels[3 * i], pixels[3 * i + 1], pixels[3 * i + 2]


@helper
def _join_pixels(src, from_, from_step, dst, to, count):
    """The reverse."""
    pixels, red = dst[to : to + 3 * count], src[from_ : from_ + count]
    green = src[from_ + from_step : from_ + from_step + count]
    blue = src[from_ + 2 * from_step : from_ + 2 * from_step + count]
    for i in range(count):
        pixels[3 * i], pixels[3 * i + 1], pixels[3 * i + 2] = red[i], green[i], blue[i]


@kernel(whole=("src", "dst", "outer"))
def transpose_planes(
    src, dst, outer, stacks, planes, from_plane, to_plane, rows, columns, from_step, to_step
):
    """Each plane transposed: its rows are dense in the source, its columns in the result.

    Planes of a stack lie ``from_plane`` and ``to_plane`` elements apart.
    """
    for stack in range(stacks):
        from_, to = place(stack, outer)
        for _ in range(planes):
            if rows == 3 and from_step == 3:
                _take_pixels_apart(src, from_, dst, to, to_step, columns)
            elif columns == 3 and to_step == 3:
                _join_pixels(src, from_, from_step, dst, to, rows)
            else:
                _transpose_plane(src, from_, from_step, dst, to, to_step, rows, columns)
            from_ += from_plane
            to += to_plane


def transpose(storage: np.dtype, shape: Sequence[int], order: Sequence[int]) -> Run:
    """A ``run(src, dst)`` over flat buffers that puts the axes of ``src`` into ``order``.

    Axis i of the result is axis ``order[i]`` of the source, which has ``shape``.
    """
    sizes, order = merged_axes(shape, order)
    if len(order) < 2 or 0 in sizes:
        return lambda src, dst: np.copyto(dst, src)
    if storage.hasobject:
        moved = [sizes[axis] for axis in order]
        return lambda src, dst: np.copyto(dst.reshape(moved), src.reshape(sizes).transpose(order))
    code, width = as_codes(storage)
    if width > 1:
        sizes, order = [*sizes, width], [*order, len(order)]
    run: Run = _bind(code, sizes, order)
    if storage.kind != "c":
        return run
    return lambda src, dst: run(src.view(code), dst.view(code))


class _Axis(NamedTuple):
    """An axis of the result: its size, and the elements from one index to the next."""

    size: int
    from_step: int
    to_step: int


def _bind(code: np.dtype, sizes: list[int], order: list[int]) -> Any:
    from_steps, to_sizes = _steps(sizes), [sizes[axis] for axis in order]
    axes = list(map(_Axis, to_sizes, [from_steps[axis] for axis in order], _steps(to_sizes)))
    columns = axes.pop()
    count = prod(sizes)
    if columns.from_step == 1:
        *outer, lines = axes
        return move_runs.bind(code, code, *_stacks(outer), 0, 0, *lines, columns.size, size=count)
    rows = next(axis for axis in axes if axis.from_step == 1)
    axes.remove(rows)
    *outer, planes = axes or [_Axis(1, 0, 0)]
    plane = rows.size, columns.size, columns.from_step, rows.to_step
    return transpose_planes.bind(code, code, *_stacks(outer), *planes, *plane, size=count)


def _stacks(outer: Sequence[_Axis]) -> tuple[np.ndarray, int]:
    """Axes as kernels take them, and how many indices they have together."""
    return np.array(outer, np.int64).reshape(-1), prod(axis.size for axis in outer)


def _steps(sizes: Sequence[int]) -> list[int]:
    """How many elements on the next index of each axis is, where the last one is dense."""
    steps = [1]
    for size in sizes[:0:-1]:
        steps.append(steps[-1] * size)
    return steps[::-1]
