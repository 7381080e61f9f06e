"""What holds a model: paths, bytes, files, messages, and what only looks like one."""

from __future__ import annotations

import copy
import io
import json

import onnx
import pytest

from minirt.errors import InputError, ParseError, UnsupportedError
from minirt.model.load import load_graph, read_graph, read_model
from models import model

MODEL = model("float[N] x", "float16[N] y", "y = Cast<to=10>(x)")
BYTES = MODEL.SerializeToString()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "cast.onnx"
    path.write_bytes(BYTES)
    return path


def _is_cast(graph) -> bool:
    return [n.op_type for n in graph.nodes] == ["Cast"] and graph.outputs[0].name == "y"


def test_loads_from_whatever_holds_a_model(path):
    with path.open("rb") as file:
        assert _is_cast(load_graph(file))
    for source in (path, str(path), BYTES, bytearray(BYTES), memoryview(BYTES), MODEL):
        assert _is_cast(load_graph(source))
    assert _is_cast(load_graph(io.BytesIO(BYTES)))


def test_finds_the_folder_of_external_data(path):
    with path.open("rb") as file:
        assert read_model(file)[1] == path.parent
    assert read_model(path)[1] == path.parent
    assert read_model(BYTES)[1] is None


def test_never_changes_the_message():
    proto = model("float[N] x", "float[N] y", "t = Cast<to=10>(x) y = CastLike(t, x)", opset=15)
    proto.graph.node[1].input.append("")
    before = copy.deepcopy(proto)
    graph = load_graph(proto)
    assert proto == before
    assert graph.nodes[1].attributes == {"saturate": 1, "round_mode": "up"}


def test_keeps_what_describes_the_model():
    proto = copy.deepcopy(MODEL)
    proto.producer_name, proto.producer_version = "torch", "2.13"
    proto.metadata_props.add(key="author", value="Ada")
    proto.graph.doc_string = "A cast."
    proto.graph.input[0].doc_string = "An input."
    proto.graph.node[0].doc_string = "Narrows."
    graph = load_graph(proto)
    assert (graph.name, graph.ir_version, graph.opsets) == ("main", 10, {"": 25})
    assert (graph.producer, graph.metadata) == ("torch 2.13", {"author": "Ada"})
    assert (graph.doc, graph.inputs[0].doc, graph.nodes[0].doc) == (
        "A cast.",
        "An input.",
        "Narrows.",
    )


def test_a_graph_needs_no_name():
    proto = copy.deepcopy(MODEL)
    proto.graph.name = ""
    assert _is_cast(load_graph(proto))


TENSOR = onnx.helper.make_tensor("x", 1, [2], [1.0, 2.0]).SerializeToString()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the model is empty"),
        (b"hello world\n", "the model is not an ONNX model; it looks like text: 'hello world'"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n",
            "the model is not an ONNX model; it looks like a Git LFS pointer: "
            "fetch the file with `git lfs pull`",
        ),
        (
            b"\n<!DOCTYPE html><title>404</title>",
            "the model is not an ONNX model; it looks like a web page, perhaps an error page",
        ),
        (
            json.dumps({"error": "not found"}).encode(),
            "the model is not an ONNX model; it looks like JSON",
        ),
        (
            b'<ir_version: 10, opset_import: ["": 21]> g (float x) => (float y) { }',
            "the model is not an ONNX model; "
            "it looks like ONNX in its text syntax, which onnx.parser reads",
        ),
        (
            str(MODEL).encode(),
            "the model is not an ONNX model; "
            "it looks like ONNX as protobuf text, which google.protobuf.text_format reads",
        ),
        (
            b"PK\x03\x04\x00\x00",
            "the model is not an ONNX model; "
            "it looks like a zip archive, perhaps a PyTorch checkpoint",
        ),
        (
            b"\x1f\x8b\x08\x00",
            "the model is not an ONNX model; it looks like gzip data: decompress it first",
        ),
        (
            TENSOR,
            "the model is not an ONNX model; it looks like a tensor, such as the input of a model",
        ),
        (BYTES[:-3], "the model is not an ONNX model; it is cut off or damaged"),
        (BYTES + b"\x00\x00\x00\x00", "the model is not an ONNX model; it is cut off or damaged"),
        (
            BYTES + b"\xf8\x7f\x01",
            "the model is not an ONNX model; a model has no field 2047",
        ),
        (
            onnx.ModelProto(ir_version=10).SerializeToString(),
            "the model has no graph, so it is no model",
        ),
    ],
)
def test_says_what_other_bytes_look_like(data, message):
    with pytest.raises(ParseError) as error:
        read_graph(data)
    assert str(error.value) == message


