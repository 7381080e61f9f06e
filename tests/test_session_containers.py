"""Sequences, optionals, maps and sparse tensors through a run: what is taken, and what comes out.

ONNX lets Identity take sequences and optionals; a graph may hand any input to an output.
"""

import gc
import weakref
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
import protos
import pytest
from onnx import TypeProto, helper
from operators import temporary  # noqa: F401

import minirt
from minirt.data.sparse import SparseTensor
from minirt.dtypes import BY_NAME
from minirt.ops.registry import op
from minirt.types import OptionalType, SequenceType, TensorType
from models import session

A, B = np.array([1.5, -2.0], "f4"), np.array([[3.0], [4.0]], "f4")
BF16 = np.array([1.5, -2.0], ml_dtypes.bfloat16)
TEXT = np.array(["a", "b"], object)
SPARSE = SparseTensor(A, np.array([[0, 1], [1, 2]]), (2, 3))


def plain(value: Any) -> Any:
    """A value as nested lists, dicts and tuples that compare with ==."""
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict | MappingProxyType):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, SparseTensor):
        return "sparse", plain(value.values), value.indices.tolist(), value.shape
    return None if value is None else (value.dtype.name, value.shape, value.tolist())


def arrays(value: Any) -> list[np.ndarray]:
    """The arrays in a value."""
    if isinstance(value, SparseTensor):
        return [value.values, value.indices]
    if isinstance(value, list | tuple):
        return [a for item in value for a in arrays(item)]
    if isinstance(value, dict | MappingProxyType):
        return [a for item in value.values() for a in arrays(item)]
    return [] if value is None else [value]


VALUES = [
    ("seq(float[])", [A, B, np.float32(7)[...]]),
    ("seq(float[])", []),
    ("seq(float[])", (A, B)),
    ("seq(float[N])", [A, A[:1], A[:0]]),
    ("seq(bfloat16[])", [BF16, BF16[::-1]]),
    ("seq(int4[])", [np.array([-8, 7, -1], ml_dtypes.int4)]),
    ("seq(bool[])", [np.array([True, False]), np.array(True)]),
    ("seq(string[])", [np.array(["é", ""], object), np.array("b", object)]),
    ("seq(seq(float[]))", [[A], [], [B, A]]),
    ("seq(optional(float[]))", [None, A]),
    ("seq(map(string, float[]))", [{"a": A, "é": B}, {}]),
    ("optional(float[])", A),
    ("optional(float[])", None),
    ("optional(float16[M,N])", np.ones((2, 3), "f2")),
    ("optional(seq(float[]))", [A, B]),
    ("optional(seq(float[]))", []),
    ("optional(seq(float[]))", None),
    ("map(string, float[])", {"b": A, "a": B}),
    ("map(string, float[])", MappingProxyType({"b": A})),
    ("map(int64, seq(bfloat16[]))", {-(2**63): [BF16], 2**63 - 1: []}),
    ("map(int64, optional(float[]))", {3: None}),
    ("sparse_tensor(float[2,3])", SPARSE),
    ("sparse_tensor(bfloat16[])", SparseTensor(BF16, np.array([0, 4]), (5,))),
    ("optional(sparse_tensor(float[2,N]))", SPARSE),
]


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=lambda v: v if isinstance(v, str) else "")
def test_a_graph_hands_on_any_value(kind: str, value: Any) -> None:
    s = session(f"{kind} x", f"{kind} x", "")
    before = plain(value)
    for _ in range(2):
        (result,) = s.run({"x": value})
        assert plain(result) == before
        assert type(result) in (list, dict, np.ndarray, SparseTensor, type(None))
        for array in arrays(result):
            assert array.flags.owndata
            assert array.flags.c_contiguous
            assert array.flags.writeable
            assert not any(np.shares_memory(array, given) for given in arrays(value))


@pytest.mark.parametrize(
    ("kind", "value"),
    [v for v in VALUES if v[0] in ("seq(float[])", "seq(string[])", "optional(seq(float[]))")],
)
def test_identity(kind: str, value: Any) -> None:
    s = session(f"{kind} x", f"{kind} y", "t = Identity(x) y = Identity(t)")
    results = s.run([value], ["y", "t", "x", "y"])
    assert [plain(r) for r in results] == [plain(value)] * 4
    made = [a for r in results for a in arrays(r)]
    assert len({a.ctypes.data for a in made if a.size}) == len([a for a in made if a.size])


