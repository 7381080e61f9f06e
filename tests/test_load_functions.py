"""Calls of a model's own functions are replaced by the nodes of the functions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from onnx import FunctionProto, TensorProto, helper, parser
from protos import graph, model, node, value

import minirt
from minirt.errors import SchemaError, UnsupportedError
from minirt.model.functions import Functions
from minirt.model.infer import infer
from minirt.model.load import load_graph, read_graph

OPSETS = {"": 21, "local": 1}
IMPORTS = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]


def function(text: str) -> FunctionProto:
    """``"Twice (a) => (b) { b = Add(a, a) }"`` of domain local."""
    head = '<opset_import: ["": 21, "local": 1], domain: "local">'
    return parser.parse_function(f"{head} {text}")


def load(nodes, functions, inputs=("x",), outputs=("y",), read=read_graph, **more):
    opsets = more.pop("opsets", OPSETS)
    functions = [function(f) if isinstance(f, str) else f for f in functions]
    return read(
        model(nodes, list(inputs), list(outputs), functions=functions, opsets=opsets, **more)
    )


def text(loaded) -> list[str]:
    """The nodes of a graph: ``"y = Add(x, x)"``."""
    return [
        f"{' '.join(v.name for v in n.outputs)} = "
        f"{n.op_type}({', '.join('_' if v is None else v.name for v in n.inputs)})"
        for n in loaded.nodes
    ]


def call(name, inputs="x", outputs="y", label="", **attributes):
    return node(name, inputs, outputs, label, domain="local", **attributes)


def test_the_nodes_of_the_function_take_the_place_of_the_call():
    loaded = load(
        [node("Abs", "x", "a"), call("F", "a x", "y", "call"), node("Abs", "y", "z")],
        ["F (p, q) => (r) { s = Add(p, q) r = Mul(s, s) }"],
        outputs=["z"],
    )
    assert text(loaded) == [
        "a = Abs(x)",
        "y/s = Add(a, x)",
        "y = Mul(y/s, y/s)",
        "z = Abs(y)",
    ]
    add = loaded.nodes[1]
    assert add.location == "local.F 'call' (node 1) > Add (node 0)"
    assert loaded.nodes[2].outputs[0].producer is loaded.nodes[2]


def test_each_call_has_values_of_its_own():
    loaded = load(
        [call("F", "x", "a"), call("F", "a", "y")], ["F (p) => (r) { s = Abs(p) r = Abs(s) }"]
    )
    assert text(loaded) == ["a/s = Abs(x)", "a = Abs(a/s)", "y/s = Abs(a)", "y = Abs(y/s)"]


def test_names_that_are_taken_are_not_used_again():
    loaded = load(
        [node("Abs", "x", "y/s"), call("F", "y/s", "y")],
        ["F (p) => (r) { s = Abs(p) r = Abs(s) }"],
    )
    assert text(loaded) == ["y/s = Abs(x)", "y/s'1 = Abs(y/s)", "y = Abs(y/s'1)"]
    names = [v.name for v in loaded.values()]
    assert len(set(names)) == len(names)


def test_functions_call_functions_in_any_order():
    loaded = load(
        [call("Outer")],
        [
            "Outer (p) => (r) { r = local.Inner(q) q = local.Inner(p) }",
            "Inner (p) => (r) { r = Abs(p) }",
        ],
    )
    assert text(loaded) == ["y/q = Abs(x)", "y = Abs(y/q)"]
    assert loaded.nodes[0].location == (
        "local.Outer (node 0) > local.Inner (node 1) > Abs (node 0)"
    )


def test_omitted_operands_and_results():
    loaded = load(
        [call("F", "x _ x", "_ y")],
        ["F (p, low, high) => (q, r) { r = Clip(p, low, high) q = Abs(r) }"],
    )
    assert text(loaded) == ["y = Clip(x, _, x)", "y/q = Abs(y)"]
    # An omitted last operand is no operand at all.
    loaded = load([call("F", "x")], ["F (p, low) => (r) { r = Clip(p, low) }"])
    assert text(loaded) == ["y = Clip(x)"]


def test_an_output_that_is_an_operand_is_handed_on():
    loaded = load(
        [call("F", "x", "a b"), node("Add", "a b", "y")],
        ["F (p) => (p, p) { }"],
    )
    assert text(loaded) == ["a = Identity(x)", "b = Identity(x)", "y = Add(a, b)"]
    assert loaded.nodes[0].location == "local.F (node 0) > Identity"


def test_an_output_listed_twice_is_handed_on():
    loaded = load([call("F", "x", "a y")], ["F (p) => (r, r) { r = Abs(p) }"])
    assert text(loaded) == ["y = Abs(x)", "a = Identity(y)"]


def test_calls_can_close_a_cycle():
    with pytest.raises(SchemaError) as error:
        load([call("F", "z", "y", "f"), call("F", "y", "z", "g")], ["F (p) => (p) { }"])
    assert str(error.value) == (
        "nodes need each other's outputs: local.F 'f' (node 0) > Identity -> "
        "local.F 'g' (node 1) > Identity -> local.F 'f' (node 0) > Identity"
    )


def test_attributes_are_handed_on_or_have_defaults_or_are_absent():
    scale = (
        "F <alpha, beta: float = 0.25, gamma> (p) => (r) {"
        " r = Op <a: float = @alpha, b: float = @beta, c: float = @gamma> (p) }"
    )

    def attributes(**given):
        return load([call("F", **given)], [scale]).nodes[0].attributes

    assert attributes(alpha=2.0) == {"a": 2.0, "b": 0.25}
    assert attributes(beta=4.0, gamma=1.0) == {"b": 4.0, "c": 1.0}


def test_attributes_are_handed_on_through_calls_and_into_subgraphs():
    loaded = load(
        [call("Outer", "c x", to=TensorProto.DOUBLE)],
        [
            "Outer <to> (c, p) => (r) { r = local.Inner <to: int = @to> (c, p) }",
            "Inner <to> (c, p) => (r) { r = If (c) <"
            " then_branch = t () => (u) { u = Cast <to: int = @to> (p) },"
            " else_branch = e () => (v) { v = Identity (p) } > }",
        ],
        inputs=[value("c", TensorProto.BOOL, []), "x"],
    )
    (inner,) = loaded.nodes
    then = inner.attributes["then_branch"]
    assert then.nodes[0].attributes == {"to": TensorProto.DOUBLE}
    assert then.captures == [loaded.inputs[1]]
    assert then.nodes[0].location == (
        "local.Outer (node 0) > local.Inner (node 0) > If (node 0) > then_branch > Cast (node 0)"
    )


def test_a_graph_can_be_handed_on():
    body = graph([node("Abs", "late", "t")], [], ["t"])
    loaded = load(
        [call("F", "c", "y", body=body), node("Abs", "x", "late", "abs")],
        [
            "F <body> (c) => (r) {"
            " r = If <then_branch: graph = @body, else_branch: graph = @body> (c) }"
        ],
        inputs=[value("c", TensorProto.BOOL, []), "x"],
    )
    assert [n.op_type for n in loaded.nodes] == ["Abs", "If"]  # what the graph uses comes first


def test_a_graph_can_be_handed_on_into_a_graph_of_the_function():
    body = graph([node("Abs", "late", "t")], [], ["t"])
    loaded = load(
        [call("F", "c", "y", body=body), node("Abs", "x", "late", "abs")],
        [
            "F <body> (c) => (r) {"
            " r = If (c) <then_branch = inner () => (s)"
            " { s = If (c) <then_branch: graph = @body> }, else_branch = other () => (c) {}> }"
        ],
        inputs=[value("c", TensorProto.BOOL, []), "x"],
    )
    assert [n.op_type for n in loaded.nodes] == ["Abs", "If"]
    captures = [(g.name, [v.name for v in g.captures]) for g in loaded.graphs()]
    inner = ("inner", ["c", "late"])
    assert captures == [("main", []), inner, ("other", ["c"]), (body.name, ["late"])]


def test_a_function_has_opsets_of_its_own():
    old = function("F (p) => (r) { r = Abs(p) }")
    old.opset_import[0].version = 13
    loaded = load([call("F", "x", "a"), node("Abs", "a", "y")], [old])
    assert [n.opset for n in loaded.nodes] == [13, 21]


def test_a_function_takes_precedence_over_an_operator():
    custom = parser.parse_function(
        '<opset_import: ["": 21], domain: ""> Cast <to> (p) => (r) { r = Abs(p) }'
    )
    assert text(load([node("Cast", "x", "y", to=1)], [custom])) == ["y = Abs(x)"]


def test_overloads_are_told_apart():
    functions = [function(f"F (p) => (r) {{ r = {op}(p) }}") for op in ("Abs", "Neg")]
    functions[1].overload = "negative"
    nodes = [call("F", "x", "a"), call("F", "a", "y")]
    nodes[1].overload = "negative"
    assert text(load(nodes, functions)) == ["a = Abs(x)", "y = Neg(a)"]


def test_types_go_through_functions():
    narrow = "Narrow <to> (p) => (r) { s = Identity(p) r = Cast <to: int = @to> (s) }"
    loaded = load([call("Narrow", to=10)], [narrow], inputs=[value("x", 1, ["N"])], read=infer)
    assert [str(n.outputs[0].type) for n in loaded.nodes] == ["float[N]", "float16[N]"]


def test_declarations_in_a_function():
    f = function("F (p) => (r) { s = Op(p) r = Op(s) }")
    f.value_info.append(value("s", 1, ["M"]))
    assert str(load([call("F")], [f]).nodes[0].outputs[0].type) == "float[M]"


ONE = "F <alpha> (p) => (r) { r = Abs(p) }"


@pytest.mark.parametrize(
    ("nodes", "functions", "message"),
    [
        ([call("F")], [ONE, ONE], "function local.F is defined twice"),
        (
            [call("F", "x x")],
            [ONE],
            "local.F (node 0): has 2 inputs, but function local.F has 1",
        ),
        (
            [call("F", "x", "y z")],
            [ONE],
            "local.F (node 0): has 2 outputs, but function local.F has 1",
        ),
        (
            [call("F", alpa=1)],
            [ONE],
            "local.F (node 0): function local.F has no attribute 'alpa'; did you mean 'alpha'?",
        ),
        (
            [call("F")],
            ["F (p) => (r) { r = Abs(x) }"],
            "local.F (node 0) > Abs (node 0): "
            "input 'x' is made by no node, and is no input or initializer",
        ),
        (
            [call("F")],
            ["F (p) => (r) { s = Abs(p) }"],
            "local.F (node 0): output 'r' is made by no node, and is no input or initializer",
        ),
        (
            [call("F", "")],
            ["F (p) => (p) { }"],
            "local.F (node 0): output 'p' is an operand that the call omits",
        ),
        (
            [call("F")],
            ["F (p) => (r) { p = Abs(p) r = Abs(p) }"],
            "local.F (node 0) > Abs (node 0): "
            "output 'p' is defined twice, first as an input of the function",
        ),
        (
            [call("F", "x x")],
            ["F (p, p) => (r) { r = Abs(p) }"],
            "local.F (node 0): function local.F has two inputs of the same name",
        ),
        (
            [call("F")],
            ["F (p) => (r) { r = local.F(p) }"],
            "a function must not call itself: local.F -> local.F",
        ),
        (
            [call("F")],
            [
                "F (p) => (r) { r = local.G(p) }",
                "G (p) => (r) { r = If (p) < then_branch = t () => (u) { u = local.F (p) },"
                " else_branch = e () => (v) { v = Abs(p) } > }",
            ],
            "a function must not call itself: local.F -> local.G -> local.F",
        ),
    ],
)
def test_faults(nodes, functions, message):
    with pytest.raises(SchemaError) as error:
        load(nodes, functions)
    assert str(error.value) == message


def test_a_function_has_to_import_what_it_uses():
    f = function("F (p) => (r) { r = Abs(p) }")
    del f.opset_import[0]
    with pytest.raises(SchemaError) as error:
        load([call("F")], [f])
    assert str(error.value) == (
        "local.F (node 0) > Abs (node 0): no opset of domain 'ai.onnx' is imported, only local 1"
    )


def test_expansion_that_gets_out_of_hand_is_refused():
    doubling = [
        f"F{i} (p) => (r) {{ s = local.F{i + 1}(p) r = local.F{i + 1}(s) }}" for i in range(40)
    ]
    with pytest.raises(UnsupportedError) as error:
        load([call("F0", "x", "y", "bomb")], [*doubling, "F40 (p) => (r) { r = Abs(p) }"])
    assert str(error.value) == (
        "local.F0 'bomb' (node 0): functions expand to more than 1000000 nodes"
    )


def test_counts_that_get_out_of_hand_stay_small():
    """Otherwise each of n functions would have a number of n bits."""
    doubling = [
        function(f"F{i} (p) => (r) {{ s = local.F{i + 1}(p) r = local.F{i + 1}(s) }}")
        for i in range(200)
    ]
    functions = Functions([*doubling, function("F200 (p) => (r) { r = Abs(p) }")])
    sizes = functions._sizes.values()
    assert max(s.nodes for s in sizes) == 1_000_001
    assert max(s.bytes for s in sizes) == (64 << 20) + 1


def test_depth_of_calls_costs_no_recursion():
    depth = 2000
    chain = [f"F{i} (p) => (r) {{ r = local.F{i + 1}(p) }}" for i in range(depth)]
    loaded = load(
        [call("F0")], [*chain, f"F{depth} (p) => (r) {{ r = Identity(p) }}"], read=load_graph
    )
    assert [n.op_type for n in loaded.nodes] == ["Identity"]
    assert loaded.nodes[0].location.count(" > ") == depth + 1


def test_a_session_with_functions_is_pickled():
    """Without following values backwards from a call, one recursion a node of its function."""
    length = 1000
    body = " ".join(f"v{i + 1} = Identity(v{i})" for i in range(length))
    loaded = load(
        [call("F"), call("G", "y", "z")],
        [f"F (v0) => (v{length}) {{ {body} }}", "G (p) => (p) { }"],
        inputs=[value("x", 1, [2])],
        outputs=["z"],
        read=minirt.load,
    )
    again = pickle.loads(pickle.dumps(loaded))
    assert again.run([np.float32([1, 2])])["z"].tolist() == [1, 2]
