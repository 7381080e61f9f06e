"""Loop: what bodies use and carry, what they cost, and how they end."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from control_models import conditional, loop, scan, untyped

import minirt
from minirt.errors import ExecutionError, SchemaError
from models import session

T, F = np.array(True), np.array(False)
X = np.float32([1.0, 2.0])


def count(n: int) -> np.ndarray:
    return np.int64(n)[...]


# What bodies use


def test_values_of_the_graphs_around_two_levels_up():
    inner = loop("n, , u", "j, d, w", "p = Add(w, h) q = Mul(p, f)", "d, q", "r")
    outer = loop("n, , x", "i, c, u", inner, "c, r", "y")
    s = session("int64 n, float[N] x, float f", "float[N] y", f"h = Neg(x) {outer}")
    x, expected = X, X
    for _ in range(9):
        expected = (expected - X) * 2
    assert s.run([count(3), x, np.float32(2)[...]])[0].tolist() == expected.tolist()


def test_names_of_a_body_hide_those_around():
    body = loop("n, , x", "x, c, y", "h = Cast<to=1>(x) k = Add(y, h)", "c, k, h", "z, hs")
    s = session("int64 n, float[2] x, float h", "float[2] z, float[M] hs, float h", body)
    z, hs, h = s.run([count(3), X, np.float32(7)[...]])
    assert (z.tolist(), hs.tolist(), h) == ([4, 5], [0, 1, 2], 7)


def test_outputs_of_a_body_may_be_outer_values_inputs_and_initializers():
    text = """<ir_version: 10, opset_import: ["": 25]>
    main (int64 n, float[2] x) => (float[2] y, float[2] z, float[M,2] xs, float[M,2] ws) {
        y, z, xs, ws = Loop (n, , x, x) <body: graph = b (int64 i, bool c, float[2] u, float[2] v)
            => (bool c, float[2] x, float[2] u, float[2] x, float[2] w) <float[2] w = {5, 6}> {}>
    }"""
    s = minirt.load(onnx.parser.parse_model(text))
    for n in (0, 1, 3):
        results = s.run([count(n), X])
        expected = [X, X, np.stack([X] * n) if n else X[None][:0], np.float32([[5, 6]] * n)]
        assert [r.tolist() for r in results] == [e.tolist() for e in expected]
        memory = [r.ctypes.data for r in (X, *results) if r.size]
        assert len(set(memory)) == len(memory)
        for result in results:
            result += 100  # belongs to the caller


def test_a_condition_in_a_loop_in_a_scan():
    """Each step of the Scan runs the Loop, which doubles the state, or adds what is scanned."""
    branches = conditional("d; d = Add(v, v)", "e; e = Add(v, w)", "r", "odd")
    looped = loop(
        "n, , p", "i, c, v", f"m = Mod(i, two) odd = Equal(m, one) w = Identity(a) {branches}",
        "c, r", "q",
    )  # fmt: skip
    s = session(
        "int64 n, float[K] xs", "float last, float[K] all",
        scan(
            "zero, xs", "p, a", f"{looped} o = Neg(q)", "q, o", "last, all",
            "num_scan_inputs = 1",
        ),
        initializers="int64 one = {1}, int64 two = {2}, float zero = {0}",
    )  # fmt: skip
    xs, state, expected = np.float32([1, -2, 5]), 0.0, []
    for x in xs:
        for i in range(4):
            state = state + state if i % 2 else state + float(x)
        expected.append(-state)
    last, all_ = s.run([count(4), xs])
    assert (last, all_.tolist()) == (state, expected)


# What is carried


def test_shapes_that_change():
    s = minirt.load(
        untyped("int64 n, float[N] x", "y z", loop(
            "n, , x", "i, c, v", "w = Concat<axis=0>(v, x) k = Shape(v)", "c, w, k", "y, z"))
    )  # fmt: skip
    assert [str(o.type) for o in s.outputs] == ["float[?]", "int64[?,1]"]
    for n in (0, 3, 1):
        y, z = s.run([count(n), X])
        assert y.tolist() == [1, 2] * (n + 1)
        assert z.tolist() == [[2 * i + 2] for i in range(n)]


def test_ranks_that_change():
    s = minirt.load(
        untyped("int64 n, float[2] x", "y r", loop(
            "n, , x", "i, c, v", "w = Unsqueeze(v, zero)", "c, w", "y") + " r = Shape(y)",
            initializers="int64[1] zero = {0}")
    )  # fmt: skip
    assert str(s.outputs[0].type) == "float[...]"
    for n in (0, 4):
        y, shape = s.run([count(n), X])
        assert list(y.shape) == shape.tolist() == [*[1] * n, 2]


def test_values_that_change_places():
    s = session(
        "int64 n, float[N] a, float[M] b", "float[K] c, float[L] d",
        loop("n, , a, b", "i, k, v, w", "", "k, w, v", "c, d"),
    )  # fmt: skip
    a, b = X, np.float32([3, 4, 5])
    for n in range(4):
        expected = [a, b][:: -1 if n % 2 else 1]
        assert [r.tolist() for r in s.run([count(n), a, b])] == [e.tolist() for e in expected]


def test_sequences_grow():
    body = "t = Cast<to=1>(i) q = SequenceInsert(s, t) l = SequenceLength(q)"
    s = minirt.load(
        untyped("int64 n", "y k", "e = SequenceEmpty() " + loop(
            "n, , e", "i, c, s", body, "c, q, l", "y, k"))
    )  # fmt: skip
    for n in (0, 1, 5):
        y, lengths = s.run([count(n)])
        assert [float(t) for t in y] == list(range(n))
        assert lengths.tolist() == list(range(1, n + 1))


def test_tensors_of_a_sequence_are_not_overwritten():
    """A kernel may write to the place of its operand; what a sequence holds is no such place."""
    body = "t = SequenceAt(s, zero) u = Add(t, t) v = Neg(u) q = SequenceInsert(s, v) a = Abs(t)"
    s = minirt.load(
        untyped("int64 n, seq(float[2]) e", "y a", loop(
            "n, , e", "i, c, s", body, "c, q, a", "y, a"), initializers="int64 zero = {0}")
    )  # fmt: skip
    given = [X.copy()]
    y, a = s.run([count(2), given])
    assert [t.tolist() for t in y] == [[1, 2], [-2, -4], [-2, -4]]
    assert a.tolist() == [[1, 2], [1, 2]]
    assert [t.tolist() for t in given] == [[1, 2]]


@pytest.mark.parametrize("given", [None, [X]])
def test_an_optional_may_become_what_it_holds(given):
    """It is empty at first, or not; what comes out is a sequence, so that it must not be."""
    body = f"has = OptionalHasElement(o) {conditional(GET, EMPTY, 's', 'has')} {INSERT}"
    s = minirt.load(
        untyped("int64 n, optional(seq(float[2])) e, float[2] x", "y", loop(
            "n, , e", "i, c, o", body, "c, q", "y"))
    )  # fmt: skip
    assert str(s.outputs[0].type) == "seq(float[2])"
    for n in (1, 3):
        y = s.run({"n": count(n), "e": given, "x": X})[0]
        assert [t.tolist() for t in y] == [[1, 2]] * (n + len(given or []))
    feeds = {"n": count(0), "e": given, "x": X}
    if given is None:
        with pytest.raises(ExecutionError) as error:
            s.run(feeds)
        assert str(error.value).endswith(
            "carried value 0 is empty after no iteration, but seq(float[2]) with one"
        )
    else:
        assert [t.tolist() for t in s.run(feeds)[0]] == [[1, 2]]


GET = "g; g = OptionalGetElement(o)"
EMPTY = "m; m0 = SequenceConstruct(x) m = SequenceErase(m0)"
INSERT = "q = SequenceInsert(s, x)"


def test_an_optional_may_stay_empty():
    s = minirt.load(
        untyped("int64 n, optional(float[2]) e", "y h", loop(
            "n, , e", "i, c, o", "b = OptionalHasElement(o)", "c, o, b", "y, h"))
    )  # fmt: skip
    for n in (0, 2):
        assert s.run({"n": count(n), "e": None})[0] is None
        assert s.run({"n": count(n), "e": None})[1].tolist() == [False] * n
        assert s.run({"n": count(n), "e": X})[0].tolist() == [1, 2]


def test_text():
    s = session(
        "int64 n, string[N] x", "string[N] y, string[M,N] all, string[M] first",
        loop("n, , x", "i, c, v", "w = Identity(v) f = Gather(v, zero)", "c, v, w, f",
             "y, all, first"),
        initializers="int64 zero = {0}",
    )  # fmt: skip
    x = np.array(["a", "b"], object)
    for n in (0, 2):
        y, all_, first = s.run([count(n), x])
        assert (y.tolist(), all_.tolist(), first.tolist()) == (
            ["a", "b"],
            [["a", "b"]] * n,
            ["a"] * n,
        )


def test_what_stays_outlives_the_buffer_it_came_from():
    """Without an iteration values are handed on, while other values take their place."""
    s = session(
        "int64 n, float[2] x", "float[2] z",
        "h = Neg(x) " + loop("n, , h", "i, c, v", "w = Add(v, v)", "c, w", "y")
        + " k = Abs(x) z = Add(k, y)",
    )  # fmt: skip
    assert s.run([count(0), X])[0].tolist() == [0, 0]
    assert s.run([count(1), X])[0].tolist() == [-1, -2]


# Conditions


def test_the_condition_ends_it():
    s = session(
        "int64 n, bool go, int64 most", "int64 y, int64[M] all",
        loop("n, go, most", "i, c, v", "d = Less(i, most)", "d, i, i", "y, all"),
    )  # fmt: skip
    assert [r.tolist() for r in s.run([count(100), T, count(4)])] == [4, [0, 1, 2, 3, 4]]
    assert [r.tolist() for r in s.run([count(3), T, count(4)])] == [2, [0, 1, 2]]
    assert [r.tolist() for r in s.run([count(100), F, count(4)])] == [4, []]


def test_without_cond_the_condition_does_not_end_it():
    """But the body gets it: "ignored, but required" by the specification."""
    s = session(
        "int64 n", "bool[M] given, bool[M] made",
        loop("n, ", "i, c", "d = Not(c)", "d, c, d", "given, made"),
    )  # fmt: skip
    given, made = s.run([count(4)])
    assert made.tolist() == (~given).tolist() == given.tolist()[1:] + [made[-1]]
    assert given.tolist() == [True, False, True, False]


@pytest.mark.parametrize("shape", ["[]", "[1]"])
def test_counters_have_the_shape_that_the_body_declares(shape):
    s = minirt.load(
        untyped("int64 n, bool go", "i_rank c_rank", loop(
            "n, go", f"int64{shape} i, bool{shape} c",
            "d = Not(c) i_shape = Shape(i) c_shape = Shape(c) a = Size(i_shape) e = Size(c_shape)",
            "d, a, e", "i_rank, c_rank"))
    )  # fmt: skip
    rank = len(shape) - 2
    assert [r.tolist() for r in s.run([count(9), T])] == [[rank], [rank]]


def test_a_condition_of_several_values():
    s = minirt.load(
        untyped("int64 n, bool[N] go", "y", loop(
            "n, t", "i, c", "d = Identity(go)", "d, i", "y"), initializers="bool t = {1}")
    )  # fmt: skip
    assert s.run([count(2), T.reshape(1)])[0].tolist() == [0, 1]
    with pytest.raises(minirt.ShapeError, match=r"the condition that body makes is bool\[3\]"):
        s.run([count(2), np.array([True] * 3)])


def test_a_condition_of_several_values_that_only_a_run_can_tell():
    s = minirt.load(
        untyped("int64 n, bool[N] go", "y", loop(
            "n, t", "i, c", "d = Compress(go, go)", "d, i", "y"), initializers="bool t = {1}")
    )  # fmt: skip
    assert s.run([count(2), np.array([False, True, False])])[0].tolist() == [0, 1]
    with pytest.raises(ExecutionError) as error:
        s.run([count(2), np.array([True] * 3)])
    assert str(error.value) == (
        "Loop (node 0): body makes a condition of shape [3] in iteration 0, "
        "but should make a single value"
    )


def test_scan_outputs_must_keep_their_shape():
    s = minirt.load(
        untyped("int64 n, float[N] x", "y z", loop(
            "n, , x", "i, c, v", "w = Concat<axis=0>(v, x)", "c, w, w", "y, z"))
    )  # fmt: skip
    assert s.run([count(1), X])[1].tolist() == [[1, 2, 1, 2]]
    with pytest.raises(ExecutionError) as error:
        s.run([count(5), X])
    assert str(error.value) == (
        "Loop (node 0): scan output 0 has shape [4] in iteration 0, but [6] in iteration 1"
    )


def test_without_iterations_the_file_is_believed():
    """Sizes that it does not say are 0."""
    body = loop("n, , x", "i, c, v", "w = Compress<axis=1>(v, k)", "c, v, w", "y, z")
    proto = untyped("int64 n, float[2,3] x, bool[3] k", "y z", body)
    promise = onnx.helper.make_tensor_type_proto(1, [None, 5])
    for declared, shape in ((None, (0, 2, 0)), (promise, (0, 2, 5))):
        if declared:
            proto.graph.node[0].attribute[0].g.output[2].type.CopyFrom(declared)
        s = minirt.load(proto)
        x, k = np.ones((2, 3), np.float32), np.array([True, False, True])
        assert s.run([count(0), x, k])[1].shape == shape
        assert s.run([count(1), x, k])[1].shape == (1, 2, 2)


def test_a_branch_that_can_run_in_later_iterations():
    """Not in the first, whose shapes alone are known when the file is read."""
    branch = conditional("q; p = Reshape(v, four) q = Add(p, ones)", "v;", "r", "big")
    nodes = f"e = Size(v) big = Equal(e, size) {branch} w = Concat<axis=0>(r, x)"
    s = minirt.load(
        untyped(
            "int64 n, float[2] x", "y", loop("n, , x", "i, c, v", nodes, "c, w", "y"),
            initializers="int64[1] four = {4}, int64 size = {4}, float[4] ones = {1, 1, 1, 1}",
        )
    )  # fmt: skip
    assert s.run([count(1), X])[0].tolist() == [1, 2, 1, 2]
    assert s.run([count(2), X])[0].tolist() == [2, 3, 2, 3, 1, 2]


# Errors in bodies


def test_errors_name_the_place():
    s = session(
        "int64 n, float[3] x", "float[M] y",
        loop("n, ", "i, c", "g = Gather(x, i)", "c, g", "y"),
    )  # fmt: skip
    assert s.run([count(3), np.float32([1, 2, 3])])[0].tolist() == [1, 2, 3]
    with pytest.raises(ExecutionError) as error:
        s.run([count(4), np.float32([1, 2, 3])])
    assert str(error.value).startswith("Loop (node 0) > body > Gather (node 0): ")
    assert "3" in str(error.value)
    assert error.value.node_path == "Loop (node 0) > body > Gather (node 0)"


def test_errors_name_nodes_and_levels():
    proto = untyped(
        "int64 n, float[3] x", "y",
        "k = Neg(x) " + loop(
            "n, ", "i, c", loop("n, ", "j, d", "g = Gather(k, j)", "d, g", "r"), "c, r", "y"),
    )  # fmt: skip
    proto.graph.node[1].name = "l"
    s = minirt.load(proto)
    with pytest.raises(ExecutionError) as error:
        s.run([count(4), np.float32([1, 2, 3])])
    place = "Loop 'l' (node 1) > body > Loop (node 0) > body > Gather (node 0)"
    assert str(error.value).startswith(f"{place}: ")
    assert error.value.node_path == place


def test_a_session_runs_on_after_an_error():
    s = session(
        "int64 n, float[3] x", "float[M] y", loop("n, ", "i, c", "g = Gather(x, i)", "c, g", "y")
    )
    x = np.float32([1, 2, 3])
    for _ in range(3):
        with pytest.raises(ExecutionError):
            s.run([count(4), x])
        assert s.run([count(3), x])[0].tolist() == [1, 2, 3]


# Interfaces


def test_initializers_that_old_files_list_as_inputs_of_a_body():
    """Before IR version 4 they had to."""
    text = """<ir_version: 3, opset_import: ["": 8]>
    main (int64 n, float[2] x) => (float[2] y) {
        y = Loop (n, , x) <body: graph = b (int64 i, bool c, float[2] v, float[2] w)
            => (bool c, float[2] u) <float[2] w = {5, 6}> { u = Add(v, w) }>
    }"""
    s = minirt.load(onnx.parser.parse_model(text))
    assert s.run([count(3), X])[0].tolist() == [16, 20]


def test_more_outputs_than_the_body_makes():
    with pytest.raises(SchemaError) as error:
        minirt.load(untyped("int64 n", "y z", loop("n, ", "i, c", "", "c, i", "y, z")))
    assert str(error.value) == "Loop (node 0): has 2 outputs, but its subgraphs make 1"
