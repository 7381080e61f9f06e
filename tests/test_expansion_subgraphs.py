"""Expansion in subgraphs, of functions that have subgraphs, and of those that make them."""

from __future__ import annotations

import pytest
from onnx import TensorProto, helper, parser
from operators import bare, temporary  # noqa: F401
from protos import graph, model, node, untyped, value

import minirt
from minirt.errors import SchemaError
from minirt.graph import Graph
from minirt.model.load import read_graph
from minirt.ops.registry import op
from minirt.passes.check import check
from minirt.passes.expand import expand
from minirt.passes.inline import recapture

pytestmark = pytest.mark.usefixtures("bare")

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
CONDITION = value("c", BOOL, [])


def sequence(name: str, shape=None):
    return helper.make_tensor_sequence_value_info(name, FLOAT, shape)


def expanded(*nodes, inputs=("x",), outputs=("y",), always=False, **more) -> Graph:
    proto = model(list(nodes), list(inputs), list(outputs), opsets={"": 25, "v": 1}, **more)
    loaded = read_graph(proto)
    check(loaded)
    expand(loaded, always=always)
    check_graph(loaded)
    return loaded


def check_graph(top: Graph) -> None:
    """Every value is made before it is used, once, and captures are what is used from outside."""
    seen = set()
    before = {inner: list(inner.captures) for inner in top.graphs()}
    pending: dict[Graph, set] = {top: set()}
    while pending:
        inner, around = pending.popitem()
        known = set(inner.inputs) | set(inner.initializers)
        assert not known & seen
        for each in inner.nodes:
            assert {v for v in each.inputs if v} <= known | around
            made = {v for v in each.outputs if v}
            assert all(v.producer is each for v in made)
            assert not made & (known | seen)
            pending |= {body: known | around for _, body in each.subgraphs()}
            known |= made
        assert set(inner.outputs) <= known | around
        assert set(inner.captures) <= around
        seen |= known
    recapture(top)
    assert before == {inner: list(inner.captures) for inner in top.graphs()}


def ops(inner: Graph) -> list[str]:
    return [n.op_type for n in inner.nodes]


def subgraph(inner: Graph, op_type: str, attribute: str) -> Graph:
    return next(g for n, a, g in inner.subgraphs() if (n.op_type, a) == (op_type, attribute))


def conditional(then, otherwise, output="y"):
    return node("If", "c", output, then_branch=then, else_branch=otherwise)


# In subgraphs


def test_nodes_in_subgraphs_are_expanded():
    relu = graph([node("Relu", "x", "t")], [], ["t"])
    loaded = expanded(conditional(relu, relu), inputs=[CONDITION, "x"])
    for _, _, branch in loaded.subgraphs():
        assert ops(branch) == ["Constant", "CastLike", "Max"]
        assert branch.captures == [loaded.inputs[1]]
        assert branch.outputs[0].producer is branch.nodes[2]


def test_what_a_body_does_not_use_is_captured_no_more():
    like = graph([node("CastLike", "x t", "r")], [], ["r"])
    same = graph([], [], ["x"])
    loaded = expanded(conditional(like, same), inputs=[CONDITION, "x", "t"], always=True)
    branch = subgraph(loaded, "If", "then_branch")
    assert ops(branch) == ["Cast"]
    assert branch.captures == subgraph(loaded, "If", "else_branch").captures == [loaded.inputs[1]]


def test_types_of_captured_values_are_known():
    inner = graph([node("CastLike", "x h", "t")], [], ["t"])
    loaded = expanded(
        conditional(graph([conditional(inner, inner, "i")], [], ["i"]), inner),
        node("Cast", "x", "h", to=TensorProto.FLOAT16),
        inputs=[CONDITION, "x"],
        always=True,
    )
    casts = [n for g in loaded.graphs() for n in g.nodes if n.op_type == "Cast"]
    assert [n.attributes["to"] for n in casts] == [TensorProto.FLOAT16] * 4


def test_a_subgraph_of_two_nodes_is_expanded_once():
    branch = graph([node("Relu", "x", "t")], [], ["t"])
    function = parser.parse_function(
        '<opset_import: ["": 25], domain: "v"> Both <body> (c) => (r) {'
        " r = If (c) <then_branch: graph = @body, else_branch: graph = @body> }"
    )
    call = node("Both", "c", "y", domain="v", body=branch)
    loaded = expanded(call, inputs=[CONDITION, "x"], functions=[function])
    first, second = (g for _, _, g in loaded.subgraphs())
    assert first is second
    assert ops(first) == ["Constant", "CastLike", "Max"]


