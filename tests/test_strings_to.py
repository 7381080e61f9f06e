"""Numbers to text: layout, shortest digits, every type."""

from __future__ import annotations

import math

import exact
import numpy as np
import pytest

from minirt.dtypes import BY_NAME
from minirt.kernels.strings import from_string, to_string

LAYOUT = [
    ("float", 0.2961402, "0.2961402"),
    ("float", 4.0, "4"),
    ("float", -0.0, "-0"),
    ("float", 0.0, "0"),
    ("float", 123456789, "123456790"),
    ("float", 16777216, "16777216"),
    ("float", 1e16, "1e+16"),
    ("float", 9.999999e15, "9999999000000000"),
    ("float", 1e-5, "1e-05"),
    ("float", -1.25e-5, "-1.25e-05"),
    ("float", 1e-4, "0.0001"),
    ("float", -1234.5, "-1234.5"),
    ("float", 314.15926, "314.15927"),
    ("float", 2.0**-149, "1e-45"),
    ("float", 2.0**-126, "1.1754944e-38"),
    ("float", 3.4028235e38, "3.4028235e+38"),
    ("float", math.inf, "INF"),
    ("float", -math.inf, "-INF"),
    ("float", math.nan, "NaN"),
    ("float", -math.nan, "NaN"),
    # Two neighbours are as near: the even last digit, as repr chooses.
    ("float", 2097152.25, "2097152.2"),
    ("float", 2097152.75, "2097152.8"),
    # A power of two, whose lower neighbour is nearer than its upper one.
    ("float", 2.0**25, "33554432"),
    ("float", 2.0**-44, "5.684342e-14"),
    ("double", 2.0**-1074, "5e-324"),
    ("double", 9007199254740993, "9007199254740992"),
    ("double", 1.7976931348623157e308, "1.7976931348623157e+308"),
    ("double", 1e22, "1e+22"),
    ("double", 1e-100, "1e-100"),
    ("double", 123456789.125, "123456789.125"),
    ("double", -math.inf, "-INF"),
    ("int32", -(1 << 31), "-2147483648"),
    ("uint32", (1 << 32) - 1, "4294967295"),
    ("int64", -(1 << 63), "-9223372036854775808"),
    ("uint64", (1 << 64) - 1, "18446744073709551615"),
]

#: By code: float16, bfloat16 and narrower types, bools, and integers of every width.
CODES = [
    ("float16", 0x7BFF, "65500"),
    ("float16", 0x0001, "6e-08"),
    ("float16", 0xFC00, "-INF"),
    ("float16", 0xFE00, "NaN"),
    ("bfloat16", 0x4094, "4.62"),
    ("bfloat16", 0x7F7F, "3.39e+38"),
    ("bfloat16", 0x8000, "-0"),
    ("bfloat16", 0x0001, "9e-41"),  # 1e-40 reads back too, but is farther away
    ("float8e4m3fn", 0x7E, "448"),
    ("float8e4m3fn", 0x01, "0.001953125"),
    ("float8e4m3fn", 0xFF, "NaN"),
    ("float8e4m3fnuz", 0x80, "NaN"),
    ("float8e5m2", 0xFC, "-INF"),
    ("float8e5m2", 0x01, "1.52587890625e-05"),
    ("float8e5m2fnuz", 0xFF, "-57344"),
    ("float8e8m0", 0x00, "5.877471754111438e-39"),
    ("float8e8m0", 0xFE, "1.7014118346046923e+38"),
    ("float8e8m0", 0xFF, "NaN"),
    ("float4e2m1", 0x8, "-0"),
    ("float4e2m1", 0xF, "-6"),
    ("float6e2m3", 0x01, "0.125"),
    ("float6e3m2", 0x3F, "-28"),
    ("bool", 0, "0"),
    ("bool", 1, "1"),
    ("int4", 0xF, "-1"),
    ("uint4", 0xF, "15"),
    ("int2", 0x2, "-2"),
    ("uint2", 0x3, "3"),
    ("int8", 0x80, "-128"),
    ("uint8", 0xFF, "255"),
    ("int16", 0x8000, "-32768"),
    ("uint16", 0xFFFF, "65535"),
]


def texts(name: str, storage: np.ndarray) -> list[str]:
    """What the kernel writes for elements of the type ``name``."""
    out = np.empty(storage.size, object)
    to_string(BY_NAME[name])(storage, out)
    return out.tolist()


def read_back(name: str, written: list[str]) -> np.ndarray:
    """The storage that the kernel reads from texts.

    Saturated, float8e5m2 would lose "INF"; the text of a float8e8m0 is near it, not equal.
    """
    out = np.empty(len(written), BY_NAME[name].storage)
    from_string(BY_NAME[name], False, "nearest")(np.array(written, object), out)
    return out


def bits(storage: np.ndarray) -> np.ndarray:
    return storage.view(f"u{storage.itemsize}")


@pytest.mark.parametrize(("name", "value", "text"), LAYOUT)
def test_layout(name: str, value: float, text: str) -> None:
    assert texts(name, np.array([value], BY_NAME[name].storage)) == [text]


