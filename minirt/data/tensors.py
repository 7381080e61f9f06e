"""TensorProto and TypeProto, to and from storage arrays and types.

https://github.com/onnx/onnx/blob/main/onnx/onnx.in.proto (TensorProto). Arrays are in
storage form; :func:`to_storage` and :func:`to_public` lead to and from what callers hold.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, TensorShapeProto, TypeProto

from ..dtypes import BY_CODE, BY_NAME, DType, Kind, find
from ..errors import InputError, ParseError, UnsupportedError
from ..types import Dim, MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type
from .arrays import canonical, to_public, to_storage
from .external import ExternalData, Location
from .files import PROTOBUF_LIMIT
from .packing import pack, unpack

if TYPE_CHECKING:
    from ..types import Shape

__all__ = [
    "MAP_KEYS",
    "MAX_DEPTH",
    "MAX_RANK",
    "element_type",
    "from_proto",
    "to_proto",
    "to_public",
    "to_storage",
    "type_from_proto",
    "type_to_proto",
]

_log = logging.getLogger("minirt.load")

#: How deep types and values may nest, as deep as protobuf itself parses.
MAX_DEPTH = 100

#: The largest rank of a NumPy array.
MAX_RANK = 64

#: The typed fields, and what an entry of each is.
_FIELDS = {
    "float_data": np.dtype("f4"),
    "int32_data": np.dtype("i4"),
    "string_data": np.dtype("O"),
    "int64_data": np.dtype("i8"),
    "double_data": np.dtype("f8"),
    "uint64_data": np.dtype("u8"),
}

#: The element types of map keys: integers of whole bytes, and text.
MAP_KEYS = frozenset(d for d in BY_CODE.values() if d.is_integer and d.bits >= 8) | {
    BY_NAME["string"]
}


@dataclass(frozen=True)
class _Claim:
    """What a TensorProto says of itself, before its payload is believed."""

    where: str
    dtype: DType
    shape: tuple[int, ...]

    @cached_property
    def count(self) -> int:
        return prod(self.shape)

    @cached_property
    def nbytes(self) -> int:
        return self.dtype.packed_size(self.count)

    def require(self, needed: int, unit: str, found: int, field: str) -> None:
        """Raise ParseError, with both sizes, unless ``field`` has what the shape needs."""
        if found != needed:
            has = f"{field} has {found}" if field else "it has no data"
            raise ParseError(
                f"{self.where} declares {TensorType(self.dtype, self.shape)}, "
                f"{needed} {unit}{'s' * (needed != 1)}, but {has}"
            )


def from_proto(
    tensor: TensorProto, *, where: str = "", external: ExternalData | None = None
) -> np.ndarray:
    """The elements of ``tensor`` as a storage array of ``find(tensor.data_type)``.

    The result has the tensor's shape and is read-only; it is a view of the payload
    wherever that holds the elements as they are (``raw_data``, external data). Entries
    of ``int32_data`` and ``uint64_data`` are taken modulo the width of the type.

    ``where`` says what the tensor is, in error messages: ``"attribute 'value'"``; by
    default its own name. ``external`` finds the bytes of tensors stored outside.

    Raises ParseError if the payload is not what type and shape need, before anything is
    allocated for it; UnsupportedError for element types that minirt does not know,
    segments, and shapes that NumPy cannot hold.
    """
    claim = _claim(tensor, where)
    raw = tensor.raw_data  # once: every access copies it
    field = _payload(tensor, bool(raw), claim)
    try:
        if field == "external_data":
            array = _from_bytes(_external(tensor, claim, external), claim)
        elif field == "raw_data":
            claim.require(claim.nbytes, "byte", len(raw), field)
            array = _from_bytes(raw, claim)
        elif field == "string_data":
            array = _from_strings(tensor, claim)
        else:
            array = _from_field(tensor, field, claim)
    except MemoryError:
        size = claim.count * claim.dtype.storage.itemsize
        raise UnsupportedError(f"{claim.where} takes {size} bytes; memory has less") from None
    array = array.reshape(claim.shape)
    array.flags.writeable = False
    return array


def to_proto(array: np.ndarray, dtype: DType, name: str = "") -> TensorProto:
    """The storage array ``array`` of ``dtype`` as a TensorProto, in ``raw_data``.

    Strings go to ``string_data``, as the format demands. Raises InputError for a
    string that UTF-8 cannot hold and for more bytes than a protobuf message can.
    """
    size = dtype.packed_size(array.size)
    if size > PROTOBUF_LIMIT:
        raise InputError(
            f"{TensorType(dtype, array.shape)} takes {size} bytes; a protobuf message holds "
            f"at most {PROTOBUF_LIMIT}"
        )
    tensor = TensorProto(data_type=dtype.code, dims=array.shape, name=name or None)
    if dtype.kind is Kind.STRING:
        tensor.string_data.extend(_encoded(array))
    elif dtype.is_packed:
        tensor.raw_data = pack(array, dtype).tobytes()
    else:
        tensor.raw_data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return tensor


def element_type(code: int, where: str) -> DType:
    """The element type with this ``TensorProto.DataType`` code.

    Raises ParseError for 0, which means undefined, and UnsupportedError for a code of
    a later ONNX release. ``where`` begins the message.
    """
    dtype = find(code)
    if dtype is not None:
        return dtype
    if code == TensorProto.UNDEFINED:
        raise ParseError(f"{where} has element type 0, which is undefined")
    known = f"1 to {max(BY_CODE)}"
    if code in TensorProto.DataType.values():
        name = TensorProto.DataType.Name(code)
        raise UnsupportedError(
            f"{where} has element type {code} ({name}), which onnx {onnx.__version__} defines, "
            f"but minirt knows {known}; a newer minirt may know it",
            dtype=name,
        )
    raise UnsupportedError(
        f"{where} has element type {code}, which neither minirt (it knows {known}) nor onnx "
        f"{onnx.__version__} knows; if a later ONNX release defines it, newer ones of both do",
        dtype=str(code),
    )


def type_from_proto(proto: TypeProto, *, where: str = "type") -> Type:
    """The type that ``proto`` declares.

    A dimension without a value, or with a negative one (which is logged on
    ``minirt.load``), is unknown; 0 is an empty dimension. An element type that is left
    out is None. ``where`` says what has the type, in error messages.

    Raises ParseError for an undefined type, a map key that is neither an integer nor a
    string, and nesting deeper than :data:`MAX_DEPTH`; UnsupportedError for opaque types.
    """
    declared = _type(proto, where, 0)
    if declared is None:
        raise ParseError(f"{where} declares no type")
    return declared


def _type(proto: TypeProto, where: str, depth: int) -> Type | None:
    if depth > MAX_DEPTH:
        raise ParseError(f"{where} declares a type nested more than {MAX_DEPTH} deep")
    match proto.WhichOneof("value"):
        case "tensor_type":
            tensor = proto.tensor_type
            return TensorType(element_type(tensor.elem_type, where), _declared(tensor, where))
        case "sparse_tensor_type":
            sparse = proto.sparse_tensor_type
            return SparseTensorType(element_type(sparse.elem_type, where), _declared(sparse, where))
        case "sequence_type":
            return SequenceType(_type(proto.sequence_type.elem_type, where, depth + 1))
        case "optional_type":
            return OptionalType(_type(proto.optional_type.elem_type, where, depth + 1))
        case "map_type":
            key = element_type(proto.map_type.key_type, f"the map key of {where}")
            if key not in MAP_KEYS:
                raise ParseError(f"{where} is a map from {key}; keys are integers or strings")
            return MapType(key, _type(proto.map_type.value_type, where, depth + 1))
        case None:
            return None
        case kind:
            raise UnsupportedError(
                f"{where} is of an {kind.removesuffix('_type')} type; none is known"
            )


def _declared(proto: TypeProto.Tensor | TypeProto.SparseTensor, where: str) -> Shape | None:
    if not proto.HasField("shape"):
        return None
    if len(proto.shape.dim) > MAX_RANK:
        raise UnsupportedError(
            f"{where} has {len(proto.shape.dim)} dimensions; at most {MAX_RANK} are possible"
        )
    return tuple(_dim(dim, axis, where) for axis, dim in enumerate(proto.shape.dim))


def _dim(dim: TensorShapeProto.Dimension, axis: int, where: str) -> int | Dim:
    if not dim.HasField("dim_value"):
        if isinstance(dim.dim_param, bytes):  # protobuf's way to give text that is not UTF-8
            raise ParseError(f"{where} has a name for dimension {axis} that is not UTF-8")
        return Dim(dim.dim_param)
    if dim.dim_value < 0:
        _log.warning("%s: dimension %d is %d, taken as unknown", where, axis, dim.dim_value)
        return Dim()
    return dim.dim_value


def type_to_proto(type: Type | None) -> TypeProto:
    """``type`` as a message, which declares nothing for None; contents are left out."""
    proto = TypeProto()
    match type:
        case TensorType():
            proto.tensor_type.elem_type = type.dtype.code
            _declare(proto.tensor_type, type.shape)
        case SparseTensorType():
            proto.sparse_tensor_type.elem_type = type.dtype.code
            _declare(proto.sparse_tensor_type, type.shape)
        case SequenceType():
            proto.sequence_type.elem_type.CopyFrom(type_to_proto(type.element))
        case OptionalType():
            proto.optional_type.elem_type.CopyFrom(type_to_proto(type.element))
        case MapType():
            proto.map_type.key_type = type.key.code
            proto.map_type.value_type.CopyFrom(type_to_proto(type.element))
    return proto


def _declare(proto: TypeProto.Tensor | TypeProto.SparseTensor, shape: Shape | None) -> None:
    if shape is None:
        return
    proto.shape.SetInParent()  # or a scalar would have no shape
    for dim in shape:
        if isinstance(dim, int):
            proto.shape.dim.add(dim_value=dim)
        else:
            proto.shape.dim.add(**({"dim_param": dim.name} if dim.name else {}))


def _claim(tensor: TensorProto, where: str) -> _Claim:
    if not where:
        where = f"tensor {tensor.name!r}" if tensor.name else "tensor"
    dtype = element_type(tensor.data_type, where)
    if tensor.HasField("segment"):
        begin, end = tensor.segment.begin, tensor.segment.end
        raise UnsupportedError(
            f"{where} is segment {begin} to {end} of a larger tensor; minirt reads whole tensors"
        )
    if len(tensor.dims) > MAX_RANK:
        raise UnsupportedError(
            f"{where} has {len(tensor.dims)} dimensions; at most {MAX_RANK} are possible"
        )
    claim = _Claim(where, dtype, tuple(tensor.dims))
    declared = TensorType(dtype, claim.shape)
    if any(dim < 0 for dim in claim.shape):
        raise ParseError(f"{where} declares {declared}; a dimension is not negative")
    # NumPy counts the bytes of an empty array without its zeros.
    if prod(dim for dim in claim.shape if dim) > sys.maxsize // dtype.storage.itemsize:
        raise UnsupportedError(f"{where} declares {declared}, more than memory can address")
    return claim


def _payload(tensor: TensorProto, has_raw: bool, claim: _Claim) -> str:
    """The one field that holds data; "" if none does. An empty field holds none."""
    filled = [name for name in _FIELDS if getattr(tensor, name)]
    if has_raw:
        filled.append("raw_data")
    if tensor.data_location == TensorProto.EXTERNAL:
        filled.append("external_data")
    if len(filled) > 1:
        raise ParseError(f"{claim.where} has data in {' and '.join(filled)}; one is allowed")
    dtype = claim.dtype
    homes = ["raw_data", "external_data", dtype.proto_field]
    if dtype.kind is Kind.STRING:
        homes = ["string_data"]
    if filled and filled[0] not in homes:
        raise ParseError(
            f"{claim.where} is {dtype}, but its data is in {filled[0]}; "
            f"{dtype} belongs in {', '.join(homes)}"
        )
    return filled[0] if filled else ""


def _external(tensor: TensorProto, claim: _Claim, external: ExternalData | None) -> np.ndarray:
    location = Location.of(tensor, claim.where)
    if location.length is not None:
        claim.require(claim.nbytes, "byte", location.length, "its external data")
    return (external or ExternalData()).read(location, claim.nbytes, claim.where)


def _from_bytes(data: bytes | np.ndarray, claim: _Claim) -> np.ndarray:
    """The elements of a payload in the layout of ``raw_data``, whose size is right."""
    dtype = claim.dtype
    if dtype.is_packed:
        return unpack(data, dtype, claim.count)
    array = np.frombuffer(data, dtype.storage.newbyteorder("<")).astype(dtype.storage, copy=False)
    return canonical(array if array.flags.aligned else array.copy(), dtype)


def _from_field(tensor: TensorProto, field: str, claim: _Claim) -> np.ndarray:
    dtype = claim.dtype
    # Four- and two-bit types have a packed byte an entry, six-bit ones an element.
    packed = dtype.bits in (2, 4)
    needed, unit = (claim.nbytes, "packed byte") if packed else (claim.count, "element")
    if dtype.kind is Kind.COMPLEX:
        needed, unit = 2 * claim.count, "number"
    entries = getattr(tensor, field or dtype.proto_field)
    claim.require(needed, unit, len(entries), field)
    values = np.array(entries, _FIELDS[dtype.proto_field])
    if dtype.kind is Kind.COMPLEX:
        return values.view(dtype.storage)
    if dtype.kind is Kind.BOOL:
        return np.not_equal(values, 0).view(np.uint8)
    codes = values.astype(dtype.storage, copy=False)
    return unpack(codes, dtype, claim.count) if packed else canonical(codes, dtype)


def _from_strings(tensor: TensorProto, claim: _Claim) -> np.ndarray:
    claim.require(claim.count, "element", len(tensor.string_data), "string_data")
    texts = np.empty(claim.count, object)
    texts[:] = list(tensor.string_data)
    try:
        return to_storage(texts.reshape(claim.shape), claim.dtype)
    except InputError as error:
        raise ParseError(f"{claim.where}: {error}") from None


def _encoded(array: np.ndarray) -> list[bytes]:
    texts = array.ravel().tolist()
    try:
        return [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        index = next(i for i, text in enumerate(texts) if text is error.object)
        where = ",".join(map(str, np.unravel_index(index, array.shape)))
        raise InputError(f"element [{where}] is not Unicode text: {error.reason}") from None
