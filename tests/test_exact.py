"""The oracle of the cast tests, against what is published and against those who are right.

NumPy is right from float32 to float16 and between 32 and 64 bits, ml_dtypes from float32
in range, Python between float64 and text.
"""

from __future__ import annotations

import exact
import exact_arrays
import ml_dtypes
import numpy as np
import pytest
from cast_data import NUMERIC, PAIRS, Mode, assert_codes, codes, from_storage, pair_id, to_storage
from cast_points import POINTS, Points

from minirt.dtypes import TABLE

SMALL_FLOATS = [*exact.FLOATS, exact.E8M0][2:]


def by_oracle(source: np.ndarray, src: str, mode: Mode) -> np.ndarray:
    return np.array([exact.cast(int(code), src, *mode) for code in source], np.uint64)


def sample(source: np.ndarray, count: int) -> np.ndarray:
    """All, or ``count`` of them drawn."""
    draw = np.random.default_rng(3)
    return source if source.size <= count else draw.choice(source, count, replace=False)


def public(name: str) -> np.dtype:
    """The NumPy or ml_dtypes type, by its own name."""
    ours = {
        "float": "float32", "double": "float64", "float4e2m1": "float4_e2m1fn",
        "float6e2m3": "float6_e2m3fn", "float6e3m2": "float6_e3m2fn",
        "float8e8m0": "float8_e8m0fnu",
    }  # fmt: skip
    theirs = ours.get(name, name.replace("8e", "8_e"))
    return np.dtype(getattr(ml_dtypes, theirs, None) or theirs)


def test_the_castable_types_are_all_but_the_complex_ones() -> None:
    assert sorted(exact.NAMES) == sorted(t.name for t in TABLE if "complex" not in t.name)


@pytest.mark.parametrize("points", POINTS, ids=lambda p: f"{p.src}->{p.mode}")
def test_published_points(points: Points) -> None:
    got = [exact.cast(element, points.src, *points.mode) for element in points.sources]
    wrong = [
        f"{text}: {result!r} is right, not {mine!r}"
        for text, result, mine in zip(points.texts, points.results, got, strict=True)
        if result != mine
    ]
    assert not wrong


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_every_code_has_the_value_that_numpy_or_ml_dtypes_gives_it(name: str) -> None:
    bits = exact.bits_of(name)
    source = np.arange(1 << bits, dtype=np.uint64)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        theirs = source.astype(f"u{max(bits, 8) // 8}").view(public(name)).astype(np.float64)
    ours = by_oracle(source, name, Mode("double")).view(np.float64)
    np.testing.assert_array_equal(ours, theirs)  # equal NaNs, whatever their bits
    finite = ~np.isnan(theirs)
    np.testing.assert_array_equal(np.signbit(ours[finite]), np.signbit(theirs[finite]))


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        *[("float", dst) for dst in ("float16", "bfloat16", "double")],
        *[("double", dst) for dst in ("float16", "float")],
        *[(src, dst) for src in ("int32", "uint32") for dst in ("float", "double")],
        *[(src, "double") for src in ("int64", "uint64")],
    ],
)
def test_rounding_agrees_where_numpy_is_right(src: str, dst: str) -> None:
    source = sample(codes(src, dst), 5000)
    values = source.astype(f"u{exact.bits_of(src) // 8}").view(public(src))
    values = values[~np.isnan(values)] if src in exact.FLOATS else values
    with np.errstate(over="ignore"):
        theirs = from_storage(values.astype(public(dst)))
    kept = from_storage(values)
    assert_codes(by_oracle(kept, src, Mode(dst)), theirs, kept, src, Mode(dst))


@pytest.mark.parametrize("dst", [name for name in SMALL_FLOATS if exact.bits_of(name) <= 8])
def test_rounding_agrees_with_ml_dtypes_in_range(dst: str) -> None:
    mode = Mode(dst, round_mode="nearest" if dst == exact.E8M0 else "up")
    values = codes("float", dst).astype(np.uint32).view(np.float32)
    limits = ml_dtypes.finfo(public(dst))
    # ml_dtypes takes 1.4 * 2^-127, a subnormal float32, for 2^-126.
    smallest = 2.0**-126 if dst == exact.E8M0 else -np.inf
    values = values[(values >= smallest) & (np.abs(values) <= float(limits.max))]
    source = sample(from_storage(values), 5000)
    theirs = from_storage(to_storage(source, "float").astype(public(dst)))
    assert_codes(by_oracle(source, "float", mode), theirs, source, "float", mode)


