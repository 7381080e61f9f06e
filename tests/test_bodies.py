"""Subgraphs as operators see them: the types of what they make."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from operators import temporary  # noqa: F401
from protos import graph, model, node, untyped, value

import minirt
from minirt.errors import SchemaError, ShapeError, UnsupportedError
from minirt.graph import Graph
from minirt.model import typed
from minirt.model.load import load_graph, read_graph
from minirt.ops.registry import op
from minirt.passes.check import check
from minirt.passes.expand import expand
from minirt.types import Dim, TensorType

pytestmark = pytest.mark.usefixtures("temporary")

FLOAT, INT64, BOOL, HALF = (
    getattr(TensorProto, name) for name in ("FLOAT", "INT64", "BOOL", "FLOAT16")
)
CONDITION = value("c", BOOL, [])
OPSETS = {"": 25, "v": 1}


def common(a: TensorType, b: TensorType) -> TensorType:
    """The type of a value that has one of two."""
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return TensorType(a.dtype)
    return a.with_shape(*(x if x == y else Dim() for x, y in zip(a.shape, b.shape, strict=True)))


def register_repeat(asked: list[str] | None = None) -> None:
    """``v.Repeat(state)`` runs its body on what that made; the body's types are asked for twice."""

    @op("Repeat", domain="v")
    def apply(state, *, body):
        for _ in range(2):
            if asked is not None:
                asked.append(str(state))
            state = common(state, *body.types(state))
        return state, None


def register_grow() -> None:
    @op("Grow", domain="v")
    def apply(x):
        return x.with_shape(*(d + 1 if isinstance(d, int) else d for d in x.shape)), None


def branch(nodes, outputs, inputs=(), **more):
    return graph(list(nodes), list(inputs), list(outputs), **more)


def conditional(then, otherwise, output="y", name=""):
    return node("If", "c", output, name, then_branch=then, else_branch=otherwise)


def repeat(body, operand="x", output="y", name=""):
    return node("Repeat", operand, output, name, domain="v", body=body)


def infer(*nodes, inputs=(CONDITION, "x"), outputs=("y",), read=minirt.infer, **more):
    return read(model(list(nodes), list(inputs), list(outputs), opsets=OPSETS, **more))


def types(inferred: Graph) -> dict[str, str]:
    return {v.name: str(v.type) for g in inferred.graphs() for v in g.values()}


X = value("x", FLOAT, ["N", 3])


def test_a_branch_knows_the_values_around_it():
    cast = branch([node("Cast", "x", "t", to=HALF)], ["t"])
    same = branch([node("Cast", "x", "e", to=HALF)], ["e"])
    found = types(infer(conditional(cast, same), inputs=[CONDITION, X]))
    assert found["y"] == found["t"] == found["e"] == "float16[N,3]"


def test_branches_that_differ():
    loaded = infer(
        conditional(branch([], ["a"]), branch([], ["b"])),
        inputs=[CONDITION, value("a", FLOAT, ["N", 2]), value("b", FLOAT, ["N", 3])],
    )
    assert types(loaded)["y"] == "float[N,?]"


def test_outputs_may_be_outer_values_inputs_and_initializers():

    @op("Pass", domain="v")
    def apply(x, *, body):
        return body.types(x), None

    weight = helper.make_tensor("w", INT64, [2], [1, 2])
    body = branch([], ["i", "x", "w"], [untyped("i")], initializer=[weight])
    loaded = infer(
        node("Pass", "x", "a b d", domain="v", body=body), inputs=[X], outputs=["a", "b", "d"]
    )
    assert [str(v.type) for v in loaded.outputs] == ["float[N,3]", "float[N,3]", "int64[2]"]


def test_inputs_get_the_types_that_the_operator_gives():
    asked: list[str] = []
    register_repeat(asked)
    body = branch([node("Identity", "i", "o")], ["o"], [untyped("i")])
    found = types(infer(repeat(body), inputs=[X]))
    assert (found["i"], found["o"], found["y"]) == ("float[N,3]",) * 3
    assert asked == ["float[N,3]"] * 2


def test_the_last_types_that_were_asked_for_are_those_of_the_subgraph():
    asked: list[str] = []
    register_repeat(asked)
    register_grow()
    body = branch([node("Grow", "i", "o", domain="v")], ["o"], [untyped("i")])
    found = types(infer(repeat(body), inputs=[value("x", FLOAT, [2])]))
    assert asked == ["float[2]", "float[?]"]
    assert (found["i"], found["o"], found["y"]) == ("float[?]",) * 3


def test_what_the_file_declares_of_inputs_completes_what_is_given():
    register_repeat()
    body = branch([node("Identity", "i", "o")], ["o"], [value("i", FLOAT, [None, 3])])
    found = types(infer(repeat(body), inputs=[value("x", FLOAT, ["N", None])]))
    assert (found["i"], found["o"]) == ("float[N,3]", "float[N,3]")


