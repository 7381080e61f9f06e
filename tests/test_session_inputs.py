"""What a session takes: arrays of any layout, text of any kind, Python values that fit."""

import array
from collections import OrderedDict, UserDict
from types import MappingProxyType

import ml_dtypes
import numpy as np
import pytest

import minirt
from minirt.outputs import Outputs
from models import session


@pytest.fixture(scope="module")
def widen() -> minirt.Session:
    return session("int16[] x", "int32[] y", "y = Cast<to=6>(x)")


@pytest.fixture(scope="module")
def two() -> minirt.Session:
    return session(
        "int16[N] a, int16[M] b", "int32[N] y, int32[M] z", "y = Cast<to=6>(a) z = Cast<to=6>(b)"
    )


@pytest.fixture(scope="module")
def text() -> minirt.Session:
    return session(
        "string[] x", "string[] y, float[] number", "y = Identity(x) number = Cast<to=1>(x)"
    )


# Memory

BASE = np.arange(-12, 12, dtype="i2").reshape(2, 3, 4)


def misaligned(values: np.ndarray) -> np.ndarray:
    raw = np.empty(values.nbytes + 1, "u1")[1:]
    result = raw.view(values.dtype).reshape(values.shape)
    result[...] = values
    assert not result.flags.aligned
    return result


def read_only(values: np.ndarray) -> np.ndarray:
    values = values.copy()
    values.flags.writeable = False
    return values


class Subclass(np.ndarray):
    """An array type of the caller's."""


LAYOUTS = {
    "C": BASE,
    "Fortran": np.asfortranarray(BASE),
    "transposed": BASE.T,
    "sliced": BASE[:, ::2, 1:],
    "backwards": BASE[::-1, :, ::-1],
    "sliced 1-D": BASE.reshape(-1)[::5],
    "broadcast": np.broadcast_to(BASE[0, 0], (3, 4)),
    "0-stride scalar": np.broadcast_to(BASE[0, 0, 0], (5,)),
    "swapped": BASE.astype(">i2"),
    "swapped and strided": BASE.astype(">i2")[:, 1:, ::2],
    "misaligned": misaligned(BASE),
    "read-only": read_only(BASE),
    "from bytes": np.frombuffer(BASE.tobytes(), "i2"),
    "0-d": BASE[1, 2, 3, ...],
    "scalar": BASE[1, 2, 3],
    "zero-size": BASE[:, :0],
    "zero-size strided": BASE[:, :0, ::2].T,
    "one element": BASE[:1, :1, :1],
    "subclass": BASE.view(Subclass),
    "field": np.rec.fromarrays([BASE.ravel(), BASE.ravel()], names="p,q").q,
}


