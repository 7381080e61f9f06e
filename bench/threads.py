"""The number of threads that a bound kernel uses."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

__all__ = ["bound_with"]

T = TypeVar("T")
_VARIABLE = "MINIRT_NUM_THREADS"


def bound_with(threads: int, bind: Callable[[], T]) -> T:
    """What ``bind()`` makes while so many threads are asked for."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = str(threads)
    try:
        return bind()
    finally:
        del os.environ[_VARIABLE]
        if before is not None:
            os.environ[_VARIABLE] = before
