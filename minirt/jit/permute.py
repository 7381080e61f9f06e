"""Tables of 256 entries in vector registers: 64 look-ups at a time.

An entry of several bytes is looked up byte by byte: a *plane* has one byte of each entry.
One instruction picks bytes of a vector from a few of a plane (its *row*), by the low bits
of as many indices; the other bits choose between the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.extending import intrinsic as _intrinsic

from .target import has_byte_permute

__all__ = ["LINE", "look_up_line", "widest_entry"]

#: Elements of one step.
LINE = 64
_BYTE = ir.IntType(8)
intrinsic: Any = _intrinsic  # its hints count the typing context as an argument
_INDEX = ir.IntType(32)


class _Permute(NamedTuple):
    """The instruction that picks ``lanes`` bytes from a row of ``row`` bytes."""

    lanes: int
    row: int
    name: str


_PERMUTES = {
    "avx512vbmi": _Permute(64, 128, "llvm.x86.avx512.vpermi2var.qi.512"),
    "avx2": _Permute(32, 16, "llvm.x86.avx2.pshuf.b"),
}


def widest_entry() -> int:
    """Bytes of the widest entry that is looked up faster here than by loads; 0 if none is.

    Measured: in elements a nanosecond 29, 18 and 10 for entries of 1, 2 and 4 bytes with
    AVX-512 VBMI, 6 and 3 for 1 and 2 bytes with AVX2, 3 with loads. Four bytes are left
    to arithmetic, which does 13 and more.
    """
    return {"avx512vbmi": 2, "avx2": 1}.get(has_byte_permute(), 0)


@intrinsic
def look_up_line(typingctx, dst, src, at, planes):
    """dst[i] = table[src[i]] for the ``LINE`` elements from ``at`` on.

    ``src`` and ``planes`` are arrays of bytes: byte k of entry i is ``planes[256 * k + i]``.
    Only where :func:`widest_entry` is not 0.
    """

    def generate(context, builder, signature, arguments):
        target, source, table = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(
                (signature.args[0], signature.args[1], signature.args[3]),
                (arguments[0], arguments[1], arguments[3]),
                strict=True,
            )
        )
        size = context.get_abi_sizeof(context.get_data_type(signature.args[0].dtype))
        emitter = _Emitter(builder, _PERMUTES[has_byte_permute()])
        source = builder.gep(source, [arguments[2]])
        target = builder.bitcast(builder.gep(target, [arguments[2]]), _BYTE.as_pointer())
        for part in range(0, LINE, emitter.lanes):
            index = emitter.load(source, part, emitter.lanes)
            columns = [emitter.look_up(table, 256 * plane, index) for plane in range(size)]
            emitter.store(emitter.interleave(columns), target, part * size)
        return context.get_dummy_value()

    return types.void(dst, src, at, planes), generate


class _Emitter:
    """Writes vector instructions."""

    def __init__(self, builder: ir.IRBuilder, permute: _Permute) -> None:
        self.builder, self.permute, self.lanes = builder, permute, permute.lanes

    def load(self, pointer: ir.Value, offset: int, count: int) -> ir.Value:
        vector = self.builder.load(self._vector(pointer, offset, count))
        vector.align = 1
        return vector

    def store(self, vector: ir.Value, pointer: ir.Value, offset: int) -> None:
        target = self._vector(pointer, offset, vector.type.count)
        self.builder.store(vector, target).align = 1

    def _vector(self, pointer: ir.Value, offset: int, count: int) -> ir.Value:
        at = self.builder.gep(pointer, [_INDEX(offset)])
        return self.builder.bitcast(at, ir.VectorType(_BYTE, count).as_pointer())

    def look_up(self, table: ir.Value, start: int, index: ir.Value) -> ir.Value:
        """The byte that each index picks from the 256 at ``start``."""
        row = self.permute.row
        found = [self._pick(table, start + at, index) for at in range(0, 256, row)]
        for bit in range(row.bit_length() - 1, 8):
            found = [
                self._choose(index, bit, *pair)
                for pair in zip(found[::2], found[1::2], strict=True)
            ]
        return found[0]

    def _pick(self, table: ir.Value, start: int, index: ir.Value) -> ir.Value:
        b, kind = self.builder, index.type
        row = [self.load(table, start + at, min(self.permute.row, self.lanes))
               for at in range(0, self.permute.row, self.lanes)]  # fmt: skip
        if len(row) == 2:
            operands = [row[0], index, row[1]]
        else:
            # A row for each half of the vector; bit 7 of an index would make the byte zero.
            spread = self._shuffle(row[0], row[0], list(range(self.permute.row)) * 2)
            operands = [spread, b.and_(index, kind([self.permute.row - 1] * self.lanes))]
        signature = ir.FunctionType(kind, [kind] * len(operands))
        function = b.module.declare_intrinsic(self.permute.name, (), signature)
        return b.call(function, operands)

    def _choose(self, index: ir.Value, bit: int, clear: ir.Value, set_: ir.Value) -> ir.Value:
        """``set_`` where the index has that bit: as the sign, where vectors have it cheap."""
        for _ in range(bit, 7):
            index = self.builder.add(index, index)
        negative = self.builder.icmp_signed("<", index, index.type([0] * self.lanes))
        return self.builder.select(negative, set_, clear)

    def interleave(self, columns: list[ir.Value]) -> ir.Value:
        """The bytes of each element side by side."""
        while len(columns) > 1:
            unit = columns[0].type.count // self.lanes
            places = range(0, columns[0].type.count, unit)
            mask = [
                at + k + side * columns[0].type.count
                for at in places
                for side in (0, 1)
                for k in range(unit)
            ]
            columns = [
                self._shuffle(low, high, mask)
                for low, high in zip(columns[::2], columns[1::2], strict=True)
            ]
        return columns[0]

    def _shuffle(self, a: ir.Value, b: ir.Value, mask: list[int]) -> ir.Value:
        vector = ir.VectorType(_INDEX, len(mask))
        return self.builder.shuffle_vector(a, b, ir.Constant(vector, mask))
