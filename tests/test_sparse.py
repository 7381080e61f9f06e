"""Sparse tensors: both index forms, what contradicts them, and the cost of making them dense."""

import ml_dtypes
import numpy as np
import pytest
from onnx import SparseTensorProto, TensorProto

from minirt.data.sparse import SparseTensor, sparse_from_proto, sparse_to_proto
from minirt.dtypes import BY_NAME, TABLE, Kind
from minirt.errors import InputError, ParseError, UnsupportedError

FLOAT = BY_NAME["float"]


def sparse(values, indices, shape):
    return SparseTensor(np.array(values, np.float32), np.array(indices, np.int64), shape)


def proto(values, indices, dims, *, index_dims=None):
    return SparseTensorProto(
        values=TensorProto(data_type=1, dims=[len(values)], float_data=values, name="s"),
        indices=TensorProto(data_type=7, dims=index_dims or [len(indices)], int64_data=indices),
        dims=dims,
    )


CASES = [
    ("linear", proto([3, 4], [1, 3], [5]), [0, 3, 0, 4, 0]),
    ("rows", proto([3, 4], [0, 1, 1, 2], [2, 3], index_dims=[2, 2]), [[0, 3, 0], [0, 0, 4]]),
    ("linear, rank 2", proto([3, 4], [1, 5], [2, 3]), [[0, 3, 0], [0, 0, 4]]),
    ("rows, rank 1", proto([3, 4], [1, 3], [5], index_dims=[2, 1]), [0, 3, 0, 4, 0]),
    ("rank 0", proto([3], [0], []), 3),
    ("rank 0, rows", proto([3], [], [], index_dims=[1, 0]), 3),
    ("full", proto([1, 2], [0, 1], [2]), [1, 2]),
    ("no values", proto([], [], [2]), [0, 0]),
    ("no values, rows", proto([], [], [2, 1], index_dims=[0, 2]), [[0], [0]]),
    ("no indices", SparseTensorProto(values=proto([], [], []).values, dims=[2]), [0, 0]),
    ("empty", proto([], [], [2, 0]), [[], []]),
]


@pytest.mark.parametrize(("name", "message", "dense"), CASES, ids=[c[0] for c in CASES])
def test_known_tensors(name, message, dense):
    read = sparse_from_proto(message)
    assert read.dense().dtype == np.float32
    assert read.dense().tolist() == dense
    written = sparse_to_proto(read, FLOAT, "s")
    assert written.values.name == "s"
    again = sparse_from_proto(SparseTensorProto.FromString(written.SerializeToString()))
    assert (again.indices.shape, again.shape) == (read.indices.shape, tuple(message.dims))
    assert again.dense().tolist() == dense


@pytest.mark.parametrize("dtype", [d for d in TABLE if d.name != "float8e8m0"], ids=repr)
def test_every_element_type(dtype):
    text = dtype.kind is Kind.STRING
    values = np.array(["é", ""], object) if text else np.array([1, 0], dtype.storage)
    given = SparseTensor(values, np.array([1, 2]), (4,))
    read = sparse_from_proto(sparse_to_proto(given, dtype))
    assert read.values.dtype == dtype.storage
    zero = "" if text else 0
    assert read.dense().tolist() == [zero, *values.tolist(), zero]


def test_public_values_become_dense_too():
    given = SparseTensor(np.array([1, -1], ml_dtypes.int4), np.array([0, 2]), (3,))
    assert given.dense().dtype == ml_dtypes.int4
    assert given.dense().astype(int).tolist() == [1, 0, -1]


def test_indices_that_ascend_across_rows():
    rows = [[0, 0, 2], [0, 1, 0], [1, 0, 0], [1, 0, 1]]
    dense = sparse([1, 2, 3, 4], rows, (2, 2, 3)).dense()
    expected = np.zeros((2, 2, 3))
    expected[tuple(np.array(rows).T)] = [1, 2, 3, 4]
    assert np.array_equal(dense, expected)


