"""Constant and Identity: types with contents, and views."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from protos import model, node, value

from minirt.dtypes import BY_NAME, TABLE
from minirt.errors import SchemaError
from minirt.model.infer import apply, infer_types
from minirt.model.load import load_graph
from minirt.ops.registry import Alias


def constant(opset=25, **attributes):
    """The type that a Constant node gives."""
    graph = load_graph(
        model([node("Constant", "", "y", "k", **attributes)], [], ["y"], opsets={"": opset})
    )
    ((type_,), how) = apply(graph.nodes[0], [])
    assert how is None
    return type_


@pytest.mark.parametrize(
    ("name", "content", "text", "storage"),
    [
        ("value_int", -(2**63), "int64[]", "i8"),
        ("value_ints", [1, -2], "int64[2]", "i8"),
        ("value_ints", [], "int64[0]", "i8"),
        ("value_float", 0.1, "float[]", "f4"),
        ("value_floats", [0.1, float("inf")], "float[2]", "f4"),
        ("value_floats", [], "float[0]", "f4"),
        ("value_string", "naïve", "string[]", "O"),
        ("value_strings", ["a", ""], "string[2]", "O"),
        ("value_strings", [], "string[0]", "O"),
    ],
)
def test_numbers_and_texts(name, content, text, storage):
    attribute = helper.make_attribute(
        name, content or [0 if "int" in name else 1.0 if "float" in name else "x"]
    )
    if content == []:
        for field in ("ints", "floats", "strings"):
            attribute.ClearField(field)
    proto = model([node("Constant", "", "y")], [], ["y"])
    proto.graph.node[0].attribute.append(attribute)
    ((type_,), _) = apply(load_graph(proto).nodes[0], [])
    assert str(type_) == text and type_.value.dtype == np.dtype(storage)
    expected = np.float32(content).tolist() if "float" in name else content
    assert type_.value.tolist() == expected
    assert type_.value.flags.c_contiguous and not type_.value.flags.writeable


@pytest.mark.parametrize("dtype", TABLE, ids=repr)
def test_tensors_of_every_type(dtype):
    numbers = ["a", "b"] if dtype is BY_NAME["string"] else [1, 1]
    type_ = constant(value=helper.make_tensor("", dtype.code, [2], numbers))
    assert type_.dtype is dtype and type_.shape == (2,)
    assert type_.value.dtype == dtype.storage


def test_old_versions_held_integers_too():
    # Constant-1 lists floats only; files of its time have every type.
    type_ = constant(opset=6, value=helper.make_tensor("", TensorProto.INT64, [1], [3]))
    assert str(type_) == "int64[1]" and type_.value.tolist() == [3]


@pytest.mark.parametrize(
    ("indices", "dims", "expected"),
    [
        (([1, 3], [2]), [5], [0, 3, 0, 4, 0]),
        (([0, 1, 1, 2], [2, 2]), [2, 3], [[0, 3, 0], [0, 0, 4]]),
    ],
)
def test_sparse_values_become_dense(indices, dims, expected):
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("", TensorProto.FLOAT, [2], [3.0, 4.0]),
        helper.make_tensor("", TensorProto.INT64, indices[1], indices[0]),
        dims,
    )
    assert constant(opset=11, sparse_value=sparse).value.tolist() == expected


ALL = (
    "sparse_value, value, value_float, value_floats, value_int, value_ints, "
    "value_string, value_strings"
)


@pytest.mark.parametrize(
    ("attributes", "found"),
    [
        ({}, "none"),
        ({"value_int": 1, "value_ints": [1]}, "value_int and value_ints"),
        ({"value_string": "", "value_float": 0.0}, "value_float and value_string"),
    ],
)
def test_exactly_one_value_is_given(attributes, found):
    with pytest.raises(SchemaError) as error:
        constant(**attributes)
    assert str(error.value) == (
        f"Constant 'k' (node 0): needs exactly one of the attributes {ALL}, but has {found}"
    )


def test_identity_is_a_view_and_keeps_contents():
    graph = load_graph(
        model([node("Constant", "", "k", value_int=3), node("Identity", "k", "y")], [], ["y"])
    )
    types = infer_types(graph)
    assert types[graph.outputs[0]].value.tolist() == 3
    assert apply(graph.nodes[1], [types[graph.nodes[0].outputs[0]]])[1] == Alias("input")


@pytest.mark.parametrize(
    "proto",
    [
        helper.make_tensor_type_proto(TensorProto.STRING, ["N"]),
        helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None)),
        helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2])),
    ],
)
def test_identity_takes_every_kind_of_type(proto):
    graph = load_graph(
        model([node("Identity", "x", "y")], [helper.make_value_info("x", proto)], ["y"])
    )
    assert infer_types(graph)[graph.outputs[0]] == graph.inputs[0].type


def test_constants_are_no_inputs():
    with pytest.raises(SchemaError, match=r"has 1 input, but Constant-25 takes 0$"):
        load_graph(
            model([node("Constant", "x", "y", value_int=1)], [value("x")], ["y"], opsets={"": 25})
        )
