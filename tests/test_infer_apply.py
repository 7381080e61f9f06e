"""One node: operands bound to the operator's function, their types checked, errors located."""

from __future__ import annotations

import pytest
from onnx import TensorProto, TypeProto, helper
from operators import bare, temporary  # noqa: F401
from protos import model, node, value

from minirt.dtypes import BY_NAME, TABLE, Kind
from minirt.errors import SchemaError, ShapeError, UnsupportedError
from minirt.model.infer import apply, infer_types
from minirt.model.load import load_graph, read_graph
from minirt.ops.registry import Alias, op, upgrade
from minirt.passes.check import check
from minirt.passes.upgrade import upgrade as upgrade_graph
from minirt.types import TensorType

pytestmark = pytest.mark.usefixtures("bare")

FLOAT = TensorType(BY_NAME["float"], (2,))


def result(proto):
    """The type of the first output."""
    graph = load_graph(proto)
    return infer_types(graph)[graph.outputs[0]]


def single(op_type, *dtypes, opset=21, **attributes):
    """One node whose operands have these element types, or are of a TypeProto."""
    names = [f"x{i}" for i in range(len(dtypes))]
    inputs = [
        helper.make_value_info(n, d) if isinstance(d, TypeProto) else value(n, BY_NAME[d].code, [2])
        for n, d in zip(names, dtypes, strict=True)
    ]
    nodes = [node(op_type, " ".join(names), "y", "n", **attributes)]
    return model(nodes, inputs, ["y"], opsets={"": opset})


def refused(proto) -> str:
    with pytest.raises(SchemaError) as error:
        result(proto)
    return str(error.value)


# Types that the schema allows


@pytest.mark.parametrize("dtype", [d for d in TABLE if d.kind is not Kind.COMPLEX], ids=repr)
def test_casts_take_every_castable_type_at_every_opset(dtype):
    for opset, to in ((1, "FLOAT"), (6, 1), (13, 1), (28, 1)):
        assert str(result(single("Cast", dtype.name, opset=opset, to=to))) == "float[2]"
    for opset in (15, 25):
        assert str(result(single("CastLike", dtype.name, "float", opset=opset))) == "float[2]"
        assert result(single("CastLike", "float", dtype.name, opset=opset)).dtype is dtype


def test_casts_take_no_complex_numbers():
    castable = ", ".join(d.name for d in TABLE if d.kind is not Kind.COMPLEX)
    for name, dtypes in (("Cast", ["complex64"]), ("CastLike", ["complex64", "float"])):
        attributes = {"to": 1} if name == "Cast" else {}
        message = f"{name} 'n' (node 0): input input is complex64, but Cast-28 allows {castable}"
        assert refused(single(name, *dtypes, opset=25, **attributes)) == message
    message = "CastLike 'n' (node 0): input target_type is complex128, but Cast-28 allows "
    assert refused(single("CastLike", "float", "complex128")).startswith(message)


SEQUENCE = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))
OPTIONAL = helper.make_optional_type_proto(SEQUENCE)


@pytest.mark.parametrize(
    ("type_", "first_opset", "allowed"),
    [
        ("bfloat16", 13, "float, uint8, int8, uint16, int16, int32, int64, string, bool, "
         "float16, double, uint32, uint64, complex64, complex128"),
        ("int4", 21, None),
        ("float4e2m1", 23, None),
        ("int2", 25, None),
        (SEQUENCE, 14, None),
        (OPTIONAL, 16, None),
    ],
)  # fmt: skip
def test_types_of_the_nodes_own_version_bind(type_, first_opset, allowed):
    assert str(result(single("Identity", type_, opset=first_opset))) in (
        f"{type_}[2]",
        "seq(float[2])",
        "optional(seq(float[2]))",
    )
    message = refused(single("Identity", type_, opset=first_opset - 1))
    assert message.startswith("Identity 'n' (node 0): input input is ")
    if allowed:
        assert message.endswith(f"is bfloat16, but Identity-1 allows {allowed}")


def test_the_message_names_containers_in_full():
    message = refused(single("Identity", OPTIONAL, opset=15))
    assert message.startswith(
        "Identity 'n' (node 0): input input is optional(seq(tensor(float))), "
        "but Identity-14 allows float, uint8, "
    )
    assert ", bfloat16, seq(tensor(bool)), seq(tensor(complex128)), " in message


