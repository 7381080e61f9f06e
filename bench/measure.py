"""From a conversion, a size and a number of threads to a measurement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from minirt.dtypes import BY_NAME

from . import calls, peers, timing
from .timing import Quartiles
from .workload import Workload

__all__ = ["Measurement", "Times", "measure"]

_RUN = "run "


@dataclass(frozen=True)
class Times:
    """One contender: seconds a call, how often minirt's fit in, the share of wrong results."""

    seconds: float
    against: Quartiles
    wrong: float


@dataclass(frozen=True)
class Measurement:
    """One conversion of ``size`` bytes of numbers on so many threads."""

    pair: str
    size: int
    threads: int
    moved: int  # bytes in and out; 0 where elements have no size
    times: dict[str, Times] = field(default_factory=dict)

    @property
    def speed(self) -> float:
        """Bytes that minirt moves in a second."""
        return self.moved / self.times["minirt"].seconds

    @property
    def right(self) -> bool:
        """Whether minirt's result is what exact arithmetic gives."""
        return self.times["minirt"].wrong == 0


def measure(
    pair: str, size: int, threads: int, rounds: int, names: Sequence[str] = tuple(peers.PEERS)
) -> Measurement:
    """Check and time one conversion.

    ``pair`` is ``"float->int8"``, or ``"run float->int8"`` for a whole run of a model.
    ``size`` is in bytes of input, of output if the input is text. ``names`` are those of
    contenders; "minirt" has to be first.
    """
    contenders, moved = _contenders(pair, size, threads, names)
    wrong = {}
    for name, peer in contenders.items():
        peer.contender.run()
        wrong[name] = peer.wrong()
    samples = timing.interleave({n: p.contender for n, p in contenders.items()}, rounds)
    times = {
        name: Times(
            float(np.median(seconds)), timing.ratio(seconds, samples["minirt"]), wrong[name]
        )
        for name, seconds in samples.items()
    }
    return Measurement(pair, size, threads, moved, times)


def _contenders(
    pair: str, size: int, threads: int, names: Sequence[str]
) -> tuple[dict[str, peers.Peer], int]:
    """All that can be timed on this, and how many bytes it moves."""
    src, dst = pair.removeprefix(_RUN).split("->")
    elements = size // BY_NAME[dst if src == "string" else src].storage.itemsize
    if pair.startswith(_RUN):
        return calls.runs(src, dst, elements), 0
    if "string" in (src, dst):
        return calls.strings(src, dst, elements, threads)
    work = _workload(src, dst, elements)
    return dict(peers.peers(work, threads, names)), work.moved


# The same buffers serve one number of threads after the other.
_workload = lru_cache(1)(Workload.make)
