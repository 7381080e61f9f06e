"""OneHot: a tensor of one value, with another where indices say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..jit import kernel

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["one_hot"]

_INT64 = np.dtype(np.int64)
#: In which type the kernel gets indices of others.
_CARRIERS: dict[str, np.dtype] = {"i": _INT64, "u": _INT64, "f": np.dtype(np.float32)}


@kernel(whole=("indices", "positions", "count"))
def locate_hot(indices, positions, count, lowest, depth, inner):
    """List the positions of what indices name in a tensor of ``[..., depth, inner]``.

    An index is truncated, and names nothing unless it is then in [lowest, depth-1].
    ``count[0]`` becomes how many there are.
    """
    found = 0
    for first in range(0, indices.size, inner):
        for lane in range(inner):
            index = indices[first + lane]
            if lowest - 1 < index < depth:
                index = np.int64(index)
                if index < 0:
                    index += depth
                positions[found] = first * depth + index * inner + lane
                found += 1
    count[0] = found


def one_hot(
    number: np.dtype, depth: int, inner: int, counts_back: bool
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """``run(indices, values, out)``: everywhere the first of ``values``, but there the second.

    The new axis of size ``depth`` stands before the last ``inner`` of ``indices``, of type
    ``number``. Indices that are not there name nothing; ``counts_back`` says what negative
    ones do.
    """
    carrier = number if number == np.float64 else _CARRIERS[number.kind]
    lowest = -depth if counts_back else 0
    locate = locate_hot.bind(carrier, _INT64, _INT64, lowest, depth, inner, size=0)

    def run(indices: np.ndarray, values: np.ndarray, out: np.ndarray) -> None:
        out.fill(values[0])
        if not out.size:
            return
        numbers = indices.reshape(-1).view(number)
        if number == np.uint64:  # what does not fit into a sign less names nothing either
            numbers = np.minimum(numbers, np.iinfo(np.int64).max)
        positions, count = np.empty(indices.size, np.int64), np.empty(1, np.int64)
        locate(np.asarray(numbers, carrier), positions, count)
        out.reshape(-1)[positions[: count[0]]] = values[1]

    return run
