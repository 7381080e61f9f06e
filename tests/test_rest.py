"""Types that depend on what a run computes: plans that follow each other, and subgraphs."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from onnx import TensorProto, helper
from operators import temporary  # noqa: F401
from protos import graph, model, node, untyped, value

import minirt
from minirt.dtypes import BY_NAME
from minirt.errors import ExecutionError, ShapeError
from minirt.kernels.arrays import Shaped
from minirt.model import fold
from minirt.ops.registry import op
from minirt.runtime import bodies
from minirt.runtime import plan as plans
from minirt.types import Dim, SequenceType, TensorType

pytestmark = pytest.mark.usefixtures("temporary")

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
OPSETS = {"": 25, "v": 1}


@pytest.fixture(autouse=True)
def operators(temporary) -> None:  # noqa: F811
    register_moving()
    register_adding()
    register_call()


def register_moving() -> None:
    """Operators whose sizes depend on contents."""

    @op("Head", domain="v", contents=("count",))
    def head(x, count):
        if count.value is None or not x.is_concrete:
            return x.with_shape(Dim()), None
        size = int(count.value)
        if size > x.shape[0]:
            raise ShapeError(f"count={size} of {x.shape[0]}")
        return x.with_shape(size), lambda: lambda x, out: np.copyto(out, x[:size])

    @op("Positive", domain="v")
    def positive(x):
        return (x.with_shape(Dim()), TensorType(BY_NAME["int64"], ())), lambda: _positive


def register_adding() -> None:
    """Operators of known sizes, and of sequences."""

    @op("Pair", domain="v")
    def pair(x):
        return x.with_shape(2, *x.shape), lambda: Shaped(lambda x, out: np.stack([x, x], out=out))

    @op("Total", domain="v")
    def total(x):
        return x.with_shape(), lambda: lambda x, out: np.sum(x, keepdims=True, out=out)

    @op("Add", domain="v")
    def add(x, y):
        return x, lambda: Shaped(lambda x, y, out: np.add(x, y, out=out))

    @op("List", domain="v")
    def listed(*xs):
        shapes = [x.shape for x in xs]
        return SequenceType(xs[0]), lambda: Shaped(lambda *xs: [x.copy() for x in xs if shapes])

    @op("First", domain="v")
    def first(xs):
        return TensorType(xs.element.dtype, (Dim(),)), lambda: lambda xs: xs[0].copy()


def register_call() -> None:
    """``v.Call(x)`` is what its body makes of x."""

    @op("Call", domain="v", returns=True)
    def call(x, *, body):
        types = body.types(x)

        def thunk():
            program = body.program(x)

            def run(x, outer):
                made = program(outer, x)
                return made[0] if len(made) == 1 else tuple(made)

            return Shaped(run)

        return types, thunk


def _positive(x, count):
    found = x[x > 0]
    count[...] = found.size
    return found


def load(*nodes, inputs=("x",), outputs=("y",), **more) -> minirt.Session:
    typed = [value("x", FLOAT, ["N"]) if name == "x" else name for name in inputs]
    return minirt.load(model(list(nodes), typed, list(outputs), opsets=OPSETS, **more))


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """What is planned: one item a plan."""
    seen: list[object] = []
    made = plans.make_plan
    for module in (plans, importlib.import_module("minirt.session")):
        monkeypatch.setattr(module, "make_plan", lambda *a, **k: seen.append(a[2]) or made(*a, **k))
    yield seen


X = np.float32([3, -1, 2, -5])
COUNT = value("n", INT64, [])


# Contents of operands


def test_contents_of_an_input_decide(planned) -> None:
    session = load(node("Head", "x n", "y", domain="v"), inputs=["x", COUNT])
    for count in (2, 4, 0, 2):
        assert session.run([X, np.int64(count)])["y"].tolist() == X[:count].tolist()
    assert len(planned) == 4  # one for what is known before, one for each count
    with pytest.raises(ShapeError, match=r"Head.*count=9 of 4"):
        session.run([X, np.int64(9)])


def test_contents_of_a_constant_need_one_plan(planned) -> None:
    weight = helper.make_tensor("n", INT64, [], [3])
    session = load(node("Head", "x n", "y", domain="v"), initializer=[weight])
    assert session.run([X])["y"].tolist() == X[:3].tolist()
    assert len(planned) == 1


def test_contents_that_are_computed() -> None:
    nodes = [
        node("Positive", "x", "p c", domain="v"),
        node("Head", "x c", "h", domain="v"),
        node("Pair", "h", "y", domain="v"),
    ]
    session = load(*nodes, outputs=["y", "p", "x"])
    for x in (X, np.float32([1]), np.float32([-1]), np.float32([])):
        y, p, same = session.run([x])
        head = x[: (x > 0).sum()]
        assert y.tolist() == [head.tolist()] * 2
        assert p.tolist() == x[x > 0].tolist()
        assert same.tolist() == x.tolist()
        assert not np.shares_memory(same, x)


# Outputs of sizes that only the kernel knows


def test_outputs_of_unknown_size_as_results_and_operands() -> None:
    nodes = [
        node("Positive", "x", "p c", domain="v"),
        node("Pair", "p", "q", domain="v"),
        node("Total", "q", "t", domain="v"),
    ]
    session = load(*nodes, outputs=["p", "t", "c", "p"])
    p, t, c, again = session.run([X])
    assert (p.tolist(), t.tolist(), c.tolist(), again.tolist()) == ([3, 2], 10, 2, [3, 2])
    assert not np.shares_memory(p, again)
    assert (p.dtype, t.shape) == (np.float32, ())
    assert "Pair" in [step.op.removeprefix("v.") for step in session.profile([X]).steps]


def test_a_chain_of_a_thousand_plans() -> None:
    names = ["x", *(f"p{i}" for i in range(1000))]
    nodes = [node("Positive", a, f"{b} c{b}", domain="v") for a, b in pairwise(names)]
    assert load(*nodes, outputs=[names[-1]]).run([X])[0].tolist() == [3, 2]


def test_the_rest_is_planned_once_for_each_size(planned) -> None:
    nodes = [node("Positive", "x", "p c", domain="v"), node("Pair", "p", "y", domain="v")]
    session = load(*nodes)
    for _ in range(3):
        assert session.run([X])["y"].shape == (2, 2)
        assert session.run([X + 9])["y"].shape == (2, 4)
    assert len(planned) == 3


def test_a_first_node_of_a_sequence() -> None:
    nodes = [
        node("Positive", "x", "p c", domain="v"),
        node("List", "p x", "s", domain="v"),
        node("First", "s", "f", domain="v"),
        node("Total", "f", "y", domain="v"),
    ]
    y, s = load(*nodes, outputs=["y", "s"]).run([X])
    assert (y.tolist(), [a.tolist() for a in s]) == (5, [[3, 2], X.tolist()])


# Subgraphs


def body(nodes, outputs, name: str = "i"):
    return graph(list(nodes), [untyped(name)], list(outputs))


def test_a_subgraph_runs_on_inputs_and_outer_values() -> None:
    inner = body([node("Add", "i w", "t", domain="v")], ["t"])
    nodes = [
        node("Pair", "w", "ww", domain="v"),
        node("Call", "x", "a", domain="v", body=inner),
        node("Add", "a x", "y", domain="v"),
    ]
    session = load(*nodes, inputs=["x", value("w", FLOAT, ["N"])], outputs=["y", "a"])
    y, a = session.run([X, X * 10])
    assert a.tolist() == (X * 11).tolist()
    assert y.tolist() == (X * 12).tolist()


def test_subgraphs_in_subgraphs_see_all_that_is_around_them() -> None:
    innermost = body(
        [node("Add", "j w", "u", domain="v"), node("Add", "u i", "t", domain="v")], ["t"], "j"
    )
    inner = body([node("Call", "i", "o", domain="v", body=innermost)], ["o"])
    session = load(
        node("Call", "x", "y", domain="v", body=inner), inputs=["x", value("w", FLOAT, ["N"])]
    )
    assert session.run([X, X * 10])["y"].tolist() == (X * 12).tolist()


def test_a_subgraph_is_planned_once_for_each_shape(planned) -> None:
    inner = body([node("Pair", "i", "t", domain="v")], ["t"])
    session = load(node("Call", "x", "y", domain="v", body=inner))
    for _ in range(3):
        assert session.run([X])["y"].shape == (2, 4)
    assert len(planned) == 2
    assert session.run([X[:1]])["y"].tolist() == [[3], [3]]


def test_outputs_of_a_subgraph_are_new() -> None:
    """Also those that are an input, an outer value or a constant."""
    inner = body([], ["i", "w"])
    session = load(
        node("Call", "x", "a b", domain="v", body=inner),
        inputs=["x", value("w", FLOAT, ["N"])],
        outputs=["a", "b", "a"],
    )
    results = session.run([X, X * 2])
    assert [r.tolist() for r in results] == [X.tolist(), (X * 2).tolist(), X.tolist()]
    for i, first in enumerate(results):
        assert not any(np.shares_memory(first, other) for other in (*results[:i], X))


def test_sizes_that_a_subgraph_finds() -> None:
    inner = body(
        [node("Positive", "i", "t c", domain="v"), node("Pair", "t", "u", domain="v")], ["u", "t"]
    )
    nodes = [node("Call", "x", "a b", domain="v", body=inner), node("Total", "a", "y", domain="v")]
    y, b = load(*nodes, outputs=["y", "b"]).run([X])
    assert (y.tolist(), b.tolist()) == (10, [3, 2])


def test_errors_in_a_subgraph_say_where() -> None:
    @op("Fail", domain="v")
    def fail(x):
        def run(x, out):
            raise ExecutionError("of contents")

        return x, lambda: run

    inner = body([node("Fail", "i", "t", domain="v", name="bad")], ["t"])
    session = load(node("Call", "x", "y", domain="v", name="c", body=inner))
    with pytest.raises(
        ExecutionError, match=r"Call 'c' \(node 0\) > body > .*'bad'.*: of contents"
    ):
        session.run([X])


# Constants


def test_what_is_made_of_constants_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []

    @op("Count", domain="v")
    def count(x):
        return x, lambda: Shaped(lambda x, out: runs.append(1) or np.copyto(out, x + 1))

    def session(size: int) -> minirt.Session:
        weight = helper.make_tensor("w", FLOAT, [size], np.ones(size, "f4"))
        return load(node("Count", "w", "y", domain="v"), inputs=[], initializer=[weight])

    small = session(3)
    assert len(runs) == 1
    assert small.run([])["y"].tolist() == [2, 2, 2]
    before = len(runs)
    small.run([])
    assert len(runs) == before
    runs.clear()
    large = session(fold._MOST)
    assert not runs
    assert large.run([])["y"].tolist() == [2] * fold._MOST
    assert len(runs) == 1


@pytest.mark.parametrize("error", [ExecutionError("of contents"), KeyError("of contents")])
def test_a_kernel_that_fails_on_constants_fails_in_the_run(error: Exception) -> None:
    @op("Fail", domain="v")
    def fail(x):
        def run(x, out):
            raise error

        return x, lambda: run

    weight = helper.make_tensor("w", FLOAT, [1], [1.0])
    session = load(node("Fail", "w", "y", domain="v"), inputs=[], initializer=[weight])
    with pytest.raises(ExecutionError, match=r"Fail \(node 0\).*of contents"):
        session.run([])


def test_programs_are_for_plans() -> None:
    assert issubclass(bodies.Body, minirt.model.typed.Body)
    with pytest.raises(TypeError, match="in plans only"):
        minirt.model.typed.Body(None, None).program()


# Buffers that outputs take over


def register_steps(**options) -> None:
    @op("Step", domain="v", **options)
    def step(x, y):
        shape = x.shape if len(x.shape) >= len(y.shape) else y.shape
        return x.with_shape(*shape), lambda: Shaped(lambda x, y, out: np.add(x, y, out=out))


def arena_bytes(*nodes, outputs=("y",)) -> int:
    session = load(*nodes, inputs=["x", value("w", FLOAT, [2, "N"])], outputs=outputs)
    x, w = np.ones(16, "f4"), np.ones((2, 16), "f4")
    for name, result in session.run([x, w]).items():
        assert result.tolist() == EXPECTED[name](x, w).tolist()
    (executor,) = session._executors._kept.values()
    return executor.plan.arena_bytes


EXPECTED = {
    "y": lambda x, w: x * 5,
    "a": lambda x, w: x * 2,
    "z": lambda x, w: x * 2 + w * 2,
    "u": lambda x, w: x * 4,
}

CHAIN = ["x x a", "a x b", "b x c", "c x y"]


def steps(*texts: str):
    return [node("Step", *text.rsplit(" ", 1), domain="v") for text in texts]


@pytest.mark.parametrize(
    ("inplace", "texts", "outputs", "buffers"),
    [
        ((), CHAIN, ["y"], 2),
        (("x", "y"), CHAIN, ["y"], 1),
        (("y",), CHAIN, ["y"], 2),  # the input is not given away
        (("x",), ["x x a", "a a u"], ["u"], 1),
        (("x",), ["x x a", "a x b", "b a y"], ["y"], 2),  # a is needed once more
        (("x",), ["x x a", "a w b", "b w z"], ["z"], 3),  # a is smaller than b
        (("x",), ["x x a", "a x b", "b x c", "c x y"], ["y", "a"], 1),  # a is a result
    ],
)
def test_outputs_take_over_buffers_that_nobody_needs(inplace, texts, outputs, buffers) -> None:
    register_steps(inplace=inplace)
    assert arena_bytes(*steps(*texts), outputs=outputs) == buffers * 64


@pytest.mark.parametrize("size", [3, fold._MOST])
def test_constants_of_one_element_that_is_shown_many_times(size: int) -> None:
    """A flat kernel does not look at strides; it would read what lies behind the element."""

    @op("Ones", domain="v", type_only=("x",))
    def ones(x):
        return TensorType(x.dtype, (size,), np.broadcast_to(np.float32(1), (size,))), None

    nodes = [node("Ones", "x", "o", domain="v"), node("Cast", "o", "y", to=TensorProto.DOUBLE)]
    y, o = load(*nodes, outputs=["y", "o"]).run([X])
    assert y.tolist() == o.tolist() == [1] * size
