"""What callers pass, held against a type: whatever it is, it fits or is refused in one line."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minirt.conformance import Tolerance, compare
from minirt.data.accept import accept
from minirt.data.containers import value_from_proto, value_to_proto
from minirt.data.sparse import SparseTensor
from minirt.data.values import public_copy
from minirt.dtypes import BY_NAME, TABLE, Kind
from minirt.errors import InputError
from minirt.types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type

DTYPES = [BY_NAME[n] for n in ("float", "bfloat16", "int4", "bool", "string", "int64", "complex64")]


def tensors(dtype) -> st.SearchStrategy[np.ndarray]:
    shapes = st.lists(st.integers(0, 2), max_size=2).map(tuple)
    if dtype.kind is Kind.STRING:
        return shapes.map(lambda shape: np.full(shape, "é", object))

    def make(shape: tuple[int, ...], seed: int) -> np.ndarray:
        codes = np.random.default_rng(seed).integers(0, 2, shape).astype(dtype.storage)
        return codes.view(dtype.public)

    return st.builds(make, shapes, st.integers(0, 9))


def sparse_tensors(dtype) -> st.SearchStrategy[SparseTensor]:
    def make(places: set[int]) -> SparseTensor:
        text = dtype.kind is Kind.STRING
        values = np.full(len(places), "a" if text else 0, dtype.public)
        return SparseTensor(values, np.array(sorted(places), "i8"), (2, 3))

    return st.builds(make, st.sets(st.integers(0, 5)))


@st.composite
def typed_values(draw: Any, depth: int = 3) -> tuple[Type, Any]:
    """A type, and a value of it as a run returns it."""
    kind = draw(st.sampled_from(["tensor", "sparse", "sequence", "optional", "map"]))
    if kind in ("tensor", "sparse") or not depth:
        dtype = draw(st.sampled_from(DTYPES))
        if kind == "sparse":
            return SparseTensorType(dtype), draw(sparse_tensors(dtype))
        return TensorType(dtype), draw(tensors(dtype))
    element, value = draw(typed_values(depth - 1))
    count = draw(st.integers(0, 2))
    if kind == "sequence":
        return SequenceType(element), [value] * count
    if kind == "optional":
        return OptionalType(element), value if count else None
    key = draw(st.sampled_from(["string", "int64", "uint8"]))
    keys = ["a", "é"] if key == "string" else [0, 255]
    return MapType(BY_NAME[key], element), dict.fromkeys(keys[:count], value)


@given(typed_values())
def test_what_fits_comes_back(pair: tuple[Type, Any]) -> None:
    type_, value = pair
    back = public_copy(accept(value, type_, "x"), type_)
    assert compare(value, back, Tolerance(ulp=0)).passed
    data = value_to_proto(back, type_).SerializeToString()
    assert compare(value, value_from_proto(data, type_), Tolerance(ulp=0)).passed


class Odd:
    """Looks like an array, and is none."""

    __array_interface__ = None


ATOMS: list[Any] = [
    None, True, 0, -1, 2**70, 1.5, float("nan"), 1j, "text", "\ud800", b"\xff", object(), Odd(),
    int, slice(1), range(2), memoryview(b"ab"), bytearray(b"ab"), np.float32(1), np.str_("s"),
    np.zeros(2, "f4"), np.zeros((2, 0), "i8"), np.array("a"), np.array([None, {}], object),
    np.zeros(2, "f4")[::-1], np.zeros(2, ">f4"), np.ma.masked_array([1.0], [True]),
    np.zeros(1, [("a", "f4")]), np.zeros(1, "M8[s]"), np.zeros(2, ml_dtypes.int4),
    np.array(["a", b"\xff"], object), SparseTensor(np.zeros(1, "f4"), np.array([0]), (2,)),
    SparseTensor(np.zeros(0, "M8[s]"), np.array([], "i8"), (2,)), {1, 2}, iter([1]), ...,
]  # fmt: skip

OBJECTS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(
            st.sampled_from([0, -1, 2**64, True, "a", None, 1.5, b"k", np.int8(3), np.str_("s")]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=300)
@given(typed_values(), OBJECTS)
def test_whatever_is_passed_fits_or_is_refused(pair: tuple[Type, Any], value: Any) -> None:
    type_, _ = pair
    try:
        back = accept(value, type_, "input 'x'")
    except InputError as error:
        assert str(error).startswith("input 'x'")
        assert "\n" not in str(error)
    else:
        public_copy(back, type_)


@pytest.mark.parametrize("dtype", TABLE, ids=str)
def test_elements_of_every_type(dtype) -> None:
    """Codes survive, whatever their bits; strings stay str."""
    text = dtype.kind is Kind.STRING
    codes = np.arange(6) % 2
    array = (np.array(["a", "b"], object)[codes] if text
             else codes.astype(dtype.storage).view(dtype.public)).reshape(2, 3)  # fmt: skip
    for type_, value in [
        (SequenceType(TensorType(dtype)), [array, array.T]),
        (OptionalType(TensorType(dtype)), array[::-1, ::2]),
    ]:
        back = public_copy(accept(value, type_, "x"), type_)
        assert compare(value, back, Tolerance(ulp=0)).passed
