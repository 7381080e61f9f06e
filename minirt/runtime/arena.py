"""Buffers laid out in one block of memory."""

from __future__ import annotations

from bisect import bisect_left, insort

__all__ = ["ALIGNMENT", "Arena"]

#: Bytes to which every buffer is aligned: a cache line.
ALIGNMENT = 64


class Arena:
    """Places buffers in one block of memory, those not alive together on the same bytes.

    Best fit over sorted free gaps: buffers come in the order of the steps, so this takes
    near linear time where an optimal layout would not.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._gaps: list[tuple[int, int]] = []  # size and start, sorted
        self._ends: dict[int, int] = {}  # of gaps, by their start
        self._starts: dict[int, int] = {}  # of gaps, by their end

    def take(self, size: int) -> int:
        """The offset of ``size`` free bytes."""
        size = _aligned(size)
        if not size:
            return 0
        place = bisect_left(self._gaps, (size, 0))
        start = self._gaps[place][1] if place < len(self._gaps) else self._grow(size)
        end = self._remove(start)
        if start + size < end:
            self._add(start + size, end)
        return start

    def give(self, offset: int, size: int) -> None:
        """Free what ``take`` gave, joining it with free neighbours."""
        start, end = offset, offset + _aligned(size)
        if start == end:
            return
        if end in self._ends:
            end = self._remove(end)
        if start in self._starts:
            start = self._starts[start]
            self._remove(start)
        self._add(start, end)

    def _grow(self, size: int) -> int:
        """The start of a gap at the end that holds ``size`` bytes, which is extended for that."""
        start, old = self._starts.get(self.bytes, self.bytes), self.bytes
        self.bytes = start + size
        self.give(old, self.bytes - old)
        return start

    def _add(self, start: int, end: int) -> None:
        insort(self._gaps, (end - start, start))
        self._ends[start], self._starts[end] = end, start

    def _remove(self, start: int) -> int:
        """Take the gap at ``start`` out; the end of it."""
        end = self._ends.pop(start)
        del self._starts[end]
        del self._gaps[bisect_left(self._gaps, (end - start, start))]
        return end


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
