"""Text to numbers: what is read, what is refused, integers and bools, long texts."""

from __future__ import annotations

import exact
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirt.dtypes import BY_NAME
from minirt.errors import ExecutionError
from minirt.kernels.strings import from_string

NUMERIC = [name for name in exact.NAMES if name != "string"]


def codes(
    texts: list[object], name: str, saturate: bool = True, round_mode: str = "up"
) -> list[int]:
    """The bit patterns that the kernel reads from ``texts``."""
    source = np.empty(len(texts), object)
    source[:] = texts
    out = np.empty(len(texts), BY_NAME[name].storage)
    from_string(BY_NAME[name], saturate, round_mode)(source, out)
    return out.view(f"u{out.itemsize}").tolist()


def doubles(texts: list[object]) -> list[float]:
    return np.array(codes(texts, "double"), "u8").view("f8").tolist()


READ = [
    ("1", 1.0), ("+1", 1.0), ("-1", -1.0), ("01", 1.0), ("1.", 1.0), (".5", 0.5), ("-.5", -0.5),
    ("3.14159", 3.14159), ("-1.2345e-05", -1.2345e-05), ("1e3", 1e3), ("1E3", 1e3), ("1e+3", 1e3),
    ("1.e3", 1e3), (".5e1", 5.0), ("1e007", 1e7), ("0e9", 0.0), ("000.000", 0.0), ("0.1", 0.1),
    (" 1", 1.0), ("1 ", 1.0), ("\t\n\r\v\f 1 \f\v\r\n\t", 1.0), ("\n-2\n", -2.0),
    ("9007199254740993", 9007199254740992.0), ("5e-324", 5e-324), ("1e308", 1e308),
    ("inf", np.inf), ("INF", np.inf), ("+Inf", np.inf), ("-inf", -np.inf), ("Infinity", np.inf),
    ("-INFINITY", -np.inf), (" infinity ", np.inf), ("iNfInItY", np.inf),
]  # fmt: skip

REFUSED = [
    "", " ", "\n", ".", "+", "-", "e", "e5", ".e5", "1e", "1e+", "1e-", "1e5.", "1e5.0", "1.2.3",
    "--1", "+-1", "1-", "1+1", "- 1", "1 2", "1,5", ",", "1,", ",1", "1_000", "0x10", "0x1p3", "1f",
    "1.0f", "1d5", "1e5e5", "abc", "na", "nano", "nan(1)", "in", "infi", "infinit", "infinity1",
    "infin ity", "i", "n", "n an", "True", "None", "\x00", "1\x00", "\x001", "1\ufeff", "١٢٣", "１",
    "1\u00a0", "\u20031", "−1", "½", "1e٣", "\x1c1", "1\x85", "é", "\ud800", "1\udfff", "🙂",
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), READ)
def test_what_is_read(text: str, value: float) -> None:
    assert doubles([text]) == [value]
    assert doubles([text.encode()]) == [value]


def test_zeros_and_nan_have_signs() -> None:
    texts = ["0", "-0", "+0", "-0.0", "-0e5", "-1e-999999", "nan", "NaN", "+NAN", "-nan", " -NaN "]
    zero, nan, minus = 0, 0x7FF8 << 48, 1 << 63
    signs = [0, 1, 0, 1, 1, 1, 0, 0, 0, 1, 1]
    bare = [zero] * 6 + [nan] * 5
    assert codes(texts, "double") == [b | minus * s for b, s in zip(bare, signs, strict=True)]


@pytest.mark.parametrize("text", REFUSED)
@pytest.mark.parametrize("name", ["float", "double", "int8", "bool"])
def test_what_is_refused(text: str, name: str) -> None:
    for before in ([], ["1"], ["2.5", "nan"]):
        with pytest.raises(ExecutionError, match=rf"^element {len(before)} is no number: "):
            codes([*before, text, "3"], name)


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ("1_000", "element 1 is no number: '1_000'; a decimal number, inf or nan can be cast"),
        ("", "element 1 is no number: ''; a decimal number, inf or nan can be cast"),
        ("a\nb", r"element 1 is no number: 'a\nb'; a decimal number, inf or nan can be cast"),
        (b"x", "element 1 is no number: 'x'; a decimal number, inf or nan can be cast"),
        (
            "1" * 1000 + "x",
            f"element 1 is no number: '{'1' * 40}'... (1001 characters); "
            "a decimal number, inf or nan can be cast",
        ),
        (None, "element 1 is no string but a NoneType"),
        (1.5, "element 1 is no string but a float"),
    ],
)
def test_error_text(element: object, message: str) -> None:
    with pytest.raises(ExecutionError) as caught:
        codes(["1", element, "x"], "float")
    assert str(caught.value) == message


