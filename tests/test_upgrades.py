"""Nodes of old opsets: their defaults, then the rewrites they still need, then new defaults."""

from __future__ import annotations

import pytest
from onnx import TensorProto, defs, helper
from operators import bare, temporary  # noqa: F401
from protos import graph, model, node, value

from minirt.dtypes import TABLE, Kind
from minirt.errors import SchemaError
from minirt.model.infer import infer_types
from minirt.model.load import load_graph
from minirt.ops import registry
from minirt.ops.registry import NEWEST_OPSETS, op, upgrade
from minirt.ops.schemas import schema_of
from minirt.passes.upgrade import upgrade as upgrade_graph

CASTABLE = [d for d in TABLE if d.kind is not Kind.COMPLEX]
TENSOR = helper.make_tensor("", TensorProto.FLOAT, [2], [1.0, 2.0])


def load(*nodes, opset, inputs=None):
    return load_graph(model(list(nodes), inputs or [value("x", 1, [2])], ["y"], opsets={"": opset}))


def opsets_of(name: str) -> list[int]:
    """The opset of each version of an operator up to 28, and the one before the next."""
    since = sorted(
        s.since_version
        for s in defs.get_all_schemas_with_history()
        if s.domain == "" and s.name == name and s.since_version <= NEWEST_OPSETS[""]
    )
    return sorted({*since, *(s - 1 for s in since[1:]), NEWEST_OPSETS[""]})


# Every version of the operators that are there


@pytest.mark.parametrize("opset", opsets_of("Cast"))
def test_cast(opset):
    cast = node("Cast", "x", "y", to="DOUBLE" if opset < 6 else TensorProto.DOUBLE)
    graph = load(cast, opset=opset)
    (loaded,) = graph.nodes
    assert loaded.attributes == {"to": TensorProto.DOUBLE, "saturate": 1, "round_mode": "up"}
    assert (loaded.opset, loaded.version) == (opset, max(opset, 6))
    assert str(infer_types(graph)[graph.outputs[0]]) == "double[2]"


@pytest.mark.parametrize("opset", opsets_of("CastLike"))
def test_cast_like(opset):
    inputs = [value("x", 1, [2]), value("t", TensorProto.INT8, ["N"])]
    graph = load(node("CastLike", "x t", "y"), opset=opset, inputs=inputs)
    assert graph.nodes[0].attributes == {"saturate": 1, "round_mode": "up"}
    assert str(infer_types(graph)[graph.outputs[0]]) == "int8[2]"


@pytest.mark.parametrize("opset", opsets_of("Constant"))
def test_constant(opset):
    forms = {"value": (TENSOR, "float[2]")}
    if opset >= 11:
        sparse = helper.make_sparse_tensor(
            TENSOR, helper.make_tensor("", TensorProto.INT64, [2], [0, 2]), [3]
        )
        forms["sparse_value"] = sparse, "float[3]"
    if opset >= 12:
        forms |= {
            "value_int": (1, "int64[]"),
            "value_ints": ([1], "int64[1]"),
            "value_float": (1.0, "float[]"),
            "value_floats": ([1.0], "float[1]"),
            "value_string": ("a", "string[]"),
            "value_strings": (["a"], "string[1]"),
        }
    for name, (content, expected) in forms.items():
        graph = load(node("Constant", "", "y", **{name: content}), opset=opset)
        assert str(infer_types(graph)[graph.outputs[0]]) == expected


@pytest.mark.parametrize("opset", opsets_of("Identity"))
def test_identity(opset):
    graph = load(node("Identity", "x", "y"), opset=opset)
    assert str(infer_types(graph)[graph.outputs[0]]) == "float[2]"


# Cast-1 names types


@pytest.mark.parametrize("dtype", CASTABLE, ids=repr)
def test_cast_1_names_every_type(dtype):
    graph = load(node("Cast", "x", "y", to=dtype.enum_name), opset=1)
    assert graph.nodes[0].attributes["to"] == dtype.code


@pytest.mark.parametrize("to", ["float", "FLOAT32", "", "1", "UNDEFINED", "tensor(float)"])
def test_cast_1_takes_no_other_names(to):
    with pytest.raises(SchemaError) as error:
        load(node("Cast", "x", "y", "c", to=to), opset=5)
    assert str(error.value) == (
        f"Cast 'c' (node 0): to={to!r} is no element type; "
        "Cast-1 takes the name of one, such as 'FLOAT16'"
    )


# The rules, for operators to come


