"""LpNormalization."""

from __future__ import annotations

import numpy as np

from ..errors import SchemaError
from ..kernels import reductions
from ..kernels.arrays import computed, number_dtype
from .registry import op
from .shapes import normalized_axis

_NORMS = {1: reductions.l1_norms, 2: reductions.l2_norms}


@op("LpNormalization")
def lp_normalization(input, *, axis, p):
    """Each element divided by the Lp norm of its line along ``axis``, which is 0 where that is 0.

    https://onnx.ai/onnx/operators/onnx__LpNormalization.html
    """
    if p not in _NORMS:
        raise SchemaError(f"p={p} is neither 1 nor 2")
    output = input.without_value()
    if input.shape is None:
        return output, None
    along = normalized_axis(axis, len(input.shape))

    def thunk():
        kind = number_dtype(input.dtype)
        measure = _NORMS[p](kind, input.shape, (along,))

        @np.errstate(all="ignore")
        def run(x, out):
            norm = np.empty((*x.shape[:along], 1, *x.shape[along + 1 :]), kind)
            measure(x, norm)
            np.divide(x, norm, out)
            np.copyto(out, 0, where=norm == 0)

        return computed(run, [input], [output])

    return output, thunk
