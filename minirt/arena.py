"""Buffers laid out in one block of memory."""

from __future__ import annotations

from bisect import insort

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
        self._gaps: list[tuple[int, int]] = []

    def take(self, size: int) -> int:
        """The offset of ``size`` free bytes."""
        size = _aligned(size)
        if not size:
            return 0
        fitting = [(end - start, start, end) for start, end in self._gaps if end - start >= size]
        _, start, end = min(fitting) if fitting else self._grow(size)
        self._gaps.remove((start, end))
        if start + size < end:
            insort(self._gaps, (start + size, end))
        return start

    def give(self, offset: int, size: int) -> None:
        """Free what ``take`` gave, joining it with free neighbours."""
        start, end = offset, offset + _aligned(size)
        if start == end:
            return
        touching = [gap for gap in self._gaps if gap[1] == start or gap[0] == end]
        for gap in touching:
            self._gaps.remove(gap)
            start, end = min(start, gap[0]), max(end, gap[1])
        insort(self._gaps, (start, end))

    def _grow(self, size: int) -> tuple[int, int, int]:
        """Extend the gap at the end, or make one, to hold ``size`` bytes."""
        last = self._gaps[-1] if self._gaps else (0, 0)
        start = last[0] if last[1] == self.bytes else self.bytes
        added = size - (self.bytes - start)
        self.bytes += added
        self.give(self.bytes - added, added)
        return size, start, self.bytes


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
