"""Checks of parallel code of the user's own, on the threading layer that Numba is told to use."""

from __future__ import annotations

import ctypes
import threading
from importlib import metadata

import numba
import numpy as np
from concurrency import check, in_child, load, together, wait_for

#: Numba's layers that two threads may use at once.
_SAFE = ("tbb", "omp")
_LAYER = numba.config.THREADING_LAYER
_DATA = np.arange(100_000, dtype="i8")
_SUM = int(_DATA.sum())

if _LAYER == "tbb":  # pip puts it where Numba does not look
    (_library,) = (
        str(file.locate()) for file in metadata.files("tbb") or [] if file.name == "libtbb.so.12"
    )
    ctypes.CDLL(_library, mode=ctypes.RTLD_GLOBAL)


@numba.njit(parallel=True, nogil=True)
def users(data):
    total = 0
    for i in numba.prange(data.size):
        total += data[i]
    return total


def check_settings_of_numba_are_kept() -> None:
    check(load())
    try:
        numba.threading_layer()
    except ValueError:
        pass  # not chosen yet
    else:
        raise AssertionError(numba.threading_layer())
    assert users(_DATA) == _SUM
    assert numba.threading_layer() == _LAYER
    numba.set_num_threads(2)
    check(load())
    assert numba.get_num_threads() == 2
    numba.set_num_threads(4)


def check_both_at_once() -> None:
    """The user's code in as many threads as its layer allows, ours in three."""
    session = load()

    def runs_users() -> None:
        for _ in range(200):
            assert users(_DATA) == _SUM

    together([lambda: check(session, times=100)] * 3 + [runs_users] * (3 if _LAYER in _SAFE else 1))


def check_forks_of_such_a_process() -> None:
    """The child leaves the user's parallel code alone, which OpenMP would kill it for."""
    session = load()
    check(session)
    assert users(_DATA) == _SUM
    over = threading.Event()

    def busy() -> None:
        while not over.is_set():
            check(session)

    other = threading.Thread(target=busy)
    other.start()
    try:
        for _ in range(5):
            wait_for(in_child(lambda: check(session)))
    finally:
        over.set()
        other.join()
    assert users(_DATA) == _SUM
