"""AttributeProto to Python values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import AttributeProto

from ..errors import ParseError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Readers", "read_attribute"]

#: Turns the message in a field into a Python value; it is told where the message is.
Readers = dict[str, "Callable[[Any, str], Any]"]

#: The field that holds the value, by type.
_FIELDS: Mapping[int, str] = {
    AttributeProto.FLOAT: "f",
    AttributeProto.INT: "i",
    AttributeProto.STRING: "s",
    AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor",
    AttributeProto.TYPE_PROTO: "tp",
    AttributeProto.FLOATS: "floats",
    AttributeProto.INTS: "ints",
    AttributeProto.STRINGS: "strings",
    AttributeProto.TENSORS: "tensors",
    AttributeProto.GRAPHS: "graphs",
    AttributeProto.SPARSE_TENSORS: "sparse_tensors",
    AttributeProto.TYPE_PROTOS: "type_protos",
}

#: Repeated fields, and the field that holds one such value.
_ELEMENTS: Mapping[str, str] = {
    "floats": "f",
    "ints": "i",
    "strings": "s",
    "tensors": "t",
    "graphs": "g",
    "sparse_tensors": "sparse_tensor",
    "type_protos": "tp",
}

#: What a proto3 writer leaves out: zero and the empty string.
_ABSENT: Mapping[str, Any] = {"f": 0.0, "i": 0, "s": ""}


def read_attribute(proto: AttributeProto, readers: Readers) -> Any:
    """The value of an attribute: int, float, str, what a reader makes, or a list of one of these.

    ``readers`` are for the fields ``t``, ``sparse_tensor``, ``g`` and ``tp``. Raises
    ParseError where type and contents disagree, and SchemaError for a reference to an
    attribute of a function, which only a node in one may have.
    """
    where = f"attribute {proto.name}"
    if proto.ref_attr_name:
        raise SchemaError(
            f"{where} refers to attribute {proto.ref_attr_name!r} of a function, "
            "but the node is in none"
        )
    field = _FIELDS[proto.type] if proto.type else _field_in_use(proto, where)
    if field in _ELEMENTS:
        return _read_list(proto, field, readers, where)
    if proto.HasField(field):
        return _read(getattr(proto, field), field, readers, where)
    _refuse_other_fields(proto, field, where)
    if field not in _ABSENT:
        raise ParseError(f"{where} has no value")
    return _ABSENT[field]


def _read_list(proto: AttributeProto, field: str, readers: Readers, where: str) -> list[Any]:
    items, element = getattr(proto, field), _ELEMENTS[field]
    if not items:
        _refuse_other_fields(proto, field, where)
    if element in ("f", "i"):
        return list(items)
    return [_read(item, element, readers, f"{where}[{i}]") for i, item in enumerate(items)]


def _read(item: Any, field: str, readers: Readers, where: str) -> Any:
    if field in ("f", "i"):
        return item
    if field != "s":
        return readers[field](item, where)
    try:
        return item.decode()
    except UnicodeDecodeError as error:
        raise ParseError(f"{where} is not UTF-8: {error.reason} at byte {error.start}") from None


def _fields_in_use(proto: AttributeProto) -> list[str]:
    return [f.name for f, _ in proto.ListFields() if f.name in _FIELDS.values()]


def _field_in_use(proto: AttributeProto, where: str) -> str:
    """The field with the value, for files from before attributes had a type."""
    fields = _fields_in_use(proto)
    if len(fields) != 1:
        found = " and ".join(fields) or "no value"
        raise ParseError(f"{where} has no type and {found}")
    return fields[0]


def _refuse_other_fields(proto: AttributeProto, field: str, where: str) -> None:
    others = _fields_in_use(proto)
    if others:
        type_name = AttributeProto.AttributeType.Name(proto.type)
        raise ParseError(
            f"{where} is of type {type_name}, but its value is in field "
            f"{others[0]!r} instead of {field!r}"
        )
