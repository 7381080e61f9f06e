"""Tensors that contradict themselves: each fault has one clear line, and costs no memory."""

import tracemalloc

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto

from minirt.data import tensors
from minirt.data.tensors import from_proto, to_proto
from minirt.dtypes import BY_CODE, BY_NAME, TABLE
from minirt.errors import InputError, MinirtError, ParseError, UnsupportedError

FLOAT, INT8, INT4, STRING = (
    TensorProto.FLOAT,
    TensorProto.INT8,
    TensorProto.INT4,
    TensorProto.STRING,
)


def tensor(data_type=FLOAT, dims=(2, 3), name="w", **fields):
    return TensorProto(data_type=data_type, dims=dims, name=name, **fields)


SIZES = [
    (
        tensor(raw_data=b"\0" * 20),
        "tensor 'w' declares float[2,3], 24 bytes, but raw_data has 20",
    ),
    (
        tensor(raw_data=b"\0" * 25),
        "tensor 'w' declares float[2,3], 24 bytes, but raw_data has 25",
    ),
    (
        tensor(float_data=[0] * 5),
        "tensor 'w' declares float[2,3], 6 elements, but float_data has 5",
    ),
    (
        tensor(),
        "tensor 'w' declares float[2,3], 6 elements, but it has no data",
    ),
    (
        tensor(dims=[], name=None),
        "tensor declares float[], 1 element, but it has no data",
    ),
    (
        tensor(dims=[2, 0, 3], raw_data=b"\0"),
        "tensor 'w' declares float[2,0,3], 0 bytes, but raw_data has 1",
    ),
    (
        tensor(INT8, [32], int32_data=[0] * 4),
        "tensor 'w' declares int8[32], 32 elements, but int32_data has 4",
    ),
    (
        tensor(TensorProto.FLOAT16, [32], int32_data=[0] * 4),
        "tensor 'w' declares float16[32], 32 elements, but int32_data has 4",
    ),
    (
        tensor(TensorProto.BOOL, [32], int32_data=[0] * 4),
        "tensor 'w' declares bool[32], 32 elements, but int32_data has 4",
    ),
    (
        tensor(INT8, [128]),
        "tensor 'w' declares int8[128], 128 elements, but it has no data",
    ),
    (
        tensor(INT4, [5], raw_data=b"\0\0"),
        "tensor 'w' declares int4[5], 3 bytes, but raw_data has 2",
    ),
    (
        tensor(INT4, [5], int32_data=[0] * 5),
        "tensor 'w' declares int4[5], 3 packed bytes, but int32_data has 5",
    ),
    (
        tensor(TensorProto.UINT2, [5], int32_data=[0]),
        "tensor 'w' declares uint2[5], 2 packed bytes, but int32_data has 1",
    ),
    (
        tensor(TensorProto.FLOAT6E2M3, [5], int32_data=[0] * 4),
        "tensor 'w' declares float6e2m3[5], 5 elements, but int32_data has 4",
    ),
    (
        tensor(TensorProto.FLOAT6E3M2, [5], raw_data=b"\0" * 3),
        "tensor 'w' declares float6e3m2[5], 4 bytes, but raw_data has 3",
    ),
    (
        tensor(TensorProto.COMPLEX64, [2], float_data=[0] * 2),
        "tensor 'w' declares complex64[2], 4 numbers, but float_data has 2",
    ),
    (
        tensor(TensorProto.COMPLEX128, [2], raw_data=b"\0" * 31),
        "tensor 'w' declares complex128[2], 32 bytes, but raw_data has 31",
    ),
    (
        tensor(STRING, [3], string_data=[b"a"]),
        "tensor 'w' declares string[3], 3 elements, but string_data has 1",
    ),
    (
        tensor(INT8, [2**20, 2**20], raw_data=b"\0" * 4),
        "tensor 'w' declares int8[1048576,1048576], 1099511627776 bytes, but raw_data has 4",
    ),
    (
        tensor(INT8, [2**20, 2**20], int32_data=[0] * 4),
        "tensor 'w' declares int8[1048576,1048576], 1099511627776 elements, but int32_data has 4",
    ),
    (
        tensor(STRING, [2**40], string_data=[b"a"]),
        "tensor 'w' declares string[1099511627776], 1099511627776 elements, but string_data has 1",
    ),
]

