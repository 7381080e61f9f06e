"""What is known of the results of loops, sequences and optionals before a run."""

from __future__ import annotations

import pytest
from control_models import loop, untyped
from onnx import TypeProto, ValueInfoProto

import minirt
from minirt.dtypes import BY_NAME
from minirt.types import (
    Dim,
    MapType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
    Type,
    union,
)

FLOAT, INT64, TEXT = BY_NAME["float"], BY_NAME["int64"], BY_NAME["string"]
N, M = Dim("N"), Dim("M")


def inferred(inputs: str, body: str, outputs: str = "y", **more: str) -> list[str]:
    return [str(v.type) for v in minirt.infer(untyped(inputs, outputs, body, **more)).outputs]


# Carried values

GROW = "w = Concat<axis=0>(v, v)"


@pytest.mark.parametrize(
    ("carried", "body", "expected"),
    [
        ("float[N,2]", "w = Neg(v)", "float[N,2]"),
        ("float[2]", GROW, "float[?]"),
        ("float[2,3]", GROW, "float[?,3]"),
        ("float[N,3]", GROW, "float[?,3]"),
        ("float[2]", "w = Unsqueeze(v, zero)", "float[...]"),
        ("float[2,3]", "w = Transpose(v)", "float[?,?]"),
        ("float[3,3]", "w = Transpose(v)", "float[3,3]"),
        ("seq(float[2])", "w = SequenceInsert(v, three)", "seq(float[?])"),
        ("seq(float[3])", "w = SequenceInsert(v, three)", "seq(float[3])"),
        ("optional(float[2])", "w = Optional(three)", "optional(float[?])"),
    ],
)
def test_carried_values(carried, body, expected):
    """The type covers what the value is in any iteration, and before."""
    found = inferred(
        f"int64 n, {carried} x", loop("n, , x", "i, c, v", body, "c, w", "y"),
        initializers="int64[1] zero = {0}, float[3] three = {1, 2, 3}",
    )  # fmt: skip
    assert found == [expected]


def test_a_change_reaches_other_values_in_later_iterations():
    """Each value becomes the one before it: the last gets to know after three iterations."""
    body = loop(
        "n, , x, x, x, x", "i, c, a, b, d, e", "w = Concat<axis=0>(a, a)", "c, w, a, b, d",
        "p, q, r, s",
    )  # fmt: skip
    assert inferred("int64 n, float[2] x", body, "p q r s") == ["float[?]"] * 4


def test_sizes_of_different_iterations_are_not_taken_for_one():
    """What is scanned is what was carried an iteration before, and of another size."""
    body = loop("n, , x", "i, c, v", GROW, "c, w, v", "y, z")
    y, z = (v.type.shape for v in minirt.infer(untyped("int64 n, float[2] x", "y z", body)).outputs)
    assert y[0] != z[1]


@pytest.mark.parametrize(
    ("limit", "given", "condition", "state", "scanned"),
    [
        # A value that is surely replaced has the type of its replacement.
        ("n = {3}", "n, ", "c", "float[5]", "float[3,5]"),
        ("n = {3}", "n, t", "c", "float[5]", "float[?,5]"),
        ("n = {3}", "n, t", "t", "float[5]", "float[3,5]"),
        ("n = {3}", "n, t", "f", "float[5]", "float[?,5]"),
        ("n = {3}", "n, go", "t", "float[?]", "float[?,5]"),
        ("n = {3}", ", t", "t", "float[5]", "float[?,5]"),
        ("n = {3}", ", go", "t", "float[?]", "float[?,5]"),
        ("n = {3}", "k, t", "t", "float[?]", "float[?,5]"),
        ("n = {3}", "k, ", "c", "float[?]", "float[?,5]"),
        # One that surely stays has its own.
        ("n = {0}", "n, go", "c", "float[2]", "float[0,5]"),
        ("n = {-1}", "n, ", "c", "float[2]", "float[0,5]"),
        ("n = {3}", "k, f", "c", "float[2]", "float[0,5]"),
    ],
)
def test_numbers_of_iterations(limit, given, condition, state, scanned):
    body = loop(f"{given}, x", "i, c, v", "", f"{condition}, five, five", "y, z")
    found = inferred(
        "int64 k, bool go, float[2] x, float[5] five", body, "y z",
        initializers=f"int64 {limit}, bool t = {{1}}, bool f = {{0}}",
    )  # fmt: skip
    assert found == [state, scanned]


