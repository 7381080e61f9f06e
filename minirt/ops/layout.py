"""Operators that move elements, or only look at them in another way."""

from __future__ import annotations

from .registry import Alias, op


@op("Identity")
def identity(input):
    """``input`` itself, of any type.

    https://onnx.ai/onnx/operators/onnx__Identity.html
    """
    return input, Alias("input")
