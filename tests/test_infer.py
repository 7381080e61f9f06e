"""Types of every value: inferred, declared, given, and contradicted."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from protos import graph, model, node, value

import minirt
from minirt.errors import InputError, SchemaError, ShapeError
from minirt.model.infer import infer_types
from minirt.model.load import load_graph
from minirt.types import Dim, TensorType

F, F16, D, BOOL = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BOOL


def types(proto, shapes=None) -> dict[str, str]:
    """The text of the type of every value, by name."""
    return {v.name: str(v.type) for v in minirt.infer(proto, shapes).values()}


def test_types_follow_the_nodes():
    proto = model(
        [
            node("Cast", "a", "b", to=F16),
            node("Identity", "x", "a"),
            node("CastLike", "b k", "y"),
            node("Constant", "", "k", value_ints=[1, 2]),
        ],
        [value("x", F, ["N", None, 3])],
        ["y"],
    )
    assert types(proto) == {
        "x": "float[N,?,3]",
        "a": "float[N,?,3]",
        "k": "int64[2]",
        "b": "float16[N,?,3]",
        "y": "int64[N,?,3]",
    }


@pytest.mark.parametrize("shape", [None, [], [0], ["N", "N"]])
def test_shapes_go_through(shape):
    expected = types(model([], [value("x", F, shape)], []))["x"].replace("float", "double")
    proto = model([node("Cast", "x", "y", to=D)], [value("x", F, shape)], ["y"])
    assert types(proto)["y"] == expected


def test_constants_carry_their_contents():
    graph = load_graph(
        model(
            [node("Identity", "w", "a"), node("Identity", "d", "b"), node("Cast", "a", "c", to=D)],
            [value("d", F, ["N"])],
            [],
            initializer=[helper.make_tensor(n, F, [2], [1.0, 2.0]) for n in "wd"],
        )
    )
    found = {v.name: t for v, t in infer_types(graph).items()}
    assert found["w"].value is found["a"].value and found["a"].value.tolist() == [1.0, 2.0]
    assert found["c"].value.tolist() == [1.0, 2.0]
    # The default of an input may be overridden.
    assert found["b"].value is None
    assert (str(found["b"]), str(found["c"])) == ("float[N]", "double[2]")


def test_given_types_come_before_declared_ones():
    graph = load_graph(model([node("Cast", "x", "y", to=D)], [value("x", F, ["N", 3])], ["y"]))
    given = {graph.inputs[0]: TensorType(graph.inputs[0].type.dtype, (7, 3), np.ones((7, 3), "f4"))}
    found = infer_types(graph, given)
    assert str(found[graph.outputs[0]]) == "double[7,3]"
    assert str(graph.inputs[0].type) == "float[N,3]" and graph.outputs[0].type is None


def test_before_ir_4_every_initializer_was_an_input():
    def constant_of(ir_version):
        proto = model(
            [node("Identity", "w", "y")],
            [value("w", F, ["N"])],
            ["y"],
            initializer=[helper.make_tensor("w", F, [2], [1.0, 2.0])],
            ir_version=ir_version,
        )
        return types(proto)["y"]

    assert (constant_of(3), constant_of(4)) == ("float[2]", "float[N]")


# What the file declares


@pytest.mark.parametrize(
    ("inferred", "declared", "kept"),
    [
        ([None], ["NZ"], "[NZ]"),
        ([None], [5], "[5]"),
        (["N"], [5], "[5]"),
        (["N"], ["M"], "[N]"),
        ([5], ["M"], "[5]"),
        (["N"], None, "[N]"),
        (None, ["N", 2], "[N,2]"),
        ([None, 3], ["N", None], "[N,3]"),
    ],
)
def test_declarations_fill_what_inference_leaves_open(inferred, declared, kept):
    proto = model(
        [node("Identity", "x", "y"), node("Cast", "y", "z", to=D)],
        [value("x", F, inferred)],
        ["z"],
        value_info=[value("y", F, declared)],
    )
    found = types(proto)
    assert (found["y"], found["z"]) == (f"float{kept}", f"double{kept}")


@pytest.mark.parametrize(
    ("declared", "error", "message"),
    [
        (value("y", D, [250]), ShapeError, "declared double[250], but is double[200]"),
        (value("y", D, [200, 1]), ShapeError, "declared double[200,1], but is double[200]"),
        (value("y", D, []), ShapeError, "declared double[], but is double[200]"),
        (value("y", F, [200]), SchemaError, "declared float[200], but is double[200]"),
        (
            helper.make_tensor_sequence_value_info("y", D, None),
            SchemaError,
            "declared seq(double[...]), but is double[200]",
        ),
    ],
)
def test_declarations_that_contradict_are_errors(declared, error, message):
    proto = model([node("Cast", "x", "y", "widen", to=D)], [value("x", F, [200])], [declared])
    for load in (minirt.infer, lambda p: infer_types(load_graph(p))):
        with pytest.raises(error) as caught:
            load(proto)
        assert str(caught.value) == f"Cast 'widen' (node 0): output 'y' is {message}"


def test_containers_are_completed_as_well():
    sequence = helper.make_tensor_sequence_value_info
    proto = model(
        [node("Identity", "s", "t")], [sequence("s", F, [None, 3])], [sequence("t", F, ["N", None])]
    )
    assert types(proto)["t"] == "seq(float[N,3])"


def test_a_negative_dimension_is_unknown_and_zero_is_empty(caplog):
    proto = model([node("Identity", "x", "y")], [value("x", F, [-1, 0])], ["y"])
    assert types(proto)["y"] == "float[?,0]"
    assert "dimension 0 is -1" in caplog.text


# Operators that minirt does not have


def test_without_an_operator_the_declarations_are_what_is_known():
    proto = model(
        [
            node("Frob", "x", "a b", domain="vendor"),
            node("Cast", "a", "y", to=F16),
            node("Cast", "b", "z", to=F16),
        ],
        ["x"],
        ["y", "z"],
        value_info=[value("a", F, ["M"])],
        opsets={"": 21, "vendor": 1},
    )
    assert types(proto) == {
        "x": "float[...]",
        "a": "float[M]",
        "b": "None",
        "y": "float16[M]",
        "z": "None",
    }


def test_nodes_of_subgraphs_know_the_types_around_them():
    body = graph(
        [node("Cast", "h", "t", to=F16), node("Identity", "w", "u")],
        [],
        ["t", "u"],
        initializer=[helper.make_tensor("w", F, [1], [1.0])],
    )
    proto = model(
        [node("Cast", "x", "h", to=D), node("If", "c", "y z", then_branch=body, else_branch=body)],
        [value("x", F, ["N"]), value("c", BOOL, [])],
        ["y"],
    )
    inferred = minirt.infer(proto)
    for _, _, inner in inferred.subgraphs():
        assert [str(v.type) for v in inner.outputs] == ["float16[N]", "float[1]"]


# Shapes that the caller gives


SHAPED = model(
    [node("Cast", "x", "y", to=D)],
    [value("x", F, ["N", None, 3]), value("w", F, ["N", "C"]), value("u", F)],
    [value("y", D, ["N", "K", 3])],
)


def test_no_shapes_change_nothing():
    assert types(SHAPED, {}) == types(SHAPED)


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ({"x": (2, 5, 3)}, {"x": "float[2,5,3]", "w": "float[2,C]", "y": "double[2,5,3]"}),
        ({"x": [None, 5, None]}, {"x": "float[N,5,3]", "y": "double[N,5,3]"}),
        ({"x": ["B", 5, 3]}, {"x": "float[B,5,3]", "w": "float[N,C]", "y": "double[B,5,3]"}),
        ({"u": [4, 0]}, {"u": "float[4,0]"}),
        ({"u": ()}, {"u": "float[]"}),
        ({"w": list(np.array([6, 7]))}, {"x": "float[6,?,3]", "w": "float[6,7]"}),
    ],
)
def test_shapes_that_are_given_hold_wherever_their_names_are(shapes, expected):
    found = types(SHAPED, shapes)
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"xx": [1]}, "shapes: the model has no input 'xx'; did you mean 'x'?"),
        ({"y": [1]}, "shapes: the model has no input 'y'"),
        ({"x": [2, 3]}, "shapes: input 'x' is float[N,?,3], not float[2,3]"),
        ({"x": [2, 3, 4]}, "shapes: input 'x' is float[N,?,3], not float[2,3,4]"),
        (
            {"x": [2, 3, 3], "w": [4, 1]},
            "shapes: N is 2 in input 'x', but 4 in 'w'",
        ),
        (
            {"u": [-1]},
            "shapes: input 'u' has dimension -1; one is a number from 0, a name or None",
        ),
        (
            {"u": [1.0]},
            "shapes: input 'u' has dimension 1.0; one is a number from 0, a name or None",
        ),
        (
            {"u": [True]},
            "shapes: input 'u' has dimension True; one is a number from 0, a name or None",
        ),
        ({"u": "N"}, "shapes: input 'u' has 'N', which is no list of dimensions"),
        ({"u": 3}, "shapes: input 'u' has 3, which is no list of dimensions"),
    ],
)
def test_faults_of_shapes(shapes, message):
    with pytest.raises(InputError) as error:
        minirt.infer(SHAPED, shapes)
    assert str(error.value) == message


def test_only_tensors_have_shapes():
    proto = model([], [helper.make_tensor_sequence_value_info("s", F, None)], [])
    with pytest.raises(
        InputError, match=r"^shapes: input 's' is seq\(float\[...\]\), which has no"
    ):
        minirt.infer(proto, {"s": [1]})


def test_names_stay_apart_from_unknown_dimensions():
    inferred = minirt.infer(
        model([node("Identity", "x", "y")], [value("x", F, ["N", None, None])], ["y"])
    )
    (x,), (y,) = inferred.inputs, inferred.outputs
    assert x.type.shape == y.type.shape  # unknown dimensions are equal to themselves
    assert x.type.shape[0] == Dim("N") and x.type.shape[1] != x.type.shape[2]
