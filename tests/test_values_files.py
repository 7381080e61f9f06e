"""Values in ``.pb`` files: written as ONNX packs them, and read as it wrote them."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from google.protobuf.message import EncodeError
from onnx import MapProto, OptionalProto, SequenceProto, TensorProto, numpy_helper

import minirt
from minirt.data import containers
from minirt.dtypes import BY_NAME, TABLE, Kind
from minirt.types import MapType, OptionalType, SequenceType, TensorType

FLOAT = TensorType(BY_NAME["float"])
FLOATS = SequenceType(FLOAT)
A, B = np.array([1.5, -2.0], "f4"), np.array([[3.0], [4.0]], "f4")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "value.pb"


@pytest.mark.parametrize(
    ("values", "dtype", "raw"),
    [
        ([1, -8, 7], ml_dtypes.int4, "8107"),
        ([1, 15, 7], ml_dtypes.uint4, "f107"),
        ([0.5, -6, 1.5], ml_dtypes.float4_e2m1fn, "f103"),
        ([3, 0, 2, 1, 3], ml_dtypes.uint2, "6303"),
        ([-2, -1, 0, 1], ml_dtypes.int2, "4e"),
        ([0.125, 1, 7.5, -0.125, 3.5], ml_dtypes.float6_e2m3fn, "01f28516"),
        ([0.0625, 28, -0.0625], ml_dtypes.float6_e3m2fn, "c11702"),
        ([1, 448, -0.0], ml_dtypes.float8_e4m3fn, "387e80"),
        ([1, 2.0**-127], ml_dtypes.float8_e8m0fnu, "7f00"),
        ([1, -2], ml_dtypes.bfloat16, "803f00c0"),
        ([1, -2], "f2", "003c00c0"),
        ([1, -2], ">f4", "0000803f000000c0"),
        ([True, False, True], "?", "010001"),
        ([258, -1], "i2", "0201ffff"),
        ([1 + 2j], "c8", "0000803f00000040"),
        (7, "i8", "0700000000000000"),
        ([], ml_dtypes.int4, ""),
    ],
    ids=str,
)
def test_the_bytes_of_a_tensor(path, values, dtype, raw):
    minirt.save_value(np.array(values, dtype), path, name="t")
    tensor = onnx.load_tensor(path)
    assert (tensor.raw_data.hex(), tensor.name) == (raw, "t")
    assert tensor.dims[:] == list(np.shape(values))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (5,), (2, 0, 3), (3, 3)], ids=str)
@pytest.mark.parametrize("dtype", [d for d in TABLE if d.kind is not Kind.STRING], ids=str)
def test_every_type_as_onnx_reads_and_writes_it(path, dtype, shape):
    codes = np.arange(1, 1 + int(np.prod(shape)), dtype="u1") & min(dtype.code_mask, 63)
    codes = codes & 1 if dtype.kind is Kind.BOOL else codes
    bits = np.zeros((*shape, dtype.storage.itemsize), "u1")
    bits[..., -1] = codes.reshape(shape)
    array = bits.view(dtype.public).reshape(shape)
    minirt.save_value(array, path)
    tensor = onnx.load_tensor(path)
    assert tensor.data_type == dtype.code
    assert len(tensor.raw_data) == dtype.packed_size(array.size)
    theirs = numpy_helper.to_array(tensor)
    assert (theirs.dtype, theirs.shape, theirs.tobytes()) == (array.dtype, shape, array.tobytes())
    onnx.save_tensor(numpy_helper.from_array(array), path)
    ours = minirt.load_value(path)
    assert (ours.dtype, ours.shape, ours.tobytes()) == (array.dtype, shape, array.tobytes())


def test_text(path):
    minirt.save_value(np.array([["é", ""]]), str(path))
    assert onnx.load_tensor(path).string_data[:] == ["é".encode(), b""]
    assert minirt.load_value(str(path)).tolist() == [["é", ""]]


def test_layouts(path):
    for array in (B.T, np.arange(6, dtype="i4")[::-2], np.arange(6, dtype=">i4").reshape(2, 3).T):
        minirt.save_value(array, path)
        assert minirt.load_value(path).tolist() == array.tolist()


def test_containers_as_onnx_reads_them(path):
    minirt.save_value([A, B], path, name="s")
    sequence = SequenceProto.FromString(path.read_bytes())
    assert sequence.name == "s"
    assert [a.tolist() for a in numpy_helper.to_list(sequence)] == [A.tolist(), B.tolist()]
    minirt.save_value({2: A, 1: B}, path)
    map_ = MapProto.FromString(path.read_bytes())
    assert {k: v.tolist() for k, v in numpy_helper.to_dict(map_).items()} == {
        2: A.tolist(), 1: B.tolist(),
    }  # fmt: skip
    minirt.save_value([A], path, OptionalType(FLOATS))
    (back,) = numpy_helper.to_optional(OptionalProto.FromString(path.read_bytes()))
    assert back.tolist() == A.tolist()


@pytest.mark.parametrize(
    ("type_", "empty"),
    [(FLOATS, []), (OptionalType(FLOATS), None), (MapType(BY_NAME["string"], FLOAT), {})],
)
def test_what_is_empty_keeps_its_type(path, type_, empty):
    minirt.save_value(empty, path, type_)
    assert minirt.load_value(path, type_) == empty
    message = containers._FORM_OF[type(type_)].message.FromString(path.read_bytes())
    if type_ is FLOATS:
        assert message.elem_type == SequenceProto.TENSOR
    elif isinstance(type_, OptionalType):
        assert message.elem_type == OptionalProto.SEQUENCE
    else:
        assert message.key_type == TensorProto.STRING


def test_the_inputs_of_a_session(tmp_path):
    """Saved one by one, they are those of the session again."""
    x = onnx.helper.make_value_info(
        "x", onnx.helper.make_sequence_type_proto(onnx.helper.make_tensor_type_proto(22, [None]))
    )
    graph = onnx.helper.make_graph([], "g", [x], [x])
    opsets = [onnx.helper.make_opsetid("", 21)]
    session = minirt.load(onnx.helper.make_model(graph, ir_version=10, opset_imports=opsets))
    (info,) = session.inputs
    value = [np.array([-8, 7, 1], ml_dtypes.int4), np.array([], ml_dtypes.int4)]
    minirt.save_value(value, tmp_path / "x.pb", info.type, info.name)
    (again,) = session.run([minirt.load_value(tmp_path / "x.pb", info.type)])
    assert [a.tolist() for a in again] == [[-8, 7, 1], []]
    assert again[0].dtype == ml_dtypes.int4


def test_external_data_beside_the_file(path):
    (path.parent / "w.bin").write_bytes(b"\0" * 4 + A.tobytes())
    tensor = TensorProto(data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.bin")
    tensor.external_data.add(key="offset", value="4")
    path.write_bytes(tensor.SerializeToString())
    assert minirt.load_value(path).tolist() == A.tolist()


# What is refused


def refused(call, error):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_files_that_hold_something_else(path):
    text = repr(str(path))
    path.write_bytes(b"\xff\xff")
    assert refused(lambda: minirt.load_value(path), minirt.ParseError).startswith(
        f"{text}, read as a tensor, is no TensorProto: "
    )
    for value in ([A], [A, B], [], {1: A}, {"a": A}, {}, [[A]]):
        minirt.save_value(value, path)
        with pytest.raises(minirt.MinirtError) as caught:
            minirt.load_value(path)
        assert str(caught.value).startswith(f"{text}, read as a tensor, ")
    minirt.save_value(A, path)
    assert refused(lambda: minirt.load_value(path, FLOATS), minirt.ParseError).startswith(text)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        minirt.load_value(tmp_path / "no.pb")
    with pytest.raises(FileNotFoundError):
        minirt.save_value(A, tmp_path / "no" / "x.pb")


@pytest.mark.parametrize("path", [5, None, A, "a\0b", ["x.pb"]], ids=repr)
def test_what_is_no_path(path):
    assert refused(lambda: minirt.load_value(path), minirt.InputError).endswith(" is no path")
    assert refused(lambda: minirt.save_value(A, path), minirt.InputError).endswith(" is no path")


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (A, FLOATS, "expected seq(float[...]), got ndarray"),
        ([A], FLOAT, "expected float[...], got list"),
        (A, TensorType(BY_NAME["double"]), "expected double, got float"),
        ([A, B > 0], FLOATS, "expected float, got bool"),
        (object(), None, "a object is no value of an ONNX type"),
        (np.array(["2020"], "M8[D]"), None, "ONNX has no element type for NumPy's datetime64[D]"),
        (1.5, None, "a float is no value of an ONNX type"),
    ],
)
def test_values_that_are_not_of_the_type(path, value, type_, text):
    assert refused(lambda: minirt.save_value(value, path, type_), minirt.InputError) == text
    assert not path.exists()


def test_what_is_no_type(path):
    for call in (lambda: minirt.save_value(A, path, "float"), lambda: minirt.load_value(path, 1)):
        assert refused(call, minirt.InputError).startswith(
            "type is that of a session's value, such as session.inputs[0].type, not "
        )


@pytest.mark.parametrize("name", ["\ud800", 5, b"x"])
def test_what_is_no_name(path, name):
    text = f"the name {name!r} is no Unicode text"
    assert refused(lambda: minirt.save_value(A, path, name=name), minirt.InputError) == text


def test_more_than_a_message_holds(path, monkeypatch):
    class Large:
        def SerializeToString(self):
            raise EncodeError("Failed to serialize proto")

    monkeypatch.setattr(containers, "value_to_proto", lambda *_: Large())
    assert refused(lambda: minirt.save_value(A, path), minirt.InputError) == (
        "the value takes more than the 2147483647 bytes that a protobuf message holds"
    )
