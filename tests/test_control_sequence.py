"""Sequences and optionals through graphs: what shares memory, what is promised, SequenceMap."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from control_models import conditional, loop, untyped

import minirt
from minirt.dtypes import BY_NAME
from minirt.errors import ExecutionError, SchemaError
from minirt.ops.values import returned
from minirt.types import Dim, SequenceType, TensorType
from models import session

X = np.float32([1.0, 2.0])
T, F = np.array(True), np.array(False)


def lists(value: Any) -> Any:
    return [lists(item) for item in value] if isinstance(value, list) else value.tolist()


# Memory


def test_results_belong_to_the_caller():
    """Constants, arguments, and one tensor that is in several results."""
    s = minirt.load(
        untyped("float[2] x, seq(float[2]) s", "a b c d e",
                "a = SequenceConstruct(k, x, k) b = SequenceAt(a, zero) c = SequenceInsert(s, k) "
                "d = SequenceErase(c, zero) p = Optional(k) e = OptionalGetElement(p)",
                initializers="float[2] k = {5, 6}, int64 zero = {0}")
    )  # fmt: skip
    given = [X.copy(), X + 1]
    expected = [
        [[5, 6], [1, 2], [5, 6]], [5, 6], [[1, 2], [2, 3], [5, 6]], [[2, 3], [5, 6]], [5, 6],
    ]  # fmt: skip
    for _ in range(2):
        results = list(s.run([X.copy(), given]))
        assert [lists(r) for r in results] == expected
        arrays = [a for r in results for a in (r if isinstance(r, list) else [r])]
        assert len({a.ctypes.data for a in arrays}) == len(arrays)
        for array in arrays:
            array += 100
        assert lists(given) == [[1, 2], [2, 3]]


def test_tensors_in_sequences_outlive_the_buffers_they_came_from():
    """Later values lie where those of the elements did, and kernels write over operands."""
    s = minirt.load(
        untyped("float[2] x", "s y",
                "a = Neg(x) s0 = SequenceConstruct(a) b = Abs(a) c = Neg(b) "
                "s = SequenceInsert(s0, c) d = Add(c, c) t = SequenceAt(s, zero) y = Add(t, d)",
                initializers="int64 zero = {0}")
    )  # fmt: skip
    for _ in range(2):
        sequence, y = s.run([X])
        assert lists(sequence) == [[-1, -2], [-1, -2]]
        assert y.tolist() == [-3, -6]


def test_what_an_optional_holds_outlives_the_buffer_it_came_from():
    s = session(
        "float[2] x", "float[2] z",
        "h = Neg(x) p = Optional(h) k = Abs(x) y = OptionalGetElement(p) z = Add(k, y)",
    )  # fmt: skip
    assert s.run([X])[0].tolist() == [0, 0]


# Promises of the file


def test_sizes_of_elements_that_a_file_only_promises():
    """Inference believes them; kernels rely on what comes out of a sequence."""
    text = """<ir_version: 10, opset_import: ["": 25]>
    main (bool c, float[4] x, bool[4] k) => (float[N] y) <int64 last = {-1}> {
        s = If (c) <
            then_branch: graph = t () => (seq(float[2]) a)
                { m = Compress(x, k) a = SequenceConstruct(m) },
            else_branch: graph = e () => (seq(float[2]) b)
                { n = Compress(x, k) b = SequenceConstruct(n) }
        >
        z = SequenceAt(s, last)
        y = Neg(z)
    }"""
    proto = onnx.parser.parse_model(text)
    assert str(minirt.infer(proto).outputs[0].type) == "float[2]"
    s = minirt.load(proto)
    x = np.arange(4, dtype=np.float32)
    for c in (T, F):
        for chosen in ([0, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]):
            mask = np.array(chosen, bool)
            assert s.run([c, x, mask])[0].tolist() == (-x[mask]).tolist()


def test_a_size_that_an_optional_is_promised_to_have():
    body = conditional(
        "p; m = Compress(x, k) p = Optional(m)", "p; n = Compress(x, k) p = Optional(n)", "o"
    )
    proto = untyped("bool c, float[4] x, bool[4] k", "y", f"{body} z = OptionalGetElement(o) "
                    "y = Neg(z)")  # fmt: skip
    promise = onnx.helper.make_optional_type_proto(onnx.helper.make_tensor_type_proto(1, [2]))
    for branch in proto.graph.node[0].attribute:
        branch.g.output[0].type.CopyFrom(promise)
    s = minirt.load(proto)
    assert str(s.outputs[0].type) == "float[2]"
    x = np.arange(4, dtype=np.float32)
    for chosen in ([0, 1, 1, 0], [1, 1, 1, 0]):
        assert s.run([T, x, np.array(chosen, bool)])[0].tolist() == (-x[np.bool_(chosen)]).tolist()


def test_what_is_not_as_known_is_refused_before_kernels_rely_on_it():
    types = [TensorType(BY_NAME["float"], (2, Dim())), SequenceType(), TensorType(BY_NAME["float"])]
    values = [np.zeros((2, 5)), [], np.zeros(7)]
    assert returned(values, types) == tuple(values)
    assert returned(values[:1], types[:1]) is values[0]
    for wrong in (np.zeros((3, 5)), np.zeros(2), np.zeros((2, 5, 1))):
        with pytest.raises(
            ExecutionError, match=r"output 0 has shape \[.*\], but should be float\[2,"
        ):
            returned([wrong, *values[1:]], types)


@pytest.mark.parametrize("element", ["float[2]", "seq(float[2])"])
def test_an_empty_optional(element):
    proto = untyped(
        "float[2] x", "o has", f"o = Optional<type: type_proto = {element}>() "
        "has = OptionalHasElement(o)",
    )  # fmt: skip
    s = minirt.load(proto)
    assert str(s.outputs[0].type) == f"optional({element})"
    o, has = s.run([X])
    assert (o, has.tolist()) == (None, False)
    proto.graph.node.append(onnx.helper.make_node("OptionalGetElement", ["o"], ["e"]))
    with pytest.raises(ExecutionError) as error:
        minirt.load(proto).run([X], ["e"])
    assert str(error.value) == f"OptionalGetElement (node 2): the optional({element}) is empty"


# SequenceMap


def mapped(operands: str, inputs: str, nodes: str, outputs: str, results: str) -> str:
    body = f"body ({inputs}) => ({outputs}) {{ {nodes} }}"
    return f"{results} = SequenceMap ({operands}) <body: graph = {body}>"


def test_sequence_map_with_tensors_and_values_from_around():
    """The sequence and a tensor are operands, another value is used from around."""
    s = minirt.load(
        untyped("seq(float[N]) s, float[2] w, float f", "y z",
                mapped("s, w", "float[N] e, float[2] u",
                       "d0 = Add(e, u) d = Mul(d0, f) k = Size(d)", "float[2] d, int64 k", "y, z"))
    )  # fmt: skip
    for given in ([], [X], [X, X + 1]):
        y, z = s.run([given, X, np.float32(2)[...]])
        assert lists(y) == [((x + X) * 2).tolist() for x in given]
        assert lists(z) == [2 for _ in given]


def test_sequence_map_over_two_sequences():
    """As long as the first is, so that the second may be longer, but not shorter."""
    s = minirt.load(
        untyped("seq(float[N]) s, seq(float[N]) t", "y",
                mapped("s, t", "float[N] a, float[N] b", "d = Add(a, b)", "float[N] d", "y"))
    )  # fmt: skip
    assert lists(s.run([[X], [X, X]])[0]) == [[2, 4]]
    assert lists(s.run([[X, X[:1]], [X, X]])[0]) == [[2, 4], [2, 3]]
    with pytest.raises(ExecutionError) as error:
        s.run([[X, X], [X]])
    assert str(error.value).startswith("SequenceMap (node 0) > Loop (node ")
    assert str(error.value).endswith("position 1 is not in [-1, 0], with 1 tensors")


def test_sequence_map_in_a_loop():
    body = mapped("q", "float[2] e", "d = Add(e, x)", "float[2] d", "r")
    s = minirt.load(
        untyped("int64 n, seq(float[2]) s, float[2] x", "y",
                loop("n, , s", "i, c, q", body, "c, r", "y"))
    )  # fmt: skip
    for n in (0, 3):
        y = s.run([np.int64(n)[...], [X, -X], X])[0]
        assert lists(y) == [((n + 1) * X).tolist(), ((n - 1) * X).tolist()]


# What does not fit


@pytest.mark.parametrize(
    ("inputs", "body", "message"),
    [
        ("map(string, float) m", "y = Optional(m)", "input is map(string,tensor(float))"),
        ("float x, int64 i", "y = SequenceConstruct(x, i)", "float and int64"),
        ("seq(float) s, seq(float) t", "y = SequenceInsert(s, t)", "tensor is seq(tensor(float))"),
        ("float x", "y = SequenceLength(x)", "input input_sequence is float"),
    ],
)
def test_types_that_do_not_fit(inputs, body, message):
    with pytest.raises(SchemaError) as error:
        minirt.load(untyped(inputs, "y", body))
    assert message in str(error.value)


def test_a_sequence_of_bfloat16_came_with_opset_24():
    for opset, is_right in ((23, False), (24, True)):
        given = ("bfloat16[4] x", "seq(bfloat16[2]) y", "y = SplitToSequence(x, two)")
        more = {"initializers": "int64 two = {2}", "opset": opset}
        if is_right:
            assert session(*given, **more)
        else:
            with pytest.raises(SchemaError, match="input input is bfloat16"):
                session(*given, **more)
