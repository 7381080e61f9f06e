"""TypeProto to types."""

import logging

import pytest
from onnx import TensorProto, TypeProto, helper

from minirt.data.tensors import MAX_DEPTH, type_from_proto, type_to_proto
from minirt.dtypes import BY_NAME, TABLE
from minirt.errors import ParseError, UnsupportedError
from minirt.types import (
    Dim,
    MapType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
)

FLOAT, INT64 = BY_NAME["float"], BY_NAME["int64"]


def tensor(shape, code=TensorProto.FLOAT):
    return helper.make_tensor_type_proto(code, shape)


@pytest.mark.parametrize(
    ("proto", "expected"),
    [
        (tensor([2, 3]), TensorType(FLOAT, (2, 3))),
        (tensor([]), TensorType(FLOAT, ())),
        (tensor([0]), TensorType(FLOAT, (0,))),
        (tensor(["n", 3]), TensorType(FLOAT, (Dim("n"), 3))),
        (tensor(None), TensorType(FLOAT, None)),
        (
            helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, ["n", 3]),
            SparseTensorType(FLOAT, (Dim("n"), 3)),
        ),
        (
            helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, None),
            SparseTensorType(FLOAT, None),
        ),
        (helper.make_sequence_type_proto(tensor([2])), SequenceType(TensorType(FLOAT, (2,)))),
        (helper.make_optional_type_proto(tensor([2])), OptionalType(TensorType(FLOAT, (2,)))),
        (
            helper.make_map_type_proto(TensorProto.INT64, tensor([])),
            MapType(INT64, TensorType(FLOAT, ())),
        ),
        (
            helper.make_map_type_proto(TensorProto.STRING, tensor([])),
            MapType(BY_NAME["string"], TensorType(FLOAT, ())),
        ),
        (
            helper.make_optional_type_proto(
                helper.make_sequence_type_proto(
                    helper.make_map_type_proto(TensorProto.INT64, tensor(None))
                )
            ),
            OptionalType(SequenceType(MapType(INT64, TensorType(FLOAT)))),
        ),
        (TypeProto(sequence_type=TypeProto.Sequence()), SequenceType(None)),
        (TypeProto(optional_type=TypeProto.Optional()), OptionalType(None)),
        (TypeProto(map_type=TypeProto.Map(key_type=7)), MapType(INT64, None)),
    ],
    ids=lambda value: str(value) if not isinstance(value, TypeProto) else "",
)
def test_types(proto, expected):
    assert type_from_proto(proto) == expected
    assert type_from_proto(type_to_proto(expected)) == expected


@pytest.mark.parametrize("dtype", TABLE, ids=repr)
def test_every_element_type(dtype):
    assert type_from_proto(tensor([1], dtype.code)) == TensorType(dtype, (1,))


def test_unnamed_dimensions_are_unknown_and_differ():
    first, second = type_from_proto(tensor([None, ""])).shape
    assert isinstance(first, Dim)
    assert isinstance(second, Dim)
    assert first != second
    assert (first.name, second.name) == (None, None)
    again = type_to_proto(TensorType(FLOAT, (first, second)))
    assert again == tensor([None, None])


def test_nothing_is_declared_for_a_type_that_is_not_known():
    assert type_to_proto(None) == TypeProto()


def test_a_negative_dimension_is_unknown_and_logged(caplog):
    with caplog.at_level(logging.WARNING, "minirt.load"):
        (dim,) = type_from_proto(tensor([-1]), where="input 'x'").shape
    assert (dim.name, isinstance(dim, Dim)) == (None, True)
    assert [(r.name, r.getMessage()) for r in caplog.records] == [
        ("minirt.load", "input 'x': dimension 0 is -1, taken as unknown")
    ]


def nested(depth):
    proto = tensor([])
    for _ in range(depth):
        proto = helper.make_sequence_type_proto(proto)
    return proto


def test_types_nest_up_to_the_limit():
    declared = type_from_proto(nested(MAX_DEPTH))
    for _ in range(MAX_DEPTH):
        declared = declared.element
    assert declared == TensorType(FLOAT, ())


@pytest.mark.parametrize(
    ("proto", "error", "message"),
    [
        (TypeProto(), ParseError, "input 'x' declares no type"),
        (tensor([1], 0), ParseError, "input 'x' has element type 0, which is undefined"),
        (
            helper.make_map_type_proto(TensorProto.FLOAT, tensor([])),
            ParseError,
            "input 'x' is a map from float; keys are integers or strings",
        ),
        (
            helper.make_map_type_proto(TensorProto.INT4, tensor([])),
            ParseError,
            "input 'x' is a map from int4; keys are integers or strings",
        ),
        (
            TypeProto(map_type=TypeProto.Map(value_type=tensor([]))),
            ParseError,
            "the map key of input 'x' has element type 0, which is undefined",
        ),
        (
            nested(MAX_DEPTH + 1),
            ParseError,
            "input 'x' declares a type nested more than 100 deep",
        ),
        (
            TypeProto.FromString(bytes.fromhex("0a0a 0801 1206 0a04 1202 fffe")),
            ParseError,
            "input 'x' has a name for dimension 0 that is not UTF-8",
        ),
        (
            TypeProto(opaque_type=TypeProto.Opaque(name="t")),
            UnsupportedError,
            "input 'x' is of an opaque type; none is known",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_faults(proto, error, message):
    with pytest.raises(error) as caught:
        type_from_proto(proto, where="input 'x'")
    assert str(caught.value) == message
