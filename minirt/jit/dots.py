"""Products of integers of 16 bits, summed in vector registers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic

__all__ = ["COLUMNS", "DEPTH", "ROWS", "dot_tile"]

#: A tile has so many rows and columns: as many sums as registers of 256 bits hold.
ROWS, COLUMNS = 2, 4
#: Integers that are multiplied at once.
DEPTH = 16

_INDEX, _INT32 = ir.IntType(32), ir.IntType(32)
intrinsic: Any = _intrinsic  # its hints count the typing context as an argument


@intrinsic
def dot_tile(typingctx, y, at, step, a, a_at, b, b_at, depth):
    """y[at + i * step + j] = the sum over k of a[a_at + i * depth + k] * b[b_at + j * depth + k].

    i is below :data:`ROWS`, j below :data:`COLUMNS`, and ``depth`` a multiple of :data:`DEPTH`.
    ``a`` and ``b`` are int16, ``y`` is int32, in which sums wrap around. Processors have one
    instruction for the products of a register, added in pairs; LLVM finds it in this form.
    """
    if a.dtype != types.int16 or b.dtype != types.int16 or y.dtype != types.int32:
        return None

    def generate(context, builder, signature, arguments):
        y_data, a_data, b_data = (
            context.make_array(signature.args[k])(context, builder, arguments[k]).data
            for k in (0, 3, 5)
        )
        at, step, a_at, b_at, depth = (arguments[k] for k in (1, 2, 4, 6, 7))
        zero = ir.Constant(ir.VectorType(_INT32, DEPTH // 2), None)
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(ROWS * COLUMNS)]
        with cgutils.for_range_slice(
            builder, ir.Constant(depth.type, 0), depth, ir.Constant(depth.type, DEPTH)
        ) as (k, _):
            left = [_load(builder, a_data, a_at, depth, i, k) for i in range(ROWS)]
            right = [_load(builder, b_data, b_at, depth, j, k) for j in range(COLUMNS)]
            for place, (x, z) in zip(sums, ((x, z) for x in left for z in right), strict=True):
                builder.store(builder.add(builder.load(place), _pairs(builder, x, z)), place)
        for position, place in enumerate(sums):
            i, j = divmod(position, COLUMNS)
            target = builder.add(at, builder.mul(step, ir.Constant(step.type, i)))
            target = builder.add(target, ir.Constant(step.type, j))
            builder.store(_total(builder, builder.load(place)), builder.gep(y_data, [target]))
        return context.get_dummy_value()

    index = types.intp
    return types.void(y, index, index, a, index, b, index, index), generate


def _load(
    builder: ir.IRBuilder, data: ir.Value, at: ir.Value, step: ir.Value, line: int, k: ir.Value
) -> ir.Value:
    """DEPTH integers of a line, as int32."""
    start = builder.add(at, builder.mul(step, ir.Constant(step.type, line)))
    place = builder.gep(data, [builder.add(start, k)])
    block = builder.load(builder.bitcast(place, ir.VectorType(ir.IntType(16), DEPTH).as_pointer()))
    block.align = 2
    return builder.sext(block, ir.VectorType(_INT32, DEPTH))


def _shuffled(builder: ir.IRBuilder, vector: ir.Value, places: range) -> ir.Value:
    mask = ir.Constant(ir.VectorType(_INDEX, len(places)), list(places))
    return builder.shuffle_vector(vector, vector, mask)


def _pairs(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """The products, added in pairs of neighbours."""
    product = builder.mul(a, b)
    even, odd = (_shuffled(builder, product, range(first, DEPTH, 2)) for first in (0, 1))
    return builder.add(even, odd)


def _total(builder: ir.IRBuilder, vector: ir.Value) -> ir.Value:
    count = vector.type.count
    while count > 1:
        count //= 2
        halves = (_shuffled(builder, vector, range(at, at + count)) for at in (0, count))
        vector = builder.add(*halves)
    return builder.extract_element(vector, ir.Constant(_INDEX, 0))
