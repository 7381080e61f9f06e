"""How many threads to use, and the native pool that runs them.

The pools are Numba's, called directly: a loop over blocks needs no parallel code of
ours, so nothing is compiled with ``parallel=True``, and neither Numba's choice of a
threading layer nor its environment is touched.

TBB is preferred: it lets any thread launch at any time, and launches in microseconds.
Where it is missing, and in a forked child of a process that used it, ``workqueue``
serves, which aborts the process when two threads launch at once: a lock keeps ours
apart. OpenMP is never used: it kills a forked child.

Importing this module imports no Numba.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import operator
import os
import sys
import threading
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from types import ModuleType

__all__ = ["Pool", "at_most", "available", "pool", "resolve"]

_TBB = {"win32": "tbb12.dll", "darwin": "libtbb.12.dylib"}.get(sys.platform, "libtbb.so.12")
_WORD = ctypes.sizeof(ctypes.c_ssize_t)
_POOLS = "numba.np.ufunc"
_OLDEST_TBB = 12060  # the interface that Numba's pool is made for, 2021 update 6


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
    return min(wanted, _numba_threads())


_limit: ContextVar[int | None] = ContextVar("limit", default=None)


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


def _numba_threads() -> int:
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


class Pool:
    """A native loop that hands out block numbers to threads; ``name`` is "tbb" or "workqueue"."""

    # function, arguments, dimensions, steps, data, inner dimensions, arrays, threads
    _PROTOTYPE = ctypes.CFUNCTYPE(
        None, *[ctypes.c_void_p] * 5, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int
    )

    def __init__(self, name: str, module: ModuleType) -> None:
        self.name = name
        #: How much more work than with TBB must be there for a launch to pay: 70 µs against 3.
        self.handicap = 8 if name == "workqueue" else 1
        self._one_at_a_time: AbstractContextManager[object] = (
            _lock if name == "workqueue" else nullcontext()
        )
        self._parallel_for = self._PROTOTYPE(module.parallel_for)
        self._most = _numba_threads()
        # Does nothing where this process has its worker threads already.
        ctypes.CFUNCTYPE(None, ctypes.c_int)(module.launch_threads)(self._most)

    def run(self, function: int, table: int, threads: int) -> None:
        """Call a native function over blocks, without the GIL, from at most ``threads`` threads.

        ``table`` is the address of words that begin with 0, the number of blocks (no fewer
        than threads) and 1. ``function`` is the address of ``void f(intp *first, intp *count,
        intp *, intp *table)``; it is called for ranges that together are all blocks.
        """
        # Numba hands out arrays: one that begins at address 0, in steps of 1, counts blocks.
        first, count, step = table, table + _WORD, table + 2 * _WORD
        with self._one_at_a_time:
            self._parallel_for(function, first, count, step, table, 0, 1, min(threads, self._most))


_lock = threading.RLock()
_pool: Pool | None = None
_tbb_is_lost = False


def pool() -> Pool:
    """The pool of this process, started by the first call."""
    global _pool
    if _pool is None:
        with _lock:
            if _pool is None:
                _pool = _tbb() or Pool("workqueue", importlib.import_module(f"{_POOLS}.workqueue"))
    return _pool


def _tbb() -> Pool | None:
    """TBB, unless it is missing or too old, or ``NUMBA_THREADING_LAYER`` asks for workqueue."""
    if _tbb_is_lost or importlib.import_module("numba").config.THREADING_LAYER == "workqueue":
        return None
    for library in _tbb_libraries():
        try:
            # Global, since Numba's pool looks for its symbols among those of the process.
            loaded = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
            if loaded.TBB_runtime_interface_version() < _OLDEST_TBB:
                continue
            return Pool("tbb", importlib.import_module(f"{_POOLS}.tbbpool"))
        except (OSError, AttributeError, ImportError):
            continue
    return None


def _tbb_libraries() -> Iterator[str]:
    """Where TBB may be: pip puts it where the dynamic loader does not look."""
    try:
        files = metadata.files("tbb") or []
    except metadata.PackageNotFoundError:
        files = []
    yield from (str(file.locate()) for file in files if file.name == _TBB)
    yield _TBB


def _forget_pool() -> None:
    """In a forked child: worker threads stayed with the parent.

    A fork that met TBB in the middle of a launch, or came from another thread than TBB was
    started by, may leave it locked for ever; workqueue begins afresh.
    """
    global _pool, _tbb_is_lost
    _tbb_is_lost = _tbb_is_lost or (_pool is not None and _pool.name == "tbb")
    _pool = None
    _lock.release()


if hasattr(os, "register_at_fork"):
    # Held over a fork, so that no launch is under way whose threads the child would miss.
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_forget_pool
    )
