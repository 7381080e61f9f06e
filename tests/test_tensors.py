"""TensorProto to arrays and back, for every type, shape and field."""

from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

from minirt.data.tensors import _Claim, _from_bytes, from_proto, to_proto, to_public
from minirt.dtypes import BY_NAME, TABLE, Kind

SHAPES = [(), (0,), (1,), (2, 0, 3), (3,), (5,), (2, 3, 7)]
NUMERIC = [d for d in TABLE if d.kind is not Kind.STRING]
PACKED = [d for d in TABLE if d.is_packed]

OF_TYPE = pytest.mark.parametrize("dtype", TABLE, ids=repr)
OF_NUMERIC = pytest.mark.parametrize("dtype", NUMERIC, ids=repr)
OF_SHAPE = pytest.mark.parametrize("shape", SHAPES, ids=str)


def sample(dtype, shape):
    """A storage array of random canonical bits."""
    rng = np.random.default_rng(dtype.code)
    count = int(np.prod(shape))
    if dtype.kind is Kind.STRING:
        texts = np.empty(count, object)
        texts[:] = ["", "é", "a b", "\n", "𝕏"][:count] + ["t"] * max(count - 5, 0)
        return texts.reshape(shape)
    raw = rng.integers(0, 256, count * dtype.storage.itemsize).astype(np.uint8)
    raw &= 1 if dtype.kind is Kind.BOOL else dtype.code_mask & 0xFF
    return raw.view(dtype.storage).reshape(shape)