def test_contents_are_not_those_of_every_iteration():
    """The initial value is a constant, but not what the second iteration gets."""
    found = inferred(
        "float[2,3] x",
        loop("n, , shape", "i, c, v", "r = Reshape(x, v) w = Neg(v)", "c, w, r", "y, z"),
        "y z",
        initializers="int64 n = {2}, int64[1] shape = {6}",
    )
    assert found == ["int64[1]", "float[2,?]"]


# Sequences

MAP = "y = SequenceMap (s) <body: graph = b (float[K,2] t) => (int64[2] k) { k = Shape(t) }>"


def element(info: ValueInfoProto) -> TypeProto.Tensor:
    return info.type.sequence_type.elem_type.tensor_type


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = SequenceEmpty()", "seq(float[...])"),
        ("y = SequenceEmpty<dtype=7>()", "seq(int64[...])"),
        ("y = SequenceConstruct(a)", "seq(float[N,2])"),
        ("y = SequenceConstruct(a, a)", "seq(float[N,2])"),
        ("y = SequenceConstruct(a, b)", "seq(float[?,2])"),
        ("y = SequenceConstruct(a, d)", "seq(float[...])"),
        ("y = SequenceInsert(s, b)", "seq(float[3,2])"),
        ("z = SequenceEmpty() y = SequenceInsert(z, b)", "seq(float[3,2])"),
        (
            "z = SequenceEmpty() v = SequenceInsert(z, b) y = SequenceInsert(v, d)",
            "seq(float[...])",
        ),
        (MAP, "seq(int64[2])"),
        ("y = SequenceInsert(s, a)", "seq(float[?,2])"),
        ("y = SequenceErase(s)", "seq(float[3,2])"),
        ("y = SequenceAt(s, i)", "float[3,2]"),
        ("y = SequenceAt(u, i)", "float[...]"),
        ("y = SequenceLength(u)", "int64[]"),
        ("y = ConcatFromSequence<axis=0>(s)", "float[?,2]"),
        ("y = ConcatFromSequence<axis=-1>(s)", "float[3,?]"),
        ("y = ConcatFromSequence<axis=0, new_axis=1>(s)", "float[?,3,2]"),
        ("y = ConcatFromSequence<axis=-1, new_axis=1>(s)", "float[3,2,?]"),
        ("y = ConcatFromSequence<axis=0>(u)", "float[...]"),
        ("y = SplitToSequence(b)", "seq(float[1,2])"),
        ("y = SplitToSequence<axis=1>(a)", "seq(float[N,1])"),
        ("y = SplitToSequence<axis=1, keepdims=0>(a)", "seq(float[N])"),
        ("y = SplitToSequence(b, i)", "seq(float[?,2])"),
        ("y = SplitToSequence(b, three)", "seq(float[3,2])"),
        ("y = SplitToSequence<keepdims=0>(b, one)", "seq(float[1,2])"),
        ("y = SplitToSequence(b, two)", "seq(float[?,2])"),
        ("y = SplitToSequence(a, two)", "seq(float[?,2])"),
        ("y = SplitToSequence<axis=1>(a, two)", "seq(float[N,2])"),
        ("y = SplitToSequence<axis=1>(a, ones)", "seq(float[N,1])"),
        ("y = SplitToSequence(e, i)", "seq(float[...])"),
        ("y = Optional(a)", "optional(float[N,2])"),
        ("y = Optional(s)", "optional(seq(float[3,2]))"),
        ("y = Optional<type: type_proto = float[2,?]>()", "optional(float[2,?])"),
        ("y = Optional<type: type_proto = float[?,2]>(a)", "optional(float[N,2])"),
        ("y = OptionalGetElement(p)", "float[4]"),
        ("y = OptionalGetElement(a)", "float[N,2]"),
        ("y = OptionalGetElement(s)", "seq(float[3,2])"),
        ("y = OptionalHasElement(p)", "bool[]"),
    ],
)
def test_sequences_and_optionals(body, expected):
    proto = untyped(
        "float[N,2] a, float[3,2] b, float[M] d, float e, int64 i, seq(float[3,2]) s, "
        "seq(float) u, optional(float[4]) p", "y", body,
        initializers="int64 one = {1}, int64 two = {2}, int64 three = {3}, int64[2] ones = {1, 1}",
    )  # fmt: skip
    for each in proto.graph.input:
        if each.name in ("e", "u"):  # of unknown rank, which the text form cannot say
            tensor = each.type.tensor_type if each.name == "e" else element(each)
            tensor.ClearField("shape")
    assert str(minirt.infer(proto).outputs[0].type) == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = SequenceAt(s, two)", "position is int64[2], but must be a single value"),
        ("y = SequenceErase(s, two)", "position is int64[2], but must be a single value"),
        ("y = SequenceInsert(s, a, two)", "position is int64[2], but must be a single value"),
        ("y = SplitToSequence(a, two)", "split is [1, 1], but should be sizes that add up to 3"),
        ("y = SplitToSequence(a, zero)", "split is 0, but should be positive"),
    ],
)
def test_what_is_surely_wrong_is_refused_when_it_is_loaded(body, message):
    with pytest.raises(minirt.ShapeError) as error:
        minirt.load(
            untyped("seq(float[3]) s, float[3] a", "y", body,
                    initializers="int64[2] two = {1, 1}, int64 zero = {0}")
        )  # fmt: skip
    assert message in str(error.value)