CONTRADICTIONS = [
    (
        tensor(dims=[2, -1], raw_data=b"\0" * 8),
        "tensor 'w' declares float[2,-1]; a dimension is not negative",
    ),
    (
        tensor(dims=[-2, -3], raw_data=b"\0" * 24),
        "tensor 'w' declares float[-2,-3]; a dimension is not negative",
    ),
    (
        tensor(int32_data=[0] * 6),
        "tensor 'w' is float, but its data is in int32_data; "
        "float belongs in raw_data, external_data, float_data",
    ),
    (
        tensor(TensorProto.INT64, [1], int32_data=[0]),
        "tensor 'w' is int64, but its data is in int32_data; "
        "int64 belongs in raw_data, external_data, int64_data",
    ),
    (
        tensor(TensorProto.UINT32, [1], int32_data=[0]),
        "tensor 'w' is uint32, but its data is in int32_data; "
        "uint32 belongs in raw_data, external_data, uint64_data",
    ),
    (
        tensor(STRING, [1], raw_data=b"a"),
        "tensor 'w' is string, but its data is in raw_data; string belongs in string_data",
    ),
    (
        tensor(STRING, [1], data_location=TensorProto.EXTERNAL),
        "tensor 'w' is string, but its data is in external_data; string belongs in string_data",
    ),
    (
        tensor(raw_data=b"\0" * 24, float_data=[0] * 6),
        "tensor 'w' has data in float_data and raw_data; one is allowed",
    ),
    (
        tensor(float_data=[0] * 6, int32_data=[0] * 6),
        "tensor 'w' has data in float_data and int32_data; one is allowed",
    ),
    (
        tensor(raw_data=b"\0" * 24, data_location=TensorProto.EXTERNAL),
        "tensor 'w' has data in raw_data and external_data; one is allowed",
    ),
    (
        tensor(STRING, [2, 2], string_data=[b"a", b"b", b"c\xff", b"d"]),
        "tensor 'w': element [1,0] is not UTF-8: invalid start byte at byte 1",
    ),
    (tensor(0), "tensor 'w' has element type 0, which is undefined"),
    (TensorProto(name="w"), "tensor 'w' has element type 0, which is undefined"),
]

UNSUPPORTED = [
    (
        tensor(29),
        f"tensor 'w' has element type 29, which neither minirt (it knows 1 to 28) nor onnx "
        f"{onnx.__version__} knows; if a later ONNX release defines it, newer ones of both do",
    ),
    (
        tensor(-1),
        f"tensor 'w' has element type -1, which neither minirt (it knows 1 to 28) nor onnx "
        f"{onnx.__version__} knows; if a later ONNX release defines it, newer ones of both do",
    ),
    (
        tensor(dims=[1] * 65, raw_data=b"\0" * 4),
        "tensor 'w' has 65 dimensions; at most 64 are possible",
    ),
    (
        tensor(dims=[2**62, 2**62], raw_data=b""),
        "tensor 'w' declares float[4611686018427387904,4611686018427387904], "
        "more than memory can address",
    ),
    (
        tensor(dims=[0, 2**62]),
        "tensor 'w' declares float[0,4611686018427387904], more than memory can address",
    ),
    (
        tensor(segment=TensorProto.Segment(begin=0, end=6), float_data=[0] * 6),
        "tensor 'w' is segment 0 to 6 of a larger tensor; minirt reads whole tensors",
    ),
]


@pytest.mark.parametrize(("proto", "message"), SIZES + CONTRADICTIONS)
def test_contradictions_are_parse_errors(proto, message):
    with pytest.raises(ParseError) as caught:
        from_proto(proto)
    assert str(caught.value) == message


@pytest.mark.parametrize(("proto", "message"), UNSUPPORTED)
def test_what_minirt_cannot_hold_is_unsupported(proto, message):
    with pytest.raises(UnsupportedError) as caught:
        from_proto(proto)
    assert str(caught.value) == message


