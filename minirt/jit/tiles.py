"""Square tiles of a matrix, transposed in vector registers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic as _intrinsic

__all__ = ["tile_lanes", "transpose_tile"]

#: Bytes of a vector: every processor has registers of so many.
_VECTOR = 16
_INDEX = ir.IntType(32)
intrinsic: Any = _intrinsic  # its hints count the typing context as an argument


@intrinsic
def tile_lanes(typingctx, array):
    """Rows and columns of the tiles of :func:`transpose_tile`: as many elements as fit a vector."""

    def generate(context, builder, signature, arguments):
        return context.get_constant(types.intp, _lanes(context, array))

    return types.intp(array), generate


@intrinsic
def transpose_tile(typingctx, dst, to, to_step, src, from_, from_step):
    """dst[to + i * to_step + j] = src[from_ + j * from_step + i], for i and j below the lanes."""

    def generate(context, builder, signature, arguments):
        _, to, to_step, _, from_, from_step = arguments
        lanes = _lanes(context, src)
        target, source = (
            context.make_array(signature.args[k])(context, builder, arguments[k]).data
            for k in (0, 3)
        )
        vector = ir.VectorType(context.get_data_type(src.dtype), lanes).as_pointer()

        def place(data, start, step, k):
            at = builder.add(start, builder.mul(step, ir.Constant(step.type, k)))
            return builder.bitcast(builder.gep(data, [at]), vector)

        lines = [builder.load(place(source, from_, from_step, k)) for k in range(lanes)]
        for line in lines:
            line.align = 1
        for k, line in enumerate(_transposed(builder, lines)):
            builder.store(line, place(target, to, to_step, k)).align = 1
        return context.get_dummy_value()

    return types.void(dst, to, to_step, src, from_, from_step), generate


def _lanes(context: Any, array: types.Array) -> int:
    size: int = context.get_abi_sizeof(context.get_data_type(array.dtype))
    return _VECTOR // size


def _transposed(builder: ir.IRBuilder, lines: list[ir.Value]) -> list[ir.Value]:
    """The columns of a square of vectors: to mix lines with those half the square on, repeatedly.

    The bits of an element's place, line and lane together, move on by one each time.
    """
    lanes = len(lines)
    half = lanes // 2
    for _ in range(lanes.bit_length() - 1):
        mixed = []
        for low, high in zip(lines[:half], lines[half:], strict=True):
            for start in (0, half):
                mask = [k + side * lanes for k in range(start, start + half) for side in (0, 1)]
                constant = ir.Constant(ir.VectorType(_INDEX, lanes), mask)
                mixed.append(builder.shuffle_vector(low, high, constant))
        lines = mixed
    return lines