@pytest.mark.parametrize("values", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts(widen: minirt.Session, values: np.ndarray) -> None:
    before = np.array(values, copy=True)
    (y,) = widen.run({"x": values})
    assert y.dtype == np.int32
    assert y.shape == values.shape
    assert y.tolist() == values.tolist()
    assert y.flags.c_contiguous
    np.testing.assert_array_equal(values, before)
    if isinstance(values, np.ndarray):
        assert not np.shares_memory(y, values)


@pytest.mark.parametrize(
    "values", [v for v in LAYOUTS.values() if v.size == BASE.size], ids=lambda v: ""
)
def test_layouts_with_kernels_that_check(
    values: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINIRT_CHECK", "1")
    s = session("int16[] x", "int32[] y", "y = Cast<to=6>(x)")
    assert s.run([values])[0].tolist() == values.tolist()


NARROW = [
    (1, np.array([1.5, -2.0, np.nan], "f4")),
    (10, np.array([1.5, -2.0, np.inf], "f2")),
    (16, np.array([1.5, -2.0, 3.0], ml_dtypes.bfloat16)),
    (17, np.array([1.5, -2.0, 448.0], ml_dtypes.float8_e4m3fn)),
    (22, np.array([-8, 7, -1], ml_dtypes.int4)),
    (23, np.array([0.5, -6.0, 3.0], ml_dtypes.float4_e2m1fn)),
    (24, np.array([0.5, 2.0, 1.0], ml_dtypes.float8_e8m0fnu)),
    (25, np.array([0, 3, 2], ml_dtypes.uint2)),
    (9, np.array([True, False, True])),
]


@pytest.mark.parametrize(("code", "values"), NARROW, ids=lambda v: str(getattr(v, "dtype", "")))
@pytest.mark.parametrize("layout", ["plain", "strided", "0-d", "empty"])
def test_types_that_numpy_lacks(code: int, values: np.ndarray, layout: str) -> None:
    from onnx import TensorProto

    name = TensorProto.DataType.Name(code).lower()
    s = session(f"{name}[] x", "double[] y", "y = Cast<to=11>(x)")
    given = {
        "plain": values, "strided": np.repeat(values, 2)[::2], "0-d": values[0, ...],
        "empty": values[:0],
    }[layout]  # fmt: skip
    (y,) = s.run([given])
    np.testing.assert_array_equal(y, given.astype("f8"))


def test_spare_bits_mean_nothing() -> None:
    """ml_dtypes does not promise what lies above a narrow type's bits, NumPy not how True looks."""
    s = session("int4[] x, bool[] b", "int32[] y, int32[] z", "y = Cast<to=6>(x) z = Cast<to=6>(b)")
    dirty = np.array([0xFF, 0x17, 0x08], "u1")
    y, z = s.run([dirty.view(ml_dtypes.int4), np.array([0, 1, 255], "u1").view(bool)])
    assert y.tolist() == [-1, 7, -8]
    assert z.tolist() == [0, 1, 1]
    assert dirty.tolist() == [0xFF, 0x17, 0x08]


# How inputs are passed

A, B = np.array([1, 2], "i2"), np.array([3], "i2")


@pytest.mark.parametrize(
    "inputs",
    [
        {"a": A, "b": B},
        {"b": B, "a": A},
        OrderedDict(a=A, b=B),
        UserDict(a=A, b=B),
        MappingProxyType({"a": A, "b": B}),
        [A, B],
        (A, B),
        Outputs([A, B], ["b", "a"]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_mappings_and_sequences(two: minirt.Session, inputs: object) -> None:
    y, z = two.run(inputs)  # type: ignore[arg-type]
    assert (y.tolist(), z.tolist()) == ([1, 2], [3])


def test_no_inputs() -> None:
    s = session("", "float[2] y", "y = Constant<value_floats=[1.0, 2.0]>()")
    for nothing in ({}, [], ()):
        assert s.run(nothing)[0].tolist() == [1, 2]


@pytest.fixture(scope="module")
def default() -> minirt.Session:
    """The initialized input stands first in the file."""
    return session(
        "int16[N] w, int16[M] x", "int32[N] v, int32[M] y", "v = Cast<to=6>(w) y = Cast<to=6>(x)",
        initializers="int16[2] w = {7, 8}",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("inputs", "w"),
    [
        ({"x": A}, [7, 8]),
        ({"x": A, "w": None}, [7, 8]),
        ([A], [7, 8]),
        ([A, None], [7, 8]),
        ([A, B], [3]),
        ({"w": B, "x": A}, [3]),
        ([A, np.array([], "i2")], []),
    ],
)
def test_defaults(default: minirt.Session, inputs: object, w: list[int]) -> None:
    for _ in range(2):
        v, y = default.run(inputs)  # type: ignore[arg-type]
        assert (v.tolist(), y.tolist()) == (w, [1, 2])


# Text


@pytest.mark.parametrize(
    "values",
    [
        ["1.5", "é", "2"],
        [b"1.5", "é".encode(), b"2"],
        ("1.5", "é", b"2"),
        np.array(["1.5", "é", "2"]),
        np.array(["1.5", "é", "2"]).astype(">U3"),
        np.array(["1.5", "é", "2"], object),
        np.array([b"1.5", "é".encode(), np.str_("2")], object),
        np.array(["1.5", "x", "é", "x", "2"])[::2],
        np.array([b"1.5", "é".encode(), b"2"]),
        np.array(["1.5", "é", "2"], np.dtypes.StringDType()),
    ],
    ids=[
        "str",
        "bytes",
        "mixed",
        "U",
        ">U",
        "object",
        "object of bytes",
        "strided",
        "S",
        "StringDType",
    ],
)
def test_forms_of_text(text: minirt.Session, values: object) -> None:
    (y,) = text.run([values], ["y"])
    assert (y.dtype, y.shape) == (np.dtype(object), (3,))
    assert y.tolist() == ["1.5", "é", "2"]
    assert set(map(type, y)) == {str}


@pytest.mark.parametrize(
    ("values", "shape"),
    [
        ("1.5", ()),
        (np.array("1.5"), ()),
        ([["1.5"]], (1, 1)),
        ([], (0,)),
        (np.empty((2, 0), "U3"), (2, 0)),
    ],
)
def test_shapes_of_text(text: minirt.Session, values: object, shape: tuple[int, ...]) -> None:
    y, number = text.run([values])
    assert y.shape == number.shape == shape
    assert set(y.ravel()) <= {"1.5"}
    assert set(number.ravel().tolist()) <= {1.5}


# Python values


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (3, 3),
        (-3.0, -3),
        (True, 1),
        ([], []),
        ([1, 2.0, False], [1, 2, 0]),
        ([[1, 2], (3, 4)], [[1, 2], [3, 4]]),
        (range(3), [0, 1, 2]),
        ([np.int16(5), 6], [5, 6]),
    ],
)
def test_python_values(widen: minirt.Session, values: object, expected: object) -> None:
    (y,) = widen.run([values])
    assert y.tolist() == expected
    assert y.dtype == np.int32


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("float", 0.5), ("bfloat16", -3), ("float8e4m3fn", 448), ("float4e2m1", -6.0), ("int4", -8),
     ("bool", True), ("uint64", 2**53), ("float8e8m0", 2.0**-127)],
)  # fmt: skip
def test_python_values_of_any_type(dtype: str, value: float) -> None:
    s = session(f"{dtype}[1] x", "double[1] y", "y = Cast<to=11>(x)")
    assert s.run({"x": [value]})[0].tolist() == [value]


# Arrays of other libraries


class Array:
    """Knows one protocol."""

    def __init__(self, protocol: str) -> None:
        self.values = A.copy()
        setattr(self, protocol, getattr(self.values, protocol))


class Method:
    """What a tensor of another library is to NumPy."""

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return A


class DLPack:
    def __dlpack__(self, **options: object) -> object:
        return A.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return A.__dlpack_device__()


@pytest.mark.parametrize(
    "values",
    [Method(), DLPack(), Array("__array_interface__"), memoryview(A), array.array("h", [1, 2])],
    ids=["__array__", "__dlpack__", "__array_interface__", "memoryview", "array.array"],
)
def test_other_arrays(widen: minirt.Session, values: object) -> None:
    assert widen.run({"x": values})[0].tolist() == [1, 2]