def test_depth_costs_no_recursion():
    depth = 1500
    proto = model([], [CONDITION, "x"], ["y0"], opsets={"": 25})
    inner = proto.graph
    for level in range(depth):
        branches = inner.node.add(op_type="If", input=["c"], output=[f"y{level}"]).attribute
        branches.add(name="else_branch", type=5).g.output.add(name="x")
        inner = branches.add(name="then_branch", type=5).g
        inner.output.add(name=f"y{level + 1}")
    inner.node.append(node("Relu", "x", f"y{depth}"))
    loaded = read_graph(proto)
    check(loaded)
    expand(loaded)
    assert ops(list(loaded.graphs())[-1]) == ["Constant", "CastLike", "Max"]
    assert str(minirt.infer(proto)).count("\n") > depth


# Bodies with subgraphs


def test_a_body_with_subgraphs():
    """Of Range, whose loop uses an operand of it, and has a value of the same name."""
    loaded = expanded(
        node("Range", "a b d", "y"),
        inputs=[value(name, INT64, []) for name in "abd"],
        always=True,
    )
    assert ops(loaded)[-1] == "Loop"
    body = subgraph(loaded, "Loop", "body")
    assert ops(body) == ["Identity", "Add", "Identity"]
    assert body.captures == [loaded.inputs[2]]
    assert body.nodes[1].location == "Range (node 0) > Loop (node 8) > body > Add (node 1)"


def test_branches_of_a_body_use_its_values():
    """Of AffineGrid, which takes shapes apart by If."""
    loaded = expanded(
        node("AffineGrid", "x s", "y"),
        inputs=[value("x", FLOAT, [1, 2, 3]), value("s", INT64, [4])],
    )
    branches = [g for n, _, g in loaded.subgraphs() if n.op_type == "If"]
    assert len(branches) == 8
    inner = {v for g in branches for v in g.captures}
    assert {v.name for v in inner} >= {"x", "s", "y/N"}
    assert {v.producer in loaded.nodes for v in inner - set(loaded.inputs)} == {True}


# Bodies that contain subgraphs of the node


def mapped(nodes, outputs, inputs=(), name="map", operands="s", result="y", **more):
    """A SequenceMap whose body is ``nodes``."""
    body = graph(list(nodes), [value("e", FLOAT), *inputs], list(outputs), **more)
    return node("SequenceMap", operands, result, name, body=body)


def loop_of(loaded: Graph) -> Graph:
    return subgraph(loaded, "Loop", "body")


def test_a_subgraph_of_the_node_becomes_part_of_the_body():
    twice = mapped([node("Add", "e e", "d")], [value("d", FLOAT)])
    loaded = expanded(twice, inputs=[sequence("s")])
    assert ops(loaded) == ["SequenceLength", "Constant", "SequenceEmpty", "Loop"]
    body = loop_of(loaded)
    assert ops(body) == ["Identity", "SequenceAt", "Add", "SequenceInsert"]
    element, add = body.nodes[1].outputs[0], body.nodes[2]
    assert add.inputs == [element, element]
    assert element.type == minirt.infer(model([], ["x"], [])).inputs[0].type
    assert add.location == "SequenceMap 'map' (node 0) > body > Add (node 0)"
    assert body.nodes[3].inputs[1] is add.outputs[0]
    assert body.captures == [loaded.inputs[0]]


def test_a_subgraph_of_a_node_that_has_an_operator():
    op("SequenceMap")(lambda *sequences, body: (sequences[0], None))
    each = mapped([node("Neg", "e", "d")], [value("d", FLOAT)])
    assert ops(expanded(each, inputs=[sequence("s")])) == ["SequenceMap"]
    loaded = expanded(each, inputs=[sequence("s")], always=True)
    assert ops(loop_of(loaded)) == ["Identity", "SequenceAt", "Neg", "SequenceInsert"]


def test_its_captured_values_stay_what_they_are():
    """Also where the body, and the definition of the operator, have values of their names."""
    names = ["in0", "SequenceMap_loop_body_itercount", "body/in0", "body/in1"]
    loaded = expanded(
        *(node("Abs", "x", name) for name in names),
        node(
            "SequenceMap",
            "s",
            "y",
            body=graph(
                [
                    node("Sum", "e", "n0"),
                    *(node("Add", f"n{i} {n}", f"n{i + 1}") for i, n in enumerate(names)),
                ],
                [value("e", FLOAT)],
                [value("n4", FLOAT)],
            ),
        ),
        inputs=[sequence("s"), "x"],
    )
    body = loop_of(loaded)
    adds = [n for n in body.nodes if n.op_type == "Add"]
    outer = [n.outputs[0] for n in loaded.nodes[:4]]
    assert [n.inputs[1] for n in adds] == outer
    assert set(outer) < set(body.captures)


