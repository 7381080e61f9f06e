"""Stores past the caches, for results larger than they are.

An ordinary store first reads the cache line that it writes to. Where nothing of the result
will be found in a cache later, leaving that out moves a third less.

A result is made in blocks on the stack, which are then *streamed* to their place.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic

__all__ = ["BLOCK", "elements_to_line", "fence", "new_block", "stream"]

#: Bytes of a block: a few lines, so that reading and writing overlap.
BLOCK = 2048
_LINE = 64
_BYTE = ir.IntType(8)
intrinsic: Any = _intrinsic  # its hints count the typing context as an argument


@intrinsic
def new_block(typingctx, like):
    """An array on the stack with ``BLOCK`` bytes of elements as ``like`` has."""
    if not isinstance(like, types.Array):
        return None
    result = types.Array(like.dtype, 1, "C")

    def generate(context, builder, signature, arguments):
        item = context.get_data_type(like.dtype)
        size = context.get_abi_sizeof(item)
        memory = cgutils.alloca_once(builder, ir.ArrayType(_BYTE, BLOCK))
        memory.align = _LINE
        array = context.make_array(result)(context, builder)
        intp = context.get_value_type(types.intp)
        context.populate_array(
            array,
            data=builder.bitcast(memory, item.as_pointer()),
            shape=[intp(BLOCK // size)],
            strides=[intp(size)],
            itemsize=intp(size),
            meminfo=None,
        )
        return array._getvalue()

    return result(like), generate


@intrinsic
def elements_to_line(typingctx, array):
    """Elements before the first that begins a cache line; -1 if no element can."""
    if not isinstance(array, types.Array):
        return None

    def generate(context, builder, signature, arguments):
        data = context.make_array(array)(context, builder, arguments[0]).data
        intp = context.get_value_type(types.intp)
        size = intp(context.get_abi_sizeof(context.get_data_type(array.dtype)))
        gap = builder.and_(builder.neg(builder.ptrtoint(data, intp)), intp(_LINE - 1))
        whole = builder.icmp_signed("==", builder.urem(gap, size), intp(0))
        return builder.select(whole, builder.udiv(gap, size), intp(-1))

    return types.intp(array), generate


@intrinsic
def stream(typingctx, target, at, block):
    """Make ``BLOCK`` bytes of ``target`` from element ``at`` on those at the start of ``block``.

    ``at`` begins a cache line. Other threads may see it only after :func:`fence`.
    """

    def generate(context, builder, signature, arguments):
        arrays = zip(signature.args[::2], arguments[::2], strict=True)
        to, from_ = (context.make_array(kind)(context, builder, a).data for kind, a in arrays)
        line = ir.VectorType(ir.IntType(32), _LINE // 4).as_pointer()
        to = builder.bitcast(builder.gep(to, [arguments[1]]), line)
        from_ = builder.bitcast(from_, line)
        hint = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        for index in range(BLOCK // _LINE):
            place = [ir.IntType(32)(index)]
            loaded = builder.load(builder.gep(from_, place))
            stored = builder.store(loaded, builder.gep(to, place))
            loaded.align, stored.align = 1, _LINE
            stored.set_metadata("nontemporal", hint)
        return context.get_dummy_value()

    return types.void(target, at, block), generate


@intrinsic
def fence(typingctx):
    """Let all that was stored be seen before what is stored later."""

    def generate(context, builder, signature, arguments):
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate
