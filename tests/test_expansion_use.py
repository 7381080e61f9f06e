"""What expansions are for: runs, inference, and lists of what is missing."""

from __future__ import annotations

import pickle

import ml_dtypes
import numpy as np
import pytest
from numpy_operators import binary, reduction, softmax, unary
from onnx import TensorProto, helper, parser
from operators import bare, temporary  # noqa: F401
from protos import graph, model, node, value

import minirt
from minirt.cli.info import describe
from minirt.errors import SchemaError, ShapeError, UnsupportedError
from minirt.model import typed
from minirt.model.load import load_graph
from minirt.ops.registry import op
from minirt.session import Session

pytestmark = pytest.mark.usefixtures("bare")

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def load(*nodes, opset=25, inputs=("x",), outputs=("y",), read=load_graph, **more):
    opsets = more.pop("opsets", {"": opset})
    return read(model(list(nodes), list(inputs), list(outputs), opsets=opsets, **more))


def for_softmax():
    """Register what the body of Softmax consists of."""
    binary("Sub", np.subtract)
    binary("Div", np.divide)
    unary("Exp", np.exp)
    reduction("ReduceSum", np.sum)
    reduction("ReduceMax", np.max)


# Runs


def test_a_model_runs_by_bodies():
    for_softmax()
    x = np.random.default_rng(1).normal(size=(2, 3, 4)).astype(np.float32)
    chain = [node("Softmax", "x", "a", axis=1), node("Softmax", "a", "y")]
    session = load(*chain, inputs=[value("x", FLOAT, ["N", 3, "M"])], read=minirt.load)
    expected = softmax(softmax(x, 1), 2)
    y, a = session.run([x], outputs=["y", "a"])
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    np.testing.assert_allclose(a, softmax(x, 1), rtol=1e-6)
    # Values of a body have names too, also in a copy.
    (highest,) = pickle.loads(pickle.dumps(session)).run([x], outputs=["a/X_ReduceMax"])
    assert np.array_equal(highest, x.max(1, keepdims=True))


def test_an_operator_of_its_own_wins():
    for_softmax()
    unary("Softmax", np.negative)
    x = np.array([[1, 2]], np.float32)
    softmax_node = node("Softmax", "x", "y")
    inputs = [value("x", FLOAT, [1, 2])]
    assert load(softmax_node, inputs=inputs, read=minirt.load).run([x])["y"].tolist() == [[-1, -2]]
    loaded = load(softmax_node, inputs=inputs, read=lambda m: load_graph(m, always_expand=True))
    np.testing.assert_allclose(Session(loaded).run([x])["y"], softmax(x, 1), rtol=1e-6)


CAST_LIKE = [
    (15, np.int32, {}),
    (19, ml_dtypes.float8_e5m2, {"saturate": 0}),
    (21, ml_dtypes.int4, {}),
    (23, ml_dtypes.float4_e2m1fn, {}),
    (24, ml_dtypes.float8_e4m3fn, {"saturate": 1}),
    (25, ml_dtypes.float8_e4m3fn, {"saturate": 0}),
]


@pytest.mark.parametrize(("opset", "dtype", "attributes"), CAST_LIKE)
def test_kernel_and_body_of_cast_like_agree(opset, dtype, attributes):
    x = np.float32([0.0, -0.0, 1.4, -1.6, 2.5, 7, 449, 1e6, -1e6])
    x = x[:6] if dtype in (np.int32, ml_dtypes.int4) else x
    proto = model(
        [node("CastLike", "x t", "y", **attributes)],
        [value("x", FLOAT, ["N"]), value("t", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))],
        ["y"],
        opsets={"": opset},
    )
    kernel, body = load_graph(proto), load_graph(proto, always_expand=True)
    assert ([n.op_type for n in kernel.nodes], [n.op_type for n in body.nodes]) == (
        ["CastLike"],
        ["Cast"],
    )
    results = [Session(g).run([x, np.zeros(1, dtype)])["y"] for g in (kernel, body)]
    assert results[0].dtype == results[1].dtype == dtype
    assert results[0].tobytes() == results[1].tobytes()


def test_a_body_that_ignores_an_attribute_is_not_taken():
    """ONNX's body of CastLike says nothing of round_mode."""
    inputs = ["x", value("t", TensorProto.FLOAT8E8M0)]
    for mode, expected in (("up", "Cast"), ("down", "CastLike")):
        loaded = load(
            node("CastLike", "x t", "y", round_mode=mode),
            inputs=inputs,
            read=lambda m: load_graph(m, always_expand=True),
        )
        assert [n.op_type for n in loaded.nodes] == [expected]


