"""Sequences, optionals, maps and sparse tensors: values of .pb files, and back."""

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import MapProto, OptionalProto, SequenceProto, TensorProto, numpy_helper

from minirt.data.containers import value_from_proto, value_to_proto
from minirt.data.sparse import SparseTensor
from minirt.data.tensors import MAX_DEPTH
from minirt.dtypes import BY_NAME, TABLE
from minirt.errors import InputError, MinirtError, ParseError
from minirt.types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType

FLOAT = TensorType(BY_NAME["float"])
TEXT = TensorType(BY_NAME["string"])
INT64, STRING = BY_NAME["int64"], BY_NAME["string"]

ONE = np.array([1.0, 2.0], np.float32)
TWO = np.array([[3.0]], np.float32)
SPARSE = SparseTensor(ONE, np.array([1, 3]), (5,))


def plain(value):
    """A value as nested lists, dicts and tuples that compare with ==."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, SparseTensor):
        return "sparse", plain(value.values), value.indices.tolist(), value.shape
    if value is None:
        return None
    return value.dtype.name, value.shape, value.tolist()


def tensor(value, **fields):
    return numpy_helper.from_array(np.asarray(value, np.float32), **fields)


VALUES = [
    (FLOAT, ONE),
    (FLOAT, np.float32(3)),
    (TEXT, np.array(["é", "b"], object)),
    (SparseTensorType(BY_NAME["float"]), SPARSE),
    (SequenceType(FLOAT), []),
    (SequenceType(FLOAT), [ONE, TWO]),
    (SequenceType(FLOAT), [np.zeros((0, 3), np.float32), np.float32(1)]),
    (SequenceType(SequenceType(FLOAT)), [[ONE], [], [TWO, ONE]]),
    (SequenceType(SparseTensorType(BY_NAME["float"])), [SPARSE]),
    (SequenceType(MapType(INT64, FLOAT)), [{1: ONE}, {}]),
    (SequenceType(OptionalType(FLOAT)), [None, ONE]),
    (OptionalType(FLOAT), None),
    (OptionalType(FLOAT), ONE),
    (OptionalType(SequenceType(FLOAT)), [ONE, TWO]),
    (OptionalType(SequenceType(FLOAT)), []),
    (OptionalType(SparseTensorType(BY_NAME["float"])), SPARSE),
    (OptionalType(MapType(STRING, FLOAT)), {"a": ONE}),
    (MapType(STRING, FLOAT), {"é": ONE, "": TWO}),
    (MapType(INT64, FLOAT), {-(2**63): ONE, 2**63 - 1: TWO}),
    (MapType(BY_NAME["uint64"], FLOAT), {2**64 - 1: ONE, 0: TWO}),
    (MapType(BY_NAME["int8"], SequenceType(FLOAT)), {-128: [ONE], 127: []}),
    (MapType(INT64, MapType(STRING, FLOAT)), {1: {"a": ONE}}),
    (MapType(INT64, FLOAT), {}),
]


@pytest.mark.parametrize(
    ("type_", "value"), VALUES, ids=lambda v: str(v) if hasattr(v, "__dataclass_fields__") else ""
)
def test_round_trips(type_, value):
    data = value_to_proto(value, type_, "v").SerializeToString()
    assert plain(value_from_proto(data, type_)) == plain(value)


@pytest.mark.parametrize(
    ("message", "type_", "oracle"),
    [
        (numpy_helper.from_list([ONE, TWO], "s"), SequenceType(FLOAT), numpy_helper.to_list),
        (numpy_helper.from_list([[ONE], []]), SequenceType(SequenceType()), numpy_helper.to_list),
        (numpy_helper.from_list([]), SequenceType(FLOAT), numpy_helper.to_list),
        (numpy_helper.from_optional(ONE, "o"), OptionalType(FLOAT), numpy_helper.to_optional),
        (numpy_helper.from_optional([ONE]), OptionalType(), numpy_helper.to_optional),
        (numpy_helper.from_optional(None), OptionalType(), numpy_helper.to_optional),
        (numpy_helper.from_dict({1: ONE, 5: TWO}), MapType(INT64, FLOAT), numpy_helper.to_dict),
    ],
)
def test_onnx_writes_and_reads_the_same(message, type_, oracle):
    value = value_from_proto(message.SerializeToString(), type_)
    assert plain(value) == plain(oracle(message))
    assert value_to_proto(value, type_, message.name) == message


def test_a_type_decides_where_a_value_does_not():
    assert value_to_proto(None, OptionalType(FLOAT)).elem_type == OptionalProto.TENSOR
    assert value_to_proto(None, OptionalType()).elem_type == OptionalProto.UNDEFINED
    nested = SequenceType(SequenceType(FLOAT))
    assert value_to_proto([], nested).elem_type == SequenceProto.SEQUENCE
    assert value_to_proto({}, MapType(STRING, FLOAT)).key_type == TensorProto.STRING
    assert value_to_proto({"a": ONE}).key_type == TensorProto.STRING
    assert value_to_proto({1: ONE}).key_type == TensorProto.INT64
    assert plain(value_from_proto(value_to_proto(SPARSE).SerializeToString(), SPARSE_TYPE)) == (
        plain(SPARSE)
    )


SPARSE_TYPE = SparseTensorType(BY_NAME["float"])


@pytest.mark.parametrize("dtype", TABLE, ids=repr)
def test_elements_are_public_arrays_of_their_own_type(dtype):
    array = np.array(["a"], object) if dtype is STRING else np.zeros(1, dtype.public)
    data = value_to_proto([array], SequenceType(TensorType(dtype))).SerializeToString()
    (read,) = value_from_proto(data, SequenceType(FLOAT))
    assert read.dtype == dtype.public


def test_an_optional_without_a_value_is_none_whatever_it_says():
    data = OptionalProto(elem_type=OptionalProto.TENSOR, name="o").SerializeToString()
    assert value_from_proto(data, OptionalType(FLOAT)) is None
    assert value_from_proto(b"", OptionalType(FLOAT)) is None


SEQUENCE = SequenceType(FLOAT)
TENSORS = [tensor(ONE)]
BAD = tensor([1.0], name="t")
BAD.raw_data = b"\0"


def mapped(**fields):
    return MapProto(**fields, values=SequenceProto(elem_type=1, tensor_values=TENSORS))


FAULTS = [
    (
        SequenceProto(elem_type=1, tensor_values=[*TENSORS, BAD]),
        SEQUENCE,
        "x.pb[1] declares float[1], 4 bytes, but raw_data has 1",
    ),
    (
        SequenceProto(elem_type=4, tensor_values=TENSORS),
        SEQUENCE,
        "x.pb has elem_type 4, but data in tensor_values",
    ),
    (
        SequenceProto(tensor_values=TENSORS),
        SEQUENCE,
        "x.pb has elem_type 0, but data in tensor_values",
    ),
    (
        SequenceProto(elem_type=1, tensor_values=TENSORS, map_values=[MapProto()]),
        SEQUENCE,
        "x.pb has elem_type 1, but data in tensor_values and map_values",
    ),
    (
        SequenceProto(elem_type=3, sequence_values=[SequenceProto()]),
        SEQUENCE,
        "x.pb has sequence_values, but float[...] is declared",
    ),
    (
        OptionalProto(elem_type=3, tensor_value=TENSORS[0]),
        OptionalType(FLOAT),
        "x.pb has elem_type 3, but data in tensor_value",
    ),
    (
        OptionalProto(elem_type=1, tensor_value=TENSORS[0]),
        OptionalType(SEQUENCE),
        "x.pb has tensor_value, but seq(float[...]) is declared",
    ),
    (
        mapped(key_type=7, keys=[1, 2]),
        MapType(INT64, FLOAT),
        "x.pb has 2 keys, but 1 values",
    ),
    (
        mapped(key_type=1, keys=[1]),
        MapType(INT64, FLOAT),
        "x.pb has keys of type float; keys are integers or strings",
    ),
    (
        mapped(keys=[1]),
        MapType(INT64, FLOAT),
        "the keys of x.pb has element type 0, which is undefined",
    ),
    (
        mapped(key_type=3, keys=[128]),
        MapType(INT64, FLOAT),
        "x.pb has the key 128, which is no int8",
    ),
    (
        mapped(key_type=4, keys=[-1]),
        MapType(INT64, FLOAT),
        "x.pb has the key -1, which is no uint16",
    ),
    (
        mapped(key_type=7, keys=[1, 2, 1]),
        MapType(INT64, FLOAT),
        "x.pb has the key 1 twice",
    ),
    (
        mapped(key_type=8, string_keys=[b"a\xff"]),
        MapType(STRING, FLOAT),
        "x.pb has the key b'a\\xff', which is not UTF-8",
    ),
    (
        mapped(key_type=8, keys=[1]),
        MapType(STRING, FLOAT),
        "x.pb has keys of type string in keys",
    ),
    (
        mapped(key_type=7, string_keys=[b"a"]),
        MapType(INT64, FLOAT),
        "x.pb has keys of type int64 in string_keys",
    ),
    (
        tensor(ONE),
        SEQUENCE,
        "x.pb has fields that a SequenceProto does not have; seq(float[...]) is declared",
    ),
    (
        tensor(ONE),
        OptionalType(FLOAT),
        "x.pb has fields that a OptionalProto does not have; optional(float[...]) is declared",
    ),
]


@pytest.mark.parametrize(("message", "type_", "text"), FAULTS)
def test_contradictions_are_parse_errors(message, type_, text):
    with pytest.raises(ParseError) as caught:
        value_from_proto(message.SerializeToString(), type_, where="x.pb")
    assert str(caught.value) == text


@pytest.mark.parametrize(
    "type_", [FLOAT, SEQUENCE, OptionalType(FLOAT), MapType(INT64), SPARSE_TYPE]
)
def test_bytes_that_are_no_message(type_):
    with pytest.raises(ParseError, match=r"^x\.pb is no [A-Z][a-zA-Z]*Proto: .*") as caught:
        value_from_proto(b"\xff\xff\xff", type_, where="x.pb")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        ([ONE], FLOAT, "expected float[...], got list"),
        (ONE, SEQUENCE, "expected seq(float[...]), got ndarray"),
        ([ONE, [TWO]], SEQUENCE, "expected float[...], got list"),
        ([ONE, None], None, "expected float[...], got NoneType"),
        ([1.5], None, "a float is no value of an ONNX type"),
        (np.zeros(1, "M8[s]"), None, "ONNX has no element type for NumPy's datetime64[s]"),
        (np.zeros(1), FLOAT, "expected float, got double"),
        (SPARSE, FLOAT, "expected float[...], got SparseTensor"),
        ({"a": ONE}, MapType(INT64, FLOAT), "the key 'a' is no int64"),
        ({1: ONE}, MapType(STRING, FLOAT), "the key 1 is no string"),
        ({True: ONE}, None, "the key True is no int64"),
        ({"a": ONE, 1: ONE}, None, "the key 'a' is no int64"),
        ({2**63: ONE}, MapType(INT64, FLOAT), "the key 9223372036854775808 is no int64"),
        ({"\ud800": ONE}, MapType(STRING, FLOAT), "the key '\\ud800' is no string"),
    ],
)
def test_values_of_another_type(value, type_, text):
    with pytest.raises(InputError) as caught:
        value_to_proto(value, type_)
    assert str(caught.value) == text


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def test_values_nest_up_to_the_limit():
    message = value_to_proto(nested(MAX_DEPTH))
    assert plain(value_from_proto(message.SerializeToString(), SequenceType())) == nested(MAX_DEPTH)


def test_messages_that_nest_deeper_than_the_limit(monkeypatch):
    data = value_to_proto(nested(4)).SerializeToString()
    monkeypatch.setattr("minirt.data.containers.MAX_DEPTH", 3)
    with pytest.raises(ParseError) as caught:
        value_from_proto(data, SequenceType(), where="x.pb")
    assert str(caught.value) == "x.pb[0][0][0][0] is nested more than 3 deep"


def test_a_value_that_holds_itself():
    value = []
    value.append(value)
    with pytest.raises(InputError) as caught:
        value_to_proto(value)
    assert str(caught.value) == "the value is nested more than 100 deep"


def test_bytes_that_nest_too_deep():
    data = b""
    for _ in range(10_000):  # field 5 is sequence_values
        size, length = len(data), []
        while size > 127:
            length.append(size & 127 | 128)
            size >>= 7
        data = bytes([0x10, 3, 0x2A, *length, size]) + data
    with pytest.raises(ParseError, match=r"^x\.pb is no SequenceProto"):
        value_from_proto(data, SequenceType(), where="x.pb")


@pytest.mark.parametrize(
    "type_", [SEQUENCE, OptionalType(FLOAT), MapType(INT64, FLOAT), SPARSE_TYPE]
)
@given(st.data())
def test_damaged_bytes_give_a_value_or_an_error_of_ours(type_, data):
    values = {SequenceType: [ONE, TWO], OptionalType: ONE, MapType: {1: ONE}}
    good = value_to_proto(values.get(type(type_), SPARSE), type_).SerializeToString()
    place = data.draw(st.integers(0, len(good) - 1))
    damage = data.draw(st.binary(max_size=3))
    try:
        value_from_proto(good[:place] + damage + good[place + len(damage) :], type_)
    except MinirtError as error:
        assert "\n" not in str(error)


def test_the_official_types_have_the_same_numbers():
    for enum in (onnx.SequenceProto.DataType, onnx.OptionalProto.DataType):
        assert dict(enum.items()) == {
            "UNDEFINED": 0, "TENSOR": 1, "SPARSE_TENSOR": 2, "SEQUENCE": 3, "MAP": 4, "OPTIONAL": 5
        }  # fmt: skip
