"""The powers of ten, and the proof that 128 bits of them are enough for shortest digits."""

from __future__ import annotations

from fractions import Fraction

import numba
import numpy as np
import pytest

from minirt.kernels import powers, shortest


@numba.njit
def multiply(x: int, high: int, low: int) -> tuple[int, int, int]:
    return powers.multiply(x, high, low)


@numba.njit
def normalize(x: int) -> tuple[int, int]:
    return powers.normalize(x)


@numba.njit
def scaled(x: int, high: int, low: int) -> int:
    return shortest._scaled(x, high, low)


#: Every exponent of a float64 c * 2^q with an integer c < 2^53.
EVERY_Q = range(-1074, 972)


def row(e: int) -> tuple[int, int]:
    """T and log2 of 10^e."""
    high, low, log2 = powers.powers_of_ten()[3 * (e - powers.LOWEST) :][:3].tolist()
    return high << 64 | low, log2 - (1 << 64 if log2 >> 63 else 0)


def test_every_row_is_rounded_up_from_its_power() -> None:
    for e in range(powers.LOWEST, powers.HIGHEST + 1):
        significand, log2 = row(e)
        true = Fraction(10) ** e / Fraction(2) ** (log2 - 127)
        assert 1 << 127 <= significand < 1 << 128
        assert significand - 1 < true <= significand
        assert (significand == true) == (0 <= e <= powers.EXACT)


def test_the_table_ends_beyond_every_float64() -> None:
    assert (1 << 64) * Fraction(10) ** (powers.LOWEST - 1) < Fraction(1, 1 << 1075)
    assert 10 ** (powers.HIGHEST + 1) > 1 << 1024


def test_the_table_is_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        powers.powers_of_ten()[0] = 0


def test_multiply_and_normalize() -> None:
    rng = np.random.default_rng(7)
    edges = [1, 2**32 - 1, 2**32, 2**63, 2**64 - 1]
    xs, highs, lows = (edges + rng.integers(1, 2**64, 40, dtype="u8").tolist() for _ in range(3))
    for x, high, low in zip(xs, highs[::-1], lows, strict=True):
        words = multiply(np.uint64(x), np.uint64(high), np.uint64(low))
        product = x * (high << 64 | low)
        assert [int(w) for w in words] == [product >> s & (1 << 64) - 1 for s in (128, 64, 0)]
    for n in range(64):
        for x in (1 << n, (2 << n) - 1):
            assert normalize(np.uint64(x)) == (x << 63 - n, 63 - n)


def scale_of(q: int, narrow: bool = False) -> tuple[int, Fraction]:
    """k, and the number of units of 10^k in 2^q."""
    k = shortest.floor_log10.py_func(q, narrow)
    return k, Fraction(2) ** q / Fraction(10) ** k


def test_the_unit_is_the_largest_that_fits_the_interval() -> None:
    for q in EVERY_Q:
        for narrow, width in ((False, Fraction(1)), (True, Fraction(3, 4))):
            _, units = scale_of(q, narrow)
            assert 1 <= width * units < 10


def nearest_to_integers(ratio: Fraction, limit: int) -> tuple[int, int]:
    """The x, 0 < x <= limit, for which x * ratio is just above an integer, and just below one.

    Integers themselves do not count. Each record is the sum of the last one above and a
    multiple of the last one below, or the other way round: Euclid's algorithm.
    """
    one = ratio.denominator
    x_above = x_below = 1
    above = ratio.numerator % one
    below = one - above
    while above and above != below and x_above + x_below <= limit:
        if above > below:
            steps = min((above - 1) // below, (limit - x_above) // x_below)
            above, x_above = above - steps * below, x_above + steps * x_below
        else:
            steps = min((below - 1) // above, (limit - x_below) // x_above)
            below, x_below = below - steps * above, x_below + steps * x_above
    return x_above, x_below


def test_nearest_to_integers() -> None:
    for numerator in range(1, 60):
        for denominator in range(2, 60):
            ratio = Fraction(numerator, denominator)
            for limit in (1, 2, 7, 25):
                parts = [x * ratio % 1 for x in range(1, limit + 1)]
                parts = [p for p in parts if p] or [0]
                found = [x * ratio % 1 for x in nearest_to_integers(ratio, limit)]
                assert found == [min(parts), max(parts)]


def test_no_quarter_is_nearer_to_an_integer_than_the_table_tells() -> None:
    """What ``shortest._scaled`` rests on, for all c below 2^53 and their midpoints.

    The result is right if x * units has a fraction of 0, or one that is not below 2^-69 and
    that the error of the product, below 2^59 * 2^-128, does not carry over the next integer.
    """
    for q in EVERY_Q:
        k, units = scale_of(q)
        significand, log2 = row(-k)
        high, low = np.uint64(significand >> 64), np.uint64(significand & (1 << 64) - 1)
        for x in nearest_to_integers(units, 1 << 55):
            whole, part = divmod(x * units, 1)
            assert part == 0 or Fraction(1, 1 << 66) < part < 1 - Fraction(1, 1 << 66)
            assert scaled(np.uint64(x << q + log2 + 1), high, low) == whole | (part != 0)


def test_the_bottom_word_of_the_product_counts() -> None:
    """Twice the record of 2^664: even, and above an integer by less than the middle word shows."""
    k, units = scale_of(664)
    x = 2 * nearest_to_integers(units, 1 << 55)[0]
    significand, log2 = row(-k)
    whole, part = divmod(x * units, 1)
    assert 0 < part < Fraction(1, 1 << 64)
    assert x << 664 + log2 + 1 < 1 << 59
    high, low = np.uint64(significand >> 64), np.uint64(significand & (1 << 64) - 1)
    assert scaled(np.uint64(x << 664 + log2 + 1), high, low) == whole + 1


@pytest.mark.parametrize("precision", [8, 11, 24, 53])
def test_nor_where_the_lower_neighbour_is_nearer(precision: int) -> None:
    """As above for c = 2^(precision - 1), whose unit may be another."""
    for q in EVERY_Q:
        _, units = scale_of(q, narrow=True)
        for x in ((2 << precision) - 1, 2 << precision, (2 << precision) + 2):
            part = x * units % 1
            assert part == 0 or Fraction(1, 1 << 66) < part < 1 - Fraction(1, 1 << 66)
