"""Comparison, logic, and the choice between two tensors, element by element.

https://onnx.ai/onnx/operators/
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import kernels
from ..dtypes import BY_NAME
from ..kernels import arithmetic
from ..kernels.arrays import Shaped, elementwise
from ..types import TensorType
from .arguments import flag
from .elementwise import binary, old_binary, unary
from .registry import op
from .shapes import broadcast

_BOOL = BY_NAME["bool"]

for _name, _function in (
    ("Equal", np.equal),
    ("Less", np.less),
    ("Greater", np.greater),
    ("And", np.logical_and),
    ("Or", np.logical_or),
    ("Xor", np.logical_xor),
):
    old_binary(_name, _function, result=_BOOL)
    binary(_name, _function, result=_BOOL, since=7)

binary("LessOrEqual", np.less_equal, result=_BOOL)
binary("GreaterOrEqual", np.greater_equal, result=_BOOL)
unary("Not", np.logical_not)
unary("IsNaN", np.isnan, result=_BOOL)


#: By whether negative ones and positive ones are detected.
_INFINITIES: dict[tuple[bool, bool], Callable[..., Any]] = {
    (True, True): np.isinf,
    (True, False): lambda x, out: np.equal(x, -np.inf, out=out),
    (False, True): lambda x, out: np.equal(x, np.inf, out=out),
    (False, False): lambda x, out: out.fill(False),
}


@op("IsInf")
def is_inf(X, *, detect_negative, detect_positive):
    """Whether an element is an infinity of a sign that is to be detected."""
    signs = flag("detect_negative", detect_negative), flag("detect_positive", detect_positive)
    function = _INFINITIES[signs]
    Y = X.with_dtype(_BOOL)
    return Y, lambda: elementwise(function, [X], [Y])


@op("Where")
def where(condition, X, Y):
    """The element of ``X`` where ``condition`` holds, else that of ``Y``; of any type."""
    output = TensorType(X.dtype, broadcast(condition, X, Y))

    def thunk() -> Shaped:
        storage, size = X.dtype.storage, output.size or 0
        few = size <= arithmetic.FEW or storage.hasobject
        return Shaped(arithmetic.choose if few else kernels.chooser(storage, size))

    return output, thunk