@pytest.mark.parametrize("make", [helper.make_sequence_type_proto, helper.make_optional_type_proto])
def test_containers_of_unknown_elements(make):
    unknown = make(TypeProto())
    castable = ", ".join(d.name for d in TABLE if d.kind is not Kind.COMPLEX)
    kind = "seq" if unknown.HasField("sequence_type") else "optional"
    assert refused(single("Cast", unknown, to=1)) == (
        f"Cast 'n' (node 0): input input is {kind}(?), but Cast-28 allows {castable}"
    )
    assert str(result(single("Identity", unknown))) == f"{kind}(?)"


def test_a_type_that_no_version_allows():
    @op("ConvInteger")
    def conv_integer(x, w, x_zero_point, w_zero_point, **_):
        return x, None

    assert refused(single("ConvInteger", "uint8", "uint4")) == (
        "ConvInteger 'n' (node 0): input w is uint4, but ConvInteger-10 allows uint8, int8"
    )


def test_operands_of_one_type_variable_agree():
    @op("Where")
    def where(condition, X, Y):
        return X, None

    assert str(result(single("Where", "bool", "float", "float"))) == "float[2]"
    assert refused(single("Where", "bool", "float", "double")) == (
        "Where 'n' (node 0): inputs X and Y are float and double, "
        "but Where-16 takes one type for both (T)"
    )


def test_variadic_operands_agree_unless_they_are_independent():
    @op("Max")
    def maximum(*data_0):
        return data_0[-1], None

    @op("Loop")
    def loop(M, cond, *v_initial, body):
        return v_initial, None

    assert str(result(single("Max", *["int8"] * 3))) == "int8[2]"
    assert refused(single("Max", "int8", "int8", "int16")) == (
        "Max 'n' (node 0): inputs data_0 and data_0 are int8 and int16, "
        "but Max-13 takes one type for both (T)"
    )
    body = helper.make_graph([], "body", [], [])
    assert str(result(single("Loop", "int64", "bool", "float", "string", body=body))) == "float[2]"


# How an operator's function is called


def test_operands_by_position_and_attributes_by_name():
    calls = []

    @op("Clip")
    def clip(input, min, max):
        calls.append((input, min, max))
        return input, Alias("input")

    @op("Concat")
    def concat(*inputs, axis):
        calls.append((*inputs, axis))
        return inputs[0], None

    @op("Conv")
    def conv(X, W, B, *, auto_pad, dilations, group, kernel_shape, pads, strides):
        calls.append((B, auto_pad, dilations, group, pads))
        return X, None

    proto = model(
        [
            node("Clip", "x _ x", "a"),
            node("Clip", "x", "b"),
            node("Concat", "x x x", "c", axis=1),
            node("Conv", "x x", "d", pads=[1, 1]),
        ],
        [value("x", 1, [2])],
        [],
    )
    graph = load_graph(proto)
    (x,) = graph.inputs
    results = [apply(n, [v and x.type for v in n.inputs]) for n in graph.nodes]
    assert calls == [
        (x.type, None, x.type),
        (x.type, None, None),
        (x.type, x.type, x.type, 1),
        (None, "NOTSET", None, 1, [1, 1]),
    ]
    assert results[0] == ((x.type,), Alias("input"))


def test_outputs_that_the_node_omits_do_no_harm():
    @op("Dropout")
    def dropout(data, ratio, training_mode, *, seed):
        return (data, data.with_dtype(BY_NAME["bool"])), None

    def found(outputs):
        graph = load_graph(model([node("Dropout", "x", outputs)], [value("x", 1, [2])], []))
        types = infer_types(graph)
        return {v.name: str(types[v]) for v in graph.values()}

    assert found("y m") == {"x": "float[2]", "y": "float[2]", "m": "bool[2]"}
    assert found("y") == {"x": "float[2]", "y": "float[2]"}
    assert found("y _") == {"x": "float[2]", "y": "float[2]"}


