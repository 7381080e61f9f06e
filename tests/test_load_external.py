"""Tensors outside of the model file: where they are looked for."""

from __future__ import annotations

import io

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from protos import model, node

from minirt.errors import InputError, ParseError
from minirt.model.infer import infer
from minirt.model.load import load_graph, read_graph

WEIGHTS = np.arange(3, dtype=np.float32)


def outside(offset: int) -> TensorProto:
    """A tensor of three floats in weights.bin."""
    tensor = TensorProto(data_type=1, dims=[3], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": "weights.bin", "offset": offset, "length": 12}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def make_model() -> onnx.ModelProto:
    """An initializer, and attributes of nodes at two depths, all outside."""
    inner = helper.make_graph(
        [node("Constant", "", "t", value=outside(5))], "body", [], [onnx.ValueInfoProto(name="t")]
    )
    initializer = outside(5)
    initializer.name = "w"
    return model(
        [
            node("Constant", "", "k", value=outside(5)),
            node("Repeat", "", "y", domain="vendor", body=inner),
        ],
        [],
        ["w", "k"],
        initializer=[initializer],
        opsets={"": 21, "vendor": 1},
    )


BYTES = make_model().SerializeToString()
DATA = b"\0" * 5 + WEIGHTS.tobytes()  # aligned to nothing


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.onnx").write_bytes(BYTES)
    (tmp_path / "weights.bin").write_bytes(DATA)
    return tmp_path


def read(source, **options):
    """The arrays, wherever in the graph they are."""
    graph = read_graph(source, **options)
    arrays = list(graph.initializers.values())
    for inner in graph.graphs():
        arrays += [n.attributes["value"].value for n in inner.nodes if "value" in n.attributes]
    return arrays


def test_the_folder_of_the_file_is_the_place(folder):
    with (folder / "model.onnx").open("rb") as file:
        for source in (folder / "model.onnx", str(folder / "model.onnx"), file):
            assert [a.tolist() for a in read(source)] == [WEIGHTS.tolist()] * 3


def test_bytes_need_a_folder_or_contents(folder):
    for options in ({"base_dir": folder}, {"external": {"weights.bin": DATA}}):
        for source in (BYTES, io.BytesIO(BYTES), make_model()):
            assert [a.tolist() for a in read(source, **options)] == [WEIGHTS.tolist()] * 3
    with pytest.raises(InputError) as error:
        read(BYTES)
    assert str(error.value) == (
        "initializer 'w' is stored in 'weights.bin', outside of the model: load the model from "
        "a path, or pass base_dir= or external={location: bytes}"
    )


def test_a_place_that_is_given_comes_before_the_folder_of_the_file(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "weights.bin").write_bytes(b"\0" * 17)
    assert [a.tolist() for a in read(folder / "model.onnx", base_dir=elsewhere)] == [[0.0] * 3] * 3


def test_links_out_of_the_folder_are_followed_on_request(folder, tmp_path_factory):
    # So hub caches keep models: both files are links into a folder of blobs.
    cache = tmp_path_factory.mktemp("snapshot")
    for name in ("model.onnx", "weights.bin"):
        (cache / name).symlink_to(folder / name)
    with pytest.raises(ParseError, match=r"follow_symlinks=True"):
        read(cache / "model.onnx")
    assert len(read(cache / "model.onnx", follow_symlinks=True)) == 3


@pytest.mark.parametrize("load", [load_graph, infer])
def test_every_way_in_follows_links_on_request(load, tmp_path):
    (tmp_path / "blob").write_bytes(DATA)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights.bin").symlink_to(tmp_path / "blob")
    path = tmp_path / "model" / "model.onnx"
    onnx.save(model([node("Constant", "", "k", value=outside(5))], [], ["k"]), path)
    with pytest.raises(ParseError):
        load(path)
    assert load(path, follow_symlinks=True).nodes[0].attributes["value"].value.tolist() == [0, 1, 2]


def test_what_is_not_there_is_named_with_its_node(folder):
    (folder / "weights.bin").unlink()
    loaded = model([node("Constant", "", "k", "c", value=outside(0))], [], ["k"])
    with pytest.raises(ParseError) as error:
        load_graph(loaded, base_dir=folder)
    file = str(folder.resolve() / "weights.bin")
    assert str(error.value) == (
        "Constant 'c' (node 0): attribute value is stored in 'weights.bin', "
        f"but there is no file {file!r}"
    )
