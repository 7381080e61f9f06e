"""Plans: what runs, in which order, and where each value lies."""

import numpy as np
import pytest

from minirt.dtypes import BY_NAME, find
from minirt.errors import UnsupportedError
from minirt.graph import Graph, Node, Value
from minirt.ops import registry
from minirt.ops.registry import Alias
from minirt.runtime.plan import make_plan
from minirt.runtime.steps import NOTHING, Constant, Objects, Plan, Region, Returned
from minirt.types import Dim, SequenceType, TensorType

FLOAT, HALF, DOUBLE = (BY_NAME[n] for n in ("float", "float16", "double"))


class Build:
    """A graph made node by node: ``half = b.cast(x, "float16")``."""

    def __init__(self) -> None:
        self.graph = Graph("g", opsets={"": 25}, ir_version=10)

    def input(self, name: str, dtype: str, *shape: int | Dim) -> Value:
        value = Value(name, TensorType(BY_NAME[dtype], shape))
        self.graph.inputs.append(value)
        return value

    def initializer(self, name: str, array: np.ndarray) -> Value:
        value = Value(name, TensorType(find(array.dtype), array.shape))
        self.graph.initializers[value] = array
        return value

    def node(self, op: str, *inputs: Value | None, outputs: int = 1, **attributes) -> Value:
        index = len(self.graph.nodes)
        made = [Value(f"v{index}" + "abc"[i] * (outputs > 1)) for i in range(outputs)]
        node = Node(op, "", 25, list(inputs), list(made), attributes, index=index, version=25)
        for value in made:
            value.producer = node
        self.graph.nodes.append(node)
        return made[0]

    def cast(self, value: Value, to: str) -> Value:
        return self.node("Cast", value, to=BY_NAME[to].code, saturate=1, round_mode="up")

    def same(self, value: Value) -> Value:
        return self.node("Identity", value)

    def like(self, value: Value, target: Value) -> Value:
        return self.node("CastLike", value, target, saturate=1, round_mode="up")

    def plan(self, *outputs: Value, **shapes: tuple[int, ...]) -> Plan:
        types = {
            v: TensorType(v.type.dtype, shapes.get(v.name, v.type.shape)) for v in self.graph.inputs
        }
        return make_plan(self.graph, types, outputs)


@pytest.fixture
def b() -> Build:
    return Build()


def ran(plan: Plan) -> list[int]:
    """The node of each step, -1 for a copy."""
    return [-1 if step.node is None else step.node.index for step in plan.steps]


# Which nodes run


def test_only_what_the_outputs_need_runs(b: Build) -> None:
    x = b.input("x", "float", 4)
    half, double = b.cast(x, "float16"), b.cast(x, "double")
    b.cast(double, "int8")
    assert ran(b.plan(half)) == [0]
    assert ran(b.plan(double)) == [1]
    assert ran(b.plan(double, half)) == [0, 1]


def test_what_is_not_needed_is_not_typed(b: Build) -> None:
    x = b.input("x", "float", 4)
    b.cast(x, "complex64")
    assert ran(b.plan(b.cast(x, "float16"))) == [1]


def test_an_inner_value_ends_the_plan(b: Build) -> None:
    x = b.input("x", "float", 4)
    half = b.cast(x, "float16")
    byte = b.cast(half, "int8")
    b.cast(byte, "float")
    assert ran(b.plan(byte)) == [0, 1]


def test_the_maker_of_a_type_is_not_run(b: Build) -> None:
    x = b.input("x", "float", 4)
    target = b.cast(b.cast(x, "double"), "float16")
    y = b.like(x, target)
    plan = b.plan(y)
    assert ran(plan) == [2]
    assert plan.results == (TensorType(HALF, (4,)),)
    assert plan.steps[0].operands == (TensorType(FLOAT, (4,)), TensorType(HALF, (4,)))
    assert ran(b.plan(y, target)) == [0, 1, 2]


def test_constants_are_no_steps(b: Build) -> None:
    contents = np.arange(3, dtype="f4")
    constant = b.node("Constant", value=TensorType(FLOAT, (3,), contents), **NO_CONSTANT)
    w = b.initializer("w", np.ones(2, "f4"))
    plan = b.plan(b.cast(constant, "float16"), constant, w)
    assert ran(plan) == [-1, -1, -1]
    assert [type(s) for s in plan.buffers] == [Constant, Constant, Constant]
    assert plan.arena_bytes == 0
    assert not plan.needs_memory


