"""Division of signed integers towards zero: NumPy's takes ten times as long."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..jit import kernel
from ..jit.lanes import select

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["divide_integers"]

_ONE, _NOTHING = np.float64(1), np.int64(0)
#: float64 has every integer up to here.
_EXACT = 1 << 53


@kernel
def narrow(a, b, out):
    """Of at most 32 bits: the quotient of float64 is exact to the integer."""
    for i in range(out.size):
        divisor = np.float64(b[i])
        quotient = np.float64(a[i]) / select(divisor == 0, _ONE, divisor)
        out[i] = select(divisor == 0, _NOTHING, np.int64(quotient))


@kernel
def wide(a, b, out):
    """Of 64 bits: mostly they are few enough for the same."""
    for i in range(out.size):
        x, y = a[i], b[i]
        if y == 0:
            out[i] = 0
        elif -_EXACT < x < _EXACT and -_EXACT < y < _EXACT:
            out[i] = np.int64(np.float64(x) / np.float64(y))
        elif y == -1:
            out[i] = -x  # the processor traps where that is too large
        else:
            quotient = x // y
            out[i] = quotient + (quotient < 0 and quotient * y != x)


def divide_integers(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """a / b, cut towards zero; 0 where b is 0. The operands are broadcast."""
    operands = (np.ascontiguousarray(np.broadcast_to(x, out.shape)) for x in (a, b))
    _run(out.dtype, out.size)(*(x.reshape(-1) for x in (*operands, out)))


@lru_cache(maxsize=256)
def _run(dtype: np.dtype, size: int) -> Callable[..., None]:
    # One thread: it is asked for within a run, which knows nothing of how many there may be.
    kind = narrow if dtype.itemsize < 8 else wide
    run: Callable[..., None] = kind.bind(dtype, dtype, dtype, size=size, threads=1)
    return run