# Inference


def test_inference_goes_through_bodies_and_leaves_them_out():
    for_softmax()
    proto = model(
        [node("Softmax", "x", "a", axis=1), node("Identity", "a", "y")],
        [value("x", FLOAT, ["N", 3])],
        ["y"],
    )
    loaded = minirt.infer(proto)
    assert str(loaded) == (
        "graph 'main' (IR 10, ai.onnx 21)\n"
        "  input %x: float[N,3]\n"
        "  %a: float[N,3] = Softmax(%x, axis=1)\n"
        "  %y: float[N,3] = Identity(%a)\n"
        "  output %y: float[N,3]"
    )
    assert [v.producer for n in loaded.nodes for v in n.outputs] == loaded.nodes
    assert str(minirt.infer(proto, {"x": [2, None]}).outputs[0].type) == "float[2,3]"


def test_what_a_file_declares_is_held_against_bodies():
    for_softmax()
    wrong = [value("y", FLOAT, [2])]
    for read in (minirt.infer, minirt.load):
        with pytest.raises(ShapeError) as error:
            load(
                node("Softmax", "x", "y", "s"),
                inputs=[value("x", FLOAT, [3])],
                outputs=wrong,
                read=read,
            )
        assert str(error.value).endswith(": output 'y' is declared float[2], but is float[3]")
        assert str(error.value).startswith("Softmax 's' (node 0)")


def test_types_of_bodies_without_operators_are_those_declared():
    loaded = load(
        node("Relu", "x", "a"),
        node("Abs", "a", "y"),
        outputs=[value("y", FLOAT, [2])],
        read=minirt.infer,
    )
    assert [str(v.type) for v in loaded.values()] == ["float[...]", "None", "float[2]"]


# What is missing


def missing(*nodes, **more) -> list[str]:
    with pytest.raises(UnsupportedError) as error:
        load(*nodes, **more)
    count, text = str(error.value).split(" of this model: ")
    operators = text[:-1].split("), ")
    assert count.startswith(f"minirt does not implement {len(operators)} operator")
    return operators


def test_the_operator_and_the_function_that_needs_it_are_named():
    assert missing(
        node("LeakyRelu", "x", "a"), node("PRelu", "a x", "b"), node("Mul", "b b", "y")
    ) == [
        "Less (ai.onnx 16, 2 nodes, through LeakyRelu, PRelu",
        "Mul (ai.onnx 16, 2 nodes, through LeakyRelu, PRelu",
        "Mul (ai.onnx 25, 1 node",
        "Where (ai.onnx 16, 2 nodes, through LeakyRelu, PRelu",
    ]


def test_the_outermost_function_is_named_also_where_it_is_the_models():
    head = '<opset_import: ["": 25, "local": 1], domain: "local">'
    texts = [
        "G (p) => (r) { q = Abs(p) r = Swish(q) }",
        "F (c, p) => (r) { r = If (c) < then_branch = t () => (u) { u = local.G(p) },"
        " else_branch = e () => (v) { v = local.G(p) } > }",
    ]
    found = missing(
        node("F", "c x", "a", domain="local"),
        node("Abs", "a", "b"),
        node("G", "b", "y", domain="local"),
        inputs=[value("c", TensorProto.BOOL, []), "x"],
        opsets={"": 25, "local": 1},
        functions=[parser.parse_function(f"{head} {text}") for text in texts],
    )
    assert found == [
        "Abs (ai.onnx 25, 4 nodes, through local.G, local.F",
        "If (ai.onnx 25, 1 node, through local.F",
        "Mul (ai.onnx 24, 6 nodes, through local.G, local.F",
        "Sigmoid (ai.onnx 24, 3 nodes, through local.G, local.F",
    ]


def test_of_many_functions_the_first_are_named():
    names = ("LeakyRelu", "ThresholdedRelu", "Elu", "Selu", "Shrink")
    found = missing(*(node(n, "x", f"y{n}") for n in names), outputs=["x"])
    assert "Less (ai.onnx 16, 1 node, through LeakyRelu" in found
    assert "Less (ai.onnx 18, 5 nodes, through ThresholdedRelu, Elu, Selu and 1 more" in found


def test_what_only_waits_for_types_is_not_missing():
    assert missing(
        node("Frob", "x", "a", domain="v"),
        node("NegativeLogLikelihoodLoss", "a i", "y"),
        inputs=["x", value("i", INT64)],
        opsets={"": 25, "v": 1},
    ) == ["Frob (v 1, 1 node"]


