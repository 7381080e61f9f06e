"""Arithmetic and rounding, element by element.

Integers wrap around. float16 and bfloat16 are computed in float32 and rounded once.
https://onnx.ai/onnx/operators/
"""

from __future__ import annotations

import numpy as np

from ..kernels import arithmetic
from ..kernels.arrays import elementwise
from ..types import TensorType
from .arguments import flag, single
from .elementwise import binary, broadcasting, old_binary, same_shape, scalar, unary
from .registry import op
from .shapes import broadcast

for _name, _function in (
    ("Add", np.add),
    ("Sub", np.subtract),
    ("Mul", np.multiply),
    ("Div", arithmetic.divide),
):
    old_binary(_name, _function)
    binary(_name, _function, since=7)

old_binary("Pow", arithmetic.power, operands=("X", "Y"))
binary("Pow", arithmetic.power, operands=("X", "Y"), since=7)

unary("Neg", np.negative)
unary("Abs", np.absolute)
unary("Sign", np.sign, operand="input")
unary("Reciprocal", np.reciprocal)
unary("Sqrt", np.sqrt)
unary("Floor", np.floor)
unary("Ceil", np.ceil)
unary("Round", np.rint)
scalar("Exp", "exp", operand="input")
scalar("Log", "log", operand="input")


@op("Mod", inplace=("A", "B"))
def mod(A, B, *, fmod):
    """The remainder of A / B, rounded down, or towards zero with ``fmod``.

    A divisor that is an integer zero gives 0.
    """
    return broadcasting(np.fmod if flag("fmod", fmod) else np.mod, A, B)


# Any number of operands


def _variadic(name, function):
    """Register ``name``: what ``function(arrays, out)`` makes of tensors that are broadcast."""

    def apply(types, shape):
        y = TensorType(types[0].dtype, shape)
        return y, lambda: elementwise(lambda *arrays: function(arrays[:-1], arrays[-1]), types, [y])

    @op(name)
    def old(*data_0):
        return apply(data_0, same_shape(*data_0))

    @op(name, since=8)
    def new(*data_0):
        return apply(data_0, broadcast(*data_0))


_variadic("Sum", arithmetic.total)
_variadic("Mean", arithmetic.mean)
_variadic("Max", arithmetic.largest)
_variadic("Min", arithmetic.smallest)


# Limits


@op("Clip", inplace=("input",))
def clip_without_defaults(input, *, consumed_inputs, max, min):
    """``input`` between two numbers, where None is no limit."""
    return clip_to_attributes(input, max=max, min=min)


@op("Clip", since=6, inplace=("input",))
def clip_to_attributes(input, *, max, min):
    """``input`` between two numbers, by default those of the limits of float32."""
    low, high = -np.inf if min is None else min, np.inf if max is None else max
    return input.without_value(), lambda: elementwise(
        lambda x, out: np.clip(x, low, high, out=out), [input], [input]
    )


@op("Clip", since=11, inplace=("input",))
def clip(input, min, max):
    """Min(max, Max(input, min)), where an omitted one is no limit."""
    for name, limit in (("min", min), ("max", max)):
        single(name, limit)
    return input.without_value(), lambda: elementwise(
        arithmetic.clip, [input, _one(min), _one(max)], [input]
    )


def _one(limit):
    return limit and limit.with_shape()