def packed_bytes(codes, bits):
    number = sum(int(code) << (bits * i) for i, code in enumerate(codes))
    return number.to_bytes(-(-len(codes) * bits // 8), "little")


def typed(array, dtype):
    """``array`` in the typed field, as onnx.proto describes it."""
    tensor = TensorProto(data_type=dtype.code, dims=array.shape)
    flat = array.reshape(-1)
    if dtype.kind is Kind.STRING:
        entries = [text.encode() for text in flat]
    elif dtype.kind is Kind.COMPLEX:
        entries = [part for number in flat.tolist() for part in (number.real, number.imag)]
    elif dtype.bits in (2, 4):
        entries = list(packed_bytes(flat, dtype.bits))
    else:
        entries = flat.tolist()
    getattr(tensor, dtype.proto_field).extend(entries)
    return tensor


def same(first, second):
    if first.dtype == object:
        return first.shape == second.shape and first.tolist() == second.tolist()
    return (first.shape, first.dtype, first.tobytes()) == (
        second.shape,
        second.dtype,
        second.tobytes(),
    )


# Round trips, with onnx's own reader and writer as the oracle.


@OF_TYPE
@OF_SHAPE
def test_raw_data(dtype, shape):
    array = sample(dtype, shape)
    tensor = to_proto(array, dtype, "w")
    assert tensor == numpy_helper.from_array(to_public(array, dtype), "w")
    assert same(from_proto(tensor), array)
    assert same(to_public(from_proto(tensor), dtype), numpy_helper.to_array(tensor))


@OF_TYPE
@OF_SHAPE
def test_typed_fields(dtype, shape):
    array = sample(dtype, shape)
    if dtype.kind in (Kind.FLOAT, Kind.COMPLEX) and dtype.bits >= 32:
        array = np.nan_to_num(array)  # NaN bits do not survive Python floats
    tensor = typed(array, dtype)
    assert same(from_proto(tensor), array)
    assert same(to_public(from_proto(tensor), dtype), numpy_helper.to_array(tensor))


@OF_TYPE
def test_serialised_and_parsed(dtype):
    array = sample(dtype, (2, 3, 7))
    data = to_proto(array, dtype).SerializeToString()
    assert same(from_proto(TensorProto.FromString(data)), array)


@OF_NUMERIC
def test_any_layout_is_written_in_c_order(dtype):
    array = sample(dtype, (2, 3, 7))
    expected = to_proto(array, dtype)
    assert to_proto(np.asfortranarray(array), dtype) == expected
    assert to_proto(np.repeat(array, 2, axis=2)[:, :, ::2], dtype) == expected


def test_strings_keep_trailing_nulls():
    array = np.array(["a\0", "\0"], object)
    assert from_proto(to_proto(array, BY_NAME["string"])).tolist() == ["a\0", "\0"]


def test_a_name_is_written_only_if_given():
    array = np.zeros(1, np.float32)
    assert to_proto(array, BY_NAME["float"], "w").name == "w"
    assert not to_proto(array, BY_NAME["float"]).HasField("name")


# Right bytes, by hand.


@pytest.mark.parametrize(
    ("name", "codes", "raw"),
    [
        ("float", [0x3FC00000, 0xFF800001], "0000c03f 010080ff"),
        ("double", [0x3FF8000000000001], "010000000000f83f"),
        ("float16", [0x3C00, 0x7C01], "003c 017c"),
        ("bfloat16", [0x3F80], "803f"),
        ("float8e4m3fn", [0x38, 0xFF], "38 ff"),
        ("float8e8m0", [0x7F], "7f"),
        ("int16", [0xFFFE], "feff"),
        ("uint32", [0x01020304], "04030201"),
        ("int64", [1], "0100000000000000"),
        ("int4", [1, 8, 7], "81 07"),
        ("uint4", [9], "09"),
        ("float4e2m1", [1, 15, 3], "f1 03"),
        ("uint2", [3, 0, 2, 1, 3], "63 03"),
        ("int2", [2, 3, 0, 1], "4e"),
        ("float6e2m3", [1, 8, 31, 33, 22], "01 f2 85 16"),
        ("bool", [1, 0], "01 00"),
    ],
)
def test_known_bytes(name, codes, raw):
    dtype = BY_NAME[name]
    array = np.array(codes, f"u{dtype.storage.itemsize}").view(dtype.storage)
    tensor = TensorProto(data_type=dtype.code, dims=[len(codes)], raw_data=bytes.fromhex(raw))
    assert same(from_proto(tensor), array)
    assert to_proto(array, dtype).raw_data.hex() == bytes.fromhex(raw).hex()


def test_complex_is_the_real_part_first():
    for name, tensor in (
        ("complex64", TensorProto(data_type=14, dims=[2], float_data=[1, 2, 3, 4])),
        ("complex128", TensorProto(data_type=15, dims=[2], double_data=[1, 2, 3, 4])),
    ):
        assert from_proto(tensor).tolist() == [1 + 2j, 3 + 4j]
        assert from_proto(to_proto(from_proto(tensor), BY_NAME[name])).tolist() == [1 + 2j, 3 + 4j]


@pytest.mark.parametrize(
    ("name", "field", "entries", "elements"),
    [
        ("bool", "int32_data", [1, 0, 256, -1], [1, 0, 1, 1]),
        ("int8", "int32_data", [-1, 127, 255, 0x180], [-1, 127, -1, -128]),
        ("uint8", "int32_data", [-1, 255, 256], [255, 255, 0]),
        ("int16", "int32_data", [-1, 0x8000, 0x10001], [-1, -32768, 1]),
        ("float16", "int32_data", [0x3C00, -1, 0x13C00], [0x3C00, 0xFFFF, 0x3C00]),
        ("bfloat16", "int32_data", [0x3F80, 0x7FFF3F80], [0x3F80, 0x3F80]),
        ("float8e4m3fn", "int32_data", [0x38, 0x138], [0x38, 0x38]),
        ("float6e2m3", "int32_data", [31, 0x5F, -1], [31, 31, 63]),
        ("int4", "int32_data", [0x81, 0x107], [1, 8, 7, 0]),
        ("uint2", "int32_data", [0x163], [3, 0, 2, 1]),
        ("uint32", "uint64_data", [1, 2**32 - 1, 2**32 + 5], [1, 2**32 - 1, 5]),
        ("uint64", "uint64_data", [2**64 - 1], [2**64 - 1]),
        ("int64", "int64_data", [-(2**63)], [-(2**63)]),
    ],
)
def test_entries_are_taken_modulo_the_width(name, field, entries, elements):
    dtype = BY_NAME[name]
    tensor = TensorProto(data_type=dtype.code, dims=[len(elements)], **{field: entries})
    array = from_proto(tensor)
    assert (array.dtype, array.tolist()) == (dtype.storage, elements)


def test_a_nan_in_float_data_keeps_its_bits():
    wire = b"\x08\x01\x10\x01\x22\x04" + bytes.fromhex("0100a07f")
    assert from_proto(TensorProto.FromString(wire)).tobytes().hex() == "0100a07f"


def test_a_raw_bool_other_than_0_is_1():
    tensor = TensorProto(data_type=TensorProto.BOOL, dims=[4], raw_data=b"\x00\x01\x02\xff")
    assert from_proto(tensor).tolist() == [0, 1, 1, 1]
    scalar = TensorProto(data_type=TensorProto.BOOL, raw_data=b"\x00")
    assert (from_proto(scalar).shape, from_proto(scalar).tolist()) == ((), 0)


@pytest.mark.parametrize("dtype", PACKED, ids=repr)
def test_padding_is_ignored(dtype):
    count = dtype.pack_group + 1
    raw = b"\xff" * dtype.packed_size(count)
    tensor = TensorProto(data_type=dtype.code, dims=[count], raw_data=raw)
    assert from_proto(tensor).tolist() == [dtype.code_mask] * count


def test_an_empty_field_holds_nothing():
    tensor = TensorProto(data_type=1, dims=[2], float_data=[1, 2], raw_data=b"")
    assert from_proto(tensor).tolist() == [1, 2]
    empty = TensorProto(data_type=1, dims=[0, 2**40], raw_data=b"")
    assert from_proto(empty).shape == (0, 2**40)


def test_external_entries_of_a_tensor_stored_inside_are_ignored():
    tensor = to_proto(np.ones(2, np.float32), BY_NAME["float"])
    tensor.external_data.add(key="location", value="gone.bin")
    assert from_proto(tensor).tolist() == [1, 1]


# Memory.


@OF_TYPE
def test_arrays_are_read_only(dtype):
    array = sample(dtype, (2, 3, 7))
    for tensor in (to_proto(array, dtype), typed(array, dtype)):
        assert not from_proto(tensor).flags.writeable


def test_raw_data_is_not_copied():
    array = from_proto(to_proto(np.ones((2, 3), np.float32), BY_NAME["float"]))
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, bytes)


@pytest.mark.parametrize("dtype", [d for d in NUMERIC if d.storage.itemsize > 1], ids=repr)
def test_payloads_are_little_endian_on_a_big_endian_host(dtype):
    array = sample(dtype, (5,))
    foreign = replace(dtype, storage=dtype.storage.newbyteorder(">"))
    raw = to_proto(array, dtype).raw_data
    read = _from_bytes(raw, _Claim("w", foreign, (5,)))
    assert read.dtype == foreign.storage
    assert read.astype(dtype.storage).tobytes() == array.tobytes() == raw
    assert to_proto(read, foreign).raw_data == raw