def test_a_node_of_which_there_is_no_body():
    inputs = [value("x", FLOAT), value("c", FLOAT)]
    assert missing(node("RotaryEmbedding", "x c c", "y"), inputs=inputs) == [
        "RotaryEmbedding (ai.onnx 25, 1 node, "
        "of which ONNX makes no function body with these types and attributes"
    ]
    for each in (
        node("LayerNormalization", "x x", "y", stash_type=7),
        node("DepthToSpace", "x", "y", blocksize=2**40),  # whose square overflows
    ):
        (text,) = missing(each, opset=28)
        assert text.endswith("of which ONNX makes no function body with these types and attributes")


def test_info_lists_what_bodies_lack(tmp_path):
    path = tmp_path / "model.onnx"
    proto = model([node("ThresholdedRelu", "x", "y"), node("CastLike", "y x", "z")], ["x"], ["z"])
    path.write_bytes(proto.SerializeToString())
    lines = list(describe(str(path)))
    assert lines[lines.index("operators") :] == [
        "operators",
        "  CastLike         1",
        "  ThresholdedRelu  1",
        "not implemented",
        "  Less (ai.onnx 18, 1 node, through ThresholdedRelu)",
        "  Where (ai.onnx 18, 1 node, through ThresholdedRelu)",
    ]


def test_what_is_missing_in_a_model_that_is_wrong(tmp_path):
    path = tmp_path / "model.onnx"
    proto = model([node("Relu", "x", "y", typo=1)], ["x"], ["y"])
    path.write_bytes(proto.SerializeToString())
    assert list(describe(str(path)))[-1].startswith("  Relu (ai.onnx 21, 1 node")
    for opset in (29, 2**63 - 1):
        proto = model([node("Relu", "x", "y")], ["x"], ["y"], opsets={"": opset})
        path.write_bytes(proto.SerializeToString())
        assert list(describe(str(path)))[-1] == f"  Relu (ai.onnx {opset}, 1 node)"


# Faults and bounds


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            node("Softmax", "i", "y", "s"),
            "Softmax 's' (node 0): input input is int64, "
            "but Softmax-13 allows float, float16, double, bfloat16",
        ),
        (
            node("PRelu", "x i", "y"),
            "PRelu (node 0): inputs X and slope are float and int64, "
            "but PRelu-16 takes one type for both (T)",
        ),
        (
            node("Gelu", "x", "y", approximate="Tanh"),
            "Gelu (node 0): approximate='Tanh' is none of none, tanh",
        ),
        (
            node("NegativeLogLikelihoodLoss", "x i", "y", reduction="men"),
            "NegativeLogLikelihoodLoss (node 0): reduction='men' is none of none, sum, mean",
        ),
        (
            node("Attention", "x x x", "y", is_causal=2),
            "Attention (node 0): is_causal=2 is none of 0, 1",
        ),
        (
            node("Bernoulli", "x", "y", dtype=99),
            "Bernoulli (node 0) > Cast (node 2): to=99 is no element type that Cast can make; ",
        ),
    ],
)
def test_faults(bad, message):
    op("Greater")(lambda A, B: (A, None))
    op("RandomUniformLike")(lambda input: (input, None))
    with pytest.raises(SchemaError) as error:
        load(bad, inputs=[value("x", FLOAT, [2, 2]), value("i", INT64, [2])])
    assert str(error.value).startswith(message)


def test_bodies_are_bounded(monkeypatch):
    monkeypatch.setattr(typed, "_MOST_NODES", 20)
    chain = [node("Swish", f"v{i}", f"v{i + 1}", f"n{i}") for i in range(5)]
    for read in (load_graph, minirt.infer):
        with pytest.raises(UnsupportedError) as error:
            load(*chain, inputs=["v0"], outputs=["v5"], read=read)
        assert str(error.value) == "Swish 'n4' (node 4): functions expand to more than 20 nodes"
    assert len(missing(*chain[:4], inputs=["v0"], outputs=["v4"])) == 2
    # Subgraphs count.
    infos = [helper.make_tensor_value_info(n, FLOAT, None) for n in ("n0", "n20")]
    body = graph([node("Abs", f"n{i}", f"n{i + 1}") for i in range(20)], infos[:1], infos[1:])
    with pytest.raises(UnsupportedError) as error:
        load(
            node("SequenceMap", "s", "y", body=body),
            inputs=[helper.make_tensor_sequence_value_info("s", FLOAT, None)],
        )
    assert str(error.value).endswith(": functions expand to more than 20 nodes")
