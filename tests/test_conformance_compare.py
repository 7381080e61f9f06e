"""The comparator: what must pass, what must not, and what it says."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from minirt.conformance import Comparison, Tolerance, compare
from minirt.conformance.compare import compare_draws
from minirt.dtypes import TABLE, find

F32, BF16, F8 = np.float32, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
NAN, INF = np.nan, np.inf
EXACT, ONE_ULP = Tolerance(ulp=0), Tolerance(ulp=1)
FLOATS = [d for d in TABLE if d.is_float]


def codes(dtype, *values):
    """An array of ``dtype`` with these bits."""
    row = find(dtype)
    return np.array(values, f"u{row.storage.itemsize}").view(row.public)


def text(*items):
    return np.array(items, object)


# expected, actual, tolerance, is it right
CASES = [
    # exact types
    (np.int8([1, 2]), np.int8([1, 2]), None, True),
    (np.int8([1, 2]), np.int8([1, 3]), None, False),
    (np.int64(2**62), np.int64(2**62 + 1), None, False),
    (np.int32(2000), np.int32(2001), None, False),
    (np.int32(2000), np.int32(2001), ONE_ULP, False),
    (np.array(True), np.array(False), None, False),
    (codes("int4", 15), codes("int4", 0xFF), None, True),
    (codes("int4", 15), codes("int4", 14), None, False),
    (text("a", "é"), text("a", "é"), None, True),
    (text("NaN"), text("nan"), None, False),
    (text("1"), text("1.0"), None, False),
    # wide floats: the case's tolerance
    (F32(1), F32(1.0009), None, True),
    (F32(1), F32(1.0011), None, False),
    (F32(0), F32(0.9e-7), None, True),
    (F32(0), F32(2e-7), None, False),
    (F32(0.0), F32(-0.0), None, True),
    (F32(1), F32(1.4), Tolerance(rtol=0.5), True),
    (F32(1), F32(1.4), Tolerance(rtol=0, atol=0.1), False),
    (np.float16(1), np.float16(1.001), None, True),
    (np.float16(1), np.float16(1.002), None, False),
    (1e308, -1e308, None, False),
    (F32(NAN), F32(NAN), None, True),
    (codes("float", 0x7FC00000), codes("float", 0xFFC00001), EXACT, True),
    (F32(NAN), F32(0), None, False),
    (F32(0), F32(NAN), Tolerance(atol=1e9), False),
    (F32(INF), F32(INF), None, True),
    (F32(INF), F32(-INF), Tolerance(atol=1e9), False),
    (F32(INF), F32(3e38), Tolerance(rtol=1), False),
    (F32(3e38), F32(INF), Tolerance(rtol=1), False),
    # ulp: bits
    (F32(1), np.nextafter(F32(1), F32(2)), EXACT, False),
    (F32(1), np.nextafter(F32(1), F32(2)), ONE_ULP, True),
    (F32(1), np.nextafter(F32(1), F32(0)), ONE_ULP, True),
    (1.0, 1.0 + 2**-52, EXACT, False),
    (1.0, 1.0 + 2**-51, ONE_ULP, False),
    (F32(0.0), F32(-0.0), EXACT, False),
    (F32(0.0), F32(-0.0), ONE_ULP, True),
    (codes("float", 0x00000001), codes("float", 0x80000001), Tolerance(ulp=2), False),
    (codes("float", 0x00000001), codes("float", 0x80000001), Tolerance(ulp=3), True),
    (codes("float", 0x7F800000), codes("float", 0x7F800001), ONE_ULP, False),
    (codes("bfloat16", 0x3F80), codes("bfloat16", 0x3F81), EXACT, False),
    # bfloat16: one unit in the last place, never at infinity
    (codes("bfloat16", 0x3F80), codes("bfloat16", 0x3F81), None, True),
    (codes("bfloat16", 0xBF80), codes("bfloat16", 0xBF7F), None, True),
    (codes("bfloat16", 0x3F80), codes("bfloat16", 0x3F82), None, False),
    (codes("bfloat16", 0x7F7F), codes("bfloat16", 0x7F80), None, False),
    (codes("bfloat16", 0x7F80), codes("bfloat16", 0x7F7F), None, False),
    (codes("bfloat16", 0x7F80), codes("bfloat16", 0x7F80), None, True),
    (codes("bfloat16", 0x7F80), codes("bfloat16", 0xFF80), None, False),
    (codes("bfloat16", 0x7FC0), codes("bfloat16", 0xFF81), None, True),
    (codes("bfloat16", 0x7F80), codes("bfloat16", 0x7F81), None, False),
    # narrow floats: the same value
    (codes("float8e4m3fn", 0x7F), codes("float8e4m3fn", 0xFF), None, True),
    (codes("float8e4m3fn", 0x00), codes("float8e4m3fn", 0x80), None, True),
    (codes("float8e4m3fn", 0x00), codes("float8e4m3fn", 0x80), EXACT, False),
    (codes("float8e4m3fn", 0x38), codes("float8e4m3fn", 0x39), Tolerance(rtol=9), False),
    (codes("float8e4m3fn", 0x38), codes("float8e4m3fn", 0x39), ONE_ULP, True),
    (codes("float8e5m2", 0x7C), codes("float8e5m2", 0x7B), None, False),
    (codes("float8e5m2", 0x7D), codes("float8e5m2", 0xFF), EXACT, True),
    (codes("float8e4m3fnuz", 0x80), codes("float8e4m3fnuz", 0x00), None, False),
    (codes("float8e4m3fnuz", 0x81), codes("float8e4m3fnuz", 0x00), ONE_ULP, True),
    (codes("float8e4m3fnuz", 0x81), codes("float8e4m3fnuz", 0x01), ONE_ULP, False),
    (codes("float4e2m1", 0x0), codes("float4e2m1", 0x8), None, True),
    (codes("float4e2m1", 0x0), codes("float4e2m1", 0x8), EXACT, False),
    (codes("float4e2m1", 0x1), codes("float4e2m1", 0x9), None, False),
    (codes("float6e2m3", 0x01), codes("float6e2m3", 0xC1), None, True),
    (codes("float8e8m0", 0x00), codes("float8e8m0", 0x01), None, False),
    (codes("float8e8m0", 0x7F), codes("float8e8m0", 0xFF), ONE_ULP, False),
    (codes("float8e8m0", 0xFE), codes("float8e8m0", 0xFF), ONE_ULP, False),
    # complex: both parts
    (np.complex64(1 + 2j), np.complex64(1 + 2.001j), None, True),
    (np.complex64(1 + 2j), np.complex64(1 + 2.1j), None, False),
    (np.complex128(complex(NAN, 1)), np.complex128(complex(NAN, 1)), EXACT, True),
    (np.complex128(complex(0.0, 1)), np.complex128(complex(-0.0, 1)), EXACT, False),
    # type, shape, layout
    (F32([1]), np.float64([1]), None, False),
    (np.int8([1]), np.uint8([1]), None, False),
    (codes("bfloat16", 0), codes("uint16", 0), None, False),
    (F32([[1]]), F32([1]), None, False),
    (F32(1), F32([1]), None, False),
    (np.zeros((2, 3), F32), np.zeros((3, 2), F32), None, False),
    (np.zeros((0, 3), F32), np.zeros((0, 3), F32), EXACT, True),
    (np.zeros((0, 3), F32), np.zeros((3, 0), F32), None, False),
    (np.zeros(0, F32), np.zeros(0, np.int64), None, False),
    (F32([[1, 2], [3, 4]]), np.asfortranarray(F32([[1, 2], [3, 4]])), EXACT, True),
    (F32([1, 2]), F32([1, 2]).astype(">f4"), EXACT, True),
    # nesting
    (None, None, None, True),
    (None, F32([]), None, False),
    (F32(1), None, None, False),
    ([], [], None, True),
    ([], None, None, False),
    ([F32([1])], [F32([1])], None, True),
    ([F32([1])], [F32([2])], None, False),
    ([F32([1])], [F32([1]), F32([1])], None, False),
    ([F32([1]), F32([1])], [F32([1])], None, False),
    ([np.zeros(0, F32)], [np.zeros((0, 1), F32)], None, False),
    ([F32(1)], [F32(2)], None, False),
    ([F32(1), F32(2)], [F32(9), F32(2)], None, False),
    ([F32(1), F32(2)], [F32(1), F32(9)], None, False),
    ([[F32(1)], []], [[F32(1)], []], None, True),
    ([[F32(1)], []], [[], [F32(1)]], None, False),
    (F32([1]), [F32(1)], None, False),
    ({"a": F32(1)}, {"a": F32(1)}, None, True),
    ({"a": F32(1)}, {"a": F32(2)}, None, False),
    ({"a": F32(1)}, {"b": F32(1)}, None, False),
    ({1: F32(1)}, {1: F32(1), 2: F32(1)}, None, False),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_what_passes(case):
    expected, actual, tolerance, right = CASES[case]
    assert compare(expected, actual, *([tolerance] if tolerance else [])).passed == right


@pytest.mark.parametrize("dtype", [d for d in FLOATS if d.bits <= 16], ids=str)
def test_distance_counts_values(dtype):
    """Of all pairs of neighbours in value, and of the values three apart."""
    order = [c for c in range(1 << dtype.bits) if dtype.value_of(c) != "nan"]
    # -0 before +0, which have one value.
    order.sort(key=lambda c: (float(dtype.value_of(c)), -(c >> (dtype.bits - 1))))
    every = codes(dtype, *order)
    for step in (1, 3):
        low, high = every[:-step], every[step:]
        for e, a in ((low, high), (high, low)):
            near = compare(e, a, Tolerance(ulp=step))
            assert (near.problem, near.max_ulp, near.differ) == ("", step, e.size)
            assert not compare(e, a, Tolerance(ulp=step - 1)).passed


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_nan_equals_nan_and_nothing_else(dtype):
    width = min(dtype.bits, 16)
    nans = [c for c in range(1 << width) if dtype.bits <= 16 and dtype.value_of(c) == "nan"]
    if dtype.bits > 16:
        sign, quiet = 1 << (dtype.bits - 1), dtype.nan_code
        nans = [quiet, quiet | 1, dtype.inf_code + 1, quiet | sign, dtype.inf_code + 1 | sign]
    for nan in nans:
        for other in (nans[0], nans[-1]):
            assert compare(codes(dtype, nan), codes(dtype, other), EXACT) == Comparison(1, 0, 0)
        for number in (0, 1, dtype.largest_code, nan ^ (nan & -nan)):
            if dtype.value_of(number) != "nan":
                huge = Tolerance(ulp=2**64)
                assert not compare(codes(dtype, nan), codes(dtype, number), huge).passed
                assert not compare(codes(dtype, number), codes(dtype, nan)).passed
    assert nans or dtype.nan_code is None


def test_a_pass_records_how_exact_it_is():
    expected = F32([1, 2, NAN, 0.0])
    actual = F32([np.nextafter(F32(1), F32(2)), 2, NAN, -0.0])
    assert compare(expected, actual) == Comparison(count=4, differ=2, max_ulp=1)
    both = compare([expected, np.int8([1])], [actual, np.int8([1])])
    assert both == Comparison(count=5, differ=2, max_ulp=1)
    assert compare(np.zeros((2, 0), F32), np.zeros((2, 0), F32)) == Comparison()


MESSAGES = [
    (
        F32([[1, 2, 3], [4, 5, 6]]),
        F32([[1, 2, 3], [4, 5.5, 7]]),
        "y[1,1]: expected 5.0 (0x40a00000), got 5.5 (0x40b00000); "
        "2 of 6 elements wrong, up to 2097152 ulp off",
    ),
    (
        codes("bfloat16", 0x3F80, 0x3F80),
        codes("bfloat16", 0x3F80, 0x3F82),
        "y[1]: expected 1.0 (0x3f80), got 1.015625 (0x3f82); "
        "1 of 2 elements wrong, up to 2 ulp off",
    ),
    (
        codes("float8e4m3fn", 0x01),
        codes("float8e4m3fn", 0xFF),
        "y[0]: expected 0.001953125 (0x01), got nan (0xff); 1 of 1 elements wrong",
    ),
    (
        codes("int4", 0xF),
        codes("int4", 0xF7),
        "y[0]: expected -1 (0xf), got 7 (0x7); 1 of 1 elements wrong",
    ),
    (
        np.int64(-1),
        np.int64(1),
        "y: expected -1 (0xffffffffffffffff), got 1 (0x0000000000000001); 1 of 1 elements wrong",
    ),
    (
        np.array([True]),
        np.array([False]),
        "y[0]: expected True (0x01), got False (0x00); 1 of 1 elements wrong",
    ),
    (
        np.complex64([1j]),
        np.complex64([2j]),
        "y[0]: expected 1j (0x00000000 0x3f800000), got 2j (0x00000000 0x40000000); "
        "1 of 1 elements wrong, up to 8388608 ulp off",
    ),
    (text("a", "b"), text("a", "c"), "y[1]: expected 'b', got 'c'; 1 of 2 elements wrong"),
    (F32([1]), np.float64([[1]]), "y: expected float[1], got double[1,1]"),
    ([F32(1), F32(2)], [F32(1)], "y: expected a sequence of 2, got a sequence of 1"),
    (
        [[F32(1)], [F32([1, 2])]],
        [[F32(1)], [F32([1, 3])]],
        "y[1][0][1]: expected 2.0 (0x40000000), got 3.0 (0x40400000); "
        "1 of 2 elements wrong, up to 4194304 ulp off",
    ),
    ({"a": F32(1)}, {"b": F32(1)}, "y: expected the keys ['a'], got the keys ['b']"),
    (
        {"a": np.int8(1)},
        {"a": np.int8(2)},
        "y['a']: expected 1 (0x01), got 2 (0x02); 1 of 1 elements wrong",
    ),
    (None, F32([1]), "y: expected None, got float[1]"),
    (F32([1]), None, "y: expected float[1], got None"),
]


@pytest.mark.parametrize(("expected", "actual", "message"), MESSAGES)
def test_what_it_says(expected, actual, message):
    assert compare(expected, actual, name="y").problem == message


# What chance decides


@pytest.mark.parametrize(
    ("expected", "actual", "right"),
    [
        (F32([0, 1, 1]), F32([1, 0, 1]), True),
        (np.array([0, 1], BF16), np.array([1, 0], BF16), True),
        (np.array([True, False]), np.array([True, True]), True),
        (F32([0, 1, 1]), F32([0, 1, 2]), False),
        (F32([0, 1, 1]), F32([0, 1, NAN]), False),
        (F32([0, 1, 1]), F32([0, 1]), False),
        (F32([0, 1, 1]), np.float64([0, 1, 1]), False),
        (F32([0, 0.5]), F32([0, 1]), False),
        (F32([0, 0.5]), F32([0, 0.5]), True),
        ([F32([0])], [F32([1])], False),
    ],
)
def test_draws(expected, actual, right):
    assert compare_draws(expected, actual).passed == right
    if right and isinstance(expected, np.ndarray) and (expected != actual).any():
        assert not compare(expected, actual).passed
        assert compare_draws(expected, actual).differ == (expected != actual).sum()