@pytest.mark.usefixtures("bare")
def test_rewrites_run_in_order_from_the_nodes_opset_on():
    ran = []

    @op("Pad")
    def pad(data, pads, constant_value, axes, *, mode):
        return data, None

    for to in (11, 18, 2):

        @upgrade("Pad", to=to)
        def _(node, graph, to=to):
            ran.append((to, node.version))
            node.attributes.pop("pads", None)
            node.attributes.pop("paddings", None)
            node.attributes.pop("value", None)

    def versions(opset, **attributes):
        ran.clear()
        pads = "" if attributes else "p"
        inputs = [value("x", 1, [2]), value("p", TensorProto.INT64, [2])]
        graph = load(node("Pad", f"x {pads}", "y", **attributes), opset=opset, inputs=inputs)
        assert not upgrade_graph(graph)
        return [*ran, graph.nodes[0].version]

    assert versions(1, paddings=[0, 0]) == [(2, 1), (11, 2), (18, 11), 18]
    assert versions(2, pads=[0, 0]) == [(11, 2), (18, 11), 18]
    assert versions(17) == [(18, 17), 18]
    assert versions(18) == [18]
    assert versions(28) == [28]


@pytest.mark.usefixtures("bare")
def test_an_old_default_is_filled_in_before_a_new_one_can_take_its_place():
    seen = []

    @op("Softmax")
    def softmax(input, *, axis):
        return input, None

    @upgrade("Softmax", to=13)
    def _(node, graph):
        seen.append(node.attributes["axis"])

    for opset in (11, 13):
        (loaded,) = load(node("Softmax", "x", "y"), opset=opset).nodes
        assert loaded.attributes["axis"] == {11: 1, 13: -1}[opset]
    assert seen == [1]


@pytest.mark.usefixtures("bare")
def test_a_rewrite_may_add_initializers_to_the_graph_of_its_node():
    @op("If")
    def if_(cond, *, then_branch, else_branch):
        return cond, None

    @op("Abs")
    def absolute(X):
        return X, None

    @upgrade("Abs", to=13)
    def _(node, graph):
        graph.initializers[node.inputs[0]] = None

    body = graph([node("Abs", "x", "t")], [], ["t"])
    inputs = [value("x", 1, [2]), value("c", TensorProto.BOOL, [])]
    loaded = load(node("If", "c", "y", then_branch=body, else_branch=body), opset=11, inputs=inputs)
    assert [len(g.initializers) for g in loaded.graphs()] == [0, 1, 1]


@pytest.mark.usefixtures("bare")
def test_faults_that_a_rewrite_finds_are_located():
    @op("Abs")
    def absolute(X):
        return X, None

    @upgrade("Abs", to=13)
    def _(node, graph):
        raise SchemaError("cannot be rewritten")

    with pytest.raises(SchemaError) as error:
        load(node("Abs", "x", "y", "a"), opset=6)
    assert str(error.value) == "Abs 'a' (node 0): cannot be rewritten"


@pytest.mark.usefixtures("temporary")
def test_a_new_meaning_is_a_registration_of_its_own():
    @op("GroupNormalization", since=21)
    def by_channel(X, scale, bias, *, epsilon, num_groups, stash_type):
        return X, None

    with pytest.raises(SchemaError, match="opset 18 deprecates it"):
        load(node("GroupNormalization", "x x x", "y", num_groups=1), opset=18)

    @op("GroupNormalization", since=18)
    def by_group(X, scale, bias, *, epsilon, num_groups, stash_type):
        return X, None

    for opset, function in ((18, by_group), (20, by_group), (21, by_channel), (28, by_channel)):
        operator = registry.find("", "GroupNormalization", opset)
        assert operator is not None and operator.function is function
        load(node("GroupNormalization", "x x x", "y", num_groups=1), opset=opset)


# Versions that mean something else have operators of their own


@pytest.fixture
def two_adds(temporary) -> None:  # noqa: F811
    """``Add`` as it broadcasts up to opset 6, and since 7; a rewrite leads from 5 to 6."""
    for table in (registry._OPERATORS, registry._UPGRADES):
        table.pop(("", "Add"), None)

    @op("Add", since=1)
    def old(A, B, *, axis, broadcast):
        return A.with_shape(axis or 0, broadcast), None

    @op("Add", since=7)
    def new(A, B):
        return A, None

    @upgrade("Add", to=6)
    def _(node, graph):
        node.attributes["axis"] = 66

    @upgrade("Add", to=7)
    def _(node, graph):
        node.attributes["axis"] = 77


@pytest.mark.usefixtures("two_adds")
@pytest.mark.parametrize(
    ("opset", "expected"),
    [(1, "float[66,1]"), (6, "float[5,1]"), (7, "float[2]"), (14, "float[2]")],
)
def test_a_node_is_rewritten_up_to_the_form_of_its_own_operator(opset, expected):
    attributes = {"axis": 5, "broadcast": 1} if opset < 7 else {}
    graph = load(node("Add", "x x", "y", **attributes), opset=opset)
    assert str(infer_types(graph)[graph.outputs[0]]) == expected


@pytest.mark.usefixtures("two_adds")
def test_an_operator_has_the_form_of_the_last_schema_before_the_next():
    old, new = (registry.find("", "Add", opset) for opset in (6, 7))
    assert (old.until, new.until) == (6, NEWEST_OPSETS[""])
    assert (schema_of(old).since, schema_of(new).since) == (6, 14)
