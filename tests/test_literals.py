"""Python values as tensors: each exactly, or an error that says which and where."""

import math

import numpy as np
import pytest

from minirt.data.arrays import to_public
from minirt.data.literals import from_python
from minirt.dtypes import BY_NAME, TABLE, DType, Kind
from minirt.errors import InputError

NUMBERS = [d for d in TABLE if d.kind not in (Kind.STRING, Kind.COMPLEX)]
NARROW = [d for d in NUMBERS if d.bits <= 16]
INF, NAN = math.inf, math.nan


def code(value: object, dtype: DType) -> int:
    """The bits of a scalar."""
    storage = from_python(value, dtype)
    assert storage.dtype == dtype.storage
    assert storage.shape == ()
    return int(storage.reshape(1).view(f"u{dtype.storage.itemsize}")[0])


def python_value(bits: int, dtype: DType) -> int | float:
    """What a code means, from the table: exact, since every float here is a float64."""
    value = dtype.value_of(bits)
    if not dtype.is_float:
        return value
    negative = dtype.float.signed and bits >> (dtype.bits - 1) and value != "nan"
    return math.copysign(float(value), -1.0) if negative else float(value)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_the_values_of_a_narrow_type_are_taken(dtype: DType) -> None:
    step = 1 if dtype.bits <= 8 else 11
    codes = range(0, 2 if dtype.kind is Kind.BOOL else 1 << dtype.bits, step)
    known = [c for c in codes if dtype.value_of(c) != "nan"]
    storage = from_python([python_value(c, dtype) for c in known], dtype)
    bits = storage.view(f"u{dtype.storage.itemsize}").tolist()
    if dtype.is_integer:
        bits = [b & dtype.code_mask for b in bits]
    assert bits == known


@pytest.mark.parametrize("dtype", [d for d in NARROW if d.is_float and d.bits <= 8], ids=str)
def test_no_value_between_is_taken(dtype: DType) -> None:
    """Midpoints of neighbours, and the next step beyond the largest."""
    for low in range(dtype.largest_code):
        between = (dtype.value_of(low) + dtype.value_of(low + 1)) / 2
        with pytest.raises(InputError, match="is not exactly representable"):
            from_python(float(between), dtype)
    with pytest.raises(InputError, match="is not exactly representable"):
        from_python(float(dtype.largest) * 2, dtype)


@pytest.mark.parametrize(
    ("name", "value", "bits"),
    [
        ("float", 0.5, 0x3F000000),
        ("float", 2**24, 0x4B800000),
        ("float", True, 0x3F800000),
        ("float", 2.0**-149, 1),
        ("float", 3.4028234663852886e38, 0x7F7FFFFF),
        ("float", -0.0, 0x80000000),
        ("float", -INF, 0xFF800000),
        ("float", NAN, 0x7FC00000),
        ("float", -NAN, 0xFFC00000),
        ("double", 0.1, 0x3FB999999999999A),
        ("double", 2**1023, 0x7FE0000000000000),
        ("double", 5e-324, 1),
        ("bfloat16", 2.0**-133, 1),
        ("bfloat16", 3.0, 0x4040),
        ("float16", 65504, 0x7BFF),
        ("float8e4m3fn", NAN, 0x7F),
        ("float8e4m3fn", -NAN, 0xFF),
        ("float8e4m3fnuz", NAN, 0x80),
        ("float8e4m3fnuz", -NAN, 0x80),
        ("float8e5m2", INF, 0x7C),
        ("float8e8m0", 1, 0x7F),
        ("float8e8m0", 2.0**-127, 0),
        ("float8e8m0", -NAN, 0xFF),
        ("int64", -(2**63), 1 << 63),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("uint64", 2.0**63, 1 << 63),
        ("int4", -1, 15),
        ("int2", -2.0, 2),
        ("bool", True, 1),
        ("bool", 0.0, 0),
    ],
)
def test_a_value_that_fits(name: str, value: float, bits: int) -> None:
    assert code(value, BY_NAME[name]) == bits


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("float", 2**24 + 1, "16777217"),
        ("float", 3.4028235677973366e38, "3.4028235677973366e+38"),
        ("double", 2**53 + 1, "9007199254740993"),
        ("double", 2**1024, "an integer of 1025 bits"),
        pytest.param("double", 10**5000, "an integer of 16610 bits", id="huge"),
        ("float16", 65505, "65505"),
        ("float16", 65520.0, "65520.0"),
        ("bfloat16", 257, "257"),
        ("float8e4m3fn", 0.1, "0.1"),
        ("float8e4m3fn", INF, "inf"),
        ("float8e4m3fn", 449.0, "449.0"),
        ("float8e4m3fnuz", -0.0, "-0.0"),
        ("float8e8m0", 0, "0"),
        ("float8e8m0", -1.0, "-1.0"),
        ("float8e8m0", 3, "3"),
        ("float4e2m1", NAN, "nan"),
        ("float6e3m2", 29, "29"),
        ("int32", 2**31, "2147483648"),
        ("int32", 1.5, "1.5"),
        ("int32", -0.0, "-0.0"),
        ("int32", NAN, "nan"),
        ("int8", -129, "-129"),
        ("uint8", -1, "-1"),
        ("int4", 8, "8"),
        ("uint2", 4, "4"),
        ("bool", 2, "2"),
        ("bool", -1, "-1"),
    ],
)
def test_a_value_that_does_not_fit(name: str, value: float, shown: str) -> None:
    dtype = BY_NAME[name]
    narrow = dtype.is_float and dtype.bits <= 8
    hint = "; round it with numpy.array(..., dtype)" if narrow else ""
    with pytest.raises(InputError) as caught:
        from_python(value, dtype)
    assert str(caught.value) == f"{shown} is not exactly representable as {dtype.public.name}{hint}"


