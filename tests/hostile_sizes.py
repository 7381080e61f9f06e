"""Tensors and shapes that claim more than there is."""

from __future__ import annotations

import tempfile

from hostile_process import case, load
from onnx import SparseTensorProto, TensorProto
from protos import model, node, value

import minirt
from minirt.data.containers import value_from_proto
from minirt.data.external import ExternalData
from minirt.data.tensors import from_proto
from minirt.dtypes import BY_NAME, TABLE, Kind
from minirt.types import SequenceType, TensorType

# Tensors that claim more than they have


@case
def claims_of_every_type() -> object:
    errors = set()
    for dtype in TABLE:
        field, entry = dtype.proto_field, b"a" if dtype.kind is Kind.STRING else 1
        for dims in ([2**40], [2**20, 2**20], [2**31, 2**31], [2**62, 2**62]):
            for payload in ({"raw_data": b"\0" * 4}, {field: [entry] * 4}, {}):
                tensor = TensorProto(name="w", data_type=dtype.code, dims=dims, **payload)
                for proto in (
                    model([], [], ["w"], initializer=[tensor]),
                    model([node("Constant", "", "w", value=tensor)], [], ["w"]),
                ):
                    try:
                        errors.add(repr(load(proto)))
                    except minirt.MinirtError as error:
                        errors.add(type(error).__name__)
    return sorted(errors)


@case
def claims_in_a_sequence() -> object:
    tensor = TensorProto(data_type=1, dims=[2**40], raw_data=b"\0" * 4).SerializeToString()
    data = b"\x10\x01" + b"".join(b"\x1a" + bytes([len(tensor)]) + tensor for _ in range(3))
    return value_from_proto(data, SequenceType(TensorType(BY_NAME["float"])), where="x.pb")


@case
def claims_of_an_input() -> object:
    """What only the caller could bring costs nothing."""
    session = load(model([node("Cast", "x", "y", to=10)], [value("x", 1, [2**40, 2**40])], ["y"]))
    return session.outputs[0].type


# Sparse tensors


def sparse(name: str, dims: list[int], type_: int = 1) -> SparseTensorProto:
    return SparseTensorProto(values=TensorProto(name=name, data_type=type_, dims=[0]), dims=dims)


@case
def a_sparse_tensor() -> object:
    return load(model([], [], ["s"], sparse_initializer=[sparse("s", [2**40])]))


@case
def many_sparse_tensors() -> object:
    tensors = [sparse(f"s{i}", [2**27]) for i in range(100)]
    return load(model([], [], ["s0"], sparse_initializer=tensors))


@case
def many_sparse_attributes() -> object:
    nodes = [node("Constant", "", f"y{i}", sparse_value=sparse("", [2**27])) for i in range(100)]
    return load(model(nodes, [], ["y0"]))


@case
def sparse_texts() -> object:
    return load(model([], [], ["s"], sparse_initializer=[sparse("s", [2**28], 8)]))


@case
def a_sparse_tensor_of_many_dimensions() -> object:
    """Their product has a million digits."""
    return load(model([], [], ["s"], sparse_initializer=[sparse("s", [2**62] * 200_000)]))


@case
def a_type_of_many_dimensions() -> object:
    return load(model([node("Cast", "x", "y", to=10)], [value("x", 1, [2**62] * 200_000)], ["y"]))


# External data


def _external(path: str, dims: list[int], type_: int = TensorProto.INT4, **more) -> TensorProto:
    tensor = TensorProto(name="w", data_type=type_, dims=dims, data_location=1)
    for key, text in {"location": path, **more}.items():
        tensor.external_data.add(key=key, value=str(text))
    return tensor


@case
def tensors_that_share_a_file() -> object:
    """Each of them needs memory of its own, as it is packed."""
    data = ExternalData(buffers={"w.bin": bytes(1 << 24)})
    return len([from_proto(_external("w.bin", [1 << 25]), external=data) for _ in range(200)])


@case
def a_long_location() -> object:
    location = "a/" * 500_000
    return from_proto(_external(location, [1]), external=ExternalData(tempfile.gettempdir()))
