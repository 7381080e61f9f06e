"""NonMaxSuppression: boxes that do not overlap better ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import ExecutionError
from ..jit import kernel

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["non_max_suppression"]

_FLOAT, _INT64 = np.dtype(np.float32), np.dtype(np.int64)
#: What orders before the bits of any number.
_WORST = np.iinfo(np.int32).min


@kernel(whole=("edges", "candidates", "chosen", "count", "threshold"))
def suppress(edges, candidates, chosen, count, threshold):
    """Put those of ``candidates`` into ``chosen`` that overlap none before them too much.

    ``edges`` has low y, low x, high y and high x of each box. ``count[0]`` becomes how many they
    are; as many as ``chosen`` holds are the most. ``threshold[0]`` bounds the intersection
    of two boxes divided by their union.
    """
    kept = 0
    for i in range(candidates.size):
        if kept == chosen.size:
            break
        a = candidates[i] * 4
        area = (edges[a + 2] - edges[a]) * (edges[a + 3] - edges[a + 1])
        overlaps = False
        for j in range(kept):
            b = chosen[j] * 4
            height = min(edges[a + 2], edges[b + 2]) - max(edges[a], edges[b])
            width = min(edges[a + 3], edges[b + 3]) - max(edges[a + 1], edges[b + 1])
            if height > 0 and width > 0:
                common = height * width
                other = (edges[b + 2] - edges[b]) * (edges[b + 3] - edges[b + 1])
                if common / (area + other - common) > threshold[0]:
                    overlaps = True
                    break
        if not overlaps:
            chosen[kept] = candidates[i]
            kept += 1
    count[0] = kept


def non_max_suppression(centered: bool) -> Callable[..., np.ndarray]:
    """``run(boxes, scores, most, iou_threshold, score_threshold)``: rows of batch, class, box.

    Boxes are ``centered``, or given by two corners. The last three are single elements, or
    None. Raises ExecutionError for an ``iou_threshold`` that is not in [0, 1].
    """
    run = suppress.bind(_FLOAT, _INT64, _INT64, _INT64, _FLOAT, size=0)

    def select(
        boxes: np.ndarray,
        scores: np.ndarray,
        most: np.ndarray | None,
        iou_threshold: np.ndarray | None,
        score_threshold: np.ndarray | None,
    ) -> np.ndarray:
        limit = np.zeros(1, _FLOAT) if iou_threshold is None else iou_threshold.reshape(-1)
        if not 0 <= limit[0] <= 1:
            raise ExecutionError(f"iou_threshold = {limit[0]} is not in [0, 1]")
        batches, classes, boxes_each = scores.shape
        room = min(0 if most is None else max(most.item(), 0), boxes_each)
        edges = _edges(boxes, centered).reshape(batches, boxes_each * 4)
        best, enough = _best_first(scores), _how_many(scores, score_threshold)
        chosen, count = np.empty(room, _INT64), np.zeros(1, _INT64)
        parts = [np.empty((0, 3), _INT64)]
        for batch, kind in np.ndindex(batches, classes) if room else ():
            candidates = best[batch, kind, : enough[batch, kind]]
            run(edges[batch], candidates, chosen, count, limit)
            rows = np.empty((count[0], 3), _INT64)
            rows[:, :2], rows[:, 2] = (batch, kind), chosen[: count[0]]
            parts.append(rows)
        return np.concatenate(parts)

    return select


def _edges(boxes: np.ndarray, centered: bool) -> np.ndarray:
    """The low and the high edges of each box, in the order of its axes."""
    first, second = boxes[..., :2], boxes[..., 2:]
    with np.errstate(all="ignore"):
        if centered:
            half = second / 2
            first, second = first - half, first + half
        return np.concatenate([np.minimum(first, second), np.maximum(first, second)], axis=-1)


def _best_first(scores: np.ndarray) -> np.ndarray:
    """The order of scores along the last axis, of equal ones the first first; NaN is the worst.

    To sort numbers that end in their places is faster than to sort places.
    """
    with np.errstate(invalid="ignore"):
        bits = (scores + _FLOAT.type(0)).view(np.int32)  # there is but one zero
    ascending = np.where(np.isnan(scores), _WORST, bits ^ (bits >> 31 & 0x7FFF_FFFF))
    keys: np.ndarray = np.left_shift(~ascending, 32, dtype=np.int64) | np.arange(scores.shape[-1])
    keys.sort(axis=-1)
    keys &= 0xFFFF_FFFF
    return keys


def _how_many(scores: np.ndarray, threshold: np.ndarray | None) -> np.ndarray:
    """How many scores along the last axis suffice."""
    if threshold is None:
        return np.full(scores.shape[:-1], scores.shape[-1])
    enough: np.ndarray = np.count_nonzero(scores >= threshold.item(), axis=-1)
    return enough
