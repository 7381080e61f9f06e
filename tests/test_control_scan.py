"""Scan: bodies that compute, capture and nest; states that must keep their shapes."""

from __future__ import annotations

import numpy as np
import pytest
from control_models import loop, scan, untyped

import minirt
from minirt.errors import ExecutionError, ShapeError
from models import session

X = np.float32([[1, 2, 3], [4, 5, 6]])
ONE = "num_scan_inputs = 1"


def test_running_sums_along_an_axis_and_back():
    s = session(
        "float[2] s, float[2,N] x", "float[2] y, float[N,2] sums",
        scan("s, x", "p, e", "q = Add(p, e) r = Identity(q)", "q, r", "y, sums",
             f"{ONE}, scan_input_axes = [1], scan_input_directions = [1]"),
    )  # fmt: skip
    start = np.float32([10, 20])
    y, sums = s.run([start, X])
    expected = start + np.cumsum(X[:, ::-1], 1).T
    assert (y.tolist(), sums.tolist()) == (expected[-1].tolist(), expected.tolist())


def test_values_of_the_graphs_around_and_names_that_hide_them():
    inner = scan("w, xs", "p, w", "h = Mul(w, f) q = Add(p, h)", "q", "r", ONE)
    outer = scan("w, xs", "w, e", inner, "r, r", "last, all", ONE)
    s = session(
        "float f, float[N] w, float[M] xs", "float[N] y, float h",
        f"h = Neg(f) {outer} y = Mul(last, h)",
    )  # fmt: skip
    w, xs = np.float32([1, 2]), np.float32([3, 4, 5])
    y, h = s.run([np.float32(2)[...], w, xs])
    expected = w + 3 * 2 * xs.sum()  # the inner scan, three times
    assert (y.tolist(), h) == ((-2 * expected).tolist(), -2)


def test_results_are_new_and_arguments_as_before():
    s = session(
        "float[2] s, float[N,2] x", "float[2] y, float[N,2] all, float[N,2] ss",
        scan("s, x", "p, e", "", "p, e, s", "y, all, ss", ONE),
    )  # fmt: skip
    for x in (X.T.copy(), X.T[:0].copy()):
        start = np.float32([1, 2])
        results = s.run([start, x])
        expected = [start, x, np.tile(start, (len(x), 1))]
        assert [r.tolist() for r in results] == [e.tolist() for e in expected]
        for result in results:
            result += 1
        assert (start.tolist(), x.tolist()) == ([1, 2], X.T[: len(x)].tolist())


def test_states_outlive_the_buffers_they_came_from():
    """Without a step they are handed on, while other values take their place."""
    s = session(
        "float[2] s, float[N] x", "float[2] z",
        "h = Neg(s) " + scan("h, x", "p, e", "q = Add(p, e)", "q", "y", ONE)
        + " k = Abs(s) z = Add(k, y)",
    )  # fmt: skip
    for x in ([], [3], [3, 4]):
        assert s.run([np.float32([1, 2]), np.float32(x)])[0].tolist() == [sum(x)] * 2


def test_two_inputs_of_different_types():
    s = session(
        "float[N] x, string[N] t", "float[N] y, string[N] u",
        scan("x, t", "a, b", "c = Neg(a)", "c, b", "y, u",
             "num_scan_inputs = 2, scan_output_directions = [0, 1]"),
    )  # fmt: skip
    y, u = s.run([np.float32([1, 2]), np.array(["a", "b"], object)])
    assert (y.tolist(), u.tolist()) == ([-1, -2], ["b", "a"])


def test_each_batch_starts_anew():
    text = scan(
        ", s, x",
        "p, e",
        "q = Add(p, e) r = Mul(q, f)",
        "q, r",
        "y, all",
        f"{ONE}, directions = [1]",
    )
    s = session("float[B] s, float[B,N] x, float f", "float[B] y, float[B,N] all", text, opset=8)
    start = np.float32([10, 20])
    y, all_ = s.run([start, X, np.float32(2)[...]])
    sums = start[:, None] + np.cumsum(X[:, ::-1], 1)
    assert (y.tolist(), all_.tolist()) == (sums[:, -1].tolist(), (2 * sums).tolist())


# Shapes


