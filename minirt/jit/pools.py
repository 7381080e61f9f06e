"""The threads that run kernels in blocks.

TBB is preferred: any thread may launch at any time, in two microseconds and without the GIL.
It is reached through Numba's binding, called directly: nothing is compiled with
``parallel=True``, and neither Numba's choice of a threading layer nor its environment is
touched. Numba's own start of TBB is left out. It would bring handlers that wait, at each
fork, until TBB's threads have ended, and complain on stderr where they do not.

Where TBB is missing, and in a forked child of a process that had it, threads of Python's
own serve. They launch in 5 to 25 microseconds. Numba's other layers do not serve: workqueue
takes 50 and aborts the process when two threads launch at once, OpenMP kills a forked child.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, Protocol

from .threads import numba_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

__all__ = ["Pool", "PythonThreads", "Tbb", "pool"]

_LIBRARY = {"win32": "tbb12.dll", "darwin": "libtbb.12.dylib"}.get(sys.platform, "libtbb.so.12")
_BINDING = "numba.np.ufunc.tbbpool"
_OLDEST = 12060  # the interface that the binding is made for, 2021 update 6


class Pool(Protocol):
    """Threads that call one native function together."""

    @property
    def name(self) -> str:
        """``"tbb"`` or ``"threads"``."""

    @property
    def handicap(self) -> int:
        """How much more work than with TBB must be there for a launch to pay."""

    def run(self, function: int, table: Any, memory: object) -> None:
        """Call ``void function(void *, void *, void *, word *table)`` from several threads.

        ``table`` is a ctypes array of words; the first says how many threads, one of them
        this. The function is called once at least, and shares the work out itself. All calls
        have ended when this returns. Should it be interrupted, ``table`` and ``memory`` are
        kept for as long as a call lasts.
        """


class Tbb:
    """TBB's threads, as many as there are processors."""

    name, handicap = "tbb", 1

    def __init__(self, binding: ModuleType) -> None:
        # function, arguments, dimensions, steps, data, inner dimensions, arrays, threads
        launch = ctypes.CFUNCTYPE(
            None, *[ctypes.c_void_p] * 5, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int
        )
        self._parallel_for = launch(binding.parallel_for)
        self._get_threads = ctypes.PYFUNCTYPE(ctypes.c_int)(binding.get_num_threads)
        self._set_threads = ctypes.PYFUNCTYPE(None, ctypes.c_int)(binding.set_num_threads)

    def run(self, function: int, table: Any, memory: object) -> None:
        """See :meth:`Pool.run`."""
        # A launch leaves its number of threads behind as what the user chose for this thread
        # with numba.set_num_threads: 0 for nothing, which is told as -1.
        chosen = self._get_threads()
        self._parallel_for(function, None, table, None, table, 0, 0, table[0])
        self._set_threads(max(chosen, 0))


class PythonThreads:
    """Threads of Python's own: they need the GIL to begin and to end, not to work."""

    name, handicap = "threads", 2

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(max(1, numba_threads() - 1), "minirt")

    def run(self, function: int, table: Any, memory: object) -> None:
        """See :meth:`Pool.run`."""
        helpers = []
        try:
            with suppress(RuntimeError):  # no more threads to be had, or Python is ending
                for _ in range(table[0] - 1):
                    helpers.append(self._executor.submit(_call, function, table, memory))
            _call(function, table, memory)
        finally:
            # What has not begun by now would find nothing left to do.
            for helper in helpers:
                if not helper.cancel():
                    helper.result()


def _call(function: int, table: Any, memory: object) -> None:
    _callable(function)(None, None, None, table)


@cache
def _callable(function: int) -> Callable[..., None]:
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(function)


_lock = threading.RLock()
_pool: Pool | None = None
_tbb_is_lost = False


def pool() -> Pool:
    """The pool of this process, started by the first call."""
    global _pool
    if _pool is None:
        with _lock:
            if _pool is None:
                _pool = _tbb() or PythonThreads()
    return _pool


def _tbb() -> Tbb | None:
    """TBB, unless it is missing or too old, or ``NUMBA_THREADING_LAYER`` asks for workqueue."""
    if _tbb_is_lost or importlib.import_module("numba").config.THREADING_LAYER == "workqueue":
        return None
    for library in _libraries():
        try:
            # Global, since Numba's binding looks for its symbols among those of the process.
            loaded = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
            if loaded.TBB_runtime_interface_version() >= _OLDEST:
                return Tbb(importlib.import_module(_BINDING))
        except (OSError, AttributeError, ImportError):
            continue
    return None


def _libraries() -> Iterator[str]:
    """Where TBB may be: pip puts it where the dynamic loader does not look."""
    try:
        files = metadata.files("tbb") or []
    except metadata.PackageNotFoundError:
        files = []
    yield from (str(file.locate()) for file in files if file.name == _LIBRARY)
    yield _LIBRARY


def _forget() -> None:
    """In a forked child: the threads stayed with the parent.

    TBB cannot tell, and a fork may have met it with its locks held.
    """
    global _pool, _tbb_is_lost
    _tbb_is_lost = _tbb_is_lost or _BINDING in sys.modules
    _pool = None
    _lock.release()


if hasattr(os, "register_at_fork"):
    # Held over a fork: a child must not inherit a pool that nobody finishes.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_forget)
