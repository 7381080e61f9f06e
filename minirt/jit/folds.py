"""Sums, products and extremes in vector registers, in one order on every processor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable

    #: ``combine(builder, a, b)`` of two vectors
    Combine = Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]

__all__ = ["LANES", "largest_of_lanes", "product_of_lanes", "smallest_of_lanes", "sum_of_lanes"]

#: Partial results: as many as keep the adders of all processors busy.
LANES = 32

intrinsic: Any = _intrinsic  # its hints count the typing context as an argument


@intrinsic
def sum_of_lanes(typingctx, array, start, stop):
    """The sum of array[start:stop] of floats, whose length is a multiple of :data:`LANES`.

    Lane k sums elements k, k + LANES, ...; then the upper half of the lanes is added to the
    lower half until there is one. The sum of nothing is -0, which changes no number.
    """
    return _fold(array, -0.0, lambda builder, a, b: builder.fadd(a, b))


@intrinsic
def largest_of_lanes(typingctx, array, start, stop):
    """The largest of array[start:stop], or a NaN if there is one; see :func:`sum_of_lanes`."""
    return _fold(array, -math.inf, _picker(">"))


@intrinsic
def smallest_of_lanes(typingctx, array, start, stop):
    """The smallest of array[start:stop], or a NaN if there is one; see :func:`sum_of_lanes`."""
    return _fold(array, math.inf, _picker("<"))


@intrinsic
def product_of_lanes(typingctx, array, start, stop):
    """The product of array[start:stop] in float64; see :func:`sum_of_lanes`."""
    return _fold(array, 1.0, lambda builder, a, b: builder.fmul(a, b), types.float64)


def _picker(relation: str) -> Combine:
    """b where it stands in this relation to a, or is NaN; else a."""

    def pick(builder: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
        nearer, nan = builder.fcmp_ordered(relation, b, a), builder.fcmp_unordered("uno", b, b)
        return builder.select(builder.or_(nearer, nan), b, a)

    return pick


def _fold(
    array: types.Type, neutral: float, combine: Combine, carrier: types.Type | None = None
) -> Any:
    """The intrinsic that combines elements, in ``carrier`` if that is wider than they are."""
    if not isinstance(array, types.Array) or not isinstance(array.dtype, types.Float):
        return None

    result = carrier or array.dtype

    def generate(context, builder, signature, arguments):
        _, start, stop = arguments
        data = context.make_array(array)(context, builder, arguments[0]).data
        vector = ir.VectorType(context.get_data_type(array.dtype), LANES)
        wide = ir.VectorType(context.get_data_type(result), LANES)
        lanes = cgutils.alloca_once_value(builder, ir.Constant(wide, [neutral] * LANES))
        step = ir.Constant(start.type, LANES)
        with cgutils.for_range_slice(builder, start, stop, step) as (index, _):
            place = builder.bitcast(builder.gep(data, [index]), vector.as_pointer())
            block = builder.load(place)
            block.align = context.get_abi_sizeof(vector.element)
            block = builder.fpext(block, wide) if wide != vector else block
            builder.store(combine(builder, builder.load(lanes), block), lanes)
        return _halve(builder, builder.load(lanes), combine)

    return result(array, types.intp, types.intp), generate


def _halve(builder: ir.IRBuilder, lanes: ir.Value, combine: Combine) -> ir.Value:
    """Combine the halves of a vector, and those of what comes out, until one element is left."""
    count, index = lanes.type.count, ir.IntType(32)
    while count > 1:
        count //= 2
        kind = ir.VectorType(index, count)
        halves = (
            builder.shuffle_vector(lanes, lanes, ir.Constant(kind, list(range(at, at + count))))
            for at in (0, count)
        )
        lanes = combine(builder, *halves)
    return builder.extract_element(lanes, ir.Constant(index, 0))
