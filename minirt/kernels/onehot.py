"""OneHot: a tensor of one value, with another where indices say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["one_hot"]


def one_hot(
    number: np.dtype, depth: int, inner: int, counts_back: bool
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """``run(indices, values, out)``: everywhere the first of ``values``, but there the second.

    The new axis of size ``depth`` stands before the last ``inner`` of ``indices``, of type
    ``number``. Indices that are not there name nothing; ``counts_back`` says what negative
    ones do.
    """
    lowest = -depth if counts_back else 0

    def run(indices: np.ndarray, values: np.ndarray, out: np.ndarray) -> None:
        found = indices.reshape(-1).view(number)
        if number.kind == "f":
            # As Cast truncates; in float64, so that it is compared with depth itself.
            found = np.trunc(found, dtype=np.float64)
        there = np.flatnonzero((found >= lowest) & (found < depth))
        chosen = np.array(found[there], np.int64)
        chosen[chosen < 0] += depth
        outer, lane = np.divmod(there, inner) if inner > 1 else (there, 0)
        out.fill(values[0])
        out.reshape(-1)[(outer * depth + chosen) * inner + lane] = values[1]

    return run
