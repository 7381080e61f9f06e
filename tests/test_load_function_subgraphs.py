"""Subgraphs in functions: they see the operands, values and attributes of the call."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, parser
from protos import graph, model, node, value

import minirt
from minirt.errors import SchemaError
from minirt.graph import Graph
from minirt.model.load import read_graph

CONDITION = value("c", TensorProto.BOOL, [])
HEAD = '<opset_import: ["": 25, "local": 1], domain: "local">'


def load(nodes, *functions, inputs=(CONDITION, "x"), outputs=("y",), read=read_graph):
    protos = [parser.parse_function(f"{HEAD} {f}") if isinstance(f, str) else f for f in functions]
    return read(
        model(list(nodes), list(inputs), list(outputs), functions=protos,
              opsets={"": 25, "local": 1})
    )  # fmt: skip


def call(name, inputs="c x", outputs="y", **attributes):
    return node(name, inputs, outputs, domain="local", **attributes)


def branches(loaded: Graph) -> tuple[Graph, Graph]:
    """Then and else of the only If, wherever it is."""
    each = next(n for g in loaded.graphs() for n in g.nodes if n.op_type == "If")
    return each.attributes["then_branch"], each.attributes["else_branch"]


CHOOSE = """Choose (c, p) => (r) {
    s = Abs (p)
    r = If (c) <then_branch = t () => (u) { u = Add (s, p) }, else_branch = e () => (p) { }>
}"""


def test_branches_see_operands_and_values_of_the_function():
    loaded = load([call("Choose")], CHOOSE)
    then, otherwise = branches(loaded)
    absolute, x = loaded.nodes[0].outputs[0], loaded.inputs[1]
    assert (then.nodes[0].inputs, then.captures) == ([absolute, x], [absolute, x])
    assert otherwise.outputs == otherwise.captures == [x]
    assert absolute.name == "y/s"


def test_they_see_nothing_of_where_the_call_is():
    with pytest.raises(SchemaError) as error:
        load([call("F")], "F (c, p) => (r) { r = If (c) <then_branch = t () => (x) { },"
             " else_branch = e () => (p) { }> }")  # fmt: skip
    assert str(error.value) == (
        "local.F (node 0) > If (node 0) > then_branch: "
        "graph output 'x' is made by no node, and is no input or initializer"
    )


def test_each_call_has_subgraphs_of_its_own():
    loaded = load([call("Choose", "c x", "a"), call("Choose", "c a", "y")], CHOOSE)
    graphs = [g for _, _, g in loaded.subgraphs()]
    assert len(set(graphs)) == 4
    values = [{v for v in g.values()} for g in graphs]
    assert not set.intersection(*values)
    a = loaded.nodes[1].outputs[0]
    assert a.name == "a" and a in graphs[3].captures


def test_names_in_a_subgraph_shadow_those_of_the_function():
    inner = graph([node("Neg", "p", "s"), node("Abs", "s", "u")], ["p"], ["u"])
    function = helper.make_function(
        "local", "F", ["p"], ["r"],
        [node("Abs", "p", "s"), node("Scan", "s", "r", body=inner, num_scan_inputs=1)],
        [helper.make_opsetid("", 25)],
    )  # fmt: skip
    (absolute, scan) = load([call("F", "x")], function, inputs=["x"]).nodes
    body = scan.attributes["body"]
    assert body.captures == []
    assert body.nodes[0].inputs == body.inputs
    assert body.nodes[1].inputs == body.nodes[0].outputs != absolute.outputs


def test_a_call_in_a_subgraph_of_a_function():
    outer = """Outer <k> (c, p) => (r) {
        s = Neg (p)
        r = If (c) <
            then_branch = t () => (u) { u = local.Inner <k: int = @k> (c, s) },
            else_branch = e () => (v) { v = Abs (p) }
        >
    }"""
    inner = """Inner <k> (c, q) => (w) {
        w = If (c) <
            then_branch = t () => (u) { u = Cast <to: int = @k> (q) },
            else_branch = e () => (q) { }
        >
    }"""
    loaded = load([call("Outer", k=TensorProto.DOUBLE)], outer, inner)
    neg = loaded.nodes[0].outputs[0]
    then, _ = branches(loaded)
    ((each, _, innermost), (_, _, passing)) = then.subgraphs()
    assert each.outputs[0] is then.outputs[0]
    assert then.captures == [loaded.inputs[0], neg]
    assert innermost.nodes[0].inputs == innermost.captures == [neg]
    assert innermost.nodes[0].attributes["to"] == TensorProto.DOUBLE
    assert passing.outputs == [neg]


def test_operands_that_the_call_omits_are_omitted_in_subgraphs():
    text = """F (c, p, low) => (r) {
        r = If (c) <then_branch = t () => (u) { u = Clip (p, low) }, else_branch = e () => (p) { }>
    }"""
    then, _ = branches(load([call("F")], text))
    assert len(then.nodes[0].inputs) == 1
    text = text.replace("(p) { }", "(low) { }")
    with pytest.raises(SchemaError) as error:
        load([call("F")], text)
    assert str(error.value) == (
        "local.F (node 0) > If (node 0) > else_branch: "
        "graph output 'low' is an operand that the call omits"
    )


def test_initializers_of_a_subgraph_in_a_function():
    weight = helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0])
    inner = graph([node("Add", "p w", "u")], [], ["u"], initializer=[weight])
    function = helper.make_function(
        "local", "F", ["c", "p"], ["r"],
        [node("If", "c", "r", then_branch=inner, else_branch=inner)],
        [helper.make_opsetid("", 25)],
    )  # fmt: skip
    for branch in branches(load([call("F")], function)):
        ((weight, array),) = branch.initializers.items()
        assert branch.nodes[0].inputs[1] is weight
        assert array.tolist() == [1.0, 2.0]


def test_types_go_into_subgraphs_of_functions():
    choose = CHOOSE.replace("Add (s, p)", "Identity (s)").replace("Abs (p)", "Cast <to = 10> (p)")
    choose = choose.replace("=> (p) { }", "=> (s) { }")
    loaded = load([call("Choose")], choose, inputs=[CONDITION, value("x", 1, ["N"])],
                  read=minirt.infer)  # fmt: skip
    then, _ = branches(loaded)
    assert str(then.outputs[0].type) == "float16[N]"


def test_a_graph_that_is_an_argument_sees_where_it_was_written():
    """Not the function's values, also where those have its names."""
    body = graph([node("Abs", "p", "t")], [], ["t"])
    text = """F <body> (c, p) => (r) {
        r = If (c) <then_branch: graph = @body, else_branch = e () => (p) { }>
    }"""
    loaded = load(
        [node("Neg", "x", "p"), call("F", "c x", body=body)], text, inputs=[CONDITION, "x"]
    )
    then, otherwise = branches(loaded)
    assert then.captures == [loaded.nodes[0].outputs[0]]
    assert otherwise.captures == [loaded.inputs[1]]


def test_chains_of_functions_and_subgraphs_cost_no_recursion():
    """Deeper than messages may nest: each function has a subgraph that calls the next."""
    depth = 300
    texts = [
        f"""F{i} (c, p) => (r) {{
            r = If (c) <then_branch = t () => (u) {{ u = local.F{i + 1} (c, p) }},
                        else_branch = e () => (p) {{ }}>
        }}"""
        for i in range(depth)
    ]
    last = f"F{depth} (c, p) => (r) {{ r = Relu (p) }}"
    proto_bytes = load([call("F0")], *texts, last, read=lambda m: m.SerializeToString())
    loaded = read_graph(proto_bytes)
    assert len(list(loaded.graphs())) == 1 + 2 * depth
    assert str(minirt.infer(proto_bytes)).count("If(") == depth
    x = np.float32([-1.0, 2.0])
    assert minirt.run(proto_bytes, [np.array(False), x])[0].tolist() == [-1, 2]
