"""Attributes: from protobuf fields to Python values."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import AttributeProto, TensorProto, TypeProto, helper
from protos import graph, model, node

from minirt.errors import ParseError, SchemaError, UnsupportedError
from minirt.graph import Graph
from minirt.model.load import read_graph
from minirt.types import SequenceType, TensorType

A = AttributeProto
FLOAT = helper.make_tensor("", TensorProto.FLOAT, [2], [1.0, 2.0])
SPARSE = helper.make_sparse_tensor(
    FLOAT, helper.make_tensor("", TensorProto.INT64, [2], [0, 3]), [4]
)
TYPE = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, ["N"]))
BODY = graph([], [], [])


def loaded(*protos: AttributeProto) -> dict:
    """The attributes of a node of a vendor's operator, which has no schema."""
    anything = node("Anything", "x", "y", "any", domain="vendor")
    anything.attribute.extend(protos)
    proto = model([anything], ["x"], ["y"], opsets={"": 21, "vendor": 1})
    return read_graph(proto).nodes[0].attributes


@pytest.mark.parametrize(
    ("proto", "expected"),
    [
        (A(name="a", type=A.INT, i=-3), -3),
        (A(name="a", type=A.FLOAT, f=0.5), 0.5),
        (A(name="a", type=A.STRING, s="naïve".encode()), "naïve"),
        (A(name="a", type=A.INTS, ints=[1, 2]), [1, 2]),
        (A(name="a", type=A.FLOATS, floats=[0.5, 2.0]), [0.5, 2.0]),
        (A(name="a", type=A.STRINGS, strings=[b"x", b""]), ["x", ""]),
        (A(name="a", type=A.INTS), []),
        # A proto3 writer leaves out zeros.
        (A(name="a", type=A.INT), 0),
        (A(name="a", type=A.FLOAT), 0.0),
        (A(name="a", type=A.STRING), ""),
        # Files from before attributes had a type.
        (A(name="a", i=7), 7),
        (A(name="a", s=b"x"), "x"),
        (A(name="a", floats=[1.0]), [1.0]),
    ],
)
def test_plain_values(proto, expected):
    (found,) = loaded(proto).values()
    assert found == expected and type(found) is type(expected)


def test_tensors():
    found = loaded(
        A(name="t", type=A.TENSOR, t=FLOAT),
        A(name="ts", type=A.TENSORS, tensors=[FLOAT, FLOAT]),
        A(name="s", type=A.SPARSE_TENSOR, sparse_tensor=SPARSE),
    )
    assert str(found["t"]) == "float[2]" and found["t"].value.tolist() == [1.0, 2.0]
    assert [t.value.tolist() for t in found["ts"]] == [[1.0, 2.0]] * 2
    assert str(found["s"]) == "float[4]" and found["s"].value.tolist() == [1.0, 0.0, 0.0, 2.0]
    assert not any(v.value.flags.writeable for v in (found["t"], found["s"]))


def test_types_and_graphs():
    found = loaded(
        A(name="t", type=A.TYPE_PROTO, tp=TYPE),
        A(name="ts", type=A.TYPE_PROTOS, type_protos=[TYPE]),
        A(name="g", type=A.GRAPH, g=BODY),
        A(name="gs", type=A.GRAPHS, graphs=[BODY, BODY]),
    )
    assert isinstance(found["t"], SequenceType) and isinstance(found["t"].element, TensorType)
    assert [str(t) for t in found["ts"]] == ["seq(float[N])"]
    assert isinstance(found["g"], Graph) and len(found["gs"]) == 2


BAD = np.float32(1).tobytes()[:3]


@pytest.mark.parametrize(
    ("proto", "error", "message"),
    [
        (
            A(name="a", type=A.INT, f=1.0),
            ParseError,
            "attribute a is of type INT, but its value is in field 'f' instead of 'i'",
        ),
        (
            A(name="a", type=A.INTS, floats=[1.0]),
            ParseError,
            "attribute a is of type INTS, but its value is in field 'floats' instead of 'ints'",
        ),
        (A(name="a", type=A.TENSOR), ParseError, "attribute a has no value"),
        (A(name="a", type=A.GRAPH), ParseError, "attribute a has no value"),
        (A(name="a"), ParseError, "attribute a has no type and no value"),
        (A(name="a", i=1, f=2.0), ParseError, "attribute a has no type and f and i"),
        (
            A(name="a", type=A.STRING, s=b"a\xff"),
            ParseError,
            "attribute a is not UTF-8: invalid start byte at byte 1",
        ),
        (
            A(name="a", type=A.STRINGS, strings=[b"", b"\xff"]),
            ParseError,
            "attribute a[1] is not UTF-8: invalid start byte at byte 0",
        ),
        (A(name="", type=A.INT, i=1), SchemaError, "has an attribute without a name"),
        (
            A(name="a", type=A.INT, ref_attr_name="alpha"),
            SchemaError,
            "attribute a refers to attribute 'alpha' of a function, but the node is in none",
        ),
        (
            A(name="a", type=A.TENSOR, t=TensorProto(data_type=1, dims=[1], raw_data=BAD)),
            ParseError,
            "attribute a declares float[1], 4 bytes, but raw_data has 3",
        ),
        (
            A(name="a", type=A.TYPE_PROTO, tp=TypeProto()),
            ParseError,
            "attribute a declares no type",
        ),
        (
            A(name="a", type=A.TENSOR, t=TensorProto(data_type=99, dims=[0])),
            UnsupportedError,
            None,
        ),
    ],
)
def test_faults(proto, error, message):
    with pytest.raises(error) as caught:
        loaded(proto)
    prefix = "vendor.Anything 'any' (node 0): "
    assert str(caught.value).startswith(prefix)
    assert message is None or str(caught.value) == prefix + message


def test_an_attribute_is_given_once():
    with pytest.raises(SchemaError) as error:
        loaded(A(name="a", type=A.INT, i=1), A(name="a", type=A.INT, i=1))
    assert str(error.value) == "vendor.Anything 'any' (node 0): attribute a is given twice"


def test_an_attribute_of_a_type_to_come():
    # Type 99 in field 20, a value in field 30; protobuf keeps both apart as unknown.
    later = A.FromString(b"\x0a\x01a" + b"\xa0\x01\x63" + b"\xf0\x01\x07")
    with pytest.raises(ParseError, match=r"attribute a has no type and no value$"):
        loaded(later)
