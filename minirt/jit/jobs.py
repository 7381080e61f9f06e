"""Work that neither a signal nor a fork may meet half done.

Importing this module imports no Numba.
"""

from __future__ import annotations

import importlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

__all__ = ["hold_over_forks", "import_undisturbed", "undisturbed"]

T = TypeVar("T")


def undisturbed(job: Callable[[], T]) -> T:
    """What ``job`` returns, run in a thread of its own; only waiting for it can be interrupted.

    Ctrl-C and other handlers of signals raise in the main thread, between any two
    instructions, and little stack may be left. Where that meets Numba while it is imported
    or compiles, it does neither any more in this process; here the job goes on to its end.
    The child of a fork would find a module half imported, and its lock never given back; so
    a fork waits for the end too.
    """
    if hasattr(_thread, "has_job"):
        return job()
    executor = ThreadPoolExecutor(1, "minirt")
    try:
        future = executor.submit(_count, job)
    except RuntimeError:  # there are no more threads, or Python is ending
        return job()
    finally:
        executor.shutdown(wait=False)
    return future.result()


def import_undisturbed(name: str) -> ModuleType:
    """The module of this name, imported as an :func:`undisturbed` job."""
    return undisturbed(lambda: importlib.import_module(name))


_thread = threading.local()
_jobs = threading.Condition()
_under_way = 0


def _count(job: Callable[[], T]) -> T:
    global _under_way
    _thread.has_job = True
    with _jobs:
        _under_way += 1
    try:
        return job()
    finally:
        with _jobs:
            _under_way -= 1
            _jobs.notify_all()


_Lock = tuple["Callable[[], object]", "Callable[[], object]"]
_locks: list[_Lock] = []
_held: list[_Lock] = []


def hold_over_forks(acquire: Callable[[], object], release: Callable[[], object]) -> None:
    """Let a fork acquire a lock, that of jobs, when none is under way, and release it."""
    _locks.append((acquire, release))


def _before_fork() -> None:
    _jobs.acquire()
    while _under_way:
        _jobs.wait()
    for lock in _locks:  # also those of modules imported meanwhile
        lock[0]()
        _held.append(lock)


def _after_fork() -> None:
    while _held:
        _held.pop()[1]()
    _jobs.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
