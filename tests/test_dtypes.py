"""The table of element types, against ml_dtypes, NumPy, onnx and exact arithmetic."""

import copy
import pickle
from fractions import Fraction

import ml_dtypes
import numpy as np
import onnx
import onnx.defs
import onnx.helper
import pytest

from minirt.dtypes import BY_CODE, BY_NAME, TABLE, DType, Kind, find

FLOATS = [d for d in TABLE if d.is_float]
INTEGERS = [d for d in TABLE if d.is_integer]
BY_TYPE = pytest.mark.parametrize("dtype", TABLE, ids=repr)


def fraction(value: object) -> Fraction | str:
    """A finite NumPy float as an exact number; "nan", "inf" or "-inf" otherwise."""
    number = float(value)
    return Fraction(number) if np.isfinite(number) else str(number)


# The table and onnx.


def test_every_onnx_type_has_a_row():
    defined = dict(onnx.TensorProto.DataType.items())
    del defined["UNDEFINED"]
    assert {d.enum_name: d.code for d in TABLE} == defined
    assert [d.code for d in TABLE] == list(range(1, 29))


def test_the_indexes_hold_every_row():
    assert list(BY_CODE.values()) == list(BY_NAME.values()) == list(TABLE)
    assert all(BY_CODE[d.code] is d and BY_NAME[d.name] is d for d in TABLE)


def test_names_are_those_of_onnx_type_strings():
    spelled = set()
    for schema in onnx.defs.get_all_schemas():
        for constraint in schema.type_constraints:
            spelled.update(t for t in constraint.allowed_type_strs if t.startswith("tensor("))
    assert {f"tensor({d.name})" for d in TABLE} == spelled


@BY_TYPE
def test_types_and_fields_are_those_of_onnx_helper(dtype):
    assert dtype.public == onnx.helper.tensor_dtype_to_np_dtype(dtype.code)
    assert dtype.proto_field == onnx.helper.tensor_dtype_to_field(dtype.code)


@BY_TYPE
def test_public_and_storage_have_slots_of_one_size(dtype):
    assert dtype.public.itemsize == dtype.storage.itemsize
    if not dtype.is_packed and dtype.kind is not Kind.STRING:
        assert dtype.storage.itemsize * 8 == dtype.bits


# Facts of integers and floats.


@pytest.mark.parametrize("dtype", INTEGERS, ids=repr)
def test_integers_are_as_iinfo_says(dtype):
    info = ml_dtypes.iinfo(dtype.public)
    assert (dtype.bits, dtype.smallest, dtype.largest) == (info.bits, info.min, info.max)


@pytest.mark.parametrize("dtype", FLOATS, ids=repr)
def test_floats_are_as_finfo_says(dtype):
    info = ml_dtypes.finfo(dtype.public)
    layout = dtype.float
    assert (dtype.bits, layout.man, layout.exp) == (info.bits, info.nmant, info.nexp)
    assert layout.signed + layout.exp + layout.man == dtype.bits
    assert (dtype.largest, dtype.smallest) == (fraction(info.max), fraction(info.min))
    assert dtype.value_of(1 << layout.man) == fraction(info.smallest_normal) or not layout.signed
    assert dtype.value_of(1 if layout.signed else 0) == fraction(info.smallest_subnormal)


@pytest.mark.parametrize("dtype", [d for d in TABLE if 0 < d.bits <= 16], ids=repr)
def test_every_code_has_its_value(dtype):
    codes = np.arange(1 << dtype.bits, dtype=np.uint32).astype(f"u{dtype.storage.itemsize}")
    codes = codes[:2] if dtype.kind is Kind.BOOL else codes
    with np.errstate(invalid="ignore"):  # NumPy warns of signalling NaNs
        decoded = codes.view(dtype.public).astype(np.float64)
    wrong = [
        (int(code), dtype.value_of(int(code)), value)
        for code, value in zip(codes, decoded, strict=True)
        if dtype.value_of(int(code)) != fraction(value)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "code", "value"),
    [
        ("float", 0x00000001, Fraction(1, 2**149)),
        ("float", 0x007FFFFF, Fraction(2**23 - 1, 2**149)),
        ("float", 0x00800000, Fraction(1, 2**126)),
        ("float", 0x3F800001, 1 + Fraction(1, 2**23)),
        ("float", 0xC0490FDB, -Fraction(13176795, 2**22)),
        ("float", 0x7F7FFFFF, Fraction((2**24 - 1) * 2**104)),
        ("float", 0x7F800000, "inf"),
        ("float", 0xFF800000, "-inf"),
        ("float", 0xFF800001, "nan"),
        ("double", 0x0000000000000001, Fraction(1, 2**1074)),
        ("double", 0x3FF0000000000001, 1 + Fraction(1, 2**52)),
        ("double", 0xFFEFFFFFFFFFFFFF, -Fraction((2**53 - 1) * 2**971)),
        ("double", 0xFFF0000000000000, "-inf"),
        ("double", 0x7FF8000000000000, "nan"),
        ("int32", 0xFFFFFFFF, -1),
        ("int64", 1 << 63, -(2**63)),
        ("uint64", (1 << 64) - 1, 2**64 - 1),
        ("bool", 255, 1),
    ],
)
def test_codes_of_wide_types_have_their_values(name, code, value):
    assert BY_NAME[name].value_of(code) == value