@pytest.mark.parametrize(("proto", "message"), SIZES + CONTRADICTIONS + UNSUPPORTED)
def test_errors_say_where(proto, message):
    with pytest.raises(MinirtError) as caught:
        from_proto(proto, where="attribute 'value'")
    own = "tensor 'w'" if proto.name else "tensor"
    assert str(caught.value) == "attribute 'value'" + message.removeprefix(own)


def test_a_type_that_only_onnx_knows_is_named(monkeypatch):
    monkeypatch.delitem(BY_CODE, TensorProto.FLOAT6E3M2)
    with pytest.raises(UnsupportedError) as caught:
        from_proto(tensor(TensorProto.FLOAT6E3M2))
    assert str(caught.value) == (
        f"tensor 'w' has element type 28 (FLOAT6E3M2), which onnx {onnx.__version__} defines, "
        "but minirt knows 1 to 27; a newer minirt may know it"
    )
    assert caught.value.dtype == "FLOAT6E3M2"


@pytest.mark.parametrize("dtype", TABLE, ids=repr)
def test_big_claims_cost_nothing(dtype):
    claims = [tensor(dtype.code, dims) for dims in ([2**40], [2**20, 2**20], [2**31, 2**31])]
    for claim in claims:
        entries = [b"a"] * 4 if dtype.code == STRING else [0] * 4
        getattr(claim, dtype.proto_field).extend(entries)
    tracemalloc.start()
    try:
        for claim in claims:
            with pytest.raises(MinirtError):
                from_proto(claim)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_more_than_there_is_memory_for(monkeypatch):
    def exhausted(*_):
        raise MemoryError

    monkeypatch.setattr(tensors, "unpack", exhausted)
    with pytest.raises(UnsupportedError) as caught:
        from_proto(tensor(INT4, [5], raw_data=b"\0" * 3))
    assert str(caught.value) == "tensor 'w' takes 5 bytes; memory has less"


FIELDS = {
    "float_data": st.lists(st.floats(width=32), max_size=9),
    "int32_data": st.lists(st.integers(-(2**31), 2**31 - 1), max_size=9),
    "int64_data": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9),
    "uint64_data": st.lists(st.integers(0, 2**64 - 1), max_size=9),
    "double_data": st.lists(st.floats(), max_size=9),
    "string_data": st.lists(st.binary(max_size=4), max_size=9),
    "raw_data": st.binary(max_size=40),
    "data_location": st.sampled_from([0, 1]),
    "data_type": st.integers(-1, 30),
    "dims": st.lists(st.integers(-1, 4) | st.integers(-(2**63), 2**63 - 1), max_size=4),
}


@given(st.fixed_dictionaries({}, optional=FIELDS))
def test_any_message_is_an_array_or_an_error_of_ours(fields):
    proto = TensorProto(**fields)
    try:
        array = from_proto(proto)
    except MinirtError:
        return
    assert array.shape == tuple(proto.dims)
    assert array.dtype == BY_CODE[proto.data_type].storage


@given(st.binary(max_size=60))
def test_any_bytes_that_protobuf_takes(data):
    try:
        proto = TensorProto.FromString(b"\x08\x02\x10\x02" + data)
    except Exception:
        return
    try:
        assert from_proto(proto).shape == tuple(proto.dims)
    except MinirtError as error:
        assert "\n" not in str(error)


# Writing.


def test_more_than_protobuf_holds(monkeypatch):
    monkeypatch.setattr(tensors, "PROTOBUF_LIMIT", 7)
    with pytest.raises(InputError) as caught:
        to_proto(np.zeros((2, 1), np.float32), BY_NAME["float"])
    assert str(caught.value) == "float[2,1] takes 8 bytes; a protobuf message holds at most 7"
    assert to_proto(np.zeros(14, np.uint8), BY_NAME["int4"]).raw_data == b"\0" * 7


def test_text_that_utf8_cannot_hold():
    with pytest.raises(InputError) as caught:
        to_proto(np.array([["a", "b"], ["c", "d\ud800"]], object), BY_NAME["string"])
    assert str(caught.value) == "element [1,1] is not Unicode text: surrogates not allowed"
