"""Operators without a kernel are replaced by ONNX's own definitions of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy_operators import reduction
from onnx import TensorProto, defs
from operators import bare, temporary  # noqa: F401
from protos import graph as graph_of
from protos import model, node, value

from minirt.dtypes import BY_NAME
from minirt.graph import Value
from minirt.model.load import read_graph
from minirt.ops import registry
from minirt.ops.functions import find_function
from minirt.ops.registry import op, upgrade
from minirt.passes.check import check
from minirt.passes.expand import expand
from minirt.passes.upgrade import upgrade as upgrade_graph
from minirt.types import TensorType

pytestmark = pytest.mark.usefixtures("bare")

FLOAT, DOUBLE, INT64, BOOL = (
    getattr(TensorProto, name) for name in ("FLOAT", "DOUBLE", "INT64", "BOOL")
)


def expanded(*nodes, opset=25, inputs=("x",), outputs=("y",), always=False, **more):
    """The graph of a model whose functions are expanded, whether or not the rest is there."""
    proto = model(list(nodes), list(inputs), list(outputs), opsets={"": opset}, **more)
    graph = read_graph(proto)
    check(graph)
    upgrade_graph(graph)
    expand(graph, always=always)
    return graph


def ops(graph) -> list[str]:
    return [n.op_type for n in graph.nodes]


def text(graph) -> list[str]:
    return [
        f"{' '.join('_' if v is None else v.name for v in n.outputs)} = "
        f"{n.op_type}({' '.join('_' if v is None else v.name for v in n.inputs)})"
        for n in graph.nodes
    ]


def test_the_body_takes_the_place_of_the_node():
    graph = expanded(
        node("Abs", "x", "a"), node("Swish", "a", "s", "sw", alpha=2.0), node("Abs", "s", "y")
    )
    assert text(graph) == [
        "a = Abs(x)",
        "s/Alpha = Constant()",
        "s/AlphaCast = CastLike(s/Alpha a)",
        "s/AlphaMulX = Mul(s/AlphaCast a)",
        "s/SigmoidAlphaMulX = Sigmoid(s/AlphaMulX)",
        "s = Mul(a s/SigmoidAlphaMulX)",
        "y = Abs(s)",
    ]
    constant, like = graph.nodes[1:3]
    assert constant.attributes == {"value_float": 2.0}
    assert like.attributes == {"saturate": 1, "round_mode": "up"}  # of the newest form
    assert like.location == "Swish 'sw' (node 1) > CastLike (node 1)"
    assert graph.nodes[5].outputs[0].producer is graph.nodes[5]


@pytest.mark.parametrize(
    ("name", "opset", "body"),
    [
        *[("Softmax", opset, 13) for opset in (13, 17)],
        *[("Softmax", opset, 18) for opset in (18, 28)],
        *[("LogSoftmax", opset, body) for opset, body in ((13, 13), (18, 18))],
        # The one body that there is holds for a version from its beginning on.
        *[("Relu", opset, 18) for opset in (14, 17, 18, 28)],
        *[("Softplus", opset, 18) for opset in (1, 21, 22)],
        *[("Elu", opset, 18) for opset in (6, 22)],
        ("MeanVarianceNormalization", 9, 9),
        ("MeanVarianceNormalization", 12, 9),
        ("MeanVarianceNormalization", 17, 13),
        ("MeanVarianceNormalization", 18, 18),
        ("Celu", 27, 12),
        ("Celu", 28, 28),
        ("HardSwish", 21, 14),
        ("HardSwish", 22, 22),
        *[("Softmax", opset, None) for opset in (1, 11, 12)],
        *[("Relu", opset, None) for opset in (1, 13)],
        ("Elu", 1, None),
        ("Abs", 28, None),
    ],
)
def test_which_body_a_version_has(name, opset, body):
    graph = read_graph(model([node(name, "x", "y", "n")], ["x"], ["y"], opsets={"": opset}))
    check(graph)
    if body is None:
        assert not expand(graph)
        assert ops(graph) == [name]
    else:
        assert expand(graph)
        inner = {n.opset for n in graph.nodes if n.location.startswith(f"{name} 'n' (node 0) > ")}
        assert body in inner


def test_every_definition_of_onnx_is_found():
    """Of every version of every operator that minirt knows."""
    newest = registry.NEWEST_OPSETS
    schemas = [s for s in defs.get_all_schemas_with_history() if s.domain in newest]
    known = [s for s in schemas if s.since_version <= newest[s.domain]]
    found = {
        (s.name, s.since_version): find_function(s.domain, s.name, s.since_version) for s in known
    }
    defined = {
        (s.name, s.since_version)
        for s in known
        if s.has_function or s.has_context_dependent_function
    }
    assert {key for key, function in found.items() if function} == defined
    assert len({name for name, _ in defined}) >= 48


# What a body is made of


@pytest.mark.parametrize(
    ("inputs", "body"),
    [
        ("x", ["y = Identity(x)"]),
        (
            "x low",
            ["y/input_less_than_min = Less(x low)", "y = Where(y/input_less_than_min low x)"],
        ),
        (
            "x _ high",
            ["y/input_large_than_max = Less(high x)", "y = Where(y/input_large_than_max high x)"],
        ),
    ],
)
def test_operands_that_are_omitted(inputs, body):
    graph = expanded(node("Clip", inputs, "y"), inputs=["x", "low", "high"])
    assert text(graph) == body


def test_outputs_that_are_omitted():
    norm = node("LayerNormalization", "x s", "y _ d")
    graph = expanded(norm, inputs=["x", "s"], outputs=["y", "d"])
    assert [line for line in text(graph) if not line.startswith("y/")] == [
        "y = Reshape(y/Biased y/XShape)",
        "d = Reshape(y/InvStdDev2D y/ReducedShape)",
    ]
    assert "y/Mean" not in {v.name for v in graph.values()}


def test_attributes_have_the_defaults_of_the_operator():
    for given, expected in (({}, 1.0), ({"alpha": 0.5}, 0.5)):
        graph = expanded(node("Elu", "x", "y", **given))
        assert graph.nodes[0].attributes == {"value_float": expected}


@pytest.mark.parametrize("given", [{}, {"ignore_index": 3}])
def test_an_attribute_without_a_default_may_be_absent(given):
    loss = node("SoftmaxCrossEntropyLoss", "x i", "y", **given)
    graph = expanded(loss, inputs=["x", value("i", INT64)])
    nll = graph.nodes[-1]
    assert nll.op_type == "NegativeLogLikelihoodLoss"  # the type of its operand is not known
    assert nll.attributes == {"reduction": "mean", **given}


def test_types_decide():
    inputs = [value("i", INT64, ["N"])]
    for dtype, casts in ((FLOAT, 0), (DOUBLE, 2)):
        loss = node("NegativeLogLikelihoodLoss", "x i", "y", ignore_index=1)
        graph = expanded(loss, inputs=[value("x", dtype, ["N", 3]), *inputs])
        assert [n.attributes["to"] for n in graph.nodes if n.op_type == "Cast"] == [
            INT64,
            *[dtype] * casts,
        ]


def test_what_depends_on_types_that_are_not_known_stays():
    proto = model(
        [node("Abs", "x", "a"), node("NegativeLogLikelihoodLoss", "a i", "y")],
        ["x", value("i", INT64)],
        ["y"],
    )
    graph = read_graph(proto)
    check(graph)
    assert not expand(graph)
    assert ops(graph) == ["Abs", "NegativeLogLikelihoodLoss"]


@pytest.mark.parametrize("rank", [3, 4])
def test_ranks_decide(rank):
    rotate = node("RotaryEmbedding", "x c c", "y", num_heads=2)
    inputs = [value("x", FLOAT, list("abcd")[:rank]), "c"]
    assert ops(expanded(rotate, inputs=inputs)).count("Transpose") == (2 if rank == 4 else 0)


def test_names_in_a_body_are_new():
    graph = expanded(
        node("Abs", "x", "y/Zero"),
        node("Relu", "x", "y"),
        node("Relu", "y/Zero", "y/ZeroCast"),
        outputs=["y", "y/ZeroCast"],
    )
    names = [v.name for v in graph.values()]
    assert len(set(names)) == len(names) == 8
    assert "y/Zero'1" in names


def test_bodies_are_expanded_to_any_depth():
    graph = expanded(
        node("Mish", "x", "y", "mish"), node("SwiGLU", "y y", "z"), opset=28, outputs=["z"]
    )
    assert ops(graph) == (
        ["Exp", "Constant", "CastLike", "Add", "Log", "Tanh", "Mul"]
        + ["Constant", "CastLike", "Mul", "Sigmoid", "Mul", "Mul"]
    )
    assert graph.nodes[0].location == "Mish 'mish' (node 0) > Softplus (node 0) > Exp (node 0)"
    assert [n.opset for n in graph.nodes] == [18] * 5 + [22] * 2 + [24] * 5 + [28]


def test_types_go_through_bodies():
    """LogSoftmax depends on the type of what others in the loss make."""
    for name in ("Reshape", "Transpose", "ReduceMax", "ReduceSum", "Sub", "Exp", "Log"):
        op(name)(lambda data, *more: (data, None))
    op("Shape")(lambda data: (value_type("int64[2]"), None))
    loss = node("SoftmaxCrossEntropyLoss", "x i", "y", "loss", ignore_index=3)
    graph = expanded(loss, inputs=[value("x", DOUBLE, ["N", 3]), value("i", INT64, ["N"])])
    assert not {"LogSoftmax", "NegativeLogLikelihoodLoss"} & {*ops(graph)}
    casts = [n for n in graph.nodes if n.op_type == "Cast"]
    assert [n.attributes["to"] for n in casts] == [INT64, DOUBLE, DOUBLE]
    assert casts[0].location == (
        "SoftmaxCrossEntropyLoss 'loss' (node 0) > NegativeLogLikelihoodLoss (node 7) > "
        "Cast (node 6)"
    )


def value_type(described: str):
    """The type that is written so: ``"int64[2]"``."""
    name, _, rest = described.partition("[")
    shape = tuple(int(d) for d in rest.rstrip("]").split(",") if d)
    return TensorType(BY_NAME[name], shape)


# Upgrades


def test_nodes_of_a_body_are_upgraded():
    """Softmax-13 uses ReduceMax with an attribute for what is an operand today."""

    @upgrade("ReduceMax", to=18)
    def _(each, graph):
        axes = np.array(each.attributes.pop("axes"))
        operand = Value("axes", TensorType(BY_NAME["int64"], axes.shape))
        graph.initializers[operand] = axes
        each.inputs.append(operand)

    reduction("ReduceMax", np.max)
    for name in ("Sub", "Exp", "Log", "ReduceSum"):
        op(name)(lambda data, *more: (data, None))
    branches = [graph_of([node("Softmax", "x", name, axis=1)], [], [name]) for name in ("t", "e")]
    graph = expanded(
        node("If", "c", "y", then_branch=branches[0], else_branch=branches[1]),
        node("Softmax", "x", "z", axis=2),
        opset=13,
        inputs=[value("c", BOOL, []), value("x", FLOAT, [2, 3, 4])],
        outputs=["y", "z"],
    )
    for inner, axis in ((graph, 2), *((g, 1) for _, _, g in graph.subgraphs())):
        (reduce,) = (n for n in inner.nodes if n.op_type == "ReduceMax")
        assert (reduce.opset, reduce.version) == (13, 18)
        assert [array.tolist() for array in inner.initializers.values()] == [[axis]]
        assert reduce.inputs[1] in inner.initializers
        assert all(v not in inner.initializers for v in inner.captures)
    # What depends on the types of such initializers is known.
    loss = [
        node("LogSoftmax", "x", "z", axis=1),
        node("NegativeLogLikelihoodLoss", "z i", "y"),
    ]
    inputs = [value("x", FLOAT, ["N", 3]), value("i", INT64, ["N"])]
    assert "NegativeLogLikelihoodLoss" not in ops(expanded(*loss, opset=13, inputs=inputs))


def test_an_operator_may_consist_of_upgrades():
    """Then old nodes run by ONNX's definition of the newest version."""

    @upgrade("Clip", to=13)
    def _(each, graph):
        for name in ("min", "max"):
            bound = np.float32(each.attributes.pop(name))
            operand = Value(name, TensorType(BY_NAME["float"], ()))
            graph.initializers[operand] = np.asarray(bound)
            each.inputs.append(operand)

    graph = expanded(node("Clip", "x", "y", min=-1.0, max=2.0), opset=6)
    assert text(graph)[-1] == "y = Where(y/output_large_than_max max y/tmp)"
    assert {n.opset for n in graph.nodes} == {13}
    assert {v.name: float(a) for v, a in graph.initializers.items()} == {"min": -1.0, "max": 2.0}
