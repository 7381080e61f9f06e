"""Values of every type, to and from the protobuf messages of ``.pb`` files.

A tensor is a public array, a sparse tensor a :class:`~minirt.data.sparse.SparseTensor` of
public values, a sequence a list, a map a dict, an absent optional None.

https://github.com/onnx/onnx/blob/main/onnx/onnx-data.in.proto
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError, EncodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from onnx import MapProto, OptionalProto, SequenceProto, SparseTensorProto, TensorProto

from ..dtypes import BY_NAME, Kind, find
from ..errors import InputError, ParseError
from ..types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type
from .external import ExternalData
from .files import PROTOBUF_LIMIT, as_path, read_file
from .sparse import SparseTensor, sparse_from_proto, sparse_to_proto
from .tensors import (
    MAP_KEYS,
    MAX_DEPTH,
    element_type,
    from_proto,
    to_proto,
    to_public,
    to_storage,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from ..dtypes import DType

__all__ = ["load_value", "save_value", "type_of", "value_from_proto", "value_to_proto"]


class _Form(NamedTuple):
    """A kind of value, as types, messages, their fields and their enums call it."""

    type: Any
    message: Any
    stem: str  # of the fields: tensor_values in a sequence, tensor_value in an optional
    code: int  # in SequenceProto.DataType and OptionalProto.DataType


_FORMS = (
    _Form(TensorType, TensorProto, "tensor", SequenceProto.TENSOR),
    _Form(SparseTensorType, SparseTensorProto, "sparse_tensor", SequenceProto.SPARSE_TENSOR),
    _Form(SequenceType, SequenceProto, "sequence", SequenceProto.SEQUENCE),
    _Form(MapType, MapProto, "map", SequenceProto.MAP),
    _Form(OptionalType, OptionalProto, "optional", SequenceProto.OPTIONAL),
)
_FORM_OF = {form.type: form for form in _FORMS}

# What a value of each type is in Python.
_PYTHON: dict[type, tuple[type, ...]] = {
    TensorType: (np.ndarray, np.generic),
    SparseTensorType: (SparseTensor,),
    SequenceType: (list, tuple),
    MapType: (dict,),
    OptionalType: (object,),
}


def load_value(path: str | os.PathLike[str], type: Type | None = None) -> Any:
    """The value in a ``.pb`` file: a tensor, unless ``type`` says otherwise.

    ``type`` is one of a session's: ``load_value("input_0.pb", session.inputs[0].type)``.
    Its structure counts; element types and shapes are those of the file. A tensor is a
    read-only array, a sequence a list, a map a dict, an absent optional None. Data outside
    of the file is looked for in its folder.

    Raises ParseError for a file that holds nothing like that, UnsupportedError for what
    minirt does not know, and OSError for a file that cannot be read.
    """
    _require_type(type)
    file = as_path(path)
    where = repr(str(file)) if type else f"{str(file)!r}, read as a tensor,"
    kind = type or TensorType(BY_NAME["float"])
    return value_from_proto(
        read_file(file, where), kind, where=where, external=ExternalData(file.parent)
    )


def save_value(
    value: Any, path: str | os.PathLike[str], type: Type | None = None, name: str = ""
) -> None:
    """Write a value to a ``.pb`` file, packed as ONNX packs it, under ``name``.

    ``value`` is an array, a SparseTensor, a list, a dict or None, as a run returns it.
    ``type`` is one of a session's: ``save_value(x, "input_0.pb", session.inputs[0].type)``;
    without it the value decides, and an empty list or None says little.

    Raises InputError for a value that is not of the type, and for more than a protobuf
    message can hold (2 GiB); OSError for a file that cannot be written.
    """
    _require_type(type)
    if not isinstance(name, str) or not _is_unicode(name):
        raise InputError(f"the name {name!r} is no Unicode text")
    message = value_to_proto(value, type, name)
    try:
        data = message.SerializeToString()
    except (EncodeError, ValueError):
        raise InputError(
            f"the value takes more than the {PROTOBUF_LIMIT} bytes that a protobuf message holds"
        ) from None
    as_path(path).write_bytes(data)


def _require_type(type: object) -> None:
    if type is not None and type.__class__ not in _FORM_OF:
        raise InputError(
            f"type is that of a session's value, such as session.inputs[0].type, not {type!r}"
        )


def value_from_proto(
    data: bytes, type: Type, *, where: str = "value", external: ExternalData | None = None
) -> Any:
    """The value in ``data``, the bytes of the message that ``type`` calls for.

    Its structure must be that of ``type``; element types and shapes are those of the
    message, and may be others. Arrays are read-only. ``where`` says what is read, in
    error messages; ``external`` finds the bytes of tensors stored outside.

    Raises ParseError for bytes that are no such message, for contradictions in it, and
    for values nested deeper than :data:`~minirt.data.tensors.MAX_DEPTH`.
    """
    form = _FORM_OF[type.__class__]
    name = form.message.DESCRIPTOR.name
    try:
        message = form.message.FromString(data)
    except (DecodeError, UnicodeDecodeError) as error:  # the latter from protobuf without C
        raise ParseError(f"{where} is no {name}: {error}") from None
    # Another message's bytes often parse, as one without elements and with stray fields.
    if form.message is not TensorProto and len(UnknownFieldSet(message)):
        raise ParseError(f"{where} has fields that a {name} does not have; {type} is declared")
    return _Reader(external).read(message, type, where, 0)


def value_to_proto(value: Any, type: Type | None = None, name: str = "") -> Any:
    """``value`` as the message that ``type`` calls for, named ``name``.

    Without a type, or where an element type is left out, the value decides. Raises
    InputError if the value is not of the type.
    """
    return _write(value, type, name, 0)


class _Reader:
    """Reads messages. Each method is told the declared type, and what it reads."""

    def __init__(self, external: ExternalData | None) -> None:
        self.external = external

    def read(self, message: Any, type: Type | None, where: str, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ParseError(f"{where} is nested more than {MAX_DEPTH} deep")
        match message:
            case TensorProto():
                array = from_proto(message, where=where, external=self.external)
                return to_public(array, element_type(message.data_type, where))
            case SparseTensorProto():
                sparse = sparse_from_proto(message, where=where, external=self.external)
                dtype = element_type(message.values.data_type, where)
                return replace(sparse, values=to_public(sparse.values, dtype))
            case SequenceProto():
                return self.sequence(message, getattr(type, "element", None), where, depth)
            case MapProto():
                return self.map(message, getattr(type, "element", None), where, depth)
        return self.optional(message, getattr(type, "element", None), where, depth)

    def sequence(
        self, message: SequenceProto, element: Type | None, where: str, depth: int
    ) -> list[Any]:
        form = _held(message, "_values", element, where)
        items = getattr(message, f"{form.stem}_values") if form else ()
        return [
            self.read(item, element, f"{where}[{i}]", depth + 1) for i, item in enumerate(items)
        ]

    def optional(self, message: OptionalProto, element: Type | None, where: str, depth: int) -> Any:
        form = _held(message, "_value", element, where)
        if form is None:
            return None
        return self.read(getattr(message, f"{form.stem}_value"), element, where, depth + 1)

    def map(
        self, message: MapProto, element: Type | None, where: str, depth: int
    ) -> dict[int | str, Any]:
        keys = _keys(message, where)
        values = self.sequence(message.values, element, where, depth)
        if len(keys) != len(values):
            raise ParseError(f"{where} has {len(keys)} keys, but {len(values)} values")
        return dict(zip(keys, values, strict=True))


def _held(
    message: SequenceProto | OptionalProto, suffix: str, element: Type | None, where: str
) -> _Form | None:
    """The form of the values that ``message`` holds, None if it holds none."""
    present = {field.name for field, _ in message.ListFields()}
    held = [form for form in _FORMS if form.stem + suffix in present]
    if not held:
        return None
    if len(held) > 1 or held[0].code != message.elem_type:
        fields = " and ".join(form.stem + suffix for form in held)
        raise ParseError(f"{where} has elem_type {message.elem_type}, but data in {fields}")
    if element is not None and not isinstance(element, held[0].type):
        raise ParseError(f"{where} has {held[0].stem}{suffix}, but {element} is declared")
    return held[0]


def _keys(message: MapProto, where: str) -> list[int] | list[str]:
    dtype = element_type(message.key_type, f"the keys of {where}")
    if dtype not in MAP_KEYS:
        raise ParseError(f"{where} has keys of type {dtype}; keys are integers or strings")
    text = dtype.kind is Kind.STRING
    if message.keys if text else message.string_keys:
        raise ParseError(f"{where} has keys of type {dtype} in {'' if text else 'string_'}keys")
    keys: list[Any]
    if text:
        keys = _texts(message.string_keys, where)
    else:
        wrap = 1 << 64 if dtype.name == "uint64" else 0  # the field is int64
        keys = [key + wrap if key < 0 else key for key in message.keys]
        for key in keys:
            if not dtype.smallest <= key <= dtype.largest:
                raise ParseError(f"{where} has the key {key}, which is no {dtype}")
    if len(set(keys)) < len(keys):
        twice = next(key for key, count in Counter(keys).items() if count > 1)
        raise ParseError(f"{where} has the key {twice!r} twice")
    return keys


def _texts(keys: Iterable[bytes], where: str) -> list[str]:
    try:
        return [key.decode() for key in keys]
    except UnicodeDecodeError as error:
        raise ParseError(f"{where} has the key {error.object!r}, which is not UTF-8") from None


def _write(value: Any, type: Type | None, name: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise InputError(f"the value is nested more than {MAX_DEPTH} deep")
    type = type or type_of(value)
    _require(value, type)
    match type:
        case TensorType(dtype=dtype):
            return to_proto(to_storage(value, dtype), dtype, name)
        case SparseTensorType(dtype=dtype):
            sparse = replace(value, values=to_storage(value.values, dtype))
            return sparse_to_proto(sparse, dtype, name)
        case SequenceType(element=element):
            return _write_sequence(value, element, name, depth)
        case MapType(key=key, element=element):
            return _write_map(value, key, element, name, depth)
    return _write_optional(value, type.element, name, depth)


def _require(value: object, type: Type) -> None:
    if not isinstance(value, _PYTHON[type.__class__]):
        raise InputError(f"expected {type}, got {value.__class__.__name__}")


def _write_sequence(
    value: Sequence[Any], element: Type | None, name: str, depth: int
) -> SequenceProto:
    if element is None:
        element = type_of(value[0]) if value else None
    form = _FORM_OF[element.__class__ if element else TensorType]
    message = SequenceProto(name=name or None, elem_type=form.code)
    items = [_write(item, element, "", depth + 1) for item in value]
    getattr(message, f"{form.stem}_values").extend(items)
    return message


def _write_optional(value: Any, element: Type | None, name: str, depth: int) -> OptionalProto:
    message = OptionalProto(name=name or None, elem_type=OptionalProto.UNDEFINED)
    if element is None and value is not None:
        element = type_of(value)
    if element is not None:
        form = _FORM_OF[element.__class__]
        message.elem_type = form.code
        if value is not None:
            item = _write(value, element, "", depth + 1)
            getattr(message, f"{form.stem}_value").CopyFrom(item)
    return message


def _write_map(
    value: Mapping[Any, Any], dtype: DType, element: Type | None, name: str, depth: int
) -> MapProto:
    message = MapProto(name=name or None, key_type=dtype.code)
    for key in value:
        if dtype.kind is Kind.STRING and isinstance(key, str) and _is_unicode(key):
            message.string_keys.append(key.encode())
        elif _is_integer(key) and dtype.is_integer and dtype.smallest <= key <= dtype.largest:
            message.keys.append(int(key) - (1 << 64 if key >= 1 << 63 else 0))  # the field is int64
        else:
            raise InputError(f"the key {key!r} is no {dtype}")
    message.values.CopyFrom(_write_sequence(list(value.values()), element, "", depth))
    return message


def type_of(value: Any) -> Type:
    """The type that a value has of itself; shapes, and types of elements of values, are left out.

    Raises InputError for what is no value of an ONNX type.
    """
    match value:
        case None:
            return OptionalType()
        case list() | tuple():
            return SequenceType()
        case dict():
            text = all(isinstance(key, str) for key in value)
            return MapType(BY_NAME["string" if text and value else "int64"])
        case SparseTensor(values=array):
            return SparseTensorType(_dtype_of(array))
        case np.ndarray() | np.generic():
            return TensorType(_dtype_of(value))
    raise InputError(f"a {value.__class__.__name__} is no value of an ONNX type")


def _dtype_of(array: Any) -> DType:
    dtype = find(array.dtype)
    if dtype is None:
        raise InputError(f"ONNX has no element type for NumPy's {array.dtype}")
    return dtype


def _is_unicode(key: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in key)


def _is_integer(key: object) -> bool:
    return isinstance(key, (int, np.integer)) and not isinstance(key, bool)