@pytest.mark.parametrize("name", ["float", "float16", "bfloat16"])
def test_a_float_becomes_the_nearest(name: str) -> None:
    """Against NumPy and ml_dtypes, which round a float64 to these right; ties to even."""
    dtype = BY_NAME[name]
    quantum = 2.0 ** -(dtype.float.bias + dtype.float.man)  # half the smallest
    half_unit = 2.0 ** -(dtype.float.man + 1)
    values = [0.1, 1 / 3, -math.pi, 1 + half_unit, 1 + 3 * half_unit, quantum, 3 * quantum, 0.3e-4]
    values += [0.9 * quantum, -0.9 * quantum, float(dtype.largest), math.ulp(0.0), -0.0, INF]
    storage = from_python(values, dtype)
    expected = np.array(values).astype(dtype.public)
    assert storage.tolist() == expected.view(dtype.storage).tolist()


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_numbers(name: str) -> None:
    dtype = BY_NAME[name]
    values = [1 + 2j, -0.5, 3, complex(-0.0, INF), True]
    storage = from_python(values, dtype)
    np.testing.assert_array_equal(storage, np.array(values, dtype.public))
    assert math.copysign(1, storage[3].real) == -1
    with pytest.raises(
        InputError, match=r"^\(1\+1e\+39j\) is not exactly representable as complex64"
    ):
        from_python(1 + 1e39j, BY_NAME["complex64"])
    with pytest.raises(InputError, match=r"^1j is not a real number$"):
        from_python(1j, BY_NAME["float"])


def test_text() -> None:
    storage = from_python([["a", b"\xc3\xa9"], ("", np.str_("z"))], BY_NAME["string"])
    assert storage.dtype == object
    assert storage.tolist() == [["a", "é"], ["", "z"]]
    assert set(map(type, storage.ravel())) == {str}
    assert from_python("one", BY_NAME["string"])[()] == "one"


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (1, ()),
        ([], (0,)),
        ([[], []], (2, 0)),
        ([[1, 2, 3]], (1, 3)),
        ([(1,), range(1), [2]], (3, 1)),
        ([[[[7]]]], (1, 1, 1, 1)),
        ([np.array([1, 2], "i4"), [3, np.int32(4)]], (2, 2)),
        ([np.array(5, "i4")], (1,)),
    ],
)
def test_shapes(value: object, shape: tuple[int, ...]) -> None:
    storage = from_python(value, BY_NAME["int32"])
    assert storage.shape == shape
    np.testing.assert_array_equal(storage, np.array(value, "i4"))


ENDLESS: list[object] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("int32", [[1, 2], [3]], "ragged: at depth 1 there are length 1 and length 2"),
        ("int32", [[1], 2], "ragged: at depth 1 there are no sequence and length 1"),
        ("int32", [[], [1]], "ragged: at depth 1 there are length 0 and length 1"),
        ("int32", ENDLESS, "lists are nested more than 64 deep"),
        ("int32", [[1, 2], [3, 0.5]], "element [1,1]: 0.5 is not exactly representable as int32"),
        ("int32", [None], "element [0]: None is not a number"),
        ("int32", "12", "'12' is not a number"),
        ("int32", [1, b"2"], "element [1]: b'2' is not a number"),
        ("int32", [{1: 2}], "element [0]: {1: 2} is not a number"),
        ("int32", [np.int64(3)], "element [0]: expected int32, got int64"),
        ("float", [1.0, np.float64(2.0)], "element [1]: expected float32, got float64"),
        ("bool", [np.uint8(1)], "element [0]: expected bool, got uint8"),
        ("string", ["a", 1], "element [1]: 1 is not text"),
        ("string", [None], "element [0]: None is not text"),
        ("string", [b"\xff"], "element [0]: b'\\xff' is not UTF-8 text: invalid start byte"),
    ],
)
def test_what_is_no_tensor(name: str, value: object, text: str) -> None:
    with pytest.raises(InputError) as caught:
        from_python(value, BY_NAME[name])
    assert str(caught.value) == text


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_numpy_scalars_of_the_type_are_taken(dtype: DType) -> None:
    public = to_public(from_python([0 if dtype.value_of(0) == 0 else 1, 1], dtype), dtype)
    storage = from_python([public[0], public[1]], dtype)
    assert to_public(storage, dtype).tobytes() == public.tobytes()


def test_a_long_text_is_cut_in_messages() -> None:
    with pytest.raises(InputError) as caught:
        from_python("x" * 10_000, BY_NAME["float"])
    assert len(str(caught.value)) < 80
