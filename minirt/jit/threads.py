"""How many threads to use. Importing this module imports no Numba."""

from __future__ import annotations

import importlib
import math
import operator
import os
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

__all__ = ["at_most", "available", "limit", "numba_threads", "resolve"]


def resolve(threads: int | None = None) -> int:
    """``threads``, else the limit of :func:`at_most`, else ``MINIRT_NUM_THREADS``, else all.

    All are those that are :func:`available`; it is never more than Numba's limit.
    InputError unless it is a positive whole number.
    """
    threads = _limit.get() if threads is None else threads
    if threads is not None:
        wanted = _positive("threads", threads)
    elif variable := os.environ.get("MINIRT_NUM_THREADS"):
        wanted = _positive("MINIRT_NUM_THREADS", variable)
    else:
        wanted = available()
    return min(wanted, numba_threads())


_limit: ContextVar[int | None] = ContextVar("limit", default=None)


def limit() -> int | None:
    """What :func:`at_most` was told around here, None for nothing."""
    return _limit.get()


def at_most(threads: int | None) -> AbstractContextManager[None]:
    """A context in which kernels are bound to run on ``threads`` threads, None for the default.

    InputError, at once, unless it is a positive whole number.
    """
    if threads is not None:
        _positive("threads", threads)
    return _limited(threads)


@contextmanager
def _limited(threads: int | None) -> Iterator[None]:
    token = _limit.set(threads)
    try:
        yield
    finally:
        _limit.reset(token)


def _positive(name: str, value: int | str) -> int:
    try:
        number = int(value) if isinstance(value, str) else operator.index(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1:
        raise InputError(f"{name}={value!r} is no number of threads; give 1 or more")
    return number


def numba_threads() -> int:
    """The most that Numba uses: ``NUMBA_NUM_THREADS``, else the processors it found."""
    return int(importlib.import_module("numba").config.NUMBA_NUM_THREADS)


def available() -> int:
    """The processors that this process may use: its CPU affinity, cut to its cgroup's quota."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = getattr(os, "process_cpu_count", os.cpu_count)() or 1
    # Down to whole processors: one thread without its share stops all that wait for it.
    return max(1, int(min(count, _quota())))


@cache
def _quota() -> float:
    """The smallest CPU quota over this process: once, since it costs a dozen files to read."""
    return min(_quotas(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")), default=math.inf)


def _quotas(membership: Path, mount: Path) -> Iterator[float]:
    """The CPU quotas, in processors, of this process's control group and those around it."""
    for line in _read(membership).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = mount / controllers
        here = top / group.strip("/")
        for folder in (here, *here.parents):
            if not folder.is_relative_to(top):
                break
            yield from _quota_of(folder)


def _quota_of(folder: Path) -> Iterator[float]:
    text = _read(folder / "cpu.max")  # version 2: "quota period", where quota may be "max"
    if not text:  # version 1: two files, -1 for no quota
        text = f"{_read(folder / 'cpu.cfs_quota_us')} {_read(folder / 'cpu.cfs_period_us')}"
    words = text.split()
    if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]):
        yield int(words[0]) / int(words[1])


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