@pytest.mark.parametrize(("name", "code", "text"), CODES)
def test_layout_of_codes(name: str, code: int, text: str) -> None:
    storage = np.array([code], f"u{BY_NAME[name].storage.itemsize}")
    assert texts(name, storage.view(BY_NAME[name].storage)) == [text]


def every_code(name: str) -> np.ndarray:
    dtype = BY_NAME[name]
    count = 2 if name == "bool" else 1 << dtype.bits
    return np.arange(count, dtype=f"u{dtype.storage.itemsize}").view(dtype.storage)


NARROW = [n for n in exact.NAMES if n != "string" and BY_NAME[n].bits <= 16]


@pytest.mark.parametrize("name", NARROW)
def test_every_code(name: str) -> None:
    storage = every_code(name)
    step = 1 if BY_NAME[name].bits <= 8 else 7
    expected = [exact.cast(code, name, "string") for code in bits(storage).tolist()[::step]]
    assert texts(name, storage)[::step] == expected


@pytest.mark.parametrize("name", NARROW)
def test_every_code_comes_back(name: str) -> None:
    storage = every_code(name)
    written = texts(name, storage)
    # The sign and the payload of a NaN are not in its text.
    number = np.array([text != "NaN" for text in written])
    np.testing.assert_array_equal(read_back(name, written)[number], storage[number])


def interesting(unsigned: str, man: int) -> np.ndarray:
    """Codes around every power of two, short decimals, whole numbers, and random ones."""
    width = 8 * np.dtype(unsigned).itemsize
    floating = f"f{width // 8}"
    rng = np.random.default_rng(5)
    exponents = np.arange(1 << (width - 1 - man), dtype=unsigned) << man
    around = (exponents[:, None] + np.arange(-3, 4).astype(unsigned)).ravel()
    decimals = rng.integers(0, 1 << man, 4000) / 10.0 ** rng.integers(0, 23, 4000)
    whole = np.ldexp(rng.integers(0, 1 << (man + 1), 4000).astype("f8"), rng.integers(-4, 40, 4000))
    anything = rng.integers(0, 1 << width, 8000, dtype=unsigned)
    values = np.concatenate([decimals, whole]).astype(floating).view(unsigned)
    return np.concatenate([around, values, anything])


def test_float32_is_shortest_and_nearest() -> None:
    values = interesting("u4", 23).view("f4")
    values = values[np.isfinite(values) & (values != 0)]
    for value, text in zip(values, texts("float", values), strict=True):
        assert float(text) == float(np.format_float_scientific(value, unique=True)), value
        # No text has more digits than repr needs for it, so repr says how it is laid out.
        assert text == repr(float(text)).removesuffix(".0")


def test_float64_is_repr() -> None:
    values = interesting("u8", 52).view("f8")
    values = values[np.isfinite(values)]
    assert texts("double", values) == [repr(v).removesuffix(".0") for v in values.tolist()]


@pytest.mark.parametrize(("name", "man"), [("float", 23), ("double", 52)])
def test_wide_floats_come_back(name: str, man: int) -> None:
    storage = interesting(f"u{BY_NAME[name].storage.itemsize}", man).view(BY_NAME[name].storage)
    storage = storage[~np.isnan(storage)]
    np.testing.assert_array_equal(bits(read_back(name, texts(name, storage))), bits(storage))


@pytest.mark.parametrize("name", ["int32", "uint32", "int64", "uint64"])
def test_wide_integers_come_back(name: str) -> None:
    dtype = BY_NAME[name].storage
    limits, rng = np.iinfo(dtype), np.random.default_rng(6)
    shifts = rng.integers(0, 64, 5000).astype("u8")
    scattered = (rng.integers(0, 1 << 64, 5000, dtype="u8") >> shifts).astype(dtype)
    tens = [s * (10**k + d) for k in range(20) for d in (-1, 0, 1) for s in (-1, 1)]
    edges = [limits.min, limits.max, *(n for n in tens if limits.min <= n <= limits.max)]
    storage = np.concatenate([scattered, np.array(edges, dtype)])
    written = texts(name, storage)
    assert written == [f"{n:d}" for n in storage.tolist()]
    np.testing.assert_array_equal(read_back(name, written), storage)


@pytest.mark.parametrize("size", [0, 1, 2, 8191, 8192, 8193, 30000])
@pytest.mark.parametrize("name", ["float", "int32", "float16", "uint8", "bool"])
def test_any_number_of_elements(name: str, size: int) -> None:
    storage = (np.arange(size) % 2).astype(BY_NAME[name].storage)
    pair = texts(name, np.arange(2).astype(BY_NAME[name].storage))
    assert texts(name, storage) == (pair * size)[:size]


def test_texts_are_str() -> None:
    for name in exact.NAMES:
        if name != "string":
            assert [type(t) for t in texts(name, np.zeros(3, BY_NAME[name].storage))] == [str] * 3
