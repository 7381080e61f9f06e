"""NonMaxSuppression. Expected: greedy selection, with areas in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from cases import Case

from minirt.errors import ExecutionError, SchemaError, ShapeError


def edges(box, centered):
    """The ranges of a box along both axes, as exact numbers."""
    a, b, c, d = (Fraction(float(x)) for x in box)
    corners = (a - c / 2, b - d / 2, a + c / 2, b + d / 2) if centered else (a, b, c, d)
    return [(min(pair), max(pair)) for pair in zip(corners[:2], corners[2:], strict=True)]


def area(box):
    (a, b), (c, d) = box
    return (b - a) * (d - c)


def overlap(one, other):
    """The intersection of two boxes divided by their union."""
    shared = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(one, other, strict=True)]
    if any(low >= high for low, high in shared):
        return Fraction(0)
    return area(shared) / (area(one) + area(other) - area(shared))


def non_max_suppression(
    boxes, scores, most=None, iou_threshold=None, score_threshold=None, *, center_point_box=0
):
    most = 0 if most is None else most.item()
    limit = Fraction(0 if iou_threshold is None else iou_threshold.item())
    least = -math.inf if score_threshold is None else score_threshold.item()
    rows = []
    for batch, kind in np.ndindex(scores.shape[:2]):
        ranges = [edges(box, center_point_box) for box in boxes[batch]]
        better_first = sorted(range(len(ranges)), key=lambda i: (-scores[batch, kind, i], i))
        kept = []
        for i in better_first:
            fits = all(overlap(ranges[i], ranges[j]) <= limit for j in kept)
            if scores[batch, kind, i] >= least and fits and len(kept) < most:
                kept.append(i)
        rows += [[batch, kind, i] for i in kept]
    return np.array(rows, np.int64).reshape(-1, 3)


F32, INT64 = np.float32, np.int64
#: The first three overlap: by 9/11, by 2/3 and by 1/3; then one by a half of the fourth.
BOXES = F32([[[0, 0, 10, 10], [0, 1, 10, 11], [5, 0, 15, 10], [20, 20, 30, 30], [20, 20, 25, 30]]])
SCORES = F32([[[0.5, 0.75, 0.25, 0.5, 0.625], [0, -1, 1, 1, 0.5]]])
MOST, HALF = INT64([10]), F32([0.5])


def crowd():
    """Two batches of many boxes, with scores for three classes."""
    chance = np.random.default_rng(5)
    corners = chance.random((2, 60, 2)) * 10
    boxes = np.concatenate([corners, corners + chance.random((2, 60, 2)) * 6], axis=-1)
    return boxes.astype(F32), chance.integers(0, 20, (2, 3, 60)).astype(F32)


def right(*cases):
    """Rows of inputs and attributes, each with a name."""
    op, function = "NonMaxSuppression", non_max_suppression
    return [Case(op, inputs, function, attributes, id=name) for name, inputs, attributes in cases]


def wrong(*cases):
    """Rows of inputs, attributes, and the class and text of the error."""
    op = "NonMaxSuppression"
    return [
        Case(op, inputs, attributes=attributes, raises=(kind, text), id="refused")
        for inputs, attributes, kind, text in cases
    ]


CASES = [
    *(
        Case("NonMaxSuppression", (BOXES, SCORES, MOST, HALF, F32([0])), non_max_suppression, {}, v)
        for v in (10, 11)
    ),
    *right(
        ("without the most", (BOXES, SCORES), {}),
        ("none at most", (BOXES, SCORES, INT64([0]), HALF), {}),
        ("fewer than none", (BOXES, SCORES, INT64([-3]), HALF), {}),
        ("two at most", (BOXES, SCORES, INT64(2), HALF), {}),
        ("no overlap at all", (BOXES, SCORES, MOST), {}),
        ("any overlap", (BOXES, SCORES, MOST, F32(1)), {}),
        ("as much as allowed", (BOXES[:, 3:], SCORES[:, :, 3:], MOST, HALF), {}),
        ("score as low as allowed", (BOXES, SCORES, MOST, F32(1), F32([0.5])), {}),
        ("score threshold alone", (BOXES, SCORES, MOST, None, F32([0.5])), {}),
        ("other corners", (BOXES[..., [2, 1, 0, 3]], SCORES, MOST, HALF), {}),
        ("centered", (BOXES, SCORES, MOST, HALF), {"center_point_box": 1}),
        ("crowd", (*crowd(), INT64(20), F32(0.25), F32(3)), {}),
        ("centered crowd", (*crowd(), INT64(60), F32(0.4)), {"center_point_box": 1}),
        ("empty boxes", (BOXES * 0, SCORES, MOST, F32(0)), {}),
        ("no boxes", (BOXES[:, :0], SCORES[:, :, :0], MOST), {}),
        ("no classes", (BOXES, SCORES[:, :0], MOST), {}),
        ("no batches", (BOXES[:0], SCORES[:0], MOST), {}),
        ("infinite scores", (BOXES, np.where(SCORES > 0.5, F32(np.inf), SCORES), MOST, HALF), {}),
    ),
    Case(
        "NonMaxSuppression",
        (BOXES[:, 2:], np.uint32([[[0x7F80_0001, 0xFF80_0000, 0]]]).view(F32), MOST, F32(1)),
        INT64([[0, 0, 2], [0, 0, 1], [0, 0, 0]]),
        id="not numbers",
    ),
    Case(
        "NonMaxSuppression",
        (BOXES[:, 2:], F32([[[math.nan, -math.inf, 0]]]), MOST, F32(1), F32(-math.inf)),
        INT64([[0, 0, 2], [0, 0, 1]]),
        id="numbers alone suffice",
    ),
    Case(
        "NonMaxSuppression",
        (BOXES[:, 2:], F32([[[-0.0, 0, -0.0]]]), MOST, F32(1)),
        INT64([[0, 0, 0], [0, 0, 1], [0, 0, 2]]),
        id="zeros",
    ),
    *wrong(
        (
            *((BOXES, SCORES, MOST, F32([1.5])), {}),
            *(ExecutionError, "iou_threshold = 1.5 is not in [0, 1]"),
        ),
        (
            *((BOXES, SCORES, MOST, F32([math.nan])), {}),
            *(ExecutionError, "iou_threshold = nan is not in [0, 1]"),
        ),
        (
            *((BOXES[:, :4], SCORES), {}),
            *(ShapeError, "boxes is float[1,4,4], but must be float[1,5,4] for scores"),
        ),
        ((BOXES[0], SCORES), {}, ShapeError, "boxes is float[5,4], but must be float[1,5,4]"),
        ((BOXES, SCORES[0]), {}, ShapeError, "scores is float[2,5], but must be float[?,?,?]"),
        (
            *((BOXES, SCORES, INT64([1, 2])), {}),
            *(ShapeError, "max_output_boxes_per_class is int64[2], but must be a single value"),
        ),
        ((BOXES, SCORES), {"center_point_box": 2}, SchemaError, "center_point_box=2 is neither"),
    ),
]
