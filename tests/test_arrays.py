"""Callers' arrays to storage and back: any layout, byte order and canonicity."""

import ml_dtypes
import numpy as np
import pytest

from minirt.data.arrays import to_public, to_storage
from minirt.dtypes import BY_NAME, TABLE, Kind
from minirt.errors import InputError

NUMERIC = [d for d in TABLE if d.kind is not Kind.STRING]
WIDE = [d for d in NUMERIC if d.storage.itemsize > 1]
STRING = BY_NAME["string"]

OF_NUMERIC = pytest.mark.parametrize("dtype", NUMERIC, ids=repr)


def sample(dtype, shape=(2, 3, 4)):
    """A public array of canonical, distinct-looking bits, NaNs among them."""
    rng = np.random.default_rng(dtype.code)
    count = int(np.prod(shape))
    raw = rng.integers(0, 256, count * dtype.storage.itemsize).astype(np.uint8)
    if dtype.kind is Kind.BOOL:
        raw &= 1
    if dtype.is_packed:
        raw &= dtype.code_mask
    return raw.view(dtype.public).reshape(shape)


def frozen(array):
    array.flags.writeable = False
    return array


def misaligned(array):
    buffer = np.zeros(array.nbytes + 1, np.uint8)
    buffer[1:] = np.frombuffer(array.tobytes(), np.uint8)
    return buffer[1:].view(array.dtype).reshape(array.shape)


def swapped(array):
    """The same elements in the other byte order."""
    size = array.dtype.alignment if array.dtype.kind == "c" else array.itemsize
    raw = np.frombuffer(array.tobytes(), np.uint8).reshape(-1, size)[:, ::-1]
    swapped = raw.reshape(array.shape + (array.itemsize,)).copy()
    return swapped.view(array.dtype.newbyteorder("S")).reshape(array.shape)


def is_storage(array, dtype):
    return (
        type(array) is np.ndarray
        and array.dtype == dtype.storage
        and array.dtype.isnative
        and array.flags.c_contiguous
        and array.flags.aligned
    )


LAYOUTS = {
    "contiguous": lambda a: a,
    "read-only": lambda a: frozen(a.copy()),
    "fortran": np.asfortranarray,
    "reversed": lambda a: a[::-1, :, ::-1].copy()[::-1, :, ::-1],
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "transposed": lambda a: a.transpose(2, 0, 1).copy().transpose(1, 2, 0),
    "misaligned": misaligned,
    "swapped": swapped,
    "swapped and strided": lambda a: np.repeat(swapped(a), 2, axis=2)[:, :, ::2],
}


@OF_NUMERIC
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_bits(dtype, layout):
    array = sample(dtype)
    given = LAYOUTS[layout](array)
    before = given.tobytes()
    storage = to_storage(given, dtype)
    assert is_storage(storage, dtype)
    assert storage.shape == array.shape
    assert storage.tobytes() == array.tobytes()
    assert given.tobytes() == before


@OF_NUMERIC
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (5,)])
def test_every_shape_is_kept(dtype, shape):
    array = sample(dtype, shape)
    storage = to_storage(array, dtype)
    assert is_storage(storage, dtype)
    public = to_public(storage, dtype)
    assert (storage.shape, public.shape, public.dtype) == (shape, shape, dtype.public)
    assert public.tobytes() == storage.tobytes() == array.tobytes()


@OF_NUMERIC
def test_memory_that_is_right_is_shared(dtype):
    array = sample(dtype)
    storage = to_storage(array, dtype)
    assert np.shares_memory(array, storage)
    assert np.shares_memory(storage, to_public(storage, dtype))
    assert to_storage(frozen(array), dtype).flags.writeable is False


@pytest.mark.parametrize("dtype", [d for d in NUMERIC if d.is_packed], ids=repr)
def test_bits_above_a_narrow_type_are_cleared(dtype):
    array = np.arange(256, dtype=np.uint8).view(dtype.public)
    storage = to_storage(array, dtype)
    assert storage.tolist() == [code & dtype.code_mask for code in range(256)]
    assert array.view(np.uint8).tolist() == list(range(256))


def test_sign_extended_int4_is_the_code():
    array = np.array([-1, -8, 7], np.int8).view(ml_dtypes.int4)
    assert to_storage(array, BY_NAME["int4"]).tolist() == [15, 8, 7]


