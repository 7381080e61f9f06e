"""The registered operators against onnx.defs, and the schemas as minirt sees them."""

from __future__ import annotations

import inspect

import pytest
from onnx import AttributeProto, defs, helper
from operators import temporary  # noqa: F401

from minirt.dtypes import BY_NAME, TABLE
from minirt.errors import did_you_mean
from minirt.ops import registry
from minirt.ops.checks import type_name
from minirt.ops.registry import NEWEST_OPSETS, PRIVATE_DOMAIN, op, operators, upgrade, upgrades
from minirt.ops.schemas import (
    explain_absence,
    find_schema,
    is_standard,
    nearest_operator,
    newest_schema,
    versions,
)
from minirt.types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType

#: Private operators, such as fused ones, have no schema.
PUBLIC = [operator for operator in operators() if operator.domain != PRIVATE_DOMAIN]

HISTORY = [
    s
    for s in defs.get_all_schemas_with_history()
    if s.since_version <= NEWEST_OPSETS.get(s.domain, 0)
]


def schema_of(operator):
    """The newest schema that onnx has for the opsets of the operator."""
    return defs.get_schema(operator.name, operator.until, operator.domain)


def label(operator) -> str:
    return f"{operator.domain}{operator.name}-{operator.since}"


def test_there_are_operators():
    assert {o.name for o in PUBLIC} >= {"Cast", "CastLike", "Constant", "Identity"}


@pytest.mark.parametrize("operator", PUBLIC, ids=label)
def test_parameters_are_named_as_in_the_schema(operator):
    schema = schema_of(operator)
    kinds = {p.name: p.kind for p in inspect.signature(operator.function).parameters.values()}
    assert operator.operands == tuple(p.name for p in schema.inputs)
    assert sorted(operator.attributes) == sorted(schema.attributes)
    variadic = [p.name for p in schema.inputs if p.option == p.option.Variadic]
    assert [n for n, kind in kinds.items() if kind is inspect.Parameter.VAR_POSITIONAL] == variadic
    assert operator.is_variadic == bool(variadic)
    assert inspect.Parameter.VAR_KEYWORD not in kinds.values()


@pytest.mark.parametrize("operator", PUBLIC, ids=label)
def test_no_default_stands_in_python(operator):
    for parameter in inspect.signature(operator.function).parameters.values():
        assert parameter.default in (parameter.empty, None)


@pytest.mark.parametrize("operator", PUBLIC, ids=label)
def test_facts_name_operands(operator):
    assert operator.type_only <= set(operator.operands)
    assert set(operator.inplace) <= set(operator.operands)
    if operator.types_of:
        assert newest_schema(operator.domain, operator.types_of) is not None


@pytest.mark.parametrize("operator", PUBLIC, ids=label)
def test_every_version_resolves(operator):
    for version in versions(operator.domain, operator.name):
        schema = find_schema(operator.domain, operator.name, version)
        assert schema is not None and schema.since == version
        if not schema.deprecated and version >= operator.since:
            assert registry.find(operator.domain, operator.name, version) is not None


@pytest.mark.parametrize("operator", PUBLIC, ids=label)
def test_upgrades_lead_to_opsets_that_changed_the_form(operator):
    for to, _ in upgrades(operator.domain, operator.name, 0):
        assert to in versions(operator.domain, operator.name)


@pytest.mark.usefixtures("temporary")
def test_an_operator_holds_until_the_next_registration():
    @op("Later", since=7)
    def seven():
        return ()

    @op("Later", since=13)
    def thirteen():
        return ()

    found = [registry.find("", "Later", opset) for opset in (6, 7, 12, 13, 28)]
    assert [o and o.function for o in found] == [None, seven, seven, thirteen, thirteen]
    assert registry.find("ai.onnx.ml", "Later", 13) is None
    with pytest.raises(ValueError, match=r"^Later-13 is registered twice$"):
        op("Later", since=13)(thirteen)


@pytest.mark.usefixtures("temporary")
def test_a_registration_is_seen_after_a_look_that_found_nothing():
    assert registry.find("", "Brandnew", 21) is None
    op("Brandnew")(lambda: ())
    assert registry.find("", "Brandnew", 21) is not None


@pytest.mark.usefixtures("temporary")
def test_upgrades_come_oldest_first():
    for to in (13, 7, 11):
        upgrade("Old", "Older", to=to)(lambda node, graph: None)
    assert [to for to, _ in upgrades("", "Older", 7)] == [11, 13]
    assert upgrades("", "Old", 13) == []
    with pytest.raises(ValueError, match=r"^Old is upgraded to opset 13 twice$"):
        upgrade("Old", to=13)(lambda node, graph: None)


