"""CumSum and CumProd."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..kernels.arrays import computed
from .arguments import flag, single
from .registry import op
from .shapes import normalized_axis

if TYPE_CHECKING:
    from ..types import TensorType


@op("CumSum", contents=("axis",))
def cum_sum(x, axis, *, exclusive, reverse):
    """Sums of the elements up to each one along ``axis``.

    https://onnx.ai/onnx/operators/onnx__CumSum.html
    """
    return _cumulate(np.add, x, axis, exclusive, reverse)


@op("CumProd", contents=("axis",))
def cum_prod(x, axis, *, exclusive, reverse):
    """Products of the elements up to each one along ``axis``.

    https://onnx.ai/onnx/operators/onnx__CumProd.html
    """
    return _cumulate(np.multiply, x, axis, exclusive, reverse)


def _cumulate(combine: np.ufunc, x: TensorType, axis: TensorType, exclusive: int, reverse: int):
    without, backwards = flag("exclusive", exclusive), flag("reverse", reverse)
    given, y = single("axis", axis), x.without_value()
    if given is None or x.shape is None:
        return y, None
    along = normalized_axis(given, len(x.shape))

    @np.errstate(all="ignore")
    def run(x, out):
        x, out = np.moveaxis(x, along, 0), np.moveaxis(out, along, 0)
        if backwards:
            x, out = x[::-1], out[::-1]
        if without:
            out[:1] = combine.identity
            x, out = x[:-1], out[1:]
        combine.accumulate(x, 0, x.dtype, out)

    return y, lambda: computed(run, [x], [y])
