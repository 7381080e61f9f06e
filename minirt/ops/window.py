"""Windows: weights for a stretch of a signal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import kernels
from ..dtypes import BY_NAME
from ..errors import ShapeError
from ..types import Dim, TensorType
from .arguments import single
from .element_types import result_dtype
from .registry import op

if TYPE_CHECKING:
    from ..dtypes import DType

_FLOAT, _DOUBLE = BY_NAME["float"], BY_NAME["double"]


def _window(name: str, least: float, first: float, second: float = 0.0):
    """Register the window ``least + first * s + second * s**2``, where s is a squared sine.

    That is the sum of cosines by which ONNX defines it, without the differences of numbers
    that are nearly the same.
    """
    weights = (least, first, second)

    @op(name, contents=("size",))
    def window(size, *, output_datatype, periodic):
        """``size`` weights over one turn, the last of which is left out if it is ``periodic``.

        They are computed in float64 and rounded once. A single one that is not periodic is NaN,
        as ONNX defines it.
        """
        dtype = result_dtype(name, "output", output_datatype, _FLOAT, "output_datatype")
        count = single("size", size)
        if count is None:
            return TensorType(dtype, (Dim(),)), None
        if count < 0:
            raise ShapeError(f"size={count} is negative")
        turn = count if periodic else count - 1
        return TensorType(dtype, (count,)), lambda: _rounded(weights, count, turn, dtype)

    return window


hann_window = _window("HannWindow", 0, 1)
hamming_window = _window("HammingWindow", 2 / 23, 21 / 23)
blackman_window = _window("BlackmanWindow", 0, 0.36, 0.64)


def _rounded(weights: tuple[float, float, float], count: int, turn: int, dtype: DType):
    """The kernel that writes a window."""
    least, first, second = weights

    def numbers() -> np.ndarray:
        k = np.arange(count)
        with np.errstate(all="ignore"):
            # From the nearer end, where a sine of nearly pi would be off.
            squares = np.sin(np.minimum(k, turn - k) * (np.pi / np.float64(turn))) ** 2
        result: np.ndarray = least + squares * (first + squares * second)
        return result

    if dtype is _DOUBLE:
        return lambda output: np.copyto(output, numbers())
    convert = kernels.convert(_DOUBLE, dtype, count, saturate=True, round_mode="up")
    return lambda output: convert(numbers(), output)
