"""Graphs that public runtimes got wrong and their users reported, by their numbers."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from external_data import external
from onnx import SparseTensorProto, TensorProto, helper
from protos import graph, model, node, value

import minirt
from minirt.model.load import read_graph
from minirt.types import Dim

X = np.array([1.5, -2], np.float32)


@pytest.mark.parametrize(("dim", "expected"), [(-1, None), (-(2**63), None), (0, 0), (3, 3)])
def test_c098_negative_dimensions_are_unknown_and_zero_is_empty(dim, expected, caplog):
    declared = value("x", 1, [1])
    declared.type.tensor_type.shape.dim[0].dim_value = dim
    session = minirt.load(model([node("Identity", "x", "y")], [declared], ["y"]))
    assert session.inputs[0].shape == session.outputs[0].shape == (expected,)
    assert len(caplog.messages) == (dim < 0)


# Shapes


def test_c095_sizes_of_0_are_meant_with_allowzero():
    first, second = ([4, 2, -1], [0, 0, 4])
    tensors = [helper.make_tensor(n, 7, [3], s) for n, s in (("s", first), ("t", second))]
    nodes = [node("Reshape", "x s", "h"), node("Reshape", "h t", "y", allowzero=1)]
    proto = model(nodes, [value("x", 1, [0, 8, 2])], ["y"], initializer=tensors)
    assert minirt.run(proto, [np.empty((0, 8, 2), np.float32)])["y"].shape == (0, 0, 4)


@pytest.mark.parametrize("trips", [0, 2])
def test_c114_c115_scan_outputs_get_an_axis_in_front(trips):
    body = graph([], ["i", "c", "v"], ["c", "v", "v"])
    for info in body.input:
        info.ClearField("type")
    nodes = [node("Loop", "n c x", "y ys", body=body)]
    proto = model(nodes, [value("n", 7, []), value("c", 9, []), value("x", 1, [2])], ["y", "ys"])
    y, ys = minirt.run(proto, [np.int64(trips), np.array(True), X])
    assert (y.tolist(), ys.shape) == (X.tolist(), (trips, 2))
    assert ys.tolist() == [X.tolist()] * trips


def test_c119_the_shape_of_a_scalar():
    proto = model([node("Shape", "x", "y")], [value("x", 1, [])], ["y"])
    y = minirt.run(proto, [np.float32(3)])["y"]
    assert (y.dtype, y.shape) == (np.int64, (0,))


def test_c120_a_shape_has_one_dimension():
    inputs = [value("x", 1, [1]), value("s", 7, [])]
    with pytest.raises(minirt.ShapeError, match=r"shape is int64\[\], but should have one"):
        minirt.load(model([node("Expand", "x s", "y")], inputs, ["y"]))


# Left out, by an empty name


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("ReduceSum x _", ["x"]),
        ("Pad x p _", ["x", "p"]),
        ("Clip x _ m", ["x", None, "m"]),
        ("Resize x _ _ s", ["x", None, None, "s"]),
    ],
)
def test_c101_c103_an_empty_name_is_none(written, kept):
    op_type, *inputs = written.split()
    infos = [value(name, 1, [2, 3]) for name in "xmps"]
    read = read_graph(model([node(op_type, " ".join(inputs), "y")], infos, ["y"]))
    assert [v and v.name for v in read.nodes[0].inputs] == kept


def test_c104_outputs_without_a_name():
    nodes = [node("Dropout", "x", "y _"), node("Dropout", "y", "_ m"), node("Dropout", "y", "_ _")]
    read = read_graph(model(nodes, ["x"], ["y", "m"]))
    assert [[v and v.name for v in n.outputs] for n in read.nodes] == [["y"], [None, "m"], []]
    assert [v.name for v in read.values()] == ["x", "y", "m"]


# Subgraphs


def test_c112_types_of_outer_values_are_known_inside():
    inner = graph([node("Cast", "h", "i", to=TensorProto.INT8)], [], ["i"])
    other = graph([node("Cast", "x", "i", to=TensorProto.INT8)], [], ["i"])
    choice = node("If", "c", "y", then_branch=inner, else_branch=other)
    condition = value("c", TensorProto.BOOL, [])
    nodes = [node("Cast", "x", "h", to=10), choice]
    inferred = minirt.infer(model(nodes, [value("x", 1, ["N", 3]), condition], ["y"]))
    for _, _, branch in inferred.subgraphs():
        assert str(branch.outputs[0].type) == "int8[N,3]"


def test_c113_a_branch_may_give_an_outer_value():
    same = graph([], [], ["x"])
    choice = node("If", "c", "y", then_branch=same, else_branch=same)
    inferred = minirt.infer(model([choice], ["x", value("c", TensorProto.BOOL, [])], ["y"]))
    for _, _, branch in inferred.subgraphs():
        assert branch.outputs == inferred.inputs[:1] == branch.captures


# Outputs


def test_c121_a_result_is_no_part_of_the_model():
    session = minirt.load(model([], [], ["w"], initializer=[helper.make_tensor("w", 1, [2], X)]))
    (first,) = session.run({})
    first[:] = 0
    assert session.run({})["w"].tolist() == X.tolist()


def test_c122_an_initializer_that_is_used_as_output_alone():
    tensors = [helper.make_tensor(name, 1, [2], X) for name in ("w", "unused")]
    assert minirt.run(model([], [], ["w"], initializer=tensors), {})["w"].tolist() == X.tolist()


def test_c144_an_output_that_is_listed_twice():
    session = minirt.load(model([node("Cast", "x", "y", to=10)], [value("x", 1, [2])], ["y", "y"]))
    first, second = session.run([X])
    first[:] = 0
    assert second.tolist() == X.tolist()


# Files: C124, hub caches, is in test_hostile_files


@pytest.mark.parametrize("offset", [0, 1, 4, 4095, 4096, 5000])
def test_c127_external_data_at_any_offset(tmp_path, offset):
    (tmp_path / "w.bin").write_bytes(bytes(offset) + X.tobytes())
    tensor = external(dims=[2], offset=offset, length=8)
    onnx.save(model([], [], ["w"], initializer=[tensor]), tmp_path / "m.onnx")
    assert minirt.run(tmp_path / "m.onnx", {})["w"].tolist() == X.tolist()


def test_c129_a_model_in_memory_is_never_written(monkeypatch):
    def refuse(self: object, *_: object) -> bytes:
        raise ValueError("more than 2 GiB")

    proto = model([node("Cast", "w", "y", to=10)], [], ["y"],
                  initializer=[helper.make_tensor("w", 1, [2], X)])  # fmt: skip
    for message in (onnx.ModelProto, onnx.GraphProto, onnx.NodeProto, onnx.TensorProto):
        monkeypatch.setattr(message, "SerializeToString", refuse)
    with pytest.raises(ValueError, match="more than 2 GiB"):
        proto.SerializeToString()
    assert str(minirt.infer(proto).outputs[0].type) == "float16[2]"
    assert minirt.run(proto, {})["y"].tolist() == X.tolist()


# Imports and versions


def test_c130_only_what_nodes_use_must_be_imported():
    scaler = helper.make_node("Scaler", ["x"], ["y"], domain="ai.onnx.ml", offset=[0.0])
    assert minirt.infer(model([scaler], ["x"], ["y"], opsets={"ai.onnx.ml": 3})).nodes
    with pytest.raises(minirt.SchemaError, match=r"no opset of domain 'ai.onnx' is imported"):
        minirt.load(model([node("Identity", "x", "y")], ["x"], ["y"], opsets={"ai.onnx.ml": 3}))


def test_c133_an_empty_domain_is_the_default():
    explicit = node("Identity", "x", "y")
    explicit.domain = ""
    assert explicit.HasField("domain")
    assert minirt.run(model([explicit], [value("x", 1, [2])], ["y"]), [X])["y"].tolist() == [
        1.5,
        -2,
    ]


@pytest.mark.parametrize(
    ("versions", "numbers"),
    [
        ({"ir_version": 99}, "the model has IR version 99, but minirt reads 3 to 14; update"),
        ({"opsets": {"": 99}}, "the model imports opset 99 of ai.onnx, but minirt implements 1 to"),
    ],
)
def test_c134_versions_that_are_too_new(versions, numbers):
    with pytest.raises(minirt.UnsupportedError) as error:
        minirt.load(model([node("Identity", "x", "y")], ["x"], ["y"], **versions))
    assert str(error.value).startswith(numbers)


# Sparse tensors


@pytest.mark.parametrize(
    ("indices", "dims", "dense"),
    [
        ([1, 3], [5], [0, 3, 0, 4, 0]),
        ([[0, 1], [1, 2]], [2, 3], [[0, 3, 0], [0, 0, 4]]),
    ],
)
def test_c136_a_sparse_constant(indices, dims, dense):
    sparse = SparseTensorProto(
        values=helper.make_tensor("", 1, [2], [3.0, 4.0]),
        indices=helper.make_tensor("", 7, np.shape(indices), np.ravel(indices)),
        dims=dims,
    )
    proto = model([node("Constant", "", "y", sparse_value=sparse)], [], ["y"])
    assert minirt.run(proto, {})["y"].tolist() == dense


# Order and types


def test_c145_nodes_in_any_order_but_no_cycles():
    nodes = [node("Cast", "t", "y", "second", to=7), node("Cast", "x", "t", "first", to=10)]
    assert minirt.run(model(nodes, [value("x", 1, [2])], ["y"]), [X])["y"].tolist() == [1, -2]
    nodes[1].input[0] = "y"
    with pytest.raises(minirt.SchemaError) as error:
        minirt.load(model(nodes, [], ["y"]))
    assert str(error.value) == (
        "nodes need each other's outputs: Cast 'second' (node 0) -> Cast 'first' (node 1) -> "
        "Cast 'second' (node 0)"
    )


def test_c146_a_wrong_shape_is_named():
    proto = model([node("Cast", "x", "y", "narrow", to=10)], [value("x", 1, [200])],
                  [value("y", 10, [250])])  # fmt: skip
    with pytest.raises(minirt.ShapeError) as error:
        minirt.load(proto)
    assert str(error.value) == (
        "Cast 'narrow' (node 0): output 'y' is declared float16[250], but is float16[200]"
    )


def test_c147_declared_names_of_dimensions_are_kept():
    nodes = [node("NonZero", "x", "y"), node("Cast", "y", "z", to=6)]
    proto = model(nodes, ["x"], [value("y", 7, [2, "NZ"]), "z"])
    inferred = minirt.infer(proto)
    assert [v.type.shape for v in inferred.outputs] == [(2, Dim("NZ"))] * 2


def test_c148_inference_computes_nothing_that_could_fail():
    tensor = helper.make_tensor("", 1, [2], [np.inf, np.nan])
    nodes = [
        node("Constant", "", "k", value=tensor), node("Cast", "k", "s", to=7),
        node("Reshape", "x s", "y"),
    ]  # fmt: skip
    inferred = minirt.infer(model(nodes, ["x"], ["y"]))
    assert str(inferred.nodes[1].outputs[0].type) == "int64[2]"
