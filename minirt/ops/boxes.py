"""NonMaxSuppression."""

from __future__ import annotations

from .. import kernels
from ..dtypes import BY_NAME
from ..kernels.arrays import Shaped
from ..types import Dim, TensorType
from .arguments import flag, single
from .registry import op
from .shapes import fit

_INT64 = BY_NAME["int64"]


@op("NonMaxSuppression", returns=True)
def non_max_suppression(
    boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold, *, center_point_box
):
    """The best boxes of each class that overlap no better one: batch, class and index of each.

    Of two boxes with equal scores the first is the better. A box whose score is the threshold,
    or whose overlap is, is kept.

    https://onnx.ai/onnx/operators/onnx__NonMaxSuppression.html
    """
    centered = flag("center_point_box", center_point_box)
    batches, _, count = fit("scores", scores, Dim(), Dim(), Dim())
    fit("boxes", boxes, batches, count, 4, why=f" for scores {scores}")
    for name, operand in (
        ("max_output_boxes_per_class", max_output_boxes_per_class),
        ("iou_threshold", iou_threshold),
        ("score_threshold", score_threshold),
    ):
        single(name, operand)
    return TensorType(_INT64, (Dim(), 3)), lambda: Shaped(kernels.non_max_suppression(centered))
