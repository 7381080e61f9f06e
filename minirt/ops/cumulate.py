"""CumSum and CumProd."""

from __future__ import annotations

from math import prod
from typing import Any

from .. import kernels
from ..kernels.arrays import computed, number_dtype
from .arguments import flag, single
from .registry import op
from .shapes import normalized_axis


@op("CumSum", contents=("axis",))
def cum_sum(x, axis, *, exclusive, reverse):
    """Sums of the elements up to each one along ``axis``.

    https://onnx.ai/onnx/operators/onnx__CumSum.html
    """
    return _cumulate(x, axis, exclusive, reverse, multiply=False)


@op("CumProd", contents=("axis",))
def cum_prod(x, axis, *, exclusive, reverse):
    """Products of the elements up to each one along ``axis``.

    https://onnx.ai/onnx/operators/onnx__CumProd.html
    """
    return _cumulate(x, axis, exclusive, reverse, multiply=True)


def _cumulate(x: Any, axis: Any, exclusive: int, reverse: int, *, multiply: bool):
    flags = {"exclusive": flag("exclusive", exclusive), "reverse": flag("reverse", reverse)}
    given, y = single("axis", axis), x.without_value()
    if given is None or x.shape is None:
        return y, None
    along = normalized_axis(given, len(x.shape))

    def thunk():
        count, inner = x.shape[along], prod(x.shape[along + 1 :])
        run = kernels.cumulate(number_dtype(x.dtype), count, inner, multiply=multiply, **flags)
        return computed(lambda x, out: run(x.reshape(-1), out.reshape(-1)), [x], [y])

    return y, thunk