# Schemas


def test_every_schema_is_converted():
    for theirs in HISTORY:
        ours = find_schema(theirs.domain, theirs.name, theirs.since_version)
        assert ours is not None
        assert (ours.since, ours.deprecated) == (theirs.since_version, theirs.deprecated)
        assert [p.name for p in ours.inputs] == [p.name for p in theirs.inputs]
        assert [p.name for p in ours.outputs] == [p.name for p in theirs.outputs]
        assert ours.inputs_range == (theirs.min_input, theirs.max_input)
        assert ours.outputs_range == (theirs.min_output, theirs.max_output)
        assert ours.attributes.keys() == theirs.attributes.keys()
        assert ours.required == tuple(n for n, a in theirs.attributes.items() if a.required)
        for name, attribute in theirs.attributes.items():
            default = None
            if attribute.default_value.type:
                default = helper.get_attribute_value(attribute.default_value)
                default = default.decode() if isinstance(default, bytes) else default
            found = ours.attributes[name]
            if isinstance(found.default, list):
                default = [x.decode() if isinstance(x, bytes) else x for x in default]
            assert found.default == default
            assert found.kind in AttributeProto.AttributeType.keys()  # noqa: SIM118


def test_every_type_that_a_schema_allows_is_one_of_ours():
    scalars = [TensorType(d) for d in TABLE]
    sequences = [SequenceType(t) for t in scalars]
    types = scalars + sequences + [OptionalType(t) for t in (*scalars, *sequences)]
    maps = [MapType(k.dtype, v) for k in scalars for v in scalars]
    types += maps + [SequenceType(m) for m in maps] + [SparseTensorType(d) for d in TABLE]
    known = set(map(type_name, types))
    for theirs in HISTORY:
        schema = find_schema(theirs.domain, theirs.name, theirs.since_version)
        assert schema is not None
        for parameter in (*schema.inputs, *schema.outputs):
            assert parameter.types <= known
            assert parameter.types


def test_an_element_type_that_is_not_known_is_a_question_mark():
    assert type_name(SequenceType()) == "seq(?)"
    assert type_name(OptionalType(SequenceType())) == "optional(seq(?))"
    assert type_name(MapType(BY_NAME["int64"])) == "map(int64,?)"


def test_opsets_beyond_the_newest_do_not_change_what_is_found():
    # A later onnx brings later versions; the newest is the one that minirt knows.
    newest = newest_schema("", "Cast")
    assert newest is not None and newest.since == 28
    assert versions("", "Cast") == (1, 6, 9, 13, 19, 21, 23, 24, 25, 28)


def test_what_onnx_does_not_define_has_no_schema():
    assert find_schema("com.microsoft", "Gelu", 1) is None
    assert find_schema("", "NoSuchOp", 21) is None
    assert find_schema("", "CastLike", 14) is None
    assert newest_schema("minirt", "Cast") is None
    assert versions("", "NoSuchOp") == ()
    assert is_standard("") and is_standard("ai.onnx.ml") and not is_standard("com.microsoft")


@pytest.mark.parametrize(
    ("domain", "name", "opset", "reason"),
    [
        ("", "Cast", 13, None),
        ("", "NoSuchOp", 13, None),
        ("vendor", "Cast", 13, None),
        ("", "Trilu", 13, "it exists since ai.onnx opset 14, but the model imports 13"),
        (
            "",
            "Scatter",
            11,
            "ai.onnx opset 11 deprecates it, and the model imports 11; it is valid up to opset 10",
        ),
    ],
)
def test_why_an_operator_is_not_there(domain, name, opset, reason):
    assert explain_absence(domain, name, opset) == reason


# Near names


def test_near_names():
    assert nearest_operator("", "Cats") == "; did you mean 'Cast'?"
    assert nearest_operator("", "Frobnicate") == ""
    assert nearest_operator("vendor", "Cast") == ""
    assert did_you_mean("inptu", ["output", "input"]) == "; did you mean 'input'?"
    assert did_you_mean("x", []) == ""


def test_a_near_name_among_a_million_is_looked_for_within_bounds():
    names = (f"value_{i}" for i in range(1_000_000))
    assert did_you_mean("value_17x", names).startswith("; did you mean 'value_17")