def test_bytes_that_are_no_utf8_are_refused() -> None:
    with pytest.raises(ExecutionError, match=r"^element 0 is no number"):
        codes([b"\xff1"], "int32")


@pytest.mark.parametrize("at", [0, 1, 8191, 8192, 8193, 19999])
@pytest.mark.parametrize("text", ["x", "1,1", "", ",,", ","])
def test_the_first_bad_element_is_named(at: int, text: str) -> None:
    texts = ["1.5"] * 20000
    texts[at] = text
    texts[min(at + 3, 19999)] = "y" if at + 3 < 20000 else text
    with pytest.raises(ExecutionError, match=rf"^element {at} is no number: '{text}'"):
        codes(texts, "double")


@pytest.mark.parametrize("size", [0, 1, 8191, 8192, 8193, 30000])
def test_any_number_of_elements(size: int) -> None:
    texts = [str(i) for i in range(size)]
    assert doubles(texts) == [float(i) for i in range(size)]


@given(st.lists(st.text("01259+-.eE \t\n,naifty_xINF\u0660", max_size=9), min_size=1, max_size=4))
def test_every_text_is_read_or_refused(texts: list[str]) -> None:
    try:
        expected = [exact.cast(text, "string", "double") for text in texts]
    except ValueError:
        with pytest.raises(ExecutionError, match="is no number"):
            codes(texts, "double")
    else:
        assert codes(texts, "double") == expected


# ---- integers and bools

INTEGERS = [
    ("int32", "3.7", 3), ("int32", "-3.7", -3), ("int32", "1e3", 1000), ("int32", "0.99999", 0),
    ("int32", "2147483647.99", (1 << 31) - 1), ("int32", "2147483648", -(1 << 31)),
    ("int32", "-2147483648.5", -(1 << 31)), ("int32", "-5e9", -(1 << 31)),
    ("int32", "5e9", -(1 << 31)), ("int32", "nan", -(1 << 31)), ("int32", "inf", -(1 << 31)),
    ("uint8", "-3", 253), ("uint8", "-1.5", 255), ("int8", "300.7", 44), ("uint8", "256", 0),
    ("uint8", "2147483647", 255), ("uint8", "2147483648", 0), ("uint8", "-2147483648", 0),
    ("uint8", "-2147483647", 1), ("uint8", "nan", 0), ("uint8", "-inf", 0),
    ("int16", "-2147483649", 0), ("uint16", "65535.999", 65535), ("uint16", "-1", 65535),
    ("int64", "9223372036854775807.9", (1 << 63) - 1), ("int64", "9223372036854775808", -(1 << 63)),
    ("int64", "-9223372036854775808.9", -(1 << 63)), ("int64", "-9223372036854775809", -(1 << 63)),
    ("int64", "9007199254740993", 9007199254740993), ("int64", "nan", -(1 << 63)),
    ("int64", "1e18", 10**18), ("int64", "0.0000001e25", 10**18), ("int64", "123e-2", 1),
    ("int64", "1" + "0" * 40 + "e-30", 10**10), ("int64", "99999999999999999999e-19", 9),
    ("uint64", "18446744073709551615", (1 << 64) - 1), ("uint64", "18446744073709551616", 0),
    ("uint64", "18446744073709551615.9999", (1 << 64) - 1), ("uint64", "18446744073709551619", 0),
    ("uint64", "184467440737095516.16e2", 0), ("uint64", "184467440737095516.15e2", (1 << 64) - 1),
    ("uint64", "18446744073709551610.5", (1 << 64) - 6), ("uint64", "1e19", 10**19),
    ("uint64", "1e20", 0), ("uint64", "inf", 0), ("uint64", "-inf", 1 << 63),
    ("uint64", "nan", 1 << 63), ("uint64", "-1", (1 << 64) - 1), ("uint64", "-1e30", 1 << 63),
    ("uint64", "-9223372036854775808", 1 << 63), ("uint64", "-9223372036854775809", 1 << 63),
    ("uint64", "-9223372036854775807", (1 << 63) + 1),
    ("uint32", "4294967296", 0), ("uint32", "4294967301", 5), ("uint32", "-1", (1 << 32) - 1),
    ("uint32", "9223372036854775807", (1 << 32) - 1), ("uint32", "9223372036854775808", 0),
    ("uint32", "nan", 0), ("uint32", "1e300", 0),
    ("int4", "2.5", 2), ("int4", "1.6", 2), ("int4", "-2.5", -2), ("int4", "3.5", 4),
    ("int4", "2.50000000000000000000000000001", 3), ("int4", "2.49999999999999999999999999999", 2),
    ("int4", "-0.5", 0), ("int4", "0.5000000000000000000001", 1), ("int4", "8", -8),
    ("int4", "0.5", 0), ("int4", "1.5", 2), ("int4", "0.05e1", 0), ("int4", "0.015e2", 2),
    ("int4", "2147483647.5", 0), ("int4", "2147483647.4999", -1), ("int4", "nan", 0),
    ("uint4", "-1", 15), ("uint4", "15.4", 15), ("uint4", "15.5", 0), ("uint4", "1e-30", 0),
    ("int2", "2.5", -2), ("int2", "-3", 1), ("int2", "1.5", -2), ("uint2", "3.2", 3),
    ("uint2", "0.5" + "0" * 30 + "1", 1), ("uint2", "0.5" + "0" * 30, 0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "value"), INTEGERS)