NO_CONSTANT = dict.fromkeys(
    f"value_{n}" for n in ("float", "floats", "int", "ints", "string", "strings")
) | {"sparse_value": None}


def test_an_input_that_is_not_fed_keeps_its_initializer(b: Build) -> None:
    w = b.input("w", "float", 2)
    b.graph.initializers[w] = np.array([1, 2], "f4")
    y = b.cast(w, "float16")
    default = make_plan(b.graph, {}, [w, y])
    assert default.inputs == ()
    assert [
        s.buffer.view(t.dtype.public).tolist()
        for s, t in zip(default.buffers, default.results, strict=True)
    ] == [
        [1, 2],
        [1, 2],
    ]
    fed = make_plan(b.graph, {w: TensorType(FLOAT, (5,))}, [y])
    assert fed.inputs == (TensorType(FLOAT, (5,)),)
    assert fed.results == (TensorType(HALF, (5,)),)
    assert fed.buffers == ()


def test_symbols_become_the_sizes_of_the_inputs(b: Build) -> None:
    x = b.input("x", "float", Dim("N"), 3)
    y = b.cast(x, "float16")
    assert b.plan(y, x=(7, 3)).results == (TensorType(HALF, (7, 3)),)
    assert b.plan(y, x=(0, 3)).results == (TensorType(HALF, (0, 3)),)


# Where values lie: two inputs, then results, then buffers


def test_steps_between_inputs_and_results_need_no_buffer(b: Build) -> None:
    x = b.input("x", "float", 4)
    plan = b.plan(b.cast(x, "float16"))
    assert (plan.steps[0].reads, plan.steps[0].writes) == ((0,), (1,))
    assert plan.buffers == ()


def test_views_share_a_buffer(b: Build) -> None:
    x = b.input("x", "float", 4)
    half = b.same(b.same(b.cast(x, "float16")))
    y = b.cast(b.cast(half, "float16"), "float")
    plan = b.plan(y)
    assert ran(plan) == [0, 4]
    assert plan.steps[0].writes == plan.steps[1].reads == (2,)
    assert plan.buffers == (Region(0, 4, np.dtype("u2")),)


def test_a_result_is_written_where_it_is_made(b: Build) -> None:
    x = b.input("x", "float", 4)
    y = b.same(b.cast(x, "float16"))
    plan = b.plan(y, b.cast(y, "double"))
    assert [(s.reads, s.writes) for s in plan.steps] == [((0,), (1,)), ((1,), (2,))]


def test_what_several_results_show_is_copied(b: Build) -> None:
    x = b.input("x", "float", 4)
    half = b.cast(x, "float16")
    plan = b.plan(half, b.same(half), x, half, b.cast(x, "float"))
    assert ran(plan) == [0, -1, -1, -1, -1]
    assert [(s.reads, s.writes) for s in plan.steps[1:]] == [
        ((1,), (2,)),
        ((0,), (3,)),
        ((1,), (4,)),
        ((0,), (5,)),
    ]
    source, target = np.arange(4), np.zeros(4, int)
    plan.steps[1].run(source, target)
    assert target.tolist() == [0, 1, 2, 3]
    assert not np.shares_memory(source, target)


def test_a_chain_uses_two_regions(b: Build) -> None:
    value = b.input("x", "float", 1000)
    for index in range(10):
        value = b.cast(value, "float" if index % 2 else "double")
    plan = b.plan(b.cast(value, "float16"))
    assert plan.arena_bytes == 8000 + 64 * 63  # 4000 bytes are 63 cache lines
    assert len({r.offset for r in plan.buffers}) == 2


def test_values_that_are_alive_together_lie_apart(b: Build) -> None:
    x = b.input("x", "float", 100)
    first, second = b.cast(x, "float16"), b.cast(x, "double")
    third = b.cast(second, "int64")
    plan = b.plan(b.cast(first, "float"), b.cast(second, "float"), b.cast(third, "float"))
    spans = sorted((r.offset, r.offset + r.size * r.dtype.itemsize) for r in plan.buffers)
    assert len(spans) == 3
    assert spans[0][1] <= spans[1][0]
    assert spans[1][1] <= spans[2][0]
    assert all(r.offset % 64 == 0 for r in plan.buffers)


