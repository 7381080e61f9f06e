"""Interleaved timing: on a shared machine only what runs side by side can be compared."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

__all__ = ["Contender", "Quartiles", "interleave", "ratio"]

_SAMPLE = 3e-3  # seconds that one reading of the clock spans, at least
_LONG = 20e-3  # seconds of a call that finds nothing in the caches that the last one left
_PAUSE = 10e-3  # seconds in which a busy thread shows
_FAR = 4  # times as slow as the first contender: a few rounds tell all there is to know
_FEW = 3


class Contender(NamedTuple):
    """Something to time. ``spins``: its threads stay busy for a while after a call."""

    run: Callable[[], object]
    spins: bool = False


class Quartiles(NamedTuple):
    """Median, and the quartiles around it."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: np.ndarray) -> Quartiles:
        return cls(*map(float, np.percentile(values, (25, 50, 75))))


def interleave(contenders: Mapping[str, Contender], rounds: int) -> dict[str, np.ndarray]:
    """Seconds a call for each round: A, B, C, A, B, C ...

    A sample follows as many untimed calls, so that the caches hold what they would in a loop of
    such calls. A contender far behind the first takes part in the first rounds only. All
    are expected to have run before.
    """
    first = next(iter(contenders))
    estimates = {name: _estimate(contender.run) for name, contender in contenders.items()}
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    collects = gc.isenabled()
    gc.disable()
    try:
        for index in range(rounds):
            for name, contender in contenders.items():
                if index < _FEW or estimates[name] < _FAR * estimates[first]:
                    samples[name].append(_sample(contender, estimates[name]))
    finally:
        if collects:
            gc.enable()
    return {name: np.array(values) for name, values in samples.items()}


def ratio(slower: np.ndarray, faster: np.ndarray) -> Quartiles:
    """How many times ``faster`` fits into ``slower``, round by round."""
    shared = min(slower.size, faster.size)
    return Quartiles.of(slower[:shared] / faster[:shared])


def _estimate(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _sample(contender: Contender, estimate: float) -> float:
    calls = max(1, round(_SAMPLE / max(estimate, 1e-7)))
    run = contender.run
    if estimate < _LONG:
        for _ in range(calls):
            run()
    start = time.perf_counter()
    for _ in range(calls):
        run()
    seconds = (time.perf_counter() - start) / calls
    if contender.spins:
        _wait_for_silence()
    return seconds


def _wait_for_silence() -> None:
    """Until no thread of this process is busy: those of a peer would slow down the next.

    ONNX Runtime's look for work for 40 milliseconds before they go to sleep.
    """
    busy = _PAUSE
    while busy > _PAUSE / 10:
        start = time.process_time()
        time.sleep(_PAUSE)
        busy = time.process_time() - start
