"""Nodes held against the schemas of their operators. All errors are SchemaError."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..dtypes import BY_NAME
from ..errors import SchemaError, did_you_mean
from ..graph import Graph
from ..types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type
from .schemas import find_schema, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..graph import Node, Value
    from .schemas import Parameter, Schema

__all__ = ["check_attributes", "check_operand_types", "check_operands", "fill_defaults"]


# Attributes


def check_attributes(node: Node, schema: Schema, newest: Schema) -> None:
    """Hold the attributes of ``node`` against ``schema`` and fill in its defaults.

    An attribute that only ``newest`` has is accepted if it says its default: tools
    write it whatever opset they export.
    """
    attributes = node.attributes
    for name, value in attributes.items():
        attribute = schema.attributes.get(name)
        if attribute is None:
            _check_newer(name, value, schema, newest)
        elif not _KINDS[attribute.kind](value):
            raise SchemaError(
                f"attribute {name} is {_describe(value)}, "
                f"but {schema} takes {_KIND_NAMES[attribute.kind]}"
            )
    for name in schema.required:
        if name not in attributes:
            raise SchemaError(f"attribute {name} is missing; {schema} needs it")
    fill_defaults(node, schema)


def fill_defaults(node: Node, schema: Schema) -> None:
    """Give ``node`` the default of each attribute of ``schema`` that it does not have."""
    for name, default in schema.defaults.items():
        if name not in node.attributes:
            node.attributes[name] = list(default) if isinstance(default, list) else default


def _check_newer(name: str, value: object, schema: Schema, newest: Schema) -> None:
    """Refuse an attribute that ``schema`` lacks, unless it says the default of ``newest``."""
    later = newest.attributes.get(name)
    if later is None:
        known = f"; it has {', '.join(sorted(schema.attributes)) or 'none'}"
        raise SchemaError(
            f"{schema} has no attribute {name!r}{did_you_mean(name, schema.attributes) or known}"
        )
    if later.default is None or type(value) is not type(later.default) or value != later.default:
        first = next(v for v in versions(schema.domain, schema.name) if _has(schema, v, name))
        before = f", before which only its default {later.default!r} is allowed"
        raise SchemaError(
            f"attribute {name} is {_describe(value)}, but {schema} has no such attribute: "
            f"it came with opset {first}{'' if later.default is None else before}"
        )


def _has(schema: Schema, opset: int, attribute: str) -> bool:
    version = find_schema(schema.domain, schema.name, opset)
    return version is not None and attribute in version.attributes


# Counts


def check_operands(node: Node, schema: Schema) -> None:
    """Hold the number of operands and outputs of ``node`` against ``schema``.

    A required one that is left empty (``""``) is an error too.
    """
    _check_side("input", node.inputs, schema.inputs, schema.inputs_range, schema)
    _check_side("output", node.outputs, schema.outputs, schema.outputs_range, schema)


def _check_side(
    what: str,
    values: Sequence[Value | None],
    parameters: tuple[Parameter, ...],
    bounds: tuple[int, int],
    schema: Schema,
) -> None:
    count, (least, most) = len(values), bounds
    # Optional ones that are omitted at the end are not there.
    lacking = (_at(parameters, position) for position in range(count, least))
    if count > most or any(p.required or p.variadic for p in lacking):
        plural = "" if count == 1 else "s"
        raise SchemaError(f"has {count} {what}{plural}, but {schema} takes {_span(least, most)}")
    for position, value in enumerate(values):
        if value is None:
            parameter = _at(parameters, position)
            if parameter.required or (parameter.variadic and not parameter.independent):
                raise SchemaError(f"{what} {parameter.name} is empty, but {schema} needs it")


def _at(parameters: Sequence[Parameter], position: int) -> Parameter:
    """The parameter at ``position``: the last one is variadic if there are more operands."""
    return parameters[min(position, len(parameters) - 1)]


def _span(least: int, most: int) -> str:
    if least == most:
        return str(least)
    return f"{least} to {most}" if most < 1 << 20 else f"at least {least}"


# Types of operands


def check_operand_types(
    operands: Sequence[Type | None], parameters: Sequence[Parameter], source: Schema
) -> None:
    """Hold the types of operands (None: omitted) against ``parameters``, which ``source`` has.

    Operands whose parameters share a type variable have one type.
    """
    bound: dict[str, tuple[str, str]] = {}
    for position, operand in enumerate(operands):
        if operand is None:
            continue
        parameter, name = _at(parameters, position), type_name(operand)
        if not _is_among(name, parameter.types):
            allowed = ", ".join(map(_short, sorted(parameter.types, key=_rank)))
            raise SchemaError(
                f"input {parameter.name} is {_short(name)}, but {source} allows {allowed}"
            )
        if parameter.independent or _UNKNOWN in name:
            continue
        first, other = bound.setdefault(parameter.variable, (parameter.name, name))
        if other != name:
            raise SchemaError(
                f"inputs {first} and {parameter.name} are {_short(other)} and {_short(name)}, "
                f"but {source} takes one type for both ({parameter.variable})"
            )


#: Stands for the element type of a container that is not known.
_UNKNOWN = "?"


def type_name(type: Type) -> str:
    """The ONNX type string of ``type``, with "?" for an element type that is not known.

    ``"tensor(float)"``, ``"seq(tensor(int64))"``, ``"map(string,tensor(float))"``, ``"seq(?)"``
    """
    if isinstance(type, TensorType):
        return f"tensor({type.dtype})"
    if isinstance(type, SparseTensorType):
        return f"sparse_tensor({type.dtype})"
    element = _UNKNOWN if type.element is None else type_name(type.element)
    if isinstance(type, MapType):
        return f"map({type.key},{element})"
    return f"{'seq' if isinstance(type, SequenceType) else 'optional'}({element})"


def _is_among(name: str, types: frozenset[str]) -> bool:
    known, unknown, _ = name.partition(_UNKNOWN)
    return any(t.startswith(known) for t in types) if unknown else name in types


def _short(name: str) -> str:
    """``"float"`` for ``"tensor(float)"``; containers in full."""
    return name[7:-1] if name.startswith("tensor(") else name


def _rank(name: str) -> tuple[int, str]:
    """Tensors in the order of the type table, then containers."""
    dtype = BY_NAME.get(_short(name))
    return (dtype.code, "") if dtype else (1000, name)


# The Python values of each type of attribute


def _is(type_: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is type_


def _all(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, TensorType) and value.value is not None


def _is_type(value: Any) -> bool:
    containers = (SparseTensorType, SequenceType, OptionalType, MapType)
    return isinstance(value, containers) or (isinstance(value, TensorType) and value.value is None)


_SCALARS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "INT": ("int", _is(int)),
    "FLOAT": ("float", _is(float)),
    "STRING": ("string", _is(str)),
    "TENSOR": ("tensor", _is_tensor),
    "SPARSE_TENSOR": ("sparse tensor", _is_tensor),
    "GRAPH": ("graph", _is(Graph)),
    "TYPE_PROTO": ("type", _is_type),
}
_KINDS = {kind: check for kind, (_, check) in _SCALARS.items()} | {
    f"{kind}S": _all(check) for kind, (_, check) in _SCALARS.items()
}
_KIND_NAMES = {
    kind: f"an {word}" if word == "int" else f"a {word}" for kind, (word, _) in _SCALARS.items()
} | {f"{kind}S": f"a list of {word}s" for kind, (word, _) in _SCALARS.items()}


def _describe(value: object) -> str:
    """``"the int 3"``, ``"a list of floats"``."""
    kind = next((kind for kind, check in _KINDS.items() if check(value)), None)
    words = _KIND_NAMES[kind] if kind else f"a {type(value).__name__}"
    if isinstance(value, (int, float, str)):
        return f"the {words.split(' ', 1)[1]} {value!r}"
    return words
