"""Optionals: values that may be missing. In storage form one is None or its element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.values import element_of
from ..dtypes import BY_NAME
from ..errors import ExecutionError, SchemaError
from ..kernels.arrays import Shaped
from ..types import OptionalType, TensorType, merge
from .registry import Alias, op
from .values import returned

_BOOL = BY_NAME["bool"]


@op("Optional")
def optional(input, *, type):
    """An optional that holds ``input``, or without it an empty one of elements of ``type``.

    https://onnx.ai/onnx/operators/onnx__Optional.html
    """
    element = input or type
    if element is None:
        raise SchemaError("needs an input, or the attribute type")
    if isinstance(element, TensorType):
        element = element.without_value()
    if type is not None:
        element = merge(element, type)
    if element is None:
        raise SchemaError(f"input is {input}, but type says {type}")
    if input is None:
        return OptionalType(element), lambda: lambda _: None
    # Elements outlive the buffers of operands.
    return OptionalType(element), lambda: Shaped(
        lambda value: value.copy() if isinstance(value, np.ndarray) else value
    )


@op("OptionalGetElement", returns=True)
def optional_get_element(input):
    """What an optional holds, which must not be empty; a tensor or sequence as it is.

    https://onnx.ai/onnx/operators/onnx__OptionalGetElement.html
    """
    if not isinstance(input, OptionalType):
        return input, Alias("input")
    element = element_of(input)

    def run(value: Any) -> Any:
        if value is None:
            raise ExecutionError(f"the {input} is empty")
        return returned([value], [element])

    return element, lambda: run


@op("OptionalHasElement")
def optional_has_element(input):
    """Whether an optional holds something, 0-d; always of a tensor or sequence, never of nothing.

    https://onnx.ai/onnx/operators/onnx__OptionalHasElement.html
    """
    result = TensorType(_BOOL, ())
    if not isinstance(input, OptionalType):
        holds = np.array(input is not None, _BOOL.storage)
        holds.flags.writeable = False
        return TensorType(_BOOL, (), holds), None

    def run(value: Any, output: np.ndarray) -> None:
        output[0] = value is not None

    return result, lambda: run