def test_integers(name: str, text: str, value: int) -> None:
    assert codes([text], name) == [value % (1 << BY_NAME[name].bits)]


@pytest.mark.parametrize("name", exact.INTEGERS)
def test_integers_at_every_limit(name: str) -> None:
    limits = [0, 1, 2, 3, 7, 8, 15, 127, 255, 32767, 65535, 10**19]
    limits += [1 << n for n in (31, 32, 63, 64)]
    tails = ["", ".0", ".4", ".5", ".50000000000000000000001", ".49999999999999999999999", ".9"]
    texts = [
        f"{sign}{max(limit + d, 0)}{tail}"
        for limit in limits
        for d in (-1, 0, 1)
        for sign in ("", "-")
        for tail in tails
    ]
    assert codes(texts, name) == [exact.cast(text, "string", name) for text in texts]


BOOLS = [
    ("0", 0), ("-0.0", 0), ("0e999999999999999999999", 0), (".0", 0), ("1", 1), ("0.5", 1),
    ("-3", 1), ("nan", 1), ("inf", 1), ("-inf", 1), ("1e-999999999999999999999", 1),
    ("0." + "0" * 1000 + "1", 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), BOOLS)
def test_bools(text: str, value: int) -> None:
    assert codes([text], "bool") == [value]


# ---- texts of any length

MILLION = 10**6
LONG = [
    ("1e999999999", np.inf, 0), ("-1e999999999", -np.inf, 1 << 63), ("1e-999999999", 0.0, 0),
    ("1e" + "9" * 10000, np.inf, 0), ("1e-" + "9" * 10000, 0.0, 0), ("0e" + "9" * 10000, 0.0, 0),
    ("1e" + "0" * 10000 + "1", 10.0, 10), ("0." + "0" * MILLION + "1", 0.0, 0),
    ("0." + "0" * MILLION + f"125e{MILLION + 1}", 1.25, 1), ("0" * MILLION + "7", 7.0, 7),
    ("1" + "0" * MILLION + f"e-{MILLION}", 1.0, 1), ("3" * 10000, np.inf, 0),
    ("3" * 10000 + "e-9999", 10 / 3, 3), ("1." + "0" * MILLION, 1.0, 1),
    ("1." + "0" * MILLION + "1", 1.0, 1), ("0." + "9" * MILLION, 1.0, 0),
    ("1e" + "9" * 19, np.inf, 0), ("1e-" + "9" * 19, 0.0, 0),
    ("18446744073709551615.5", 2.0**64, (1 << 64) - 1),
    ("18446744073709551615.5e" + "9" * 20, np.inf, 0),
    ("18446744073709551615.5e-" + "9" * 20, 0.0, 0),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value", "integer"), LONG, ids=lambda x: str(x)[:20])
def test_any_length(text: str, value: float, integer: int) -> None:
    assert doubles([text]) == [value]
    assert codes([text], "uint64") == [integer]


@pytest.mark.parametrize("name", NUMERIC)
def test_long_texts_to_every_type(name: str) -> None:
    texts = [text for text, _, _ in LONG]
    assert codes(texts, name) == [exact.cast(text, "string", name) for text in texts]
