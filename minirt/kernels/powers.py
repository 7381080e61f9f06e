"""Powers of ten as 128-bit significands: what both directions of decimal conversion stand on.

Row e of the table is 10^e = T * 2^(log2 - 127) with T an integer in [2^127, 2^128): rounded
*up*, and exact for 0 <= e <= 55, where 5^e has at most 128 bits. A number of 64 bits times T
is a number of 192 bits, of which the upper 64 are the result and the lower 128 say how far
it is from an integer; T being too large by less than one, the product is too large by less
than 2^64, so its middle word alone tells whether the result could be wrong.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ..jit import helper
from ..jit.lanes import leading_zeros, multiply_high

__all__ = [
    "EXACT",
    "HIGHEST",
    "LOWEST",
    "TENS",
    "multiply",
    "normalize",
    "power",
    "powers_of_ten",
]

#: The powers in the table: with 20 digits on top, 10^LOWEST is below every float64 and its
#: midpoints, and 10^(HIGHEST + 1) is above.
LOWEST, HIGHEST = -345, 324
#: The highest power that the table has exactly; none below 10^0 is exact.
EXACT = 55
#: 10^0 to 10^19, the last that fits.
TENS = np.array([10**n for n in range(20)], np.uint64)


@cache
def powers_of_ten() -> np.ndarray:
    """The table: three uint64 a row, the upper and the lower half of T, and log2 mod 2^64."""
    rows = [_row(e) for e in range(LOWEST, HIGHEST + 1)]
    table = np.array(rows, np.uint64).reshape(-1)
    table.flags.writeable = False
    return table


def _row(e: int) -> tuple[int, int, int]:
    numerator, denominator = 10 ** max(e, 0), 10 ** max(-e, 0)
    log2 = numerator.bit_length() - denominator.bit_length()
    if numerator << max(-log2, 0) < denominator << max(log2, 0):
        log2 -= 1
    shift = 127 - log2
    significand = -((-numerator << max(shift, 0)) // (denominator << max(-shift, 0)))
    return significand >> 64, significand & (1 << 64) - 1, log2 % (1 << 64)


@helper
def power(table, e):
    """Row ``e``: the upper half of T, its lower half, log2 as int64."""
    row = 3 * (e - LOWEST)
    return table[row], table[row + 1], np.int64(table[row + 2])


@helper
def multiply(x, high, low):
    """The 192-bit product of the uint64 ``x`` with a T: three words, the uppermost first."""
    carried = multiply_high(x, low)
    middle = x * high + carried
    carry = np.uint64(1 if middle < carried else 0)
    return multiply_high(x, high) + carry, middle, x * low


@helper
def normalize(x):
    """``x`` > 0 (uint64) shifted left until its top bit is set, and by how many bits."""
    zeros = leading_zeros(x)
    return x << zeros, np.int64(zeros)