FAULTS = [
    (([[1, 2]], [0, 1], (4,)), "values have shape [1,2], not one dimension"),
    (([1], [0], (2, -1)), "shape [2,-1] has a negative dimension"),
    (
        ([1, 2], [0], (4,)),
        "indices have shape [1]; 2 values in a tensor of rank 1 need [2] or [2,1]",
    ),
    (
        ([1, 2], [[0, 1, 1], [0, 1, 2]], (2, 3)),
        "indices have shape [2,3]; 2 values in a tensor of rank 2 need [2] or [2,2]",
    ),
    (([1, 2], [1, 6], (2, 3)), "index 6 of value 1 is outside of shape [2,3]"),
    (([1, 2], [-1, 2], (2, 3)), "index -1 of value 0 is outside of shape [2,3]"),
    (([1], [[1, 3]], (2, 3)), "index [1,3] of value 0 is outside of shape [2,3]"),
    (([1], [[-1, 0]], (2, 3)), "index [-1,0] of value 0 is outside of shape [2,3]"),
    (([1], [0], (0,)), "index 0 of value 0 is outside of shape [0]"),
    (
        ([1, 2, 3], [1, 4, 3], (5,)),
        "index 3 of value 2 comes after 4; indices ascend without duplicates",
    ),
    (
        ([1, 2], [1, 1], (5,)),
        "index 1 of value 1 comes after 1; indices ascend without duplicates",
    ),
    (
        ([1, 2], [[1, 0], [0, 2]], (2, 3)),
        "index [0,2] of value 1 comes after [1,0]; indices ascend without duplicates",
    ),
    (
        ([1, 2], [[1, 2], [1, 2]], (2, 3)),
        "index [1,2] of value 1 comes after [1,2]; indices ascend without duplicates",
    ),
    (
        ([1, 2], [[], []], ()),
        "index [] of value 1 comes after []; indices ascend without duplicates",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), FAULTS)
def test_contradictions(arguments, message):
    with pytest.raises(InputError) as caught:
        sparse(*arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], np.array([0]), (2,)), "values are of type list, not an array"),
        ((np.ones(1), [0], (2,)), "indices are of type list, not an array"),
        ((np.ones(1), np.array([0]), [2]), "shape [2] is no tuple of int"),
        ((np.ones(1), np.array([0]), (2.0,)), "shape (2.0,) is no tuple of int"),
        ((np.ones(1), np.array([0]), (True,)), "shape (True,) is no tuple of int"),
        ((np.ones(1), np.array([0]), 2), "shape 2 is no tuple of int"),
    ],
)
def test_parts_of_other_types(arguments, message):
    with pytest.raises(InputError) as caught:
        SparseTensor(*arguments)
    assert str(caught.value) == message


def test_indices_of_another_type():
    with pytest.raises(InputError) as caught:
        SparseTensor(np.ones(1), np.zeros(1, np.int32), (1,))
    assert str(caught.value) == "indices are int32, not int64"


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (proto([1], [5], [5]), "sparse tensor 's': index 5 of value 0 is outside of shape [5]"),
        (proto([1], [0], [-5]), "sparse tensor 's': shape [-5] has a negative dimension"),
        (
            proto([1, 2], [1, 0], [5]),
            "sparse tensor 's': index 0 of value 1 comes after 1; "
            "indices ascend without duplicates",
        ),
        (
            SparseTensorProto(values=proto([1], [0], [1]).values, dims=[1]),
            "index tensor of sparse tensor 's' has element type 0, which is undefined",
        ),
        (
            SparseTensorProto(dims=[1]),
            "values tensor of sparse tensor '' has element type 0, which is undefined",
        ),
        (
            SparseTensorProto(
                values=TensorProto(data_type=1, dims=[2**40], name="s", raw_data=b"\0" * 4)
            ),
            "values tensor of sparse tensor 's' declares float[1099511627776], "
            "4398046511104 bytes, but raw_data has 4",
        ),
    ],
)
def test_messages_that_contradict_themselves(message, text):
    with pytest.raises(ParseError) as caught:
        sparse_from_proto(message)
    assert str(caught.value) == text


def test_a_type_without_zero():
    message = SparseTensorProto(values=TensorProto(data_type=24, dims=[0]), dims=[2])
    with pytest.raises(UnsupportedError) as caught:
        sparse_from_proto(message, where="'w'")
    assert str(caught.value) == "'w' is float8e8m0, which has no zero"


@pytest.mark.parametrize(
    ("shape", "limit", "size"),
    [
        ((2**20, 2**20), {}, 2**42),
        ((2**62, 2**62, 2**62), {}, 2**188),
        ((0, 2**62, 2**62), {}, 2**126),
        ((5,), {"limit": 19}, 20),
    ],
)
def test_a_dense_tensor_over_the_limit_is_not_made(shape, limit, size):
    given = sparse([], [], shape)
    with pytest.raises(UnsupportedError) as caught:
        given.dense(**limit)
    dims = ",".join(map(str, shape))
    assert str(caught.value) == (
        f"a sparse tensor of shape [{dims}] takes {size} bytes when dense, "
        f"over the limit of {limit.get('limit', 2**30)}"
    )


def test_a_dense_tensor_of_the_limit_is_made():
    assert sparse([7], [4], (5,)).dense(limit=20).tolist() == [0, 0, 0, 0, 7]


def test_an_index_into_a_shape_beyond_64_bits():
    given = sparse([1, 2], [5, 2**63 - 1], (2**40, 2**40))
    assert given.indices.tolist() == [5, 2**63 - 1]