def test_beside_tensors() -> None:
    s = session(
        "float[N] a, seq(float[]) s, float[N] b", "float16[N] y, seq(float[]) t, double[N] z",
        "y = Cast<to=10>(b) t = Identity(s) h = Cast<to=10>(a) z = Cast<to=11>(h)",
    )  # fmt: skip
    for size in (2, 3, 2):
        a, b = np.full(size, 1.5, "f4"), np.full(size, 2.5, "f4")
        y, t, z = s.run([a, [A], b])
        assert (y.tolist(), z.tolist()) == ([2.5] * size, [1.5] * size)
        assert plain(t) == plain([A])


def test_signatures() -> None:
    s = session(
        "seq(float[N]) s, optional(int64[]) o, map(string, float[]) m, sparse_tensor(float[2,3]) p",
        "seq(float[N]) t", "t = Identity(s)",
    )  # fmt: skip
    assert repr(s.inputs) == (
        "(<'s': seq(float[N])>, <'o': optional(int64[...])>, "
        "<'m': map(string,float[...])>, <'p': sparse(float[2,3])>)"
    )
    assert [(i.dtype, i.shape, i.optional) for i in s.inputs] == [
        (None, None, name == "o") for name in "somp"
    ]
    assert s.outputs[0].type == SequenceType(
        TensorType(BY_NAME["float"], s.inputs[0].type.element.shape)
    )


# What is taken


@pytest.mark.parametrize(
    ("kind", "given", "taken"),
    [
        ("seq(float[])", [1, [2, 3]], [np.float32(1)[...], np.array([2, 3], "f4")]),
        ("seq(float[])", [A.astype(">f4"), B.T], [A, B.T.copy()]),
        ("seq(string[])", [["a", b"b"], "c"], [TEXT, np.array("c", object)]),
        ("optional(int4[])", [1, -8], np.array([1, -8], ml_dtypes.int4)),
        ("map(int64, float[])", {np.int32(5): 1.0}, {5: np.float32(1)[...]}),
        ("map(string, float[])", {np.str_("k"): A}, {"k": A}),
        ("seq(float[])", [memoryview(A)], [A]),
    ],
)
def test_elements_are_what_tensors_are(kind: str, given: Any, taken: Any) -> None:
    (result,) = session(f"{kind} x", f"{kind} x", "").run([given])
    assert plain(result) == plain(taken)
    if isinstance(result, dict):
        assert list(map(type, result)) == list(map(type, taken))


@pytest.mark.parametrize("inputs", [{"a": A}, {"a": A, "o": None}, [A], [A, None]])
def test_an_optional_may_be_left_out(inputs: Any) -> None:
    s = session("float[N] a, optional(float[]) o", "optional(float[]) p", "p = Identity(o)")
    assert s.run(inputs)[0] is None
    assert s.run([A, B])[0].tolist() == B.tolist()