def test_a_bool_byte_other_than_0_is_1():
    array = np.array([0, 1, 2, 255], np.uint8).view(bool)
    for given in (array, array[::-1].copy()[::-1]):
        assert to_storage(given, BY_NAME["bool"]).tolist() == [0, 1, 1, 1]
    assert array.view(np.uint8).tolist() == [0, 1, 2, 255]


@pytest.mark.parametrize("order", ["=", "S"])
def test_signalling_nans_stay(order):
    for name, code in (("float", 0x7F800001), ("double", 0x7FF0000000000001), ("float16", 0x7C01)):
        dtype = BY_NAME[name]
        array = np.array([code], f"u{dtype.storage.itemsize}").view(dtype.public)
        given = array if order == "=" else swapped(array)
        assert to_storage(given, dtype).tobytes() == array.tobytes()


class Special(np.ndarray):
    """A subclass, as np.memmap is one."""


def test_scalars_and_subclasses():
    assert to_storage(np.float32(1.5), BY_NAME["float"]).tolist() == 1.5
    plain = to_storage(np.array([1.0, 2.0]).view(Special), BY_NAME["double"])
    assert (type(plain), plain.tolist()) == (np.ndarray, [1.0, 2.0])
    masked = np.ma.masked_array([1.0, 2.0], [False, False])
    assert to_storage(masked, BY_NAME["double"]).tolist() == [1.0, 2.0]


# Text.


@pytest.mark.parametrize(
    "array",
    [
        np.array(["é", "", "a b"]),
        np.array(["é", "", "a b"]).astype(np.dtype("U3").newbyteorder("S")),
        np.array(["é".encode(), b"", b"a b"]),
        np.array(["é", "", "a b"], np.dtypes.StringDType()),
        np.array(["é", b"", np.str_("a b")], object),
        np.array(["é", "x", b"", "x", "a b"], object)[::2],
        np.array(["é", "x", "", "x", "a b"], object)[::2],
    ],
    ids=["U", "U swapped", "S", "T", "O", "O strided", "str strided"],
)
def test_all_text_becomes_str(array):
    storage = to_storage(array, STRING)
    assert is_storage(storage, STRING)
    assert storage.tolist() == ["é", "", "a b"]
    assert {type(item) for item in storage} == {str}


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 2)])
def test_text_of_every_shape(shape):
    array = np.full(shape, "é")
    storage = to_storage(array, STRING)
    assert (storage.dtype, storage.shape) == (object, shape)
    assert storage.tolist() == array.tolist()
    assert to_public(storage, STRING) is storage


def test_an_array_of_str_is_shared():
    array = np.array([["a"], ["b"]], object)
    assert to_storage(array, STRING) is array


def test_a_text_that_must_be_decoded_is_not_written_back():
    array = np.array([b"a"], object)
    assert to_storage(array, STRING).tolist() == ["a"]
    assert array.tolist() == [b"a"]


# Faults.


@pytest.mark.parametrize(
    ("array", "name", "message"),
    [
        (np.zeros(2), "float", "expected float, got double"),
        (np.zeros(2, "u2"), "bfloat16", "expected bfloat16, got uint16"),
        (np.zeros(2, ml_dtypes.int4), "uint4", "expected uint4, got int4"),
        (np.zeros(2, "M8[s]"), "int64", "expected int64, got datetime64[s]"),
        (np.array(["a"]), "float", "expected float, got string"),
        (np.zeros(2), "string", "expected string, got double"),
        (
            np.ma.masked_array([1.0, 2.0], [False, True]),
            "double",
            "1 elements are masked; pass array.filled(value)",
        ),
        (
            np.array([["a", "b"], ["c", b"d\xff"]], object),
            "string",
            "element [1,1] is not UTF-8: invalid start byte at byte 1",
        ),
        (
            np.array([b"a", b"\xc3"]),
            "string",
            "element [1] is not UTF-8: unexpected end of data at byte 0",
        ),
        (np.array(["a", 5], object), "string", "element [1] is of type int, not text"),
        (np.array([None], object), "string", "element [0] is of type NoneType, not text"),
        (np.array(1.5, object), "string", "element [] is of type float, not text"),
        (
            np.array(["a", None], np.dtypes.StringDType(na_object=None)),
            "string",
            "element [1] is of type NoneType, not text",
        ),
    ],
)
def test_what_does_not_fit_is_refused(array, name, message):
    with pytest.raises(InputError) as caught:
        to_storage(array, BY_NAME[name])
    assert str(caught.value) == message
