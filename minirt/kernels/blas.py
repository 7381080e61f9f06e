"""Products of matrices of floats by NumPy's BLAS, with the same bits on any number of threads.

A BLAS that shares its work among threads rounds in other places with each number of them. So
it runs on one thread at a time, on parts of the product that depend on shapes alone, and
threads of our own share these parts.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..jit.threads import available, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    Part = tuple[np.ndarray, np.ndarray, np.ndarray]

__all__ = ["alone", "multiply_floats"]

#: Products of elements that are too few to be shared: a fifth of a millisecond.
_WHOLE = 1 << 24
#: A matrix is cut into so many parts at most, of so many lines at least.
_PARTS, _LINES = 16, 128


def multiply_floats() -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """``run(a, b, y)``: y = a b as ``numpy.matmul``, on as many threads as there may be now."""
    threads = resolve()

    def run(a: np.ndarray, b: np.ndarray, y: np.ndarray) -> None:
        parts = list(_parts(a, b, y))
        with alone():
            if threads == 1 or len(parts) == 1:
                _multiply(parts)
            else:
                _share(parts, min(threads, len(parts)))

    return run


@np.errstate(all="ignore")
def _multiply(parts: Iterable[Part]) -> None:
    for part in parts:
        np.matmul(*part)


# Parts


def _parts(a: np.ndarray, b: np.ndarray, y: np.ndarray) -> Iterator[Part]:
    """Operands and results of smaller products."""
    work = y.size * a.shape[-1]
    if work < _WHOLE or a.ndim == 1 or b.ndim == 1:
        yield a, b, y
    elif y.ndim > 2:
        step = max(_WHOLE * len(y) // work, 1)
        for start in range(0, len(y), step):
            some = slice(start, start + step) if step > 1 else start
            yield from _parts(_some(a, some, y.ndim), _some(b, some, y.ndim), y[some])
    elif len(y) >= 2 * _LINES:
        for rows in _lines(len(y)):
            yield a[rows], b, y[rows]
    else:
        for columns in _lines(y.shape[1]):
            yield a, b[:, columns], y[:, columns]


def _some(stack: np.ndarray, some: slice | int, rank: int) -> np.ndarray:
    """A part of a stack of matrices, which is broadcast to ``rank`` dimensions."""
    if stack.ndim < rank:
        return stack
    if len(stack) == 1:
        return stack if isinstance(some, slice) else stack[0]
    return stack[some]


def _lines(count: int) -> Iterator[slice]:
    step = max(-(-count // _PARTS), _LINES)
    for start in range(0, count, step):
        yield slice(start, start + step)


# Threads


def _share(parts: list[Part], threads: int) -> None:
    """Multiply on this thread and on others: each takes a part until none is left."""
    rest = iter(parts)
    others = [_pool().submit(_multiply, rest) for _ in range(threads - 1)]
    try:
        _multiply(rest)
    finally:
        deque(rest, maxlen=0)  # if this was interrupted, others must not go on
        for other in others:
            if not other.cancel():
                other.result()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(available() - 1, 1), "minirt-blas")


# BLAS


class _Alone:
    """A context in which OpenBLAS runs on the thread that calls it, also entered by several."""

    def __init__(self, get: Callable[[], int], put: Callable[[int], None]) -> None:
        self._get, self._put = get, put
        self._reset()

    def _reset(self) -> None:
        self._lock, self._inside, self._before = threading.Lock(), 0, 1

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = self._get()
                if self._before != 1:
                    self._put(1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._before != 1:
                self._put(self._before)

    def leave_in_child(self) -> None:
        """In a forked process nobody is inside."""
        if self._inside and self._before != 1:
            self._put(self._before)
        self._reset()


def alone() -> AbstractContextManager[Any]:
    """A context in which NumPy's BLAS uses no threads of its own, if it is one that can be told.

    That is a setting of the process: meanwhile it holds for others as well.
    """
    return _control() or nullcontext()


@cache
def _control() -> _Alone | None:
    # A library that NumPy is linked to is searched with it.
    module: Any = np.linalg._umath_linalg
    library = ctypes.CDLL(module.__file__)
    for prefix, suffix in (("scipy_", "64_"), ("scipy_", ""), ("", "64_"), ("", "")):
        name = f"{prefix}openblas_%s_num_threads{suffix}"
        get, put = (getattr(library, name % verb, None) for verb in ("get", "set"))
        if get is not None and put is not None:
            return _Alone(get, put)
    return None


def _after_fork() -> None:
    _pool.cache_clear()
    if _control.cache_info().currsize and (control := _control()):
        control.leave_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