def test_its_names_shadow_those_around():
    shadow = mapped([node("Abs", "e", "x"), node("Neg", "x", "d")], [value("d", FLOAT)])
    loaded = expanded(shadow, inputs=[sequence("s"), "x"])
    neg = loop_of(loaded).nodes[3]
    assert neg.inputs[0].producer.op_type == "Abs"
    assert loaded.inputs[1] not in loop_of(loaded).captures


def test_outputs_that_no_node_makes():
    """An input, an outer value, an initializer, and one value twice."""
    weight = helper.make_tensor("w", FLOAT, [1], [2.0])
    outputs = [value(n, FLOAT) for n in ("e", "x", "w", "d", "d")]
    loaded = expanded(
        mapped([node("Abs", "e", "d")], outputs, result="o0 o1 o2 o3 o4", initializer=[weight]),
        inputs=[sequence("s"), "x"],
        outputs=["o0"],
    )
    body = loop_of(loaded)
    inserted = [n.inputs[1] for n in body.nodes if n.op_type == "SequenceInsert"]
    sources = [v.producer.inputs[0] for v in inserted]
    (w,) = body.initializers
    element = next(n for n in body.nodes if n.op_type == "SequenceAt").outputs[0]
    assert [v.producer.op_type for v in inserted] == [*["Identity"] * 3, "Abs", "Identity"]
    assert sources == [element, loaded.inputs[1], w, element, inserted[3]]


def test_a_subgraph_in_the_subgraph():
    """Of which the inner is a SequenceMap again, and captures at every level."""
    inner = mapped(
        [node("Add", "e f", "g"), node("Add", "g x", "d")],
        [value("d", FLOAT)],
        operands="r",
        result="q",
    )
    body = graph(
        [
            node("Relu", "f", "h"),
            node("SequenceConstruct", "h", "r"),
            inner,
            node("SequenceAt", "q k", "u"),
        ],
        [value("f", FLOAT)],
        [value("u", FLOAT)],
    )
    loaded = expanded(
        node("SequenceMap", "s", "y", body=body),
        inputs=[sequence("s"), "x", value("k", INT64, [])],
        value_info=[sequence("r")],
    )
    outer = loop_of(loaded)
    # The type of the inner operand is declared nowhere.
    assert "SequenceMap" in ops(outer)
    assert set(loaded.inputs) <= set(outer.captures)


def test_a_subgraph_in_the_subgraph_of_declared_types():
    inner = mapped([node("Add", "e f", "d")], [value("d", FLOAT)], operands="r", result="q")
    construct = node("SequenceConstruct", "f", "r")
    body = graph(
        [construct, inner, node("SequenceAt", "q k", "u")],
        [value("f", FLOAT)],
        [value("u", FLOAT)],
        value_info=[sequence("r")],
    )
    loaded = expanded(
        node("SequenceMap", "s", "y", body=body), inputs=[sequence("s"), value("k", INT64, [])]
    )
    innermost = loop_of(loop_of(loaded))
    assert ops(innermost) == ["Identity", "SequenceAt", "Add", "SequenceInsert"]
    element = next(n for n in loop_of(loaded).nodes if n.op_type == "SequenceAt").outputs[0]
    assert innermost.nodes[2].inputs[1] is element


def test_a_subgraph_of_several_nodes():
    """A function hands it to two maps; each has values of its own, at any depth."""
    function = parser.parse_function(
        '<opset_import: ["": 25], domain: "v"> Twice <body> (s) => (r) {'
        " q = SequenceMap <body: graph = @body> (s) r = SequenceMap <body: graph = @body> (s) }"
    )
    weight = helper.make_tensor("w", FLOAT, [1], [2.0])
    inner = graph([node("Add", "i w", "t")], ["i"], ["t", "i"], initializer=[weight])
    body = graph(
        [node("Each", "e", "d f", domain="v", body=inner)],
        [value("e", FLOAT)],
        [value("d", FLOAT)],
    )
    loaded = expanded(
        node("Twice", "s", "y", domain="v", body=body), inputs=[sequence("s")], functions=[function]
    )
    loops = [g for n, _, g in loaded.subgraphs() if n.op_type == "Loop"]
    for loop in loops:
        assert ops(loop) == ["Identity", "SequenceAt", "Each", "SequenceInsert"]
        each = subgraph(loop, "Each", "body")
        (operand,), (copied,) = each.inputs, each.initializers
        assert each.nodes[0].inputs == [operand, copied]
        assert each.outputs == [each.nodes[0].outputs[0], operand]
    first, second = ([*g.values(), *subgraph(g, "Each", "body").values()] for g in loops)
    assert not set(first) & set(second)