REFUSED = [
    ("seq(float[])", [A, A.astype("i8")], "'x'[1]: expected float32, got int64"),
    ("seq(float[])", [A, None], "'x'[1]: expected an array, got NoneType"),
    ("seq(float[])", [[1.0, "b"]], "'x'[0]: element [1]: 'b' is not a number"),
    ("seq(float[2])", [A, A[:1]], "'x'[1]: expected shape [2], got [1]"),
    ("seq(float[N])", [B], "'x'[0]: expected shape [N], got [2,1]"),
    ("seq(bfloat16[])", [BF16.view("u2")],
     "'x'[0]: expected bfloat16, got uint16; if these are its bits, "
     "pass array.view(ml_dtypes.bfloat16)"),
    ("seq(float[])", B, "'x': expected seq(float[...]), a list, got ndarray; pass list(array)"),
    ("seq(float[])", 3.0, "'x': expected seq(float[...]), a list, got float"),
    ("seq(float[])", {"a": A}, "'x': expected seq(float[...]), a list, got dict"),
    ("seq(float[])", None, "'x': missing, expected seq(float[...])"),
    ("seq(seq(float[]))", [[A], [A, B, A > 0]], "'x'[1][2]: expected float32, got bool"),
    ("seq(seq(float[]))", [A],
     "'x'[0]: expected seq(float[...]), a list, got ndarray; pass list(array)"),
    ("seq(map(string, float[]))", [{"k": A.astype("f8")}],
     "'x'[0]['k']: expected float32, got float64"),
    ("map(string, float[])", [A], "'x': expected map(string,float[...]), a dict, got list"),
    ("map(string, float[])", A, "'x': expected map(string,float[...]), a dict, got ndarray"),
    ("map(string, float[])", {1: A}, "'x': the key 1 is no str"),
    ("map(string, float[])", None, "'x': missing, expected map(string,float[...])"),
    ("map(int8, float[])", {128: A}, "'x': the key 128 is no int8"),
    ("map(int64, float[])", {True: A}, "'x': the key True is no int64"),
    ("map(int64, float[])", {1.0: A}, "'x': the key 1.0 is no int64"),
    ("optional(float[])", [A, B], "'x': ragged: at depth 2 there are no sequence and length 1"),
    ("optional(seq(float[]))", [None], "'x'[0]: expected an array, got NoneType"),
    ("sparse_tensor(float[])", A, "'x': expected a minirt.SparseTensor, got ndarray"),
    ("sparse_tensor(double[])", SPARSE, "'x': expected float64, got float32"),
    ("sparse_tensor(float[3,2])", SPARSE, "'x': expected shape [3,2], got [2,3]"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "text"), REFUSED)
def test_what_is_not_of_the_type(kind: str, value: Any, text: str) -> None:
    s = session(f"{kind} x", f"{kind} x", "")
    with pytest.raises(minirt.InputError) as caught:
        s.run({"x": value})
    assert str(caught.value) == f"input {text}"


def test_every_wrong_input_is_named() -> None:
    s = session("seq(float[]) s, float[N] a, optional(float[N]) o", "seq(float[]) s", "")
    with pytest.raises(minirt.InputError) as caught:
        s.run({"s": [A > 0], "a": A.astype("f8"), "o": B})
    assert str(caught.value) == (
        "input 's'[0]: expected float32, got bool; input 'a': expected float32, got float64; "
        "input 'o': expected shape [N], got [2,1]"
    )


def test_an_optional_has_the_sizes_that_others_have() -> None:
    s = session("float[N] a, optional(float[N]) o", "optional(float[N]) p", "p = Identity(o)")
    assert s.run([A, A])[0].tolist() == A.tolist()
    with pytest.raises(minirt.InputError) as caught:
        s.run([A, A[:1]])
    assert str(caught.value) == "N is 2 in input 'a' (axis 0), but 1 in input 'o' (axis 0)"


def test_a_list_that_contains_itself() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(minirt.InputError, match=r"^input 'x'\[0\]: lists are nested more than 64"):
        session("seq(float[]) x", "seq(float[]) x", "").run([endless])


@pytest.mark.parametrize(("kind", "value"), [("sequence_type", [A]), ("optional_type", A)])
def test_a_type_that_says_too_little(kind: str, value: Any) -> None:
    declared = TypeProto()
    getattr(declared, kind).SetInParent()
    x = helper.make_value_info("x", declared)
    s = minirt.load(protos.model([], [x], [x]))
    assert s.run([type(value)() if isinstance(value, list) else None])[0] in ([], None)
    with pytest.raises(minirt.UnsupportedError) as caught:
        s.run([value])
    name = kind.removesuffix("uence_type").removesuffix("_type")
    assert str(caught.value) == f"input 'x': the model does not say what {name}(?) consists of"


# What kernels take and give

FLOATS = TensorType(BY_NAME["float"])


@pytest.fixture
def kernels(temporary: None) -> list[Any]:  # noqa: F811
    """Operators on sequences, in domain "test"; what their kernels were given."""
    seen: list[Any] = []

    @op("Append", domain="test")
    def append(sequence, tensor):
        def run(items, flat):
            seen.append((items, flat))
            return [*items, flat.reshape(tensor.shape).copy()]

        return sequence, lambda: run

    @op("Split", domain="test")
    def split(sequence):
        """Its length as a tensor; its first element, and what remains."""
        length = TensorType(BY_NAME["int64"], ())

        def run(items, count):
            if count is not None:  # the node omits it
                count[:] = len(items)
            return (items[0] if items else None), items[1:]

        return (length, OptionalType(sequence.element), sequence), lambda: run

    return seen


