"""What NumPy's functions on numbers do not do as ONNX says.

As they, these take arrays that can be broadcast, and last the array for the result, which may
be one of the operands: nothing is read after something was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import kernels
from ..dtypes import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "FEW",
    "choose",
    "clip",
    "divide",
    "largest",
    "mean",
    "power",
    "smallest",
    "store",
    "total",
]


#: So many elements are left to NumPy alone: shapes are computed where types are found, and there
#: nothing is compiled. The loops for more give the same bits.
FEW = 4096


def divide(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """Quotients; those of integers are cut towards zero, and a zero divisor gives 0."""
    if out.dtype.kind == "f":
        np.divide(a, b, out=out)
    elif out.dtype.kind == "u":
        np.floor_divide(a, b, out=out)
    elif out.size <= FEW:
        np.floor_divide(a - np.fmod(a, b), b, out=out)
    else:
        kernels.divide_integers(a, b, out)


def power(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """x to the power of y, whose type may be another.

    Integers to the power of integers wrap around; a negative exponent gives the quotient cut
    towards zero, 0 for a base of 0. Integers to the power of floats are computed in float64.
    """
    exponent = y.reshape(-1)[0] if y.size == 1 else None
    if out.dtype.kind == "i" and y.dtype.kind == "f":
        store(np.power(x, y, dtype=np.float64), out)
    elif exponent in (2, 3):
        np.multiply(x if exponent == 2 else x * x, x, out=out)
    elif out.dtype.kind == "i":
        _integer_power(x, y, out)
    else:
        # float32 has every exponent of 16 bits.
        wide = y.dtype.itemsize > (4 if y.dtype.kind == "f" else 2)
        dtype = np.float64 if wide else out.dtype
        np.power(x, y, dtype=dtype, out=out, casting="unsafe")


def _integer_power(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    # The low bits of a product depend on those of its factors alone.
    powers = np.power(x, y, dtype=np.uint64, casting="unsafe").view(np.int64)
    if y.dtype.kind == "i":
        sign = np.where(y & 1, x, 1)
        powers = np.where(y < 0, np.where(np.abs(x) == 1, sign, 0), powers)
    np.copyto(out, powers, casting="unsafe")


def total(arrays: Sequence[np.ndarray], out: np.ndarray) -> None:
    """Sums."""
    _combine(np.add, arrays, out)


def mean(arrays: Sequence[np.ndarray], out: np.ndarray) -> None:
    """Sums divided by how many there are."""
    total(arrays, out)
    np.divide(out, len(arrays), out=out)


def largest(arrays: Sequence[np.ndarray], out: np.ndarray) -> None:
    """The largest, NaN if there is one."""
    _combine(np.maximum, arrays, out)


def smallest(arrays: Sequence[np.ndarray], out: np.ndarray) -> None:
    """The smallest, NaN if there is one."""
    _combine(np.minimum, arrays, out)


def _combine(
    function: Callable[..., np.ndarray], arrays: Sequence[np.ndarray], out: np.ndarray
) -> None:
    first, *rest = arrays
    if not rest:
        np.copyto(out, first)
    for array in rest:
        first = function(first, array, out=out)


def choose(condition: np.ndarray, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """The element of x where ``condition``, a byte, is 1, that of y where it is 0; of any type.

    ``out`` must be none of the operands.
    """
    if out.size <= FEW or out.dtype.hasobject:
        np.copyto(out, y)
        np.copyto(out, x, where=condition.view(np.bool_))
    else:
        # One thread: it is bound within a run, which knows nothing of how many there may be.
        kernels.chooser(out.dtype, out.size, threads=1)(condition, x, y, out)


def clip(x: np.ndarray, low: np.ndarray | None, high: np.ndarray | None, out: np.ndarray) -> None:
    """min(high, max(x, low)), where None is no limit."""
    lowest, highest = -np.inf, np.inf
    if out.dtype.kind != "f":
        lowest, highest = np.iinfo(out.dtype).min, np.iinfo(out.dtype).max
    np.clip(
        x,
        lowest if low is None else low.reshape(()),
        highest if high is None else high.reshape(()),
        out=out,
    )


def store(numbers: np.ndarray, out: np.ndarray) -> None:
    """Write floats of 64 bits, as Cast does where they become integers."""
    convert = kernels.convert(
        BY_NAME["double"], BY_NAME[out.dtype.name], out.size, saturate=True, round_mode="up"
    )
    convert(np.ascontiguousarray(numbers).reshape(-1), out.reshape(-1))
