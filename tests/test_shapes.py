"""What families of operators work out of shapes in the same way."""

from __future__ import annotations

import numpy as np
import pytest

from minirt.dtypes import BY_NAME
from minirt.errors import ShapeError
from minirt.ops.shapes import (
    addressable,
    axes_operand,
    broadcast,
    integers,
    length,
    normalized_axes,
    normalized_axis,
    product,
    total,
    unknown_dims,
)
from minirt.types import Dim, TensorType

FLOAT, INT64 = BY_NAME["float"], BY_NAME["int64"]
LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max
N, M, UNKNOWN = Dim("N"), Dim("M"), Dim()


def tensor(*shape):
    return TensorType(FLOAT, shape)


def text(dims):
    return None if dims is None else str(TensorType(FLOAT, tuple(dims)))[5:]


def operand(*numbers, dtype="int64"):
    """An operand with contents."""
    array = np.array(numbers, BY_NAME[dtype].public).view(BY_NAME[dtype].storage)
    return TensorType(BY_NAME[dtype], array.shape, array)


# Sizes


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        ((), "1"),
        ((2, 3), "6"),
        ((N,), "N"),
        ((1, N, 1), "N"),
        ((2, N), "?"),
        ((N, N), "?"),
        ((N, 0, M), "0"),
        ((2**40, 2**40), str(2**80)),
    ],
)
def test_product(dims, expected):
    assert str(product(dims)) == expected


@pytest.mark.parametrize(
    ("dims", "expected"),
    [((), "0"), ((2, 3), "5"), ((N, 0), "N"), ((N, 1), "?"), ((N, M), "?"), ((N, N), "?")],
)
def test_total(dims, expected):
    assert str(total(iter(dims))) == expected


def test_unknown_dimensions_are_not_the_same():
    assert unknown_dims(None) is None
    assert unknown_dims(0) == ()
    first, second = unknown_dims(2)
    assert first != second


@pytest.mark.parametrize(
    ("shape", "fits"),
    [
        ((HIGH // 4,), True),
        ((HIGH // 4 + 1,), False),
        ((2**31, 2**31, 2), False),
        ((HIGH, 0), True),
        ((HIGH + 1, 0), False),
        ((HIGH + 1, N), False),
        ((HIGH, HIGH, N), True),
        (None, True),
    ],
)
def test_more_than_can_be_addressed(shape, fits):
    type = TensorType(FLOAT, shape)
    if fits:
        assert addressable(type) is type
    else:
        with pytest.raises(ShapeError, match=r"^the output float\[.*\] is larger than what can"):
            addressable(type)


# Operands that hold integers


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        (operand(), []),
        (operand(3, -1, LOW, HIGH), [3, -1, LOW, HIGH]),
        (operand(7, dtype="int32"), [7]),
        (operand(7, -2, dtype="float"), [7, -2]),
        (operand(7, -2, dtype="float16"), [7, -2]),
    ],
)
def test_integers(given, numbers):
    found = integers(given, "axes")
    assert found == numbers and all(type(n) is int for n in found)
    assert length(given, "axes") == len(numbers)


@pytest.mark.parametrize(("shape", "count"), [(None, None), ((3,), 3), ((0,), 0), ((N,), None)])
def test_integers_that_are_not_known(shape, count):
    assert integers(TensorType(INT64, shape), "axes") is None
    assert length(TensorType(INT64, shape), "axes") == count


def test_a_scalar_is_a_list_of_one_where_it_may_be():
    scalar = TensorType(INT64, (), np.array(5))
    assert integers(scalar, "axes", scalar=True) == [5]
    assert length(TensorType(INT64, ()), "axes", scalar=True) == 1
    with pytest.raises(ShapeError, match=r"^shape is int64\[\], but should have one dimension$"):
        integers(scalar, "shape")


def test_what_is_no_list_of_integers():
    with pytest.raises(ShapeError, match=r"^pads is int64\[1,N\], but should have one dimension$"):
        integers(TensorType(INT64, (1, N)), "pads")
    for number in (1.5, np.nan, np.inf):
        with pytest.raises(ShapeError, match=r"^split=\[.*\] has to be integers$"):
            integers(operand(number, dtype="float"), "split")


def test_axes():
    assert axes_operand(None, 3) == (0, 1, 2)
    assert axes_operand(operand(-1, 0), 3) == (2, 0)
    assert axes_operand(TensorType(INT64, (2,)), 3) is None
    with pytest.raises(ShapeError, match=r"^axes=3 is not in \[-3, 2\]$"):
        axes_operand(operand(0, 3), 3)


# Broadcasting


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([(2, 3)], "[2,3]"),
        ([(2, 3), (3,)], "[2,3]"),
        ([(2, 1), (1, 3), ()], "[2,3]"),
        ([(0,), (1,)], "[0]"),
        ([(N,), (1,)], "[N]"),
        ([(N,), (N, 1)], "[N,N]"),
        ([(N,), (M,)], "[?]"),
        ([(N,), (4,)], "[4]"),
        ([(UNKNOWN,), (UNKNOWN,)], "[?]"),
        ([(2,), None], None),
    ],
)
def test_broadcast(shapes, expected):
    assert text(broadcast(*(TensorType(FLOAT, shape) for shape in shapes))) == expected


@pytest.mark.parametrize("shapes", [((2,), (3,)), ((0,), (2,)), ((2, 3), (2,)), ((2,), (N,), (3,))])
def test_shapes_that_contradict_each_other(shapes):
    with pytest.raises(
        ShapeError, match=r"^float\[.*\], float\[.*\] cannot be broadcast together$"
    ):
        broadcast(*(tensor(*shape) for shape in shapes))


# Axes


@pytest.mark.parametrize(("axis", "found"), [(0, 0), (2, 2), (-1, 2), (-3, 0)])
def test_an_axis_counts_from_the_back_too(axis, found):
    assert normalized_axis(axis, 3) == found


@pytest.mark.parametrize(
    ("axis", "rank", "message"),
    [
        (3, 3, "axis=3 is not in [-3, 2]"),
        (-4, 3, "axis=-4 is not in [-3, 2]"),
        (LOW, 1, f"axis={LOW} is not in [-1, 0]"),
        (0, 0, "axis=0 is not in a tensor without dimensions"),
    ],
)
def test_an_axis_that_is_not_there(axis, rank, message):
    with pytest.raises(ShapeError) as error:
        normalized_axis(axis, rank)
    assert str(error.value) == message


def test_an_axis_is_named_once():
    assert normalized_axes([], 2) == ()
    assert normalized_axes([-1, 0], 2) == (1, 0)
    with pytest.raises(ShapeError, match=r"^dims=\[0, -2\] names an axis twice$"):
        normalized_axes([0, -2], 2, "dims")
