"""Measurements as text and as JSON."""

from __future__ import annotations

import platform
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .comparisons import Finding
from .measure import Measurement
from .peers import PEERS, versions

__all__ = ["header", "line", "machine", "machine_text", "record", "size_text", "summary"]

_AGAINST = tuple(name for name in PEERS if name != "minirt")


def size_text(size: int) -> str:
    """``size`` bytes in the largest unit of which there is one."""
    for unit, name in ((1 << 20, "MB"), (1 << 10, "KB")):
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"


def header() -> str:
    """The title of the columns of :func:`line`."""
    titles = "".join(f"{name:>13}" for name in _AGAINST)
    return f"{'times as fast as':28}{'input':>7}{'thr':>4}{'GB/s':>7}{titles}"


def line(found: Measurement, missed: Iterable[Finding]) -> str:
    """One measurement: how many times as fast as each contender, with half the middle spread.

    ``!`` marks what misses a goal, ``~`` a contender with results that are not exact.
    """
    marks = {finding.contender for finding in missed}
    speed = f"{found.speed / 1e9:7.1f}" if found.moved else " " * 7
    cells = "".join(f"{_cell(found, name, name in marks):>13}" for name in _AGAINST)
    wrong = "" if found.right else f"  WRONG: {found.times['minirt'].wrong:.2%} of the elements"
    return f"{found.pair:28}{size_text(found.size):>7}{found.threads:4}{speed}{cells}{wrong}"


def _cell(found: Measurement, name: str, missed: bool) -> str:
    times = found.times.get(name)
    if times is None:
        return "-"
    low, median, high = times.against
    digits = 2 if median < 10 else 0
    marks = "~" * (times.wrong > 0) + "!" * missed
    return f"{marks}{median:.{digits}f} ±{(high - low) / 2:.{digits}f}"


def summary(findings: Sequence[Finding]) -> Iterator[str]:
    """How far each goal is reached: by how many, the median, and by the last."""
    groups: dict[tuple[str, str, float, int], list[Finding]] = defaultdict(list)
    for finding in findings:
        threads = finding.measurement.threads
        groups[finding.comparison.name, finding.contender, finding.goal, threads].append(finding)
    yield f"{'figure':26}{'thr':>4}  {'against':11}{'goal':>6}{'median':>8}{'least':>7}  reached"
    for (name, contender, goal, threads), group in groups.items():
        ratios = sorted(finding.ratio.median for finding in group)
        least = min(group, key=lambda finding: finding.ratio.median)
        reached = sum(finding.reached for finding in group)
        note = "" if reached == len(group) else f" ({least.measurement.pair} the least)"
        median = ratios[len(ratios) // 2]
        yield (
            f"{name:26}{threads:4}  {contender:11}{goal:6.2f}{median:8.2f}{ratios[0]:7.2f}"
            f"  {reached} of {len(group)}{note}"
        )


def record(found: Iterable[Measurement], findings: Iterable[Finding]) -> dict[str, Any]:
    """Everything, for JSON. Times are in seconds, sizes in bytes."""
    return {
        "machine": machine(),
        "versions": versions(),
        "measurements": [
            {
                "pair": one.pair,
                "input_bytes": one.size,
                "threads": one.threads,
                "moved_bytes": one.moved,
                "contenders": {
                    name: {
                        "seconds": times.seconds,
                        "minirt_is_faster_by": dict(times.against._asdict()),
                        "wrong": times.wrong,
                    }
                    for name, times in one.times.items()
                },
            }
            for one in found
        ],
        "figures": [
            {
                "figure": finding.comparison.name,
                "pair": finding.measurement.pair,
                "input_bytes": finding.measurement.size,
                "threads": finding.measurement.threads,
                "against": finding.contender,
                "goal": finding.goal,
                "median": finding.ratio.median,
                "reached": finding.reached,
            }
            for finding in findings
        ],
    }


def machine() -> dict[str, Any]:
    """What it ran on: processor, caches, processors that may be used, system, Python."""
    from minirt.jit.target import cpu
    from minirt.jit.threads import available

    return {
        "processor": _processor(),
        "compiled_for": cpu()[1],
        "caches": _caches(),
        "threads": available(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def machine_text() -> str:
    """The machine and the versions in two lines."""
    facts = machine()
    caches = " ".join(f"{level} {size}" for level, size in facts["caches"].items())
    used = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        f"{facts['processor']} ({caches}), code for {facts['compiled_for']}, "
        f"{facts['threads']} threads, {facts['system']}\nPython {facts['python']}, {used}"
    )


def _processor() -> str:
    for text in _read(Path("/proc/cpuinfo")).splitlines():
        if text.startswith("model name"):
            return text.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _caches() -> dict[str, str]:
    """Size of each level of the first processor's caches, as Linux tells it."""
    found = {}
    for cache in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind = _read(cache / "level").strip(), _read(cache / "type").strip()
        if kind != "Instruction":
            found[f"L{level}"] = _read(cache / "size").strip()
    return found


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