@pytest.mark.parametrize(
    ("declared", "error", "text"),
    [
        (value("i", FLOAT, ["N", 4]), ShapeError, "float[N,4], but is float[N,3]"),
        (value("i", INT64, ["N", 3]), SchemaError, "int64[N,3], but is float[N,3]"),
    ],
)
def test_inputs_that_are_declared_otherwise(declared, error, text):
    register_repeat()
    body = branch([node("Identity", "i", "o")], ["o"], [declared])
    with pytest.raises(error) as caught:
        infer(repeat(body, name="r"), inputs=[X])
    assert str(caught.value) == (
        f"v.Repeat 'r' (node 0): input 'i' of subgraph 'main' is declared {text}"
    )


def test_a_subgraph_of_another_number_of_inputs():
    register_repeat()
    body = branch([], ["x"])
    with pytest.raises(SchemaError) as caught:
        infer(repeat(body, name="r"), inputs=[X])
    assert str(caught.value) == "v.Repeat 'r' (node 0): subgraph 'main' has 0 inputs, not 1"


def test_an_input_that_is_left_as_declared():
    @op("Call", domain="v")
    def apply(*, body):
        return body.types(None), None

    body = branch([node("Identity", "i", "o")], ["o"], [value("i", FLOAT, [2])])
    loaded = infer(node("Call", "", "y", domain="v", body=body), inputs=[])
    assert types(loaded)["y"] == "float[2]"


def test_contents_are_not_those_of_every_time():
    contents = []

    @op("Look", domain="v")
    def look(x):
        contents.append(x.value is not None)
        return x, None

    register_repeat()
    body = branch([node("Look", "i", "o", domain="v")], ["o"], [untyped("i")])
    weight = helper.make_tensor("w", FLOAT, [1], [1.0])
    infer(repeat(body, operand="w"), inputs=[], initializer=[weight])
    assert contents == [False]
    # But a value from around is.
    body = branch([node("Look", "w", "o", domain="v")], ["o"], [untyped("i")])
    infer(repeat(body, operand="w"), inputs=[], initializer=[weight])
    assert contents == [False, True]


def test_lists_of_subgraphs():
    @op("Choose", domain="v")
    def apply(c, *, bodies):
        return tuple(body.types()[0] for body in bodies), None

    bodies = [branch([node("Cast", "x", "t", to=to)], ["t"]) for to in (HALF, INT64)]
    each = node("Choose", "c", "a b", domain="v")
    each.attribute.append(helper.make_attribute("bodies", bodies))
    loaded = infer(each, inputs=[CONDITION, X], outputs=["a", "b"])
    assert [str(v.type) for v in loaded.outputs] == ["float16[N,3]", "int64[N,3]"]


def test_plans_know_what_subgraphs_capture():
    """Of its type and contents; what computes it is part of the plan."""

    @op("Like", domain="v")
    def apply(x, *, body):
        made = body.types()[0]

        def run(source, target, outer):
            assert [array.shape for array in outer] == [(3,)]
            target[:] = source.astype(target.dtype) * made.shape[0]

        return TensorType(made.dtype, x.shape), lambda: run

    session = infer(
        node("Cast", "w", "h", to=TensorProto.DOUBLE),
        node("Like", "x", "y", domain="v", body=branch([node("Identity", "h", "t")], ["t"])),
        inputs=["x", value("w", FLOAT, ["M"])],
        read=minirt.load,
    )
    result = session.run({"x": np.float32([1, 2]), "w": np.zeros(3, np.float32)})["y"]
    assert (result.dtype, result.tolist()) == (np.float64, [3, 6])


# Where not all is known


def test_a_branch_of_an_operator_that_is_not_there():
    """Then the file's types are taken; elsewhere inference goes on."""
    unknown = branch([node("Frob", "x", "t", domain="v")], ["t"])
    known = branch([node("Cast", "x", "e", to=HALF)], ["e"])
    each = conditional(unknown, known, "a")
    for declared, expected in (([value("a", HALF, [2])], "float16[2]"), ([], "None")):
        found = types(infer(each, inputs=[CONDITION, X], outputs=["a"], value_info=declared))
        assert (found["a"], found["t"], found["e"]) == (expected, "None", "float16[N,3]")


def test_errors_are_not_taken_for_ignorance():

    @op("Refuse", domain="v")
    def apply(x):
        raise UnsupportedError("refused")

    refusing = branch([node("Refuse", "x", "t", "r", domain="v")], ["t"])
    with pytest.raises(UnsupportedError) as caught:
        infer(conditional(refusing, refusing, name="i"), inputs=[CONDITION, X])
    assert str(caught.value).startswith("If 'i' (node 0) > ")
    assert str(caught.value).endswith("_branch > v.Refuse 'r' (node 0): refused")