def test_a_view_keeps_its_root_alive(b: Build) -> None:
    x = b.input("x", "float", 100)
    half = b.cast(x, "float16")
    view = b.same(half)
    other = b.cast(half, "double")
    plan = b.plan(b.cast(other, "int8"), b.cast(view, "float"))
    half_region, other_region = plan.buffers
    assert half_region.offset + 200 <= other_region.offset


def test_strings_have_a_buffer_of_their_own(b: Build) -> None:
    x = b.input("x", "float", 4)
    plan = b.plan(b.cast(b.cast(x, "string"), "double"))
    assert plan.buffers == (Objects(4),)
    assert plan.arena_bytes == 0
    assert plan.needs_memory


def test_what_kernels_return_needs_no_memory() -> None:
    def plan(*buffers) -> Plan:
        return Plan((), (), buffers, (), 0)

    constant = Constant(np.zeros(1, "f4"))
    assert not plan(Returned(), constant).needs_memory
    assert plan(Returned(), Region(0, 1, np.dtype("f4"))).needs_memory
    assert plan(constant, Objects(1)).needs_memory


def test_zero_elements_take_no_memory(b: Build) -> None:
    x = b.input("x", "float", 0, 3)
    plan = b.plan(b.cast(b.cast(x, "float16"), "double"))
    assert plan.arena_bytes == 0
    assert plan.buffers == (Region(0, 0, np.dtype("u2")),)


# Operands and outputs that are not there


@pytest.fixture
def optional(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pick: optional operands, one of which is read for its type alone, and three outputs."""

    def pick(first, second=None, third=None, kind=None):
        return (first, first, first), lambda: lambda *arguments: None

    operator = registry.Operator("Pick", "", 1, pick, type_only=frozenset({"kind"}))
    real = registry.find

    def find_too(domain: str, name: str, opset: int) -> registry.Operator | None:
        return operator if name == "Pick" else real(domain, name, opset)

    def apply(node: Node, operands: tuple, body: object) -> tuple:
        return operator.function(*operands)

    monkeypatch.setattr("minirt.runtime.calls.registry.find", find_too)
    monkeypatch.setattr("minirt.runtime.calls.apply", apply)


def test_omitted_operands_and_outputs_are_nothing(b: Build, optional: None) -> None:
    x, y = b.input("x", "float", 4), b.input("y", "float", 4)
    out = b.node("Pick", x, None, y, y, outputs=2)
    b.graph.nodes[0].outputs[1] = None
    step = b.plan(out).steps[0]
    assert step.reads == (0, NOTHING, 1)
    assert step.writes == (2, NOTHING, NOTHING)


def test_trailing_operands_may_be_left_out(b: Build, optional: None) -> None:
    x, y = b.input("x", "float", 4), b.input("y", "float", 4)
    out = b.node("Pick", x)
    assert b.plan(out).steps[0].reads == (0, NOTHING, NOTHING)
    assert y not in b.graph.nodes[0].inputs


# What cannot be planned


def test_views_are_of_one_kind(b: Build) -> None:
    x = b.input("x", "float", 4)
    y = b.same(x)
    sequence = SequenceType(TensorType(FLOAT, (4,)))
    make_plan(b.graph, {x: sequence}, [y])
    for x_type, y_type in [
        (sequence, x.type),
        (x.type, sequence),
        (x.type, TensorType(FLOAT, (5,))),
    ]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("minirt.runtime.calls.apply", lambda *_, t=y_type: ((t,), Alias("input")))
            with pytest.raises(ValueError, match=r"without a copy$"):
                make_plan(b.graph, {x: x_type}, [y])


def test_errors_of_binding_name_the_node(b: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise UnsupportedError("no kernel for this")

    x = b.input("x", "float", 4)
    y = b.cast(x, "float16")
    monkeypatch.setattr(
        "minirt.runtime.calls.apply", lambda *_: ((TensorType(HALF, (4,)),), refuse)
    )
    with pytest.raises(UnsupportedError, match=r"^Cast \(node 0\): no kernel for this$"):
        b.plan(y)


def test_a_plan_is_not_to_be_changed(b: Build) -> None:
    plan = b.plan(b.cast(b.input("x", "float", 4), "float16"))
    with pytest.raises(AttributeError):
        plan.steps = ()  # type: ignore[misc]
    with pytest.raises(AttributeError):
        plan.steps[0].reads = ()  # type: ignore[misc]
