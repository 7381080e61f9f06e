"""Where the time of a run goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .types import Type

__all__ = ["Profile", "StepProfile"]


@dataclass(frozen=True)
class StepProfile:
    """One step of a run: what ran, on which types, for how long.

    ``node`` is where in the model it stands, ``op`` its operator, "" where a result is
    copied. ``bytes`` counts what the step reads and writes of tensors; how much is in
    sequences and the like is not known.
    """

    node: str
    op: str
    operands: tuple[Type | None, ...]
    results: tuple[Type, ...]
    seconds: float
    bytes: int


@dataclass(frozen=True)
class Profile:
    """The steps of one run in execution order; prints as a table."""

    steps: tuple[StepProfile, ...]

    @property
    def seconds(self) -> float:
        """The time of all steps together."""
        return sum(step.seconds for step in self.steps)

    @property
    def bytes(self) -> int:
        """What all steps together read and write of tensors."""
        return sum(step.bytes for step in self.steps)

    def __str__(self) -> str:
        header = ["step", "node", "operands", "results", "µs", "bytes", "GB/s"]
        rows = [
            [str(i), s.node, _types(s.operands), _types(s.results), *_cost(s.seconds, s.bytes)]
            for i, s in enumerate(self.steps)
        ]
        total = ["", "total", "", "", *_cost(self.seconds, self.bytes)]
        return _table([header, *rows, total], left=4)


def _types(types: Iterable[Type | None]) -> str:
    return ", ".join("-" if t is None else str(t) for t in types)


def _cost(seconds: float, count: int) -> list[str]:
    rate = f"{count / seconds / 1e9:.2f}" if seconds and count else "-"
    return [f"{seconds * 1e6:.1f}", f"{count:,}", rate]


def _table(rows: list[list[str]], left: int) -> str:
    """Rows as aligned columns, the first ``left`` of them to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
