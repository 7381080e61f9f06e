"""One LLVM instruction each, on 16-, 32- and 64-bit integer lanes.

Numba widens ``int32 op int32`` to int64, which halves the width of a vector and makes
shifts wrong; these stay in the type that they are given. They wrap on overflow and are
for kernels alone: called from Python they raise NotImplementedError.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending, types

__all__ = [
    "add",
    "and_",
    "ashr",
    "bits",
    "float_to_half",
    "from_bits",
    "half_to_float",
    "leading_zeros",
    "lshr",
    "multiply_add",
    "multiply_high",
    "or_",
    "select",
    "shl",
    "smax",
    "smin",
    "sub",
    "xor",
]

#: Numba's hints describe the function before it is decorated, not how kernels call it.
intrinsic: Any = extending.intrinsic

_LANES = (types.int16, types.int32, types.int64, types.uint8, types.uint16)
_INTEGERS: dict[Any, Any] = {types.int32: types.float32, types.int64: types.float64}
_FLOATS: dict[Any, Any] = {types.float32: types.int32, types.float64: types.int64}
_LLVM = {
    types.int32: ir.IntType(32),
    types.int64: ir.IntType(64),
    types.float32: ir.FloatType(),
    types.float64: ir.DoubleType(),
}


def _binary(name, emit):
    """An intrinsic of two integers of one lane type that ``emit(builder, a, b)`` implements."""

    def typed(typingctx, a, b):
        if a not in _LANES or a != b:
            return None

        def generate(context, builder, signature, arguments):
            return emit(builder, *arguments)

        return a(a, a), generate

    typed.__name__ = typed.__qualname__ = name
    typed.__doc__ = f"``{name.rstrip('_')}`` of two integers of one type."
    return intrinsic(typed)


def _minimum_or_maximum(name):
    def emit(builder, a, b):
        function = builder.module.declare_intrinsic(
            f"llvm.{name}", [a.type], ir.FunctionType(a.type, [a.type, a.type])
        )
        return builder.call(function, [a, b])

    return _binary(name, emit)


add = _binary("add", lambda builder, a, b: builder.add(a, b))
sub = _binary("sub", lambda builder, a, b: builder.sub(a, b))
and_ = _binary("and_", lambda builder, a, b: builder.and_(a, b))
or_ = _binary("or_", lambda builder, a, b: builder.or_(a, b))
xor = _binary("xor", lambda builder, a, b: builder.xor(a, b))
shl = _binary("shl", lambda builder, a, b: builder.shl(a, b))
lshr = _binary("lshr", lambda builder, a, b: builder.lshr(a, b))
ashr = _binary("ashr", lambda builder, a, b: builder.ashr(a, b))
smin = _minimum_or_maximum("smin")
smax = _minimum_or_maximum("smax")


@intrinsic
def select(typingctx, condition, a, b):
    """``a`` where ``condition`` (boolean) holds, else ``b``: no branch, so loops vectorise."""
    if condition != types.boolean or a != b:
        return None

    def generate(context, builder, signature, arguments):
        return builder.select(*arguments)

    return a(condition, a, b), generate


@intrinsic
def bits(typingctx, x):
    """The bits of a float32 as int32, of a float64 as int64."""
    if x not in _FLOATS:
        return None

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], _LLVM[signature.return_type])

    return _FLOATS[x](x), generate


@intrinsic
def from_bits(typingctx, x):
    """The float32 that has the bits of an int32, the float64 of an int64."""
    if x not in _INTEGERS:
        return None

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], _LLVM[signature.return_type])

    return _INTEGERS[x](x), generate


@intrinsic
def multiply_add(typingctx, a, b, c):
    """``a * b + c`` of three float32 or float64, rounded once: the same on every processor."""
    if a not in _FLOATS or a != b or a != c:
        return None

    def generate(context, builder, signature, arguments):
        return builder.fma(*arguments)

    return a(a, b, c), generate


@intrinsic
def half_to_float(typingctx, x):
    """float16 bits (uint16) to float32, exact; only where :func:`~minirt.jit.target.has_half`."""
    if x != types.uint16:
        return None

    def generate(context, builder, signature, arguments):
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    return types.float32(x), generate


@intrinsic
def float_to_half(typingctx, x):
    """float32 to float16 bits (uint16), to nearest even; only where the target has it.

    There is none from float64 on purpose: LLVM aborts the process on it.
    """
    if x != types.float32:
        return None

    def generate(context, builder, signature, arguments):
        return builder.bitcast(builder.fptrunc(arguments[0], ir.HalfType()), ir.IntType(16))

    return types.uint16(x), generate


@intrinsic
def multiply_high(typingctx, a, b):
    """The upper 64 bits of the product of two uint64."""
    if a != types.uint64 or b != types.uint64:
        return None

    def generate(context, builder, signature, arguments):
        double = ir.IntType(128)
        product = builder.mul(*(builder.zext(x, double) for x in arguments))
        return builder.trunc(builder.lshr(product, double(64)), ir.IntType(64))

    return types.uint64(a, b), generate


@intrinsic
def leading_zeros(typingctx, x):
    """How many of the upper bits of a uint64 are zero, 64 of zero itself."""
    if x != types.uint64:
        return None

    def generate(context, builder, signature, arguments):
        return builder.ctlz(arguments[0], ir.IntType(1)(0))

    return types.uint64(x), generate
