"""Subgraphs: what they see, what they capture, and how deep they may nest."""

from __future__ import annotations

import pytest
from onnx import ModelProto, TensorProto, helper
from protos import graph, model, node, value

from minirt.errors import MinirtError, ParseError, SchemaError
from minirt.model.load import read_graph


def names(values) -> list[str]:
    return [v.name for v in values]


def branch(nodes, outputs, inputs=(), **more):
    return graph(nodes, list(inputs), outputs, **more)


def conditional(then_branch, else_branch, output="y", name="cond"):
    return node("If", "c", output, name, then_branch=then_branch, else_branch=else_branch)


NOTHING = branch([node("Constant", "", "k", value_int=1)], ["k"])
CONDITION = value("c", TensorProto.BOOL, [])


def load_if(then_branch, before=(), after=(), inputs=("x",), outputs=("y",), **more):
    nodes = [*before, conditional(then_branch, NOTHING), *after]
    return read_graph(model(nodes, [CONDITION, *inputs], list(outputs), **more))


def then_of(loaded):
    return next(n for n in loaded.nodes if n.name == "cond").attributes["then_branch"]


def test_a_subgraph_is_a_graph_of_its_own():
    inner = branch(
        [node("Add", "x w", "t")], ["t"], initializer=[helper.make_tensor("w", 1, [1], [2.0])]
    )
    loaded = load_if(inner)
    then = then_of(loaded)
    assert names(then.outputs) == ["t"] and names(then.initializers) == ["w"]
    assert (then.opsets, then.ir_version) == (loaded.opsets, loaded.ir_version)
    assert [(n.op_type, a, g is then) for n, a, g in loaded.subgraphs()] == [
        ("If", "else_branch", False),
        ("If", "then_branch", True),
    ]


def test_outer_values_are_captured():
    loaded = load_if(
        branch([node("Add", "x x", "t"), node("Add", "t a", "u")], ["u"]), [node("Abs", "x", "a")]
    )
    then, a = then_of(loaded), loaded.nodes[0].outputs[0]
    assert then.captures == [loaded.inputs[1], a]
    assert then.nodes[1].inputs[1] is a
    assert loaded.captures == []


def test_a_value_that_only_the_innermost_graph_uses_is_captured_all_the_way():
    inner = branch([node("Abs", "x", "i")], ["i"])
    loaded = load_if(branch([conditional(inner, NOTHING, "o", "inner")], ["o"]))
    then = then_of(loaded)
    innermost = then.nodes[0].attributes["then_branch"]
    assert innermost.captures == [loaded.inputs[1]]
    assert then.captures == [loaded.inputs[0], loaded.inputs[1]]  # the condition as well


def test_an_output_may_be_an_outer_value():
    loaded = load_if(branch([], ["x"]))
    then = then_of(loaded)
    assert then.outputs == then.captures == [loaded.inputs[1]]


@pytest.mark.parametrize(
    "inner",
    [
        branch([node("Abs", "c", "x"), node("Abs", "x", "t")], ["t"]),
        branch([node("Abs", "x", "t"), node("Abs", "c", "x")], ["t"]),  # in any order
        branch([node("Abs", "x", "t")], ["t"], inputs=["x"]),
        branch(
            [node("Abs", "x", "t")], ["t"], initializer=[helper.make_tensor("x", 1, [1], [2.0])]
        ),
    ],
    ids=["node", "later node", "input", "initializer"],
)
def test_an_inner_definition_shadows_an_outer_one(inner):
    loaded = load_if(inner)
    then, outer = then_of(loaded), loaded.inputs[1]
    (use,) = (n for n in then.nodes if n.outputs[0].name == "t")
    assert use.inputs[0].name == "x" and use.inputs[0] is not outer
    assert outer not in then.captures


def test_names_of_a_subgraph_are_not_seen_outside():
    with pytest.raises(SchemaError) as error:
        load_if(branch([node("Abs", "x", "t")], ["t"]), after=[node("Abs", "t", "z", "use")])
    assert str(error.value) == (
        "Abs 'use' (node 1): input 't' is made by no node, and is no input or initializer"
    )


def test_the_two_branches_may_use_the_same_names():
    loaded = read_graph(model([conditional(NOTHING, NOTHING)], [CONDITION], ["y"]))
    first, second = (g for _, _, g in loaded.subgraphs())
    assert first.outputs[0] is not second.outputs[0]


def test_captures_decide_the_order():
    loaded = load_if(branch([node("Abs", "a", "t")], ["t"]), after=[node("Abs", "x", "a", "first")])
    assert [n.name for n in loaded.nodes] == ["first", "cond"]