def test_states_must_keep_their_shape():
    """What only a run can tell it refuses."""
    body = "k = Cast<to=9>(e) c = Compress<axis=0>(p, k)"
    s = minirt.load(
        untyped("float[2] s, float[N,2] x", "y", scan("s, x", "p, e", body, "c", "y", ONE))
    )
    state, full = np.float32([1, 2]), np.ones((3, 2), np.float32)
    assert s.run([state, full])[0].tolist() == [1, 2]
    full[1, 0] = 0
    with pytest.raises(ExecutionError) as error:
        s.run([state, full])
    assert str(error.value) == (
        "Scan (node 0): state variable 0 has shape [2], but body makes [1] of it in iteration 1"
    )


def test_what_is_scanned_must_keep_its_shape():
    s = minirt.load(
        untyped("float[N,2] x", "y",
                scan("x", "e", "k = Cast<to=9>(e) c = Compress(e, k)", "c", "y", ONE))
    )  # fmt: skip
    assert s.run([np.float32([[1, 0], [0, 2]])])[0].tolist() == [[1], [2]]
    assert s.run([np.float32([[1, 3], [4, 2]])])[0].tolist() == [[1, 3], [4, 2]]
    with pytest.raises(ExecutionError) as error:
        s.run([np.float32([[1, 3], [4, 0]])])
    assert str(error.value) == (
        "Scan (node 0): scan output 0 has shape [2] in iteration 0, but [1] in iteration 1"
    )


def test_an_axis_of_what_only_a_run_can_tell():
    s = minirt.load(
        untyped("float[N,2] x", "y",
                scan("x", "e", "k = Cast<to=9>(e) c = Compress(e, k)", "c", "y",
                     f"{ONE}, scan_output_axes = [-1]"))
    )  # fmt: skip
    assert s.run([np.float32([[1, 3], [4, 2]])])[0].tolist() == [[1, 4], [3, 2]]


def test_lengths_that_differ():
    s = minirt.load(
        untyped("float[N] x, float[M] z", "y",
                scan("x, z", "a, b", "c = Add(a, b)", "c", "y", "num_scan_inputs = 2"))
    )  # fmt: skip
    assert s.run([X[0], X[1]])[0].tolist() == [5, 7, 9]
    with pytest.raises(ShapeError) as error:
        s.run([X[0], X[1][:2]])
    assert str(error.value) == (
        "Scan (node 0): float[3], float[2] are scanned together, but have sizes [3, 2]"
    )


# Types


@pytest.mark.parametrize(
    ("given", "attributes", "expected"),
    [
        ("float[N] s, float[M,N] x", "", ["float[N]", "float[M,N]"]),
        ("float[2] s, float[M,2] x", "", ["float[2]", "float[M,2]"]),
        ("float[2] s, float[2,M] x", "scan_input_axes = [-1]", ["float[2]", "float[M,2]"]),
        ("float[2] s, float[5,2] x", "scan_output_axes = [1]", ["float[2]", "float[2,5]"]),
        ("float[2] s, float[5,2] x", "scan_output_axes = [-1]", ["float[2]", "float[2,5]"]),
        ("float[N] s, float x", "", ["float[N]", "float[...]"]),
    ],
)
def test_types(given, attributes, expected):
    attributes = f"{ONE}, {attributes}" if attributes else ONE
    proto = untyped(given, "y z", scan("s, x", "p, e", "r = Neg(e)", "p, r", "y, z", attributes))
    if given.endswith("float x"):
        proto.graph.input[1].type.tensor_type.ClearField("shape")
    inferred = minirt.infer(proto)
    assert [str(v.type) for v in inferred.outputs] == expected


def test_a_body_in_a_loop_sees_what_the_loop_carries():
    """Whose shape grows: each time the scan has other lengths."""
    inner = scan("zero, v", "p, e", "q = Add(p, e)", "q", "r", ONE)
    s = minirt.load(
        untyped(
            "int64 n, float[N] x", "y z",
            loop("n, , x", "i, c, v", f"w = Concat<axis=0>(v, x) {inner}", "c, w, r", "y, z"),
            initializers="float zero = {0}",
        )
    )  # fmt: skip
    y, sums = s.run([np.int64(4)[...], X[0]])
    assert (y.shape, sums.tolist()) == ((15,), [6, 12, 18, 24])