def test_outputs_that_the_operator_does_not_make():
    @op("Dropout")
    def dropout(data, ratio, training_mode, *, seed):
        return data, Alias("data")

    proto = model([node("Dropout", "x", "y m", "d")], [value("x", 1, [2])], ["y"])
    with pytest.raises(UnsupportedError) as error:
        infer_types(load_graph(proto))
    assert str(error.value) == "Dropout 'd' (node 0): only 1 of 2 outputs are implemented"
    assert (error.value.op, error.value.opset) == ("Dropout", 21)


def test_errors_of_an_operator_are_located():
    @op("Relu")
    def relu(X):
        raise ShapeError("X has 3 channels")

    @op("Abs")
    def absolute(X):
        raise ZeroDivisionError("a fault of minirt's own")

    with pytest.raises(ShapeError) as error:
        result(single("Relu", "float"))
    assert str(error.value) == "Relu 'n' (node 0): X has 3 channels"
    with pytest.raises(ZeroDivisionError) as fault:  # not disguised as a fault of the model
        result(single("Abs", "float"))
    assert fault.value.__notes__ == ["in Abs 'n' (node 0)"]


def test_a_node_without_an_operator():
    graph = read_graph(single("NoSuchOp", "float"))
    with pytest.raises(UnsupportedError) as error:
        apply(graph.nodes[0], [FLOAT])
    assert str(error.value) == "NoSuchOp 'n' (node 0): the operator is not implemented"
    assert (error.value.op, error.value.opset) == ("NoSuchOp", 21)


def test_operators_of_minirts_own_need_no_schema():
    @op("Twice", domain="minirt")
    def twice(x, *, factor):
        return x.with_shape(*(2 * d for d in x.shape)), None

    proto = model(
        [node("Twice", "x", "y", domain="minirt", factor=2)],
        [value("x", 1, [3])],
        ["y"],
        opsets={"minirt": 1},
    )
    graph = read_graph(proto)
    assert str(infer_types(graph)[graph.outputs[0]]) == "float[6]"
    with pytest.raises(UnsupportedError) as error:
        load_graph(proto)
    assert str(error.value) == (
        "minirt.Twice (node 0): domain 'minirt' is minirt's own; a file cannot use it"
    )


# Types of nodes that have been upgraded


def test_after_an_upgrade_operands_are_checked_by_name():
    @op("Squeeze")
    def squeeze(data, axes):
        return data, None

    @upgrade("Squeeze", to=13)
    def _(node, graph):
        axes = node.attributes.pop("axes", None)
        if axes is not None:
            node.inputs.append(graph.inputs[1])

    def squeezed(data, axes):
        proto = model(
            [node("Squeeze", "x", "y", "s", axes=[0])],
            [value("x", BY_NAME[data].code, [2]), value("a", BY_NAME[axes].code, [1])],
            ["y"],
            opsets={"": 11},
        )
        return result(proto)

    assert str(squeezed("float", "int64")) == "float[2]"
    # The operand of old by the old version, which knew no bfloat16; the new one by the newest.
    with pytest.raises(SchemaError, match=r"input data is bfloat16, but Squeeze-11 allows"):
        squeezed("bfloat16", "int64")
    with pytest.raises(SchemaError, match=r"input axes is float, but Squeeze-11 allows int64"):
        squeezed("float", "float")


def test_an_operator_that_took_the_place_of_another_has_its_types_checked():
    @op("ScatterElements")
    def scatter_elements(data, indices, updates, *, axis, reduction):
        return data, None

    @upgrade("Scatter", to=11)
    def _(node, graph):
        node.op_type = "ScatterElements"

    @op("Scatter")
    def scatter(data, indices, updates, *, axis):
        raise AssertionError("is rewritten")

    proto = single("Scatter", "float", "int64", "float", opset=9)
    graph = read_graph(proto)
    check(graph)
    assert upgrade_graph(graph) and not upgrade_graph(graph)
    (scattered,) = graph.nodes
    assert (scattered.op_type, scattered.written_as, scattered.version) == (
        "ScatterElements",
        "Scatter",
        11,
    )
    assert scattered.attributes == {"axis": 0, "reduction": "none"}
    assert str(result(proto)) == "float[2]"
    assert refused(single("Scatter", "float", "float", "float", opset=9)) == (
        "Scatter 'n' (node 0): input indices is float, but Scatter-9 allows int32, int64"
    )
