"""What is compared, and how much faster than its peers minirt is to be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from minirt.dtypes import TABLE, Kind

from .measure import Measurement
from .timing import Quartiles

__all__ = ["COMPARISONS", "SIZES", "Comparison", "Finding", "findings"]

KB, MB = 1 << 10, 1 << 20
CACHED, LARGE = 4 * MB, 64 * MB
#: Bytes of input.
SIZES = (64 * KB, CACHED, LARGE)

_FLOAT8 = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
_SIGNED = (*_FLOAT8, "float4e2m1", "float6e2m3", "float6e3m2", "float8e8m0", "int4", "int2")
_NARROW = (*_SIGNED, "uint4", "uint2")
_NUMERIC = tuple(d.name for d in TABLE if d.kind not in (Kind.STRING, Kind.COMPLEX))


def _pairs(sources: Iterable[str], targets: Iterable[str]) -> tuple[str, ...]:
    targets = tuple(targets)
    return tuple(f"{src}->{dst}" for src in sources for dst in targets if src != dst)


@dataclass(frozen=True)
class Comparison:
    """Conversions, and how many times as fast as each contender they are to be.

    Contenders: "copy", the peers, and "one thread" for minirt itself on one thread. The
    goals hold for ``sizes`` and, where given, ``threads``; other sizes and numbers of
    threads are measured all the same, unless the comparison is ``fixed``. One that is not
    ``usual`` takes part on demand only.
    """

    name: str
    pairs: tuple[str, ...]
    goals: dict[str, float]
    sizes: tuple[int, ...] = (LARGE,)
    threads: tuple[int, ...] = ()
    fixed: bool = False
    usual: bool = True

    def concerns(self, found: Measurement) -> bool:
        """Whether the goals hold for this measurement."""
        return (
            found.pair in self.pairs
            and found.size in self.sizes
            and (not self.threads or found.threads in self.threads)
        )


#: Every conversion that is timed and checked, and every figure that is to be reached.
COMPARISONS = (
    Comparison(
        "bound by memory alone",
        (
            *_pairs(["float"], ["float16", "bfloat16", "int64", "bool"]),
            *_pairs(["float16", "bfloat16", "double", "int64"], ["float"]),
            "int32->int8",
        ),
        {"copy": 0.9, "ort": 0.95, "torch": 0.95},
    ),
    Comparison("float to int8", ("float->int8",), {"copy": 0.8, "ort": 0.9, "torch": 0.9}),
    Comparison("16 bits to float", _pairs(["float16", "bfloat16"], ["float"]), {"copy": 1.3}),
    Comparison("8 bits to float", _pairs([*_FLOAT8, "int8", "uint8"], ["float"]), {"copy": 1.15}),
    Comparison(
        "float to narrow", _pairs(["float"], _NARROW), {"copy": 0.65, "ort": 10, "torch": 1.3}
    ),
    Comparison(
        "narrow to floats",
        _pairs(_SIGNED, ["float", "float16", "bfloat16"]),
        {"copy": 0.9, "ort": 3},
    ),
    Comparison(
        "floats to float 8",
        _pairs(["float16", "bfloat16", "double"], _FLOAT8),
        {"copy": 0.57, "ort": 10},
    ),
    Comparison(
        "float to float 8 in cache", _pairs(["float"], _FLOAT8), {"copy": 0.25}, (CACHED,), (1,)
    ),
    Comparison(
        "two threads", _pairs(["float"], _NARROW), {"one thread": 1.6}, (CACHED, 16 * MB), (2,)
    ),
    Comparison("to text", ("float->string",), {"ort": 1}, (CACHED,), (1,), fixed=True),
    Comparison("from text", ("string->float",), {"ort": 1 / 0.6}, (CACHED,), (1,), fixed=True),
    Comparison("a whole run", ("run float->float16",), {"ort": 1 / 0.4}, (64,), (1,), fixed=True),
    Comparison(
        "every numeric pair",
        _pairs(_NUMERIC, _NUMERIC),
        {"copy": 0.5, "ort": 1, "numpy": 1},
        usual=False,
    ),
    Comparison(
        "every pair with text",
        (*_pairs(_NUMERIC, ["string"]), *_pairs(["string"], _NUMERIC)),
        {},
        (SIZES[0],),
        (1,),
        fixed=True,
        usual=False,
    ),
)


class Finding(NamedTuple):
    """One goal, and what was found."""

    comparison: Comparison
    measurement: Measurement
    contender: str
    goal: float
    ratio: Quartiles

    @property
    def reached(self) -> bool:
        return self.ratio.median >= self.goal


def findings(
    measurement: Measurement, comparisons: Iterable[Comparison] = COMPARISONS
) -> Iterator[Finding]:
    """What the goals that hold for this measurement come to."""
    for comparison in comparisons:
        if comparison.concerns(measurement):
            for contender, goal in comparison.goals.items():
                times = measurement.times.get(contender)
                if times is not None:
                    yield Finding(comparison, measurement, contender, goal, times.against)