def test_a_sequence_that_begins_empty():
    """Its elements have the shape of those that are put into it."""
    body = "e = SequenceEmpty() " + loop(
        "n, , e", "i, c, s", "q = SequenceInsert(s, x)", "c, q", "y"
    )
    assert inferred("int64 n, float[N,2] x", body) == ["seq(float[N,2])"]


# Types of one value or another

A, B = TensorType(FLOAT, (2, N)), TensorType(FLOAT, (2, M))
NO_FLOATS = SequenceType(TensorType(FLOAT), empty=True)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (A, A, "float[2,N]"),
        (A, B, "float[2,?]"),
        (A, TensorType(FLOAT, (2, 3)), "float[2,?]"),
        (A, TensorType(FLOAT, (2,)), "float[...]"),
        (A, TensorType(FLOAT), "float[...]"),
        (TensorType(FLOAT), A, "float[...]"),
        (A, TensorType(INT64, (2, N)), "None"),
        (SparseTensorType(FLOAT, (2,)), SparseTensorType(FLOAT, (3,)), "sparse(float[?])"),
        (SparseTensorType(FLOAT, (2,)), TensorType(FLOAT, (2,)), "None"),
        (TensorType(FLOAT, (2,)), SequenceType(TensorType(FLOAT, (2,))), "None"),
        (SequenceType(A), SequenceType(B), "seq(float[2,?])"),
        (SequenceType(A), SequenceType(), "seq(?)"),
        (NO_FLOATS, SequenceType(A), "seq(float[2,N])"),
        (SequenceType(A), NO_FLOATS, "seq(float[2,N])"),
        (NO_FLOATS, NO_FLOATS, "seq(float[...])"),
        (NO_FLOATS, SequenceType(TensorType(INT64)), "None"),
        (SequenceType(), SequenceType(A), "seq(?)"),
        (SequenceType(A), OptionalType(A), "None"),
        (SequenceType(A), A, "None"),
        (OptionalType(SequenceType(A)), OptionalType(SequenceType(B)), "optional(seq(float[2,?]))"),
        (MapType(INT64, A), MapType(INT64, B), "map(int64,float[2,?])"),
        (MapType(INT64, A), MapType(TEXT, A), "None"),
    ],
)
def test_union(first: Type, second: Type, expected: str) -> None:
    assert str(union(first, second)) == expected


def test_a_union_makes_dimensions_that_are_equal_to_nothing():
    """Not to those of one of the two: the value may be the other."""
    unknown = TensorType(FLOAT, (Dim(),))
    made = union(unknown, TensorType(FLOAT, (3,)))
    assert isinstance(made, TensorType) and made.shape
    assert made.shape[0] != unknown.shape[0]


def test_unions_come_to_rest():
    made: set[Dim] = set()
    type_: Type | None = TensorType(FLOAT, (1, 2, N))
    seen = []
    for size in range(2, 5):
        assert type_
        type_ = union(type_, TensorType(FLOAT, (size, 2, size)), made)
        seen.append(type_)
    assert seen[0] == seen[1] == seen[2]
    assert len(made) == 2