def built(inputs: list[Any], outputs: list[str], *nodes: Any) -> minirt.Session:
    opsets = {"": 21, "test": 1}
    return minirt.load(protos.model(list(nodes), inputs, outputs, opsets=opsets))


S = helper.make_value_info(
    "s", helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, None))
)


def test_a_kernel_returns_a_sequence(kernels: list[Any]) -> None:
    """The tensor is in the arena: its memory is used again by the next append."""
    half = protos.node("Cast", "a", "h", to=10)
    wide = protos.node("Cast", "h", "w", to=1)
    one = protos.node("Append", "s w", "t", domain="test")
    back = protos.node("Cast", "a", "k", to=11)
    other = protos.node("Cast", "k", "v", to=1)
    two = protos.node("Append", "t v", "u", domain="test")
    s = built(["a", S], ["u"], half, wide, one, back, other, two)
    for size in (2, 3):
        a = np.linspace(0.1, 1, size).astype("f4")
        (u,) = s.run([a, [B]])
        assert plain(u) == plain([B, a.astype("f2").astype("f4"), a])
    assert np.shares_memory(kernels[0][0][0], B)
    assert kernels[0][1].ndim == 1


def test_what_a_kernel_returns_is_copied_for_each_result(kernels: list[Any]) -> None:
    half = A.astype("f2")
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(10, None))
    inputs = [helper.make_value_info("s", kind), protos.value("a", 10, ["N"])]
    append = protos.node("Append", "s a", "t", domain="test")
    s = built(inputs, ["t", "u", "t"], append, protos.node("Identity", "t", "u"))
    results = s.run([[half], half])
    assert [plain(r) for r in results] == [plain([half, half])] * 3
    made = arrays(list(results))
    assert not any(np.shares_memory(a, b) for a in made for b in made if a is not b)


def test_several_outputs_of_each_kind(kernels: list[Any]) -> None:
    node = protos.node("Split", "s", "n first rest", domain="test")
    s = built([S], ["rest", "n", "first"], node)
    rest, n, first = s.run([[A, B]])
    assert (n.shape, int(n)) == ((), 2)
    assert (plain(first), plain(rest)) == (plain(A), plain([B]))
    assert [plain(r) for r in s.run([[]])] == [[], ("int64", (), 0), None]


@pytest.mark.parametrize("outputs", ["n", "_ first", "_ _ rest", "n _ rest"])
def test_omitted_outputs_of_each_kind(kernels: list[Any], outputs: str) -> None:
    names = [name for name in outputs.split() if name != "_"]
    results = built([S], names, protos.node("Split", "s", outputs, domain="test")).run([[A, B]])
    expected = {"n": ("int64", (), 2), "first": plain(A), "rest": plain([B])}
    assert {name: plain(value) for name, value in results.items()} == {
        name: expected[name] for name in names
    }


def test_a_profile_counts_what_is_in_tensors(kernels: list[Any]) -> None:
    nodes = (
        protos.node("Append", "s a", "t", domain="test"),
        protos.node("Split", "t", "n _ _", domain="test"),
    )
    profile = built(["a", S], ["n", "t"], *nodes).profile([A, [B]])
    assert [(p.op, p.bytes) for p in profile.steps] == [
        ("test.Append", 8), ("test.Split", 8), ("", 0),
    ]  # fmt: skip


class Watched(list):  # type: ignore[type-arg]
    """A list that can be referred to weakly."""


def test_a_sequence_is_let_go_when_no_step_needs_it(temporary: None) -> None:  # noqa: F811
    alive: list[list[bool]] = []
    made: list[weakref.ref[Watched]] = []

    @op("Next", domain="test")
    def following(sequence):
        def run(items):
            gc.collect()
            alive.append([r() is not None for r in made])
            result = Watched(items)
            made.append(weakref.ref(result))
            return result

        return sequence, lambda: run

    names = ["s", "t1", "t2", "t3", "t4"]
    nodes = [protos.node("Next", a, b, domain="test") for a, b in pairwise(names)]
    built([S], ["t4", "t2"], *nodes).run([[A]])
    # t2 is a result, and stays; t1 is gone once t2 is made, t3 was not made when it was looked for.
    assert alive == [[], [True], [False, True], [False, True, True]]
    assert [r() for r in made] == [None] * 4
