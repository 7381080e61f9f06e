"""Running a serially compiled kernel in blocks, on several threads.

A kernel is reached through its native address: no parallel code is compiled, and what
the threads run is the very code of the serial call. Between the workers, who know only
functions, and the kernel, whose arguments are laid out as Numba likes them, stands a
*trampoline*: a few instructions, made once for each layout of arguments. Every thread runs
it on one table of 64-bit words; it takes blocks, and calls the kernel for them, until none
is left. It begins with its own share, the same at each launch: what is still in the caches of
its processor from the last one need not come from another's.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import as_dtype

from .jobs import undisturbed
from .threads import resolve
from .workers import workers

__all__ = ["ALIGNMENT", "PAYS", "Launch", "Slot", "share"]

#: Blocks are multiples of so many elements: even at two bits an element one begins on a
#: cache line of its own, and groups of packed elements are never cut.
ALIGNMENT = 512
#: Bytes of all arrays, times the kernel's cost, from which a second thread pays.
PAYS = 6 << 20
#: Elements of a block, at most: a few tens of microseconds of work.
_LARGEST_BLOCK = 256 << 10
#: At least: more would balance better, but each begins with a microsecond of waiting for memory.
_BLOCKS_A_THREAD = 2

# The words before those of the arguments; workers look at the first. After the arguments, where
# the next block of each thread's share starts.
_THREADS, _KERNEL, _SIZE, _SHARE, _BLOCK, _FAILED, _HEADER = range(7)


@dataclass(frozen=True)
class Slot:
    """How a trampoline makes one argument.

    ``bits`` is how far an array advances with each element, None where it is passed
    whole; it may be less than the array's own item: packed elements. ``dtype`` is the NumPy
    type of an array's items, or of a number; None for a codec. ``words`` of the table are
    taken: address, items of a whole array, or number; none for a codec.
    """

    type: types.Type
    bits: int | None = None
    dtype: np.dtype = field(init=False, compare=False, repr=False)
    words: int = field(init=False, compare=False, repr=False, default=0)

    def __post_init__(self) -> None:
        # At once, since a bind asks often, and Numba takes long to tell.
        is_array = isinstance(self.type, types.Array)
        if is_array or isinstance(self.type, types.Number | types.Boolean):
            object.__setattr__(self, "dtype", as_dtype(getattr(self.type, "dtype", self.type)))
            object.__setattr__(self, "words", 2 if is_array and not self.bits else 1)

    def items(self, size: int) -> int:
        """How many items an array of ``size`` elements has."""
        bits = self.dtype.itemsize * 8
        return -(-size * (self.bits or bits) // bits)


def share(slots: Sequence[Slot], size: int, cost: float, threads: int | None) -> int:
    """How many threads should run a kernel over ``size`` elements: 1, or all there are."""
    work = size * cost * sum(slot.bits or 0 for slot in slots) / 8
    if work < PAYS:
        return 1
    return resolve(threads)


class Launch:
    """A kernel at ``address`` with all arguments but the arrays that a call gives.

    ``arguments`` has a number or an array for each slot; anything else is no part of the
    table: an array that the call gives, or a codec.
    """

    def __init__(
        self, address: int, slots: Sequence[Slot], arguments: Sequence[Any], size: int, threads: int
    ) -> None:
        self._trampoline = _trampoline(tuple(map(_canonical, slots)))[1]
        blocks = max(-(-size // (threads * _LARGEST_BLOCK)), _BLOCKS_A_THREAD)
        block = -(-size // (threads * blocks * ALIGNMENT)) * ALIGNMENT
        share = blocks * block
        self._bound = arguments  # keeps their memory
        self._given: list[tuple[int, int]] = []
        used, at = min(threads, -(-size // block)), _HEADER
        table = np.zeros(at + sum(slot.words for slot in slots) + used, np.uint64)
        table[:at] = used, address, size, share, block, 0
        table[-used:] = np.arange(used) * share
        for slot, argument in zip(slots, arguments, strict=True):
            self._enter(table, at, slot, argument)
            at += slot.words
        self._table, self._words = table.tobytes(), ctypes.c_uint64 * table.size

    def _enter(self, table: np.ndarray, at: int, slot: Slot, argument: Any) -> None:
        if not isinstance(slot.type, types.Array):
            if slot.words:
                table[at : at + 1].view(slot.dtype)[0] = argument
        elif isinstance(argument, np.ndarray):
            table[at : at + slot.words] = (_address(argument), argument.size)[: slot.words]
        else:
            self._given.append((at, slot.words))

    def __call__(self, *arrays: np.ndarray) -> bool:
        """Run all blocks; whether each of them succeeded."""
        table = self._words.from_buffer_copy(self._table)
        for (at, words), array in zip(self._given, arrays, strict=True):
            table[at] = _address(array)
            if words == 2:
                table[at + 1] = array.size
        workers().run(self._trampoline, table)
        return not table[_FAILED]


def _address(array: Any) -> int:  # of NumPy; mypy does not take it for a buffer
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError):  # what may not be written to, or is empty: four times as long
        return int(array.__array_interface__["data"][0])


@cache
def _canonical(slot: Slot) -> Slot:
    """The same layout, whatever elements mean: float32 and int32 share a trampoline."""
    if isinstance(slot.type, types.Array):
        return Slot(types.Array(types.CharSeq(slot.dtype.itemsize), 1, "C"), slot.bits)
    return slot if slot.words else Slot(types.voidptr)


_serial = itertools.count()


@cache
def _trampoline(layout: tuple[Slot, ...]) -> tuple[Any, int]:
    """The library that keeps a trampoline alive, and its address."""
    return undisturbed(lambda: _make_trampoline(layout))


def _make_trampoline(layout: tuple[Slot, ...]) -> tuple[Any, int]:
    context = cpu_target.target_context
    name = f"minirt.trampoline.{next(_serial)}"
    word = context.get_value_type(types.intp)
    with global_compiler_lock:
        library = context.codegen().create_library(name)
        module = library.create_ir_module(name)
        kind = ir.FunctionType(ir.VoidType(), [word.as_pointer(), word])
        function = ir.Function(module, kind, name)
        builder = ir.IRBuilder(function.append_basic_block())
        _Trampoline(context, builder, function.args[0]).write(layout, function.args[1])
        library.add_ir_module(module)
        library.finalize()
        return library, library.get_pointer_to_function(name)


class _Trampoline:
    """Writes the instructions of a trampoline that reads ``table``."""

    def __init__(self, context: Any, builder: ir.IRBuilder, table: ir.Value) -> None:
        self.context, self.builder, self.table = context, builder, table
        self.intp = context.get_value_type(types.intp)

    def word(self, index: int) -> ir.Value:
        return self.builder.gep(self.table, [self.intp(index)])

    def read(self, index: int) -> ir.Value:
        return self.builder.load(self.word(index))

    def write(self, layout: tuple[Slot, ...], thread: ir.Value) -> None:
        """Take the blocks of this thread's share, then those of the next, until none is left."""
        b, one, entry = self.builder, self.intp(1), self.builder.block
        threads, size = self.read(_THREADS), self.read(_SIZE)
        share, end = (b.append_basic_block() for _ in range(2))
        b.branch(share)
        b.position_at_end(share)
        owner, tried = b.phi(self.intp), b.phi(self.intp)
        self.take(layout, owner, size)
        following = b.add(owner, one)
        wrapped = b.select(b.icmp_signed("<", following, threads), following, self.intp(0))
        for phi, first, then in ((owner, thread, wrapped), (tried, one, b.add(tried, one))):
            phi.add_incoming(first, entry)
            phi.add_incoming(then, b.block)
        b.cbranch(b.icmp_signed("<", tried, threads), share, end)
        b.position_at_end(end)
        b.ret_void()

    def take(self, layout: tuple[Slot, ...], owner: ir.Value, size: ir.Value) -> None:
        """Take blocks of one thread's share until none is left."""
        b, block = self.builder, self.read(_BLOCK)
        last = b.mul(b.add(owner, self.intp(1)), self.read(_SHARE))
        last = b.select(b.icmp_signed("<", last, size), last, size)
        counters = self.word(_HEADER + sum(slot.words for slot in layout))
        again, some, none = (b.append_basic_block() for _ in range(3))
        b.branch(again)
        b.position_at_end(again)
        start = b.atomic_rmw("add", b.gep(counters, [owner]), block, "monotonic")
        rest = b.sub(last, start)
        b.cbranch(b.icmp_signed(">", rest, self.intp(0)), some, none)
        b.position_at_end(some)
        self.call(layout, start, b.select(b.icmp_signed("<", block, rest), block, rest))
        b.branch(again)
        b.position_at_end(none)

    def call(self, layout: tuple[Slot, ...], start: ir.Value, size: ir.Value) -> None:
        """Call the kernel for ``size`` elements from ``start`` on; note if it fails."""
        b, values, at = self.builder, [], _HEADER
        for slot in layout:
            values.append(self.argument(slot, at, start, size))
            at += slot.words
        convention, kinds = self.context.call_conv, [slot.type for slot in layout]
        kind = convention.get_function_type(types.none, kinds)
        kernel = b.inttoptr(self.read(_KERNEL), kind.as_pointer())
        status, _ = convention.call_function(b, kernel, types.none, kinds, values)
        with b.if_then(status.is_error, likely=False):
            b.store_atomic(self.intp(1), self.word(_FAILED), "monotonic", 8)

    def argument(self, slot: Slot, at: int, start: ir.Value, size: ir.Value) -> ir.Value:
        """The kernel's argument for ``size`` elements from ``start`` on."""
        if not slot.words:
            return self.context.get_constant_null(slot.type)
        if not isinstance(slot.type, types.Array):
            number = self.context.get_data_type(slot.type).as_pointer()
            address = self.builder.bitcast(self.word(at), number)
            return self.context.unpack_value(self.builder, slot.type, address)
        if not slot.bits:
            return self.array(slot.type, self.read(at), self.read(at + 1))
        b, bits = self.builder, slot.dtype.itemsize * 8
        offset = b.lshr(b.mul(start, self.intp(slot.bits)), self.intp(3))
        used = b.add(b.mul(size, self.intp(slot.bits)), self.intp(bits - 1))
        return self.array(slot.type, b.add(self.read(at), offset), b.udiv(used, self.intp(bits)))

    def array(self, kind: types.Array, address: ir.Value, items: ir.Value) -> ir.Value:
        """A one-dimensional array that nobody counts references to."""
        data = self.context.get_value_type(types.CPointer(kind.dtype))
        size = self.intp(as_dtype(kind.dtype).itemsize)
        array = self.context.make_array(kind)(self.context, self.builder)
        populate_array(array, self.builder.inttoptr(address, data), [items], [size], size, None)
        return array._getvalue()