def test_names_the_file(tmp_path):
    path = tmp_path / "empty.onnx"
    path.write_bytes(b"")
    with pytest.raises(ParseError) as error:
        load_graph(path)
    assert str(error.value) == f"{str(path)!r} is empty"
    with path.open("rb") as file, pytest.raises(ParseError) as error:
        load_graph(file)
    assert str(error.value) == f"{str(path)!r} is empty"


def test_a_file_that_cannot_be_read_is_an_oserror(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_graph(tmp_path / "none.onnx")
    with pytest.raises(IsADirectoryError):
        load_graph(tmp_path)


def test_refuses_a_file_that_is_too_large_before_reading_it(tmp_path):
    path = tmp_path / "large.onnx"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ParseError) as error:
        load_graph(path)
    assert str(error.value) == (
        f"{str(path)!r} has 1099511627776 bytes, but a protobuf message holds at most "
        "2147483647; a larger model keeps its tensors in files beside it (external data)"
    )


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            None,
            "a model is a path, bytes, a binary file or an onnx.ModelProto, not of type NoneType",
        ),
        (
            MODEL.graph,
            "a model is a path, bytes, a binary file or an onnx.ModelProto, not of type GraphProto",
        ),
        ("a\0b", "'a\\x00b' is no path"),
    ],
)
def test_refuses_what_is_no_model(source, message):
    with pytest.raises(InputError) as error:
        load_graph(source)
    assert str(error.value) == message


def test_refuses_a_file_in_text_mode(path):
    with path.open(encoding="latin-1") as file, pytest.raises(InputError) as error:
        load_graph(file)
    assert str(error.value) == f"reading {file!r} gave str, not bytes; open the file in mode 'rb'"


@pytest.mark.parametrize("version", [3, 4, 10, 14])
def test_reads_ir_versions(version):
    proto = copy.deepcopy(MODEL)
    proto.ir_version = version
    assert _is_cast(load_graph(proto))


@pytest.mark.parametrize(
    ("version", "error", "message"),
    [
        (0, ParseError, "the model has no ir_version; is it an ONNX model?"),
        (
            2,
            UnsupportedError,
            "the model has IR version 2, but minirt reads 3 to 14; convert it to one of these",
        ),
        (
            99,
            UnsupportedError,
            "the model has IR version 99, but minirt reads 3 to 14; "
            "update minirt, or save it with one of these",
        ),
    ],
)
def test_refuses_ir_versions_out_of_range(version, error, message):
    proto = copy.deepcopy(MODEL)
    proto.ir_version = version
    with pytest.raises(error) as caught:
        load_graph(proto)
    assert str(caught.value) == message


def test_a_version_to_come_is_named_before_its_fields(tmp_path):
    proto = copy.deepcopy(MODEL)
    proto.ir_version = 15
    with pytest.raises(UnsupportedError, match="IR version 15"):
        load_graph(proto.SerializeToString() + b"\xf8\x7f\x01")


@pytest.mark.parametrize("name", ["graph", "input", "output", "op_type", "domain", "attribute"])
def test_names_that_are_not_utf8_are_a_parse_error(name):
    proto = copy.deepcopy(MODEL)
    node = proto.graph.node[0]
    match name:
        case "graph":
            proto.graph.name = "<<"
        case "input":
            proto.graph.input[0].name = node.input[0] = "<<"
        case "output":
            proto.graph.output[0].name = node.output[0] = "<<"
        case "op_type":
            node.op_type = "<<"
        case "domain":
            node.domain = "<<"
        case "attribute":
            node.attribute[0].name = "<<"
    with pytest.raises(ParseError, match=r"is not UTF-8: b'\\xff\\xfe'"):
        load_graph(proto.SerializeToString().replace(b"<<", b"\xff\xfe"))
