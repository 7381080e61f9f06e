"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import fnmatch
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from minirt.jit.threads import available

from . import chart, report
from .comparisons import COMPARISONS, SIZES, Comparison, Finding, findings
from .measure import Measurement, measure
from .peers import PEERS

__all__ = ["main"]

T = TypeVar("T")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark that ``arguments`` (default: the command line's) name."""
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as stop:  # argparse has said why
        return int(stop.code or 0)
    if options.quick:
        options.rounds = min(options.rounds, 5)
        options.sizes = options.sizes or list(SIZES[:-1])
    print(report.machine_text())
    print(report.header())
    names = [name for name in PEERS if name == "minirt" or name in options.peers]
    found: list[Measurement] = []
    reached: list[Finding] = []
    for pair, size, threads in _plan(options):
        one = measure(pair, size, threads, options.rounds, names)
        goals = list(findings(one))
        print(report.line(one, [goal for goal in goals if not goal.reached]), flush=True)
        found.append(one)
        reached += goals
    print(*report.summary(reached), sep="\n")
    if options.json:
        text = json.dumps(report.record(found, reached), indent=1)
        options.json.write_text(text + "\n")
    if options.chart:
        chart.write(options.chart, found)
    return 0 if all(one.right for one in found) else 1


def _plan(options: argparse.Namespace) -> Iterator[tuple[str, int, int]]:
    """What to measure, each thing once."""
    wanted: dict[tuple[str, int, int], None] = {}
    for comparison in COMPARISONS:
        if not (comparison.usual or options.all_pairs):
            continue
        for pair in _matching(comparison.pairs, options.pairs):
            for size in _sizes(comparison, options):
                for threads in _threads(comparison, options):
                    wanted[pair, size, threads] = None
    return iter(wanted)


def _matching(pairs: Iterable[str], patterns: Sequence[str]) -> Iterator[str]:
    for pair in pairs:
        if not patterns or any(fnmatch.fnmatchcase(pair, pattern) for pattern in patterns):
            yield pair


def _sizes(comparison: Comparison, options: argparse.Namespace) -> Iterable[int]:
    if comparison.fixed or not comparison.usual:
        return comparison.sizes
    return options.sizes or sorted({*SIZES, *comparison.sizes})


def _threads(comparison: Comparison, options: argparse.Namespace) -> Iterable[int]:
    if comparison.fixed:
        return comparison.threads
    return options.threads or ((1, available()) if comparison.usual else (1,))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description="Speed of minirt beside its peers.")
    commands = parser.add_subparsers(required=True, metavar="BENCHMARK")
    cast = commands.add_parser(
        "cast",
        help="element type conversion, against copying memory and against the peers",
        description="Time conversions, interleaved with a copy of as many bytes and with the "
        "best call of each peer that is installed, after checking every result.",
    )
    cast.add_argument(
        "--pairs",
        type=_listed(str),
        default=[],
        metavar="PATTERN,...",
        help="only these conversions, such as 'float->float8*,*->bfloat16'",
    )
    cast.add_argument(
        "--sizes",
        type=_listed(_size),
        metavar="SIZE,...",
        help="bytes of input (default: 64K,4M,64M and what some goals need)",
    )
    cast.add_argument(
        "--threads", type=_listed(int), metavar="N,...", help="default: 1, and all there are"
    )
    cast.add_argument("--rounds", type=int, default=15, metavar="N", help="default: 15")
    cast.add_argument("--quick", action="store_true", help="fewer rounds, and no large sizes")
    cast.add_argument("--all-pairs", action="store_true", help="also every numeric conversion")
    cast.add_argument(
        "--peers",
        type=_listed(_peer),
        default=list(PEERS),
        metavar="NAME,...",
        help=f"of {', '.join(PEERS)}",
    )
    cast.add_argument("--json", type=Path, metavar="FILE", help="write all figures to it")
    cast.add_argument("--chart", type=Path, metavar="FILE", help="draw them (.svg, .png)")
    return parser


def _listed(kind: Callable[[str], T]) -> Callable[[str], list[T]]:
    """The parser of a list, separated by commas."""

    def parse(text: str) -> list[T]:
        return [kind(item) for item in text.split(",")]

    parse.__name__ = f"list of {kind.__name__.strip('_')}s"  # argparse names it in its messages
    return parse


def _size(text: str) -> int:
    unit = _UNITS.get(text[-1:].upper())
    return int(text[:-1]) * unit if unit else int(text)


def _peer(text: str) -> str:
    if text not in PEERS:
        raise ValueError(text)
    return text
