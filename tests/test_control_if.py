"""If: branches that capture, differ, nest, and cannot run."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from control_models import conditional, untyped

import minirt
from minirt.errors import ExecutionError, SchemaError, ShapeError
from models import model, session

T, F = np.array(True), np.array(False)
X = np.float32([[1.0, 2.0], [3.0, 4.0]])


# What branches use


def test_values_of_the_graphs_around_two_levels_up():
    """Inputs, what nodes make, initializers; of both levels, and handed on as they are."""
    inner = conditional("a; a = Add(x, w)", "b; b = Mul(h, w)", "r")
    outer = conditional(f"r; {inner}", "x;")
    s = session(
        "bool c, float[N,2] x", "float[N,2] y", f"h = Neg(x) {outer}",
        initializers="float[2] w = {10, 20}",
    )  # fmt: skip
    assert s.run([T, X])[0].tolist() == (X + [10, 20]).tolist()
    assert s.run([F, X])[0].tolist() == X.tolist()


def test_names_of_a_branch_hide_those_around():
    body = "h = Neg(x) " + conditional("h; h = Abs(x)", "r; h = Add(x, x) r = Neg(h)")
    s = session("bool c, float[N] x", "float[N] y, float[N] h", body)
    x = np.float32([1, -2])
    assert [r.tolist() for r in s.run([T, x])] == [[1, 2], [-1, 2]]
    assert [r.tolist() for r in s.run([F, x])] == [[-2, 4], [-1, 2]]


def test_outputs_that_are_outer_values_are_new():
    """Inputs, initializers and the results of nodes, one of them twice."""
    s = session(
        "bool c, float[2] x", "float[2] y, float[2] z, float[2] v, float[2] u",
        "h = Neg(x) " + conditional("x, w, h, h;", "h, h, x, x;", "y, z, v, u"),
        initializers="float[2] w = {10, 20}",
    )  # fmt: skip
    x = np.float32([1, 2])
    for cond, expected in ((T, [x, [10, 20], -x, -x]), (F, [-x, -x, x, x])):
        results = s.run([cond, x])
        assert [list(r) for r in results] == [list(e) for e in expected]
        memory = [r.ctypes.data for r in (x, *results)]
        assert len(set(memory)) == len(memory)
        for result in results:
            result += 100.0  # belongs to the caller: the next run knows nothing of it
    assert list(s.run([T, x])["z"]) == [10, 20]


def test_initializers_of_a_branch():
    text = """<ir_version: 10, opset_import: ["": 25]>
    main (bool c) => (float[2] y) {
        y = If (c) <
            then_branch: graph = t () => (float[2] a) <float[2] a = {1, 2}> {},
            else_branch: graph = e () => (float[2] b) <float[2] w = {3, 4}> { b = Neg(w) }
        >
    }"""
    s = minirt.load(onnx.parser.parse_model(text))
    assert [s.run([c])[0].tolist() for c in (T, F, T)] == [[1, 2], [-3, -4], [1, 2]]


def test_only_the_branch_that_is_taken_runs():
    fails = "f; f = Gather(x, bad)"
    s = session(
        "bool c, float[N] x", "float[N] y", conditional(fails, "x;"),
        initializers="int64[1] bad = {99}",
    )  # fmt: skip
    x = np.float32([1, 2])
    assert s.run([F, x])[0].tolist() == [1, 2]
    with pytest.raises(ExecutionError) as error:
        s.run([T, x])
    assert str(error.value).startswith("If (node 0) > then_branch > Gather (node 0): ")
    assert s.run([F, x])[0].tolist() == [1, 2]


# Types


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("float[N,3]", "float[N,3]", "float[N,3]"),
        ("float[N,3]", "float[M,3]", "float[?,3]"),
        ("float[2,3]", "float[2,4]", "float[2,?]"),
        ("float[2,3]", "float[2]", "float[...]"),
        ("float[]", "float[2]", "float[...]"),
        ("seq(float[2])", "seq(float[3])", "seq(float[?])"),
        ("optional(float[2])", "optional(float[2])", "optional(float[2])"),
        ("seq(float[])", "seq(float[])", "seq(float[...])"),
    ],
)
def test_the_type_is_what_covers_both(a, b, expected):
    proto = untyped(f"bool c, {a} a, {b} b", "y", conditional("a;", "b;"))
    assert str(minirt.infer(proto).outputs[0].type) == expected


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("float[2]", "double[2]"),
        ("float[2]", "seq(float[2])"),
        ("seq(float[2])", "seq(int64[2])"),
        ("float[2]", "optional(float[2])"),
    ],
)
def test_types_that_nothing_covers(a, b):
    with pytest.raises(SchemaError) as error:
        minirt.infer(untyped(f"bool c, {a} a, {b} b", "y", conditional("a;", "b;")))
    assert str(error.value) == (
        f"If (node 0): output 0 is {a} in then_branch, but {b} in else_branch"
    )


def test_branches_of_different_numbers_of_outputs():
    with pytest.raises(SchemaError) as error:
        minirt.infer(untyped("bool c, float[2] x", "y", conditional("x, x;", "x;")))
    assert str(error.value) == "If (node 0): then_branch has 2 outputs, but else_branch 1"


@pytest.mark.parametrize(("value", "expected"), [(1, "float[2]"), (0, "float[3]")])
def test_a_condition_that_is_known_chooses(value, expected):
    proto = untyped(
        "float[2] a, float[3] b", "y", conditional("a;", "b;"), initializers=f"bool c = {{{value}}}"
    )
    assert str(minirt.infer(proto).outputs[0].type) == expected


def test_contents_that_a_known_condition_chooses_decide_types():
    proto = untyped(
        "float[2,3] x", "y",
        conditional("s;", "t;", "shape") + " y = Reshape(x, shape)",
        initializers="bool c = {0}, int64[1] s = {6}, int64[2] t = {3, 2}",
    )  # fmt: skip
    assert str(minirt.infer(proto).outputs[0].type) == "float[3,2]"
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert minirt.run(proto, [x])[0].tolist() == x.reshape(3, 2).tolist()


def test_what_a_run_makes_has_the_shape_that_it_has():
    """Each branch makes another rank; what follows is planned for what came."""
    s = minirt.load(
        untyped(
            "bool c, float[2,3] x", "y z",
            conditional("a; a = Flatten<axis=0>(x)", "b; b = Neg(x)") + " z = Shape(y)",
        )
    )  # fmt: skip
    x = np.ones((2, 3), np.float32)
    for cond, expected in ((T, [1, 6]), (F, [2, 3]), (T, [1, 6])):
        y, shape = s.run([cond, x])
        assert list(y.shape) == shape.tolist() == expected


# Branches that cannot run


def test_a_branch_that_cannot_run_with_these_shapes_may_be_there():
    """Exporters write such branches: squeeze a dimension if it is 1."""
    proto = untyped(
        "bool c, float[N,2] x", "y",
        conditional("a; a = Squeeze(x, axes)", "x;"), initializers="int64[1] axes = {0}",
    )  # fmt: skip
    s = minirt.load(proto)
    assert s.run([T, X[:1]])[0].tolist() == [1, 2]
    assert s.run([F, X])[0].tolist() == X.tolist()
    for _ in range(2):
        with pytest.raises(ShapeError, match=r"^If \(node 0\) > then_branch > Squeeze \(node 0\):"):
            s.run([T, X])


@pytest.mark.parametrize("nested", [False, True])
def test_a_branch_that_cannot_run_at_all(nested):
    """So is known when the file is read; it does not matter unless a run takes it."""
    wrong = "a = Squeeze(x, axes) b = Softsign(a)"
    if nested:
        wrong += " " + conditional("p; p = Neg(b)", "q; q = Abs(b)", "b2")
    then = f"{'b2' if nested else 'b'}; {wrong}"
    proto = untyped(
        "bool c, float[2,2] x", "y", conditional(then, "x;"), initializers="int64[1] axes = {0}"
    )
    s = minirt.load(proto)
    assert str(s.outputs[0].type) == "float[2,2]"
    assert s.run([F, X])[0].tolist() == X.tolist()
    with pytest.raises(ShapeError, match=r"^If \(node 0\) > then_branch > Squeeze \(node 0\):"):
        s.run([T, X])


def test_two_branches_that_cannot_run():
    wrong = "a = Squeeze(x, axes)"
    proto = untyped(
        "bool c, float[2,2] x", "y", conditional(f"a; {wrong}", f"a; {wrong}"),
        initializers="int64[1] axes = {0}",
    )  # fmt: skip
    with pytest.raises(ShapeError, match=r"^If \(node 0\) > then_branch > Squeeze \(node 0\):"):
        minirt.load(proto)


def test_the_branch_that_is_surely_taken_must_be_able_to_run():
    proto = untyped(
        "float[2,2] x", "y", conditional("a; a = Squeeze(x, axes)", "x;"),
        initializers="int64[1] axes = {0}, bool c = {1}",
    )  # fmt: skip
    with pytest.raises(ShapeError, match="then_branch > Squeeze"):
        minirt.load(proto)


def test_sizes_that_a_file_only_promises():
    """Inference believes them; kernels rely on what comes out of a branch."""
    text = """<ir_version: 10, opset_import: ["": 25]>
    main (bool c, float[2,3] x, bool[6] k) => (float[N] y) {
        h = If (c) <
            then_branch: graph = t () => (float[4] a) { m = Compress(x, k) a = Identity(m) },
            else_branch: graph = e () => (float[4] b) { b = Compress(x, k) }
        >
        y = Neg(h)
    }"""
    proto = onnx.parser.parse_model(text)
    assert str(minirt.infer(proto).outputs[0].type) == "float[4]"
    s = minirt.load(proto)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    four = np.array([1, 0, 1, 1, 1, 0], bool)
    for cond in (T, F):
        for chosen in (four, ~four, four | True):
            expected = -x.reshape(-1)[chosen]
            assert s.run([cond, x, chosen])[0].tolist() == expected.tolist()


# Depth


def test_branches_nest_64_deep():
    """Deeper than protobuf reads it from bytes."""
    proto = model("bool c, float[N] x", "float[N] y", "", initializers="float one = {1}")
    inner, result = proto.graph, "y"
    for level in range(64):
        inner.node.add(op_type="If", input=["c"], output=[f"r{level}"])
        inner.node.add(op_type="Add", input=[f"r{level}", "one"], output=[result])
        other, then = (
            inner.node[0].attribute.add(name=f"{name}_branch", type=onnx.AttributeProto.GRAPH).g
            for name in ("else", "then")
        )
        other.output.add(name="x")
        inner, result = then, f"s{level}"
        inner.output.add(name=result)
    inner.node.add(op_type="Neg", input=["x"], output=[result])
    s = minirt.load(proto)
    x = np.float32([1, 2])
    assert s.run([T, x])[0].tolist() == [63, 62]
    assert s.run([F, x])[0].tolist() == [2, 3]
