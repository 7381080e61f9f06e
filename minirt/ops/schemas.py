"""What ONNX says about each version of an operator.

``onnx.defs`` is the one source: parameter names, attribute defaults and type
constraints are read from it and stand nowhere in minirt. Schemas are converted once
into plain Python objects, for a look-up through the bindings costs microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from onnx import AttributeProto, defs, helper

from ..errors import did_you_mean
from .registry import NEWEST_OPSETS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .registry import Operator

__all__ = [
    "Attribute",
    "Parameter",
    "Schema",
    "explain_absence",
    "find_schema",
    "is_standard",
    "nearest_operator",
    "newest_schema",
    "schema_of",
    "versions",
]


@dataclass(frozen=True, eq=False)
class Parameter:
    """An operand or output of a schema.

    ``types`` are the ONNX type strings that it allows. Parameters with the same
    ``variable`` have the same type; an ``independent`` variadic one has any mixture.
    """

    name: str
    variable: str
    types: frozenset[str]
    required: bool
    variadic: bool
    independent: bool


@dataclass(frozen=True, eq=False)
class Attribute:
    """An attribute of a schema: the name of its type (``"INTS"``) and its default or None."""

    name: str
    kind: str
    required: bool
    default: Any


@dataclass(frozen=True, eq=False)
class Schema:
    """One version of an operator. ``since`` is the opset that brought it."""

    name: str
    domain: str
    since: int
    deprecated: bool
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    attributes: Mapping[str, Attribute]
    inputs_range: tuple[int, int]
    outputs_range: tuple[int, int]

    def __str__(self) -> str:
        domain = f"{self.domain}." if self.domain else ""
        return f"{domain}{self.name}-{self.since}"

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The defaults of the attributes that have one."""
        return {a.name: a.default for a in self.attributes.values() if a.default is not None}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The names of the attributes that every node must have."""
        return tuple(a.name for a in self.attributes.values() if a.required)

    @cached_property
    def constraints(self) -> Mapping[str, frozenset[str]]:
        """The types that each type variable may stand for."""
        return {p.variable: p.types for p in (*self.inputs, *self.outputs)}


# Finding a schema


def is_standard(domain: str) -> bool:
    """Whether ONNX defines operators in ``domain``."""
    return domain in NEWEST_OPSETS


@lru_cache(maxsize=4096)
def find_schema(domain: str, name: str, opset: int) -> Schema | None:
    """The version of an operator that a model importing ``opset`` means.

    None if ONNX has none, or none that early. The schema may be a deprecated one.
    """
    if not is_standard(domain) or opset >= 1 << 31:  # onnx takes a C int
        return None
    try:
        return _convert(defs.get_schema(name, opset, domain))
    except defs.SchemaError:
        return None


def newest_schema(domain: str, name: str) -> Schema | None:
    """The newest version of an operator that minirt knows, whatever onnx is installed."""
    return find_schema(domain, name, NEWEST_OPSETS.get(domain, 0))


def schema_of(operator: Operator) -> Schema | None:
    """The schema whose form ``operator`` has: the newest of the opsets that it is for."""
    return find_schema(operator.domain, operator.name, operator.until)


def versions(domain: str, name: str) -> tuple[int, ...]:
    """The opsets that brought a version of an operator, up to the newest that minirt knows."""
    return _history().get((domain, name), ())


@cache
def _history() -> Mapping[tuple[str, str], tuple[int, ...]]:
    """The versions of every operator. To go through all schemas takes milliseconds."""
    found: dict[tuple[str, str], list[int]] = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.since_version <= NEWEST_OPSETS.get(schema.domain, 0):
            found.setdefault((schema.domain, schema.name), []).append(schema.since_version)
    return {key: tuple(sorted(opsets)) for key, opsets in found.items()}


def explain_absence(domain: str, name: str, opset: int) -> str | None:
    """Why an operator that ONNX has is not valid at ``opset``; None if it is, or if ONNX has none.

    ``"it exists since ai.onnx opset 15, but the model imports 13"``
    """
    schema, known = find_schema(domain, name, opset), versions(domain, name)
    title = domain or "ai.onnx"
    if schema is None:
        if not known:
            return None
        return f"it exists since {title} opset {known[0]}, but the model imports {opset}"
    if not schema.deprecated:
        return None
    text = f"{title} opset {schema.since} deprecates it, and the model imports {opset}"
    later = [v for v in known if v > schema.since]
    if later:
        return f"{text}; it is back from opset {later[0]}"
    return f"{text}; it is valid up to opset {schema.since - 1}"


@cache
def _names(domain: str) -> tuple[str, ...]:
    return tuple(sorted({s.name for s in defs.get_all_schemas() if s.domain == domain}))


def nearest_operator(domain: str, name: str) -> str:
    """``"; did you mean 'Cast'?"``, or "" where ONNX has no operator of a similar name."""
    return did_you_mean(name, _names(domain))


def _convert(schema: defs.OpSchema) -> Schema:
    return Schema(
        schema.name,
        schema.domain,
        schema.since_version,
        schema.deprecated,
        tuple(map(_parameter, schema.inputs)),
        tuple(map(_parameter, schema.outputs)),
        {name: _attribute(a) for name, a in schema.attributes.items()},
        (schema.min_input, schema.max_input),
        (schema.min_output, schema.max_output),
    )


def _parameter(parameter: defs.OpSchema.FormalParameter) -> Parameter:
    options = defs.OpSchema.FormalParameterOption
    variadic = parameter.option == options.Variadic
    return Parameter(
        parameter.name,
        parameter.type_str,
        frozenset(map(_normal, parameter.types)),
        parameter.option == options.Single,
        variadic,
        variadic and not parameter.is_homogeneous,
    )


def _attribute(attribute: defs.OpSchema.Attribute) -> Attribute:
    proto = attribute.default_value
    default = None
    if proto.type != AttributeProto.UNDEFINED:
        default = helper.get_attribute_value(proto)
        if isinstance(default, bytes):
            default = default.decode()
        elif not isinstance(default, (int, float)):
            default = [x.decode() if isinstance(x, bytes) else x for x in default]
    kind = str(attribute.type).removeprefix("AttrType.")
    return Attribute(attribute.name, kind, attribute.required, default)


def _normal(type_string: str) -> str:
    """``"map(int64, string)"``, as ai.onnx.ml writes it, is ``"map(int64,tensor(string))"``."""
    text = type_string.replace(" ", "")
    head, comma, value = text.partition(",")
    if comma and not value.startswith("tensor("):
        element, brackets = value.split(")", 1)
        return f"{head},tensor({element}){')'}{brackets}"
    return text
