"""Operators, opsets, attributes and operand counts, held against ONNX's schemas."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper
from protos import graph, model, node, value

from minirt.errors import SchemaError, UnsupportedError
from minirt.model.load import load_graph, read_graph
from minirt.passes.check import check
from minirt.passes.missing import missing_operators

ALL = {"": 21, "ai.onnx.ml": 3, "com.microsoft": 1}


def load(*nodes, opset=21, opsets=None, read=load_graph, inputs=("x",), outputs=("y",)):
    return read(model(list(nodes), list(inputs), list(outputs), opsets=opsets or {"": opset}))


def checked(*nodes, **more):
    """A graph whose nodes fit their schemas, whether or not minirt has the operators."""
    loaded = load(*nodes, read=read_graph, **more)
    check(loaded)
    return loaded


# Imports


@pytest.mark.parametrize("opset", range(1, 29))
def test_every_opset_loads(opset):
    graph = load(node("Identity", "x", "y"), opset=opset)
    assert (graph.opsets, graph.nodes[0].opset) == ({"": opset}, opset)


def test_ai_onnx_is_the_default_domain():
    for written in ("", "ai.onnx"):
        for used in ("", "ai.onnx"):
            graph = load(node("Identity", "x", "y", domain=used), opsets={written: 21})
            assert (graph.nodes[0].domain, graph.opsets) == ("", {"": 21})


def test_a_domain_may_be_imported_twice_alike():
    proto = model([node("Identity", "x", "y")], ["x"], ["y"])
    proto.opset_import.append(helper.make_opsetid("ai.onnx", 21))
    assert load_graph(proto).opsets == {"": 21}


def test_imports_that_no_node_uses_do_not_matter():
    opsets = {"": 21, "org.pytorch.aten": 1, "ai.onnx.ml": 99}
    assert load(node("Identity", "x", "y"), opsets=opsets).opsets == opsets


def test_a_domain_that_no_node_uses_need_not_be_imported():
    scaler = node("Scaler", "x", "y", domain="ai.onnx.ml")
    loaded = checked(scaler, opsets={"ai.onnx.ml": 3})
    assert loaded.nodes[0].opset == 3


@pytest.mark.parametrize(
    ("opsets", "nodes", "error", "message"),
    [
        (
            [("", 21), ("ai.onnx", 20)],
            [],
            SchemaError,
            "the model imports two opsets of ai.onnx, 21 and 20",
        ),
        ([("", 0)], [], SchemaError, "the model imports opset 0 of ai.onnx; the first is 1"),
        (
            [("", 99)],
            [],
            UnsupportedError,
            "the model imports opset 99 of ai.onnx, but minirt implements 1 to 28; "
            "update minirt, or convert the model with onnx.version_converter",
        ),
        (
            [("", 21), ("ai.onnx.ml", 6)],
            [node("Scaler", "x", "y", domain="ai.onnx.ml")],
            UnsupportedError,
            "ai.onnx.ml.Scaler (node 0): the model imports opset 6 of ai.onnx.ml, "
            "but minirt implements 1 to 5; "
            "update minirt, or convert the model with onnx.version_converter",
        ),
        (
            [],
            [node("Identity", "x", "y")],
            SchemaError,
            "Identity (node 0): no opset of domain 'ai.onnx' is imported, only none",
        ),
        (
            [("ai.onnx.ml", 3)],
            [node("Identity", "x", "y", "id")],
            SchemaError,
            "Identity 'id' (node 0): no opset of domain 'ai.onnx' is imported, only ai.onnx.ml 3",
        ),
        (
            [("", 21)],
            [node("Gelu", "x", "y", domain="com.microsoft")],
            SchemaError,
            "com.microsoft.Gelu (node 0): "
            "no opset of domain 'com.microsoft' is imported, only ai.onnx 21",
        ),
    ],
)
def test_faults_of_imports(opsets, nodes, error, message):
    proto = model(nodes, ["x"], [])
    del proto.opset_import[:]
    proto.opset_import.extend(helper.make_opsetid(domain, version) for domain, version in opsets)
    with pytest.raises(error) as caught:
        load_graph(proto)
    assert str(caught.value) == message


# Operators that are not there


def test_all_operators_that_minirt_lacks_are_listed_at_once():
    body = graph([node("Frobnicate", "x", "t", domain="vendor")], [], ["t"])
    with pytest.raises(UnsupportedError) as error:
        load(
            node("Gelu", "x", "a", domain="com.microsoft"),
            node("Identity", "a", "b"),
            node("NoSuchOp", "b", "c"),
            node("Identitty", "c", "d"),
            node("Gelu", "d", "e", domain="com.microsoft"),
            node("Repeat", "e", "y", domain="vendor", body=body),
            opsets={"": 21, "com.microsoft": 1, "vendor": 2},
        )
    assert str(error.value) == (
        "minirt does not implement 5 operators of this model: "
        "Identitty (ai.onnx 21, 1 node, not in ONNX; did you mean 'Identity'?), "
        "NoSuchOp (ai.onnx 21, 1 node, not in ONNX), "
        "Gelu (com.microsoft 1, 2 nodes), "
        "Frobnicate (vendor 2, 1 node), Repeat (vendor 2, 1 node)"
    )
    assert (error.value.op, error.value.opset) == ("Identitty", 21)


def test_what_is_missing_can_be_asked_for():
    loaded = load(
        node("Gelu", "x", "a", domain="com.microsoft"),
        node("Cast", "a", "y", to=1),
        opsets=ALL,
        read=read_graph,
    )
    (missing,) = missing_operators(loaded)
    assert (missing.domain, missing.name) == ("com.microsoft", "Gelu")
    assert (missing.opset, missing.nodes) == (1, 1)


@pytest.mark.parametrize(
    ("name", "domain", "opset", "message"),
    [
        ("CastLike", "", 13, "it exists since ai.onnx opset 15, but the model imports 13"),
        (
            "Upsample",
            "",
            13,
            "ai.onnx opset 10 deprecates it, and the model imports 13; it is valid up to opset 9",
        ),
        (
            "GroupNormalization",
            "",
            19,
            "ai.onnx opset 18 deprecates it, and the model imports 19; it is back from opset 21",
        ),
        (
            "TreeEnsemble",
            "ai.onnx.ml",
            4,
            "it exists since ai.onnx.ml opset 5, but the model imports 4",
        ),
    ],
)
def test_an_operator_that_the_opset_does_not_have(name, domain, opset, message):
    with pytest.raises(SchemaError) as error:
        load(node(name, "x", "y", domain=domain), opsets={domain: opset})
    place = f"{domain}.{name}" if domain else name
    assert str(error.value) == f"{place} (node 0): {message}"


# Attributes


@pytest.mark.parametrize(
    ("opset", "given", "filled"),
    [
        (13, {}, {"saturate": 1, "round_mode": "up"}),
        (19, {"saturate": 0}, {"saturate": 0, "round_mode": "up"}),
        (25, {"round_mode": "down"}, {"saturate": 1, "round_mode": "down"}),
        # Later attributes, saying what holds anyway.
        (13, {"saturate": 1, "round_mode": "up"}, {"saturate": 1, "round_mode": "up"}),
    ],
)
def test_defaults_are_filled_in(opset, given, filled):
    (cast,) = load(node("Cast", "x", "y", to=1, **given), opset=opset).nodes
    assert cast.attributes == {"to": 1, **filled}
    assert cast.defaults == {"saturate": 1, "round_mode": "up"}


def test_defaults_are_not_shared():
    first, second = (checked(node("RNN", "x x x", "y")).nodes[0].attributes for _ in "ab")
    assert first == second == {"activations": ["Tanh", "Tanh"], "direction": "forward", "layout": 0}
    assert first["activations"] is not second["activations"]


@pytest.mark.parametrize(
    ("opset", "attributes", "message"),
    [
        (21, {}, "attribute to is missing; Cast-21 needs it"),
        (21, {"to": "FLOAT"}, "attribute to is the string 'FLOAT', but Cast-21 takes an int"),
        (1, {"to": 1}, "attribute to is the int 1, but Cast-1 takes a string"),
        (21, {"to": 1.0}, "attribute to is the float 1.0, but Cast-21 takes an int"),
        (21, {"to": [1]}, "attribute to is a list of ints, but Cast-21 takes an int"),
        (
            21,
            {"to": helper.make_tensor("", 1, [1], [1.0])},
            "attribute to is a tensor, but Cast-21 takes an int",
        ),
        (
            21,
            {"to": 1, "sturate": 1},
            "Cast-21 has no attribute 'sturate'; did you mean 'saturate'?",
        ),
        (21, {"to": 1, "axis": 1}, "Cast-21 has no attribute 'axis'; it has saturate, to"),
        (
            13,
            {"to": 1, "saturate": 0},
            "attribute saturate is the int 0, but Cast-13 has no such attribute: "
            "it came with opset 19, before which only its default 1 is allowed",
        ),
        (
            21,
            {"to": 1, "round_mode": "down"},
            "attribute round_mode is the string 'down', but Cast-21 has no such attribute: "
            "it came with opset 24, before which only its default 'up' is allowed",
        ),
        (
            13,
            {"to": 1, "saturate": 1.0},
            "attribute saturate is the float 1.0, but Cast-13 has no such attribute: "
            "it came with opset 19, before which only its default 1 is allowed",
        ),
    ],
)
def test_faults_of_attributes(opset, attributes, message):
    with pytest.raises(SchemaError) as error:
        load(node("Cast", "x", "y", "c", **attributes), opset=opset)
    assert str(error.value) == f"Cast 'c' (node 0): {message}"


def test_a_later_attribute_without_a_default_is_refused():
    constant = node("Constant", "", "y", value_int=1)
    constant.attribute.append(helper.make_attribute("value", helper.make_tensor("", 1, [], [1.0])))
    with pytest.raises(SchemaError) as error:
        load(constant, opset=9)
    assert str(error.value) == (
        "Constant (node 0): attribute value_int is the int 1, "
        "but Constant-9 has no such attribute: it came with opset 12"
    )


@pytest.mark.parametrize(
    ("op_type", "attribute", "wrong", "words"),
    [
        ("Transpose", "perm", 1, "the int 1, but Transpose-21 takes a list of ints"),
        ("Transpose", "perm", ["a"], "a list of strings, but Transpose-21 takes a list of ints"),
        ("LeakyRelu", "alpha", 1, "the int 1, but LeakyRelu-16 takes a float"),
        ("Scan", "body", 1, "the int 1, but Scan-21 takes a graph"),
        ("ConstantOfShape", "value", 1.5, "the float 1.5, but ConstantOfShape-21 takes a tensor"),
        ("Optional", "type", 1, "the int 1, but Optional-15 takes a type"),
        (
            "StringNormalizer",
            "stopwords",
            "a",
            "the string 'a', but StringNormalizer-10 takes a list of strings",
        ),
    ],
)
def test_every_type_of_attribute_is_checked(op_type, attribute, wrong, words):
    with pytest.raises(SchemaError) as error:
        checked(node(op_type, "x", "y", **{attribute: wrong}))
    assert str(error.value) == f"{op_type} (node 0): attribute {attribute} is {words}"


# Operands and outputs


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (node("Cast", "", "y", to=1), "has 0 inputs, but Cast-21 takes 1"),
        (node("Cast", "x x", "y", to=1), "has 2 inputs, but Cast-21 takes 1"),
        (node("Cast", "x", "y z", to=1), "has 2 outputs, but Cast-21 takes 1"),
        (node("Cast", "x", "", to=1), "has 0 outputs, but Cast-21 takes 1"),
        (node("Clip", "x x x x", "y"), "has 4 inputs, but Clip-13 takes 1 to 3"),
        (node("Clip", "_ x", "y"), "input input is empty, but Clip-13 needs it"),
        (node("Sum", "", "y"), "has 0 inputs, but Sum-13 takes at least 1"),
        (node("Sum", "x _ x", "y"), "input data_0 is empty, but Sum-13 needs it"),
        (node("TopK", "x x", "_ y"), "output Values is empty, but TopK-11 needs it"),
    ],
)
def test_faults_of_counts(bad, message):
    with pytest.raises(SchemaError) as error:
        checked(bad, outputs=[])
    assert str(error.value) == f"{bad.op_type} (node 0): {message}"


def test_optional_and_independent_operands_may_be_empty():
    loaded = checked(
        node("Clip", "x _ x", "a"),
        node("Loop", "_ _ x _ x", "b c d", body=graph([], [], [])),
        outputs=["a"],
    )
    assert [len(n.inputs) for n in loaded.nodes] == [3, 5]


def test_nodes_in_subgraphs_are_checked():
    bad = graph([node("Cast", "x", "t", "c")], [], ["t"])
    with pytest.raises(SchemaError) as error:
        checked(
            node("If", "b", "y", then_branch=bad, else_branch=bad),
            inputs=["x", value("b", TensorProto.BOOL, [])],
        )
    assert str(error.value) == (
        "If (node 0) > else_branch > Cast 'c' (node 0): attribute to is missing; Cast-21 needs it"
    )