@pytest.mark.parametrize("dtype", FLOATS, ids=repr)
def test_special_codes_are_what_they_are_called(dtype):
    codes = np.dtype(f"u{dtype.storage.itemsize}")

    def number(code):
        return np.array([code], codes).view(dtype.public).astype(np.float64)[0]

    if dtype.nan_code is not None:
        assert np.isnan(number(dtype.nan_code))
    if dtype.inf_code is not None:
        assert number(dtype.inf_code) == np.inf
    assert fraction(number(dtype.largest_code)) == dtype.largest


@pytest.mark.parametrize(
    ("name", "nan", "inf", "largest"),
    [
        ("float", 0x7FC00000, 0x7F800000, 0x7F7FFFFF),
        ("double", 0x7FF8 << 48, 0x7FF0 << 48, (0x7FF0 << 48) - 1),
        ("float16", 0x7E00, 0x7C00, 0x7BFF),
        ("bfloat16", 0x7FC0, 0x7F80, 0x7F7F),
        ("float8e4m3fn", 0x7F, None, 0x7E),
        ("float8e4m3fnuz", 0x80, None, 0x7F),
        ("float8e5m2", 0x7E, 0x7C, 0x7B),
        ("float8e5m2fnuz", 0x80, None, 0x7F),
        ("float8e8m0", 0xFF, None, 0xFE),
        ("float4e2m1", None, None, 0x7),
        ("float6e2m3", None, None, 0x1F),
        ("float6e3m2", None, None, 0x1F),
    ],
)
def test_special_codes(name, nan, inf, largest):
    dtype = BY_NAME[name]
    assert (dtype.nan_code, dtype.inf_code, dtype.largest_code) == (nan, inf, largest)


@pytest.mark.parametrize("name", ["complex64", "complex128", "string"])
def test_types_without_an_order_have_no_extremes(name):
    dtype = BY_NAME[name]
    for ask in (lambda: dtype.largest, lambda: dtype.smallest, lambda: dtype.value_of(0)):
        with pytest.raises(TypeError, match=f"{name} is not a floating-point type"):
            ask()


# Widths.


@pytest.mark.parametrize(
    ("bits", "group", "sizes"),
    [
        (2, 4, {0: 0, 1: 1, 4: 1, 5: 2, 8: 2}),
        (4, 2, {0: 0, 1: 1, 2: 1, 3: 2}),
        (6, 4, {0: 0, 1: 1, 2: 2, 3: 3, 4: 3, 5: 4, 6: 5, 8: 6}),
        (8, 1, {0: 0, 3: 3}),
        (16, 1, {3: 6}),
        (128, 1, {3: 48, 2**62: 2**66}),
        (0, 1, {7: 0}),
    ],
)
def test_packed_sizes(bits, group, sizes):
    dtypes = [d for d in TABLE if d.bits == bits]
    assert dtypes
    for dtype in dtypes:
        assert dtype.pack_group == group
        assert {n: dtype.packed_size(n) for n in sizes} == sizes
        assert dtype.is_packed == (bits in (2, 4, 6))
        assert dtype.code_mask == 2**bits - 1


# Identity and lookup.


@BY_TYPE
def test_rows_are_singletons(dtype):
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert copy.copy(dtype) is dtype
    assert copy.deepcopy([dtype])[0] is dtype


@BY_TYPE
def test_find_by_every_key(dtype):
    assert find(dtype) is dtype
    assert find(dtype.code) is dtype
    assert find(np.int64(dtype.code)) is dtype
    assert find(dtype.name) is dtype
    assert find(dtype.public) is dtype
    assert find(dtype.public.type) is dtype
    assert find(dtype.public.newbyteorder("S")) is dtype


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("float32", "float"),
        ("float64", "double"),
        (">f2", "float16"),
        (float, "double"),
        (bool, "bool"),
        (np.longlong, "int64"),
        (str, "string"),
        ("S4", "string"),
        (np.dtype("U3"), "string"),
        (np.dtypes.StringDType(), "string"),
        (object, "string"),
        ("float8_e4m3fn", "float8e4m3fn"),
    ],
)
def test_find_by_what_numpy_takes(key, name):
    assert find(key) is BY_NAME[name]


@pytest.mark.parametrize(
    "key", [0, 29, -1, "FLOAT", "floaty", None, True, "M8[s]", "V4", [("a", "f4")], 1.5]
)
def test_find_nothing(key):
    assert find(key) is None


def test_a_row_shows_its_name():
    assert repr(BY_CODE[27]) == f"{BY_CODE[27]}" == "float6e2m3"
    assert isinstance(BY_CODE[27], DType)
