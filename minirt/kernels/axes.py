"""Orders of axes, and what of them matters to memory."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["merged_axes"]


def merged_axes(shape: Sequence[int], order: Sequence[int]) -> tuple[list[int], list[int]]:
    """The least shape and order of axes that move elements as ``order`` does for ``shape``.

    Axis i of the result is axis ``order[i]`` of the source. Axes of size 1 are left out, and
    those that stay side by side are one. Where nothing moves the order is ``[]`` or ``[0]``.
    """
    kept = [axis for axis in order if shape[axis] != 1]
    source = sorted(kept)
    after = dict(pairwise(source))
    groups: list[list[int]] = []
    for axis in kept:
        if groups and after.get(groups[-1][-1]) == axis:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    places = {group[0]: i for i, group in enumerate(sorted(groups))}
    sizes = [1] * len(groups)
    for group in groups:
        for axis in group:
            sizes[places[group[0]]] *= shape[axis]
    return sizes, [places[group[0]] for group in groups]