@pytest.mark.parametrize("pair", PAIRS, ids=pair_id)
def test_the_array_oracle_agrees(pair: tuple[str, Mode]) -> None:
    src, mode = pair
    source = sample(codes(src, mode.dst), 400)
    mine = exact_arrays.cast(source, src, *mode)
    assert_codes(mine, by_oracle(source, src, mode), source, src, mode)


# ---------------------------------------------------------------------- strings


def doubles() -> list[float]:
    """Random bit patterns, and the powers of two and ten with their neighbours."""
    patterns = np.random.default_rng(9).integers(0, 1 << 64, 2000, np.uint64).view(float)
    powers = [2.0**k for k in range(-1074, 1024, 7)] + [10.0**k for k in range(-323, 309, 5)]
    around = np.concatenate([np.nextafter(powers, towards) for towards in (0, np.inf)])
    values = np.concatenate([patterns, powers, around])
    return values[np.isfinite(values)].tolist()


def test_float64_text_is_what_python_writes() -> None:
    for value in doubles():
        code = int(np.float64(value).view(np.uint64))
        assert exact.cast(code, "double", "string") == repr(value).removesuffix(".0")


def test_float64_is_read_as_python_reads_it() -> None:
    for value in doubles():
        for text in (repr(value), f"{value:.5g}", f"{value:.25e}"):
            code = int(np.float64(float(text)).view(np.uint64))
            assert exact.cast(text, "string", "double") == code, text


@pytest.mark.parametrize("src", ["float", "float16", "bfloat16"])
def test_text_is_the_shortest_that_reads_back(src: str) -> None:
    """No shorter decimal has the same code: dropping the last digit, up or down, changes it."""
    for code in sample(codes(src, "float16"), 600).tolist():
        text = exact.cast(code, src, "string")
        number = exact.decode(code, src)
        if number.kind != "finite":
            continue
        assert exact.cast(text, "string", src) == code
        digits = text.lstrip("-").split("e")[0].replace(".", "").strip("0")
        exponent = exact.parse(text).magnitude / int(digits or "1")
        for shorter in {int(digits[:-1] or "0"), int(digits[:-1] or "0") + 1} if digits else ():
            assert exact.nearest(shorter * 10 * exponent, exact.FLOATS[src]) != code


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1" + "0" * 10_000, "inf"),
        ("0." + "0" * 1_000_000 + "1", "0"),
        ("1" + "0" * 1_000_000 + "e-1000000", "1"),
        ("0." + "0" * 999_999 + "1e1000000", "1"),
        ("0." + "3" * 1_000_000, "0.33333333333333333333333333333333"),
        ("1e999999999999999999999999", "inf"),
        ("-1e-999999999999999999999999", "-0"),
        (" \t\n\r\v\f+1.50E+01 ", "15"),
    ],
    ids=lambda text: text[:24],
)
def test_texts_of_any_length(text: str, same: str) -> None:
    assert exact.cast(text, "string", "double") == exact.cast(same, "string", "double")


def test_a_digit_far_behind_decides_a_tie() -> None:
    tie = "1.00048828125"
    assert exact.cast(tie + "0" * 1_000_000, "string", "float16") == 0x3C00
    assert exact.cast(tie + "0" * 1_000_000 + "1", "string", "float16") == 0x3C01


@pytest.mark.parametrize(
    "text",
    ["", " ", ".", "e5", "1e", "1e+", "+", "--1", "+ 1", "1 2", "1_000", "0x10", "1.5f", "1,5",
     "nanx", "nan(1)", "infinit", "in f", "True", "1\0", "\xa01", "\x1c1", "\u0661", "½", "∞"],
)  # fmt: skip
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match="is no number"):
        exact.cast(text, "string", "float")


@pytest.mark.parametrize("name", [*NUMERIC, "string"])
def test_a_cast_to_the_same_type_copies(name: str) -> None:
    for element in ("abc", "") if name == "string" else (0, 1, (1 << exact.bits_of(name)) - 1):
        assert exact.cast(element, name, name) == element