def test_subgraphs_that_an_operator_does_not_ask_about_are_typed_too():
    op("Ignore", domain="v")(lambda x, *, body: (x, None))
    body = branch([node("Cast", "i", "o", to=HALF)], ["o"], [value("i", FLOAT, [2])])
    found = types(infer(node("Ignore", "x", "y", domain="v", body=body), inputs=[X]))
    assert found["o"] == "float16[2]"


# Expansion


def test_bodies_of_functions_get_the_types_that_operators_give():
    """Here and at a depth: the file declares no types in subgraphs."""
    register_repeat()
    loss = node("CastLike", "i h", "o")
    inner = branch([loss], ["o"], [untyped("i")])
    outer = branch([repeat(inner, "j", "p")], ["p"], [untyped("j")])
    loaded = infer(
        node("Cast", "x", "h", to=HALF),
        repeat(outer),
        inputs=[value("x", HALF, ["N"])],
        read=lambda m: load_graph(m, always_expand=True),
    )
    innermost = list(loaded.graphs())[-1]
    assert [n.op_type for n in innermost.nodes] == ["Cast"]
    assert [str(n.attributes["to"]) for n in innermost.nodes] == [str(HALF)]
    assert innermost.captures == []


def test_a_loop_that_a_function_makes_knows_what_its_subgraph_captures():
    """That of SequenceMap: what is in its subgraph depends on a value that no one gives it."""
    loss = branch(
        [node("NegativeLogLikelihoodLoss", "e i", "d")], [value("d", FLOAT)], [untyped("e")]
    )
    loaded = read_graph(
        model(
            [node("SequenceMap", "s", "y", body=loss)],
            [
                helper.make_tensor_sequence_value_info("s", FLOAT, None),
                value("i", INT64, ["N"]),
            ],
            ["y"],
            opsets=OPSETS,
        )
    )
    check(loaded)
    expand(loaded)
    (body,) = (inner for _, _, inner in loaded.subgraphs())
    assert "GatherElements" in {n.op_type for n in body.nodes}
    assert set(body.captures) == set(loaded.inputs)


# Depth and cost


def nested(depth: int, inputs: bool, leaf=()):
    """Subgraphs ``depth`` deep: of If, or of Repeat if they are to have inputs."""
    proto = model([], [CONDITION, value("x", FLOAT, [2])], ["y0"], opsets=OPSETS)
    inner, operand = proto.graph, "x"
    for level in range(depth):
        output = [f"y{level}"]
        if inputs:
            each = inner.node.add(op_type="Repeat", domain="v", input=[operand], output=output)
            attributes = [each.attribute.add(name="body", type=5)]
            operand = f"i{level}"
            attributes[0].g.input.add(name=operand)
        else:
            each = inner.node.add(op_type="If", input=["c"], output=output)
            attributes = [each.attribute.add(name=f"{n}_branch", type=5) for n in ("else", "then")]
            attributes[0].g.output.add(name="x")
        inner = attributes[-1].g
        inner.output.add(name=f"y{level + 1}")
    inner.node.add(op_type="Grow", domain="v", input=[operand], output=[f"y{depth}"])
    return proto


def test_branches_may_nest_to_any_depth():
    register_grow()
    inferred = minirt.infer(nested(1500, inputs=False))
    assert str(inferred.outputs[0].type) == "float[?]"


def test_subgraphs_with_inputs_nest_as_deep_as_files_do():
    register_repeat()
    register_grow()
    deepest = typed._DEEPEST
    assert str(minirt.infer(nested(deepest, inputs=True)).outputs[0].type) == "float[?]"
    with pytest.raises(UnsupportedError) as caught:
        minirt.infer(nested(deepest + 1, inputs=True))
    assert str(caught.value).endswith(f": subgraphs with inputs nest more than {deepest} deep")


def test_asking_for_types_has_bounds(monkeypatch):
    """Each level may ask about the next several times, so that levels multiply."""
    count = iter(range(10**9))

    @op("Repeat", domain="v")
    def apply(state, *, body):
        for _ in range(2):
            body.types(state.with_shape(next(count)))
        return state, None

    register_grow()
    monkeypatch.setattr(typed, "_MOST_RETYPED", 1000)
    assert minirt.infer(nested(7, inputs=True))
    with pytest.raises(UnsupportedError) as caught:
        minirt.infer(nested(30, inputs=True))
    assert "the types of subgraphs take more than 1000 steps to find" in str(caught.value)


def test_a_subgraph_is_typed_once_for_the_same_inputs():
    seen = []

    @op("Look", domain="v")
    def look(x):
        seen.append(str(x))
        return x, None

    register_repeat()
    inner = branch([node("Look", "i", "o", domain="v")], ["o"], [untyped("i")])
    for body in (
        inner,
        branch(
            [
                conditional(
                    branch([node("Look", "i", "t", domain="v")], ["t"]), branch([], ["i"]), "o"
                )
            ],
            ["o"],
            [untyped("i")],
        ),
    ):
        seen.clear()
        infer(repeat(body), inputs=[CONDITION, value("x", FLOAT, [2])])
        assert seen == ["float[2]"]
