"""Names become edges: each is defined once, and every one that is used is defined."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from protos import model, node, untyped, value

from minirt.errors import ParseError, SchemaError, ShapeError
from minirt.model.load import load_graph, read_graph

DOUBLE = TensorProto.DOUBLE


def names(values) -> list:
    return [v and v.name for v in values]


def order(graph) -> list[str]:
    return [n.name for n in graph.nodes]


def tensor(name: str, numbers: list, type_: int = TensorProto.FLOAT):
    return helper.make_tensor(name, type_, [len(numbers)], numbers)


def test_edges_are_objects():
    graph = load_graph(
        model(
            [node("Identity", "x", "t", "a"), node("Identity", "t", "y", "b")],
            [value("x", 1, ["N", 3])],
            ["y"],
        )
    )
    a, b = graph.nodes
    assert a.inputs == graph.inputs and b.inputs == a.outputs and graph.outputs == b.outputs
    assert (a.outputs[0].producer, graph.inputs[0].producer) == (a, None)
    assert str(graph.inputs[0].type) == "float[N,3]"


def test_omitted_operands_are_none_and_trailing_ones_are_gone():
    graph = read_graph(
        model(
            [
                node("Clip", "x _ x", "a"),
                node("Clip", "x _ _", "b"),
                node("Dropout", "x", "c _"),
                node("Dropout", "x", "d _"),
                node("LSTM", "x x x", "_ e _"),
            ],
            ["x"],
            ["a"],
        )
    )
    assert [names(n.inputs) for n in graph.nodes[:2]] == [["x", None, "x"], ["x"]]
    assert [names(n.outputs) for n in graph.nodes[2:]] == [["c"], ["d"], [None, "e"]]
    assert "" not in names(graph.values())


def test_a_graph_output_may_be_an_input_an_initializer_or_repeated():
    graph = load_graph(
        model(
            [node("Identity", "x", "y")],
            ["x"],
            ["x", "w", "y", "y"],
            initializer=[tensor("w", [1.0])],
        )
    )
    assert names(graph.outputs) == ["x", "w", "y", "y"]
    assert graph.outputs[0] is graph.inputs[0] and graph.outputs[1] in graph.initializers


def test_a_graph_without_nodes():
    graph = load_graph(model([], [], []))
    assert (graph.nodes, graph.inputs, graph.outputs) == ([], [], [])


# Order


def test_nodes_in_order_stay_as_they_are():
    nodes = [node("Identity", i, o, n) for i, o, n in ("xab", "xcd", "aef", "cgh", "xij")]
    assert order(load_graph(model(nodes, ["x"], ["e"]))) == ["b", "d", "f", "h", "j"]


def test_only_what_must_come_earlier_moves():
    nodes = [node("Identity", i, o, n) for i, o, n in ("bc1", "xd2", "xa3", "ab4", "de5")]
    graph = load_graph(model(nodes, ["x"], ["c"]))
    assert order(graph) == ["3", "4", "1", "2", "5"]
    assert [n.index for n in graph.nodes] == [2, 3, 0, 1, 4]


def test_a_long_chain_backwards_needs_no_recursion():
    count = 20_000
    nodes = [node("Identity", f"v{i}", f"v{i + 1}", str(i)) for i in reversed(range(count))]
    graph = load_graph(model(nodes, ["v0"], [f"v{count}"]))
    assert order(graph) == [str(i) for i in range(count)]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (["yy"], "nodes need each other's outputs: Identity '0' (node 0) -> Identity '0' (node 0)"),
        (
            ["xa", "cb", "bc"],
            "nodes need each other's outputs: "
            "Identity '1' (node 1) -> Identity '2' (node 2) -> Identity '1' (node 1)",
        ),
        (
            ["ja", "ab", "bc", "cd", "de", "ef", "fg", "gh", "hi", "ij"],
            "nodes need each other's outputs: "
            "Identity '0' (node 0) -> Identity '1' (node 1) -> Identity '2' (node 2) -> "
            "Identity '3' (node 3) -> Identity '4' (node 4) -> 5 more -> Identity '0' (node 0)",
        ),
    ],
)
def test_a_cycle_is_named(edges, message):
    nodes = [node("Identity", i, o, str(n)) for n, (i, o) in enumerate(edges)]
    with pytest.raises(SchemaError) as error:
        load_graph(model(nodes, ["x"], []))
    assert str(error.value) == message


# Names that are defined twice, or not at all


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            ([node("Identity", "x", "y", "a"), node("Identity", "x", "y", "b")], ["x"], ["y"]),
            "Identity 'b' (node 1): output 'y' is defined twice, first by Identity 'a' (node 0)",
        ),
        (
            ([node("Identity", "x", "x")], ["x"], []),
            "Identity (node 0): output 'x' is defined twice, first as a graph input",
        ),
        (
            ([node("Identity", "x", "w")], ["x"], []),
            "Identity (node 0): output 'w' is defined twice, first as an initializer",
        ),
        (
            ([node("Split", "x", "y y")], ["x"], []),
            "Split (node 0): output 'y' is defined twice, first by Split (node 0)",
        ),
        (([], ["x", "x"], []), "graph input 'x' is defined twice, first as a graph input"),
        (([], [""], []), "one graph input has no name"),
        (
            ([node("Identity", "xs", "y")], ["x"], ["y"]),
            "Identity (node 0): input 'xs' is made by no node, and is no input or initializer; "
            "did you mean 'x'?",
        ),
        (
            ([node("Identity", "hidden", "y")], ["x"], ["y"]),
            "Identity (node 0): input 'hidden' is made by no node, and is no input or initializer",
        ),
        (
            ([node("Identity", "x", "logits")], ["x"], ["logit"]),
            "graph output 'logit' is made by no node, and is no input or initializer; "
            "did you mean 'logits'?",
        ),
        (
            ([], ["x"], [""]),
            "graph output '' is made by no node, and is no input or initializer",
        ),
        (([], [untyped("x")], []), "graph input 'x' has no type"),
        (([node("", "x", "y")], ["x"], []), "? (node 0): has no op_type"),
    ],
)
def test_a_name_is_defined_once_and_before_it_is_used(parts, message):
    nodes, inputs, outputs = parts
    with pytest.raises(SchemaError) as error:
        load_graph(model(nodes, inputs, outputs, initializer=[tensor("w", [1.0])]))
    assert str(error.value) == message


def test_a_message_is_one_line_whatever_a_name_holds():
    proto = model([node("Identity", "x", "y", domain="a\nb")], ["x"], ["y"])
    with pytest.raises(SchemaError) as error:
        load_graph(proto)
    assert str(error.value) == (
        "a\\nb.Identity (node 0): no opset of domain 'a\\nb' is imported, only ai.onnx 21"
    )


# Initializers


def test_an_initializer_is_a_constant_or_the_default_of_an_input():
    graph = load_graph(
        model(
            [],
            [value("x", 1, ["N"])],
            [],
            initializer=[tensor("x", [1.0, 2.0]), tensor("w", [-1, 7], TensorProto.INT4)],
        )
    )
    (x,) = graph.inputs
    w = next(v for v in graph.initializers if v is not x)
    assert (str(x.type), str(w.type)) == ("float[N]", "int4[2]")
    assert graph.initializers[x].tolist() == [1.0, 2.0]
    assert graph.initializers[w].tolist() == [15, 7]  # codes
    assert not graph.initializers[w].flags.writeable


@pytest.mark.parametrize("ir_version", [3, 10])
def test_an_initializer_need_not_be_an_input(ir_version):
    proto = model([], [], ["w"], initializer=[tensor("w", [1.0])], ir_version=ir_version)
    graph = load_graph(proto)
    assert (graph.inputs, names(graph.outputs)) == ([], ["w"])


def test_an_initializer_of_no_elements():
    empty = helper.make_tensor("w", 1, [0, 3], [])
    graph = load_graph(model([], [], ["w"], initializer=[empty]))
    assert [a.shape for a in graph.initializers.values()] == [(0, 3)]


@pytest.mark.parametrize(
    ("indices", "shape", "dense"),
    [
        (([1, 3], [2]), [5], [0, 3, 0, 4, 0]),
        (([0, 1, 1, 2], [2, 2]), [2, 3], [[0, 3, 0], [0, 0, 4]]),
        (([], [0]), [2], None),
    ],
)
def test_a_sparse_initializer_becomes_dense(indices, shape, dense):
    count = 0 if dense is None else 2
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("w", 1, [count], [3.0, 4.0][:count]),
        helper.make_tensor("", TensorProto.INT64, indices[1], indices[0]),
        shape,
    )
    graph = load_graph(model([], [], ["w"], sparse_initializer=[sparse]))
    ((w, array),) = graph.initializers.items()
    expected = np.zeros(shape) if dense is None else np.array(dense)
    assert (w.name, str(w.type)) == ("w", f"float[{','.join(map(str, shape))}]")
    assert array.dtype == np.float32 and (array == expected).all()
    assert not array.flags.writeable


@pytest.mark.parametrize(
    ("inputs", "initializers", "error", "message"),
    [
        (
            [],
            [tensor("w", [1.0]), tensor("w", [2.0])],
            SchemaError,
            "initializer 'w' is defined twice, first as an initializer",
        ),
        (
            [value("w", 1, [1])],
            [tensor("w", [1.0]), tensor("w", [2.0])],
            SchemaError,
            "initializer 'w' is defined twice, first as a graph input",
        ),
        ([], [tensor("", [1.0])], SchemaError, "one initializer has no name"),
        (
            [value("w", 1, [2])],
            [tensor("w", [1.0])],
            ShapeError,
            "graph input 'w' is float[2], but its initializer is float[1]",
        ),
        (
            [value("w", DOUBLE, ["N"])],
            [tensor("w", [1.0])],
            SchemaError,
            "graph input 'w' is double[N], but its initializer is float[1]",
        ),
        (
            [],
            [TensorProto(name="w", data_type=1, dims=[2], raw_data=b"\0" * 7)],
            ParseError,
            "initializer 'w' declares float[2], 8 bytes, but raw_data has 7",
        ),
    ],
)
def test_faults_of_initializers(inputs, initializers, error, message):
    with pytest.raises(error) as caught:
        load_graph(model([], inputs, [], initializer=initializers))
    assert str(caught.value) == message


# Declared types


def test_declarations_of_one_value_complete_each_other():
    graph = load_graph(
        model(
            [node("Identity", "x", "y")],
            ["x"],
            [value("y", 1, ["N", None, 3])],
            value_info=[value("y", 1, [None, 4, "C"]), value("gone", 1, [7])],
        )
    )
    assert str(graph.outputs[0].type) == "float[N,4,3]"


@pytest.mark.parametrize(
    ("declared", "error", "message"),
    [
        (value("y", 1, [4]), ShapeError, "value 'y' is declared as float[4] and as float[3]"),
        (value("y", 1, [3, 1]), ShapeError, "value 'y' is declared as float[3,1] and as float[3]"),
        (value("y", 11, [3]), SchemaError, "value 'y' is declared as double[3] and as float[3]"),
    ],
)
def test_declarations_must_not_contradict_each_other(declared, error, message):
    proto = model([node("Identity", "x", "y")], ["x"], [value("y", 1, [3])], value_info=[declared])
    with pytest.raises(error) as caught:
        load_graph(proto)
    assert str(caught.value) == message


def test_an_undefined_element_type_declares_nothing():
    graph = load_graph(model([node("Identity", "x", "y")], ["x"], [value("y", 0, [3])]))
    assert graph.outputs[0].type is None
    with pytest.raises(SchemaError, match=r"^graph input 'x' has no type$"):
        load_graph(model([], [value("x", 0, [3])], []))