def test_a_subgraph_that_has_one_graph_twice():
    both = parser.parse_function(
        '<opset_import: ["": 25], domain: "v"> Both <body> (c) => (r) {'
        " r = If (c) <then_branch: graph = @body, else_branch: graph = @body> }"
    )
    branch = graph([node("Neg", "e", "t")], [], ["t"])
    loaded = expanded(
        mapped([node("Both", "c", "d", domain="v", body=branch)], [value("d", FLOAT)]),
        inputs=[sequence("s"), CONDITION],
        functions=[both],
    )
    first, second = (g for _, _, g in loop_of(loaded).subgraphs())
    assert first is second
    assert first.captures == [loop_of(loaded).nodes[1].outputs[0]]


def test_a_subgraph_that_becomes_part_of_the_main_graph():
    """The score_mod of FlexAttention; its names are made new."""
    bias = helper.make_tensor("y", FLOAT, [1], [2.0])
    score = graph(
        [node("Add", "score w", "x"), node("Mul", "x y", "out")],
        [value("score", FLOAT, list("bhls"))],
        [value("out", FLOAT, list("bhls"))],
        initializer=[bias],
    )
    nodes = [
        node("FlexAttention", "x x x", output, domain="ai.onnx.preview", score_mod=score)
        for output in ("y", "z")
    ]
    proto = model(
        nodes,
        [value("x", FLOAT, ["b", "h", "l", "d"]), value("w", FLOAT, [1])],
        ["y", "z"],
        opsets={"": 25, "ai.onnx.preview": 1},
    )
    loaded = read_graph(proto)
    check(loaded)
    expand(loaded)
    check_graph(loaded)
    names = [v.name for v in loaded.values()]
    assert len(set(names)) == len(names)
    add = next(n for n in loaded.nodes if n.location.endswith("score_mod > Add (node 0)"))
    assert add.inputs[1] is loaded.inputs[1]
    mul = next(n for n in loaded.nodes if n.location.endswith("score_mod > Mul (node 1)"))
    assert mul.inputs[0] is add.outputs[0]
    assert [v.name for v in loaded.initializers] == ["score_mod/y", "score_mod/y'1"]
    assert mul.inputs[1].name == "score_mod/y"


def test_maps_in_maps():
    depth = 60
    proto = model([], [sequence("s0"), "x"], [], opsets={"": 25})
    inner = proto.graph
    for level in range(depth):
        each = inner.node.add(op_type="SequenceMap", input=["s0"], output=[f"y{level}"])
        inner = each.attribute.add(name="body", type=5).g
        inner.input.append(value(f"e{level}"))
        inner.output.append(value(f"e{level}"))
    loaded = read_graph(proto)
    check(loaded)
    expand(loaded)
    assert len(list(loaded.graphs())) == depth + 1


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            [mapped([node("Abs", "e", "d")], [value("d", FLOAT)], operands="s x")],
            "SequenceMap 'map' (node 0): has 2 inputs, but function SequenceMap has 1",
        ),
        (
            [mapped([node("Abs", "e", "d")], [value("d", FLOAT)], result="y z")],
            "SequenceMap 'map' (node 0): has 2 outputs, but function SequenceMap has 1",
        ),
    ],
)
def test_faults(nodes, message):
    with pytest.raises(SchemaError) as error:
        expanded(*nodes, inputs=[sequence("s"), "x"])
    assert str(error.value) == message


@pytest.mark.parametrize(
    "each",
    [
        mapped([node("Abs", "e", "d")], [value("d", FLOAT)], [value("more", FLOAT)]),
        mapped([node("Abs", "e", "d")], [untyped("d")]),
        mapped([], []),
    ],
    ids=["operands are missing", "of unknown type", "without outputs"],
)
def test_what_cannot_be_expanded_stays(each):
    loaded = expanded(each, inputs=[sequence("s")])
    assert ops(loaded) == ["SequenceMap"]