def test_captures_can_close_a_cycle():
    with pytest.raises(SchemaError) as error:
        load_if(branch([node("Abs", "z", "t")], ["t"]), after=[node("Abs", "y", "z", "abs")])
    assert str(error.value) == (
        "nodes need each other's outputs: "
        "If 'cond' (node 0) -> Abs 'abs' (node 1) -> If 'cond' (node 0)"
    )


def test_a_subgraph_that_uses_the_output_of_its_own_node_is_a_cycle():
    with pytest.raises(SchemaError) as error:
        load_if(branch([node("Abs", "y", "t")], ["t"]))
    assert str(error.value) == (
        "nodes need each other's outputs: If 'cond' (node 0) -> If 'cond' (node 0)"
    )


@pytest.mark.parametrize(
    ("inner", "error", "message"),
    [
        (
            branch([node("Abs", "xx", "t", "abs")], ["t"]),
            SchemaError,
            "If 'cond' (node 0) > then_branch > Abs 'abs' (node 0): "
            "input 'xx' is made by no node, and is no input or initializer; did you mean 'x'?",
        ),
        (
            branch([], ["t"]),
            SchemaError,
            "If 'cond' (node 0) > then_branch: "
            "graph output 't' is made by no node, and is no input or initializer",
        ),
        (
            branch([], ["x"], inputs=["a", "a"]),
            SchemaError,
            "If 'cond' (node 0) > then_branch: "
            "graph input 'a' is defined twice, first as a graph input",
        ),
        (
            branch([], ["w"], initializer=[TensorProto(name="w", data_type=1, dims=[1])]),
            ParseError,
            "If 'cond' (node 0) > then_branch: "
            "initializer 'w' declares float[1], 1 element, but it has no data",
        ),
        (
            branch([node("Abs", "b", "a"), node("Abs", "a", "b")], ["a"]),
            SchemaError,
            "nodes need each other's outputs: "
            "If 'cond' (node 0) > then_branch > Abs (node 0) -> "
            "If 'cond' (node 0) > then_branch > Abs (node 1) -> "
            "If 'cond' (node 0) > then_branch > Abs (node 0)",
        ),
    ],
)
def test_a_fault_says_in_which_subgraph_it_is(inner, error, message):
    with pytest.raises(error) as caught:
        load_if(inner)
    assert str(caught.value) == message


def test_inputs_of_a_subgraph_need_no_type():
    body = branch([node("Abs", "a", "t")], ["t"], inputs=[helper.make_empty_tensor_value_info("a")])
    assert then_of(load_if(body)).inputs[0].type is None


def test_lists_of_graphs():
    several = helper.make_node("Choose", ["c"], ["y"], name="choose", domain="vendor")
    several.attribute.append(helper.make_attribute("bodies", [NOTHING, branch([], ["zz"])]))
    proto = model([several], [CONDITION], ["y"], opsets={"": 21, "vendor": 1})
    with pytest.raises(
        SchemaError, match=r"^vendor.Choose 'choose' \(node 0\) > bodies\[1\]: graph"
    ):
        read_graph(proto)
    several.attribute[0].graphs.pop()
    loaded = read_graph(model([several], [CONDITION], ["y"], opsets={"": 21, "vendor": 1}))
    assert [a for _, a, _ in loaded.subgraphs()] == ["bodies"]


def nested(depth: int) -> ModelProto:
    """Subgraphs ``depth`` deep, of which the innermost uses the input ``x``."""
    proto = model([], [CONDITION, "x"], ["y0"])
    inner = proto.graph
    for level in range(depth):
        branches = inner.node.add(op_type="If", input=["c"], output=[f"y{level}"]).attribute
        branches.add(name="else_branch", type=5).g.CopyFrom(NOTHING)
        inner = branches.add(name="then_branch", type=5).g
        inner.output.add(name=f"y{level + 1}" if level + 1 < depth else "x")
    return proto


def test_depth_costs_no_recursion():
    depth = 1500  # beyond what Python's stack would hold
    loaded = read_graph(nested(depth))
    graphs = list(loaded.graphs())
    assert len(graphs) == 1 + 2 * depth
    assert sum(loaded.inputs[1] in g.captures for g in graphs) == depth
    assert str(loaded).count("\n") > depth


def test_bytes_nest_as_deep_as_protobuf_parses():
    assert len(list(read_graph(nested(20).SerializeToString()).graphs())) == 41
    with pytest.raises(MinirtError):
        read_graph(nested(200).SerializeToString())
