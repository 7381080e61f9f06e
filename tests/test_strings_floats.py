"""Text to floats: one rounding from the exact decimal, whatever its length."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import exact
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirt.dtypes import BY_NAME
from minirt.kernels import decimals
from minirt.kernels.powers import powers_of_ten
from minirt.kernels.strings import from_string
from minirt.kernels.texts import FINITE, LONGER, UNDECIDED

FLOATS = [*exact.FLOATS, exact.E8M0]
MODES = [
    (name, saturate, round_mode)
    for name in FLOATS
    for saturate in ([True, False] if BY_NAME[name].bits == 8 else [True])
    for round_mode in (["up", "down", "nearest"] if name == exact.E8M0 else ["up"])
]
COLUMNS = ("u8", "i8", "u1")


def codes(texts: list[str], name: str, saturate: bool = True, round_mode: str = "up") -> list[int]:
    """The bit patterns that the kernel reads from ``texts``."""
    out = np.empty(len(texts), BY_NAME[name].storage)
    from_string(BY_NAME[name], saturate, round_mode)(np.array(texts, object), out)
    return out.view(f"u{out.itemsize}").tolist()


def plain(number: Fraction) -> str:
    """Every digit of a number whose denominator is a power of two."""
    with localcontext() as context:
        context.prec = 2000
        return f"{Decimal(number.numerator) / Decimal(number.denominator):f}"


def test_one_rounding() -> None:
    """1 + 2^-24 + 2^-60 and the like: a detour through float64 or float32 would tie to even."""
    assert codes(["1.00000017881393432617187499"], "float") == [0x3F800001]
    beyond = {"float": (23, 0x3F800001), "float16": (10, 0x3C01), "bfloat16": (7, 0x3F81)}
    for name, (man, above) in beyond.items():
        tie = 1 + Fraction(1, 2 << man)
        assert codes([plain(tie), plain(tie + Fraction(1, 1 << 200))], name) == [above - 1, above]


def midpoints(name: str) -> list[Fraction]:
    """Halfway from a value to the next, between all codes or around every power of two."""
    f = exact.FLOATS[name]
    if f.bits <= 8:
        at = set(range(f.largest))
    else:
        step = 1 if f.bits < 64 else 19
        at = {c << f.man for c in range(0, f.largest >> f.man, step)}
        at = {c + d for c in at for d in (-2, -1, 0, 1) if c + d >= 0}
        at |= {f.largest - 1, f.largest - 2}
    values = [(exact.decode(c, name).magnitude, exact.decode(c + 1, name).magnitude) for c in at]
    top, before = (
        exact.decode(f.largest, name).magnitude,
        exact.decode(f.largest - 1, name).magnitude,
    )
    return [(low + high) / 2 for low, high in values] + [top + (top - before) / 2]


def just_below(text: str) -> str:
    """One less in the last digit, and nines after it."""
    point = text.index(".")
    digits = str(int(text.replace(".", "")) - 1).zfill(len(text) - 1)
    return f"{digits[:point]}.{digits[point:]}" + "9" * 30


@pytest.mark.parametrize("name", exact.FLOATS)
def test_midpoints_and_the_slightest_tail(name: str) -> None:
    texts = []
    for number in midpoints(name):
        text = plain(number) if number.denominator > 1 else plain(number) + "."
        texts += [text, "-" + text, text + "0" * 800 + "1", just_below(text)]
    expected = [exact.cast(text, "string", name) for text in texts]
    assert codes(texts, name) == expected


def random_texts(count: int, seed: int) -> list[str]:
    """Decimals of 1 to 30 digits over the whole range of float64 and beyond it."""
    rng = np.random.default_rng(seed)
    made = []
    for length, order in zip(
        rng.integers(1, 31, count), rng.integers(-350, 330, count), strict=True
    ):
        digits = "".join(map(str, rng.integers(0, 10, length)))
        near = int(rng.integers(-12, 12)) if length % 3 else int(order)
        made.append(f"{digits[:1]}.{digits[1:]}e{near}" if length % 2 else f"{digits}e{near}")
    return made


def test_float64_is_what_python_reads() -> None:
    texts = random_texts(20000, 1)
    assert codes(texts, "double") == np.array([float(t) for t in texts]).view("u8").tolist()


@pytest.mark.parametrize(("name", "saturate", "round_mode"), MODES)
def test_random_decimals(name: str, saturate: bool, round_mode: str) -> None:
    texts = random_texts(1500, 2)
    expected = [exact.cast(text, "string", name, saturate, round_mode) for text in texts]
    assert codes(texts, name, saturate, round_mode) == expected


E8M0_EDGES = [
    (Fraction(2) ** -127, (0, 0, 0)),
    (Fraction(2) ** -127 * (1 + Fraction(1, 1 << 300)), (1, 0, 0)),
    (Fraction(3, 2) * Fraction(2) ** -127, (1, 0, 1)),
    (Fraction(1), (127, 127, 127)),
    (1 + Fraction(1, 1 << 300), (128, 127, 127)),
    (Fraction(3, 2) - Fraction(1, 1 << 300), (128, 127, 127)),
    (Fraction(3, 2), (128, 127, 128)),
    (Fraction(2) ** 127, (254, 254, 254)),
]


@pytest.mark.parametrize(("number", "expected"), E8M0_EDGES)
def test_directed_modes_see_the_last_digit(
    number: Fraction, expected: tuple[int, int, int]
) -> None:
    for saturate in (True, False):
        for mode, code in zip(("up", "down", "nearest"), expected, strict=True):
            assert codes([plain(number)], "float8e8m0", saturate, mode) == [code]


E8M0_OUTSIDE = [
    ("0", 0, 255), ("-0", 0, 255), ("1e-39", 0, 255), ("1e-999", 0, 255), ("-1e-999", 255, 255),
    ("-1", 255, 255), ("1.8e38", 254, 255), ("1e999", 254, 255), ("inf", 254, 255),
    ("-inf", 255, 255), ("nan", 255, 255), ("-nan", 255, 255),
]  # fmt: skip


@pytest.mark.parametrize(("text", "saturated", "plain_code"), E8M0_OUTSIDE)
def test_outside_e8m0(text: str, saturated: int, plain_code: int) -> None:
    for mode in ("up", "down", "nearest"):
        assert codes([text], "float8e8m0", True, mode) == [saturated]
        assert codes([text], "float8e8m0", False, mode) == [plain_code]


# ---- the parts


def scaled(digits: int, exponent: int, kind: int) -> tuple[int, int, int]:
    """What ``scale`` makes of one element: digits, exponent, kind."""
    columns = [np.array([v], d) for v, d in zip((digits, exponent, kind), COLUMNS, strict=True)]
    decimals.scale.bind(*(np.dtype(d) for d in COLUMNS), powers_of_ten(), size=1)(*columns)
    m, e, kind = (int(c[0]) for c in columns)
    return m, e, kind


def is_odd_rounding(m: int, e: int, number: Fraction) -> bool:
    """Whether m * 2^e, m of 64 bits, is ``number`` rounded to odd."""
    units = number / Fraction(2) ** e
    return m >> 63 == 1 and (units == m or (m % 2 == 1 and m - 1 < units < m + 1))


@given(st.integers(1, 2**64 - 1), st.integers(-345, 324))
def test_scale_rounds_to_odd(digits: int, exponent: int) -> None:
    m, e, kind = scaled(digits, exponent, FINITE)
    assert kind == UNDECIDED or is_odd_rounding(m, e, digits * Fraction(10) ** exponent)


@given(st.integers(1, 2**40), st.integers(-27, 55))
def test_scale_decides_short_decimals(digits: int, exponent: int) -> None:
    digits *= 5 ** max(-exponent // 3, 0)
    m, e, kind = scaled(digits, exponent, FINITE)
    assert kind == FINITE
    assert is_odd_rounding(m, e, digits * Fraction(10) ** exponent)


@pytest.mark.parametrize("n", range(28))
def test_scale_sees_that_halves_are_exact(n: int) -> None:
    m, e, kind = scaled(5**n, -n, FINITE)
    assert (m, e, kind) == (1 << 63, -n - 63, FINITE)


@given(st.integers(2**64 // 10, 2**64 - 1), st.integers(-345, 324), st.fractions(0, 1))
def test_scale_of_longer_numbers_keeps_55_bits(digits: int, exponent: int, tail: Fraction) -> None:
    m, e, kind = scaled(digits, exponent, LONGER)
    units = (digits + tail) * Fraction(10) ** exponent / Fraction(2) ** e
    if kind != UNDECIDED and 0 < tail < 1:
        assert m >> 63 == 1
        assert m >> 9 << 9 < units < ((m >> 9) + 1) << 9
        assert m & 511


@pytest.mark.parametrize("exponent", [-345, -30, -1, 0, 1, 55, 324])
def test_a_longer_number_needs_the_slow_way_rarely(exponent: int) -> None:
    kinds = [scaled(12345678901234567890 + k * 10**16, exponent, LONGER)[2] for k in range(200)]
    assert kinds.count(UNDECIDED) < 20


@given(st.integers(1, 10**30), st.integers(-400, 330))
def test_significand_rounds_to_odd(digits: int, exponent: int) -> None:
    kept = min(len(str(digits)), 19)
    dropped = len(str(digits)) - kept
    text = f"-{digits}E{exponent}"
    m, e = decimals.significand(text, int(str(digits)[:kept]), exponent + dropped)
    assert is_odd_rounding(m, e, digits * Fraction(10) ** exponent)


def test_undecided_numbers_are_decided_by_all_their_digits() -> None:
    """A midpoint of float64 with more digits than fit 64 bits: only the last digit tells."""
    midpoint = Fraction(2**53 + 1) * Fraction(2) ** -300
    digits = plain(midpoint).partition(".")[2].lstrip("0")
    first = int(digits[:19])
    exponent = -len(plain(midpoint).partition(".")[2]) + len(digits) - 19
    assert scaled(first, exponent, LONGER)[2] == UNDECIDED
    texts = [plain(midpoint), plain(midpoint) + "1", plain(midpoint)[:-1] + "4"]
    even, above = (float(Fraction(n) * Fraction(2) ** -300) for n in (2**53, 2**53 + 2))
    assert codes(texts, "double") == np.array([even, above, even]).view("u8").tolist()
