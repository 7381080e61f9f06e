"""What a caller passes, held against the type that it must have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from ..dtypes import DType, Kind, find
from ..errors import InputError
from ..types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type
from .arrays import to_storage
from .literals import from_python, public_name
from .sparse import SparseTensor
from .values import element_of

if TYPE_CHECKING:
    from ..types import Shape

__all__ = ["accept"]


def accept(value: object, type: Type, place: str) -> Any:
    """``value`` in storage form (:mod:`minirt.data.values`), its memory shared where that is right.

    A tensor is what :meth:`minirt.Session.run` says, a sparse tensor a SparseTensor, a
    sequence a list or tuple, a map a mapping, and an optional may be None. ``place`` is
    what ``value`` is, ``"input 's'"``.

    Raises InputError for the first thing that is not of the type, with its place:
    ``"input 's'[2]: expected float32, got int64"``; UnsupportedError where ``type`` leaves
    open of what type an element is.
    """
    match type:
        case SequenceType():
            return _sequence(value, type, place)
        case MapType():
            return _map(value, type, place)
        case OptionalType():
            return None if value is None else accept(value, element_of(type), place)
    try:
        return _tensor(value, type) if isinstance(type, TensorType) else _sparse(value, type)
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


def _sequence(value: object, type: SequenceType, place: str) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise _mismatch(value, f"{type}, a list", place)
    return [accept(item, element_of(type), f"{place}[{i}]") for i, item in enumerate(value)]


def _map(value: object, type: MapType, place: str) -> dict[int | str, Any]:
    if not isinstance(value, Mapping):
        raise _mismatch(value, f"{type}, a dict", place)
    return {
        _key(key, type.key, place): accept(item, element_of(type), f"{place}[{key!r}]")
        for key, item in value.items()
    }


def _key(key: object, dtype: DType, place: str) -> int | str:
    if dtype.kind is Kind.STRING and isinstance(key, str):
        return str(key)  # of numpy.str_, too
    if dtype.is_integer and isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        number = int(key)
        if dtype.smallest <= number <= dtype.largest:
            return number
    raise InputError(f"{place}: the key {key!r} is no {public_name(dtype)}")


def _mismatch(value: object, expected: str, place: str) -> InputError:
    hint = "; pass list(array)" if isinstance(value, ndarray) and "list" in expected else ""
    return InputError(f"{place}: expected {expected}, got {value.__class__.__name__}{hint}")


def _sparse(value: object, type: SparseTensorType) -> SparseTensor:
    if not isinstance(value, SparseTensor):
        raise InputError(f"expected a minirt.SparseTensor, got {value.__class__.__name__}")
    _check_shape(value.shape, type.shape)
    return replace(value, values=_storage(value.values, type.dtype))


def _tensor(value: object, type: TensorType) -> ndarray:
    array = _storage(value, type.dtype)
    _check_shape(array.shape, type.shape)
    return array


def _storage(value: object, dtype: DType) -> ndarray:
    """``value`` as a storage array; arrays are never converted, Python values if they fit."""
    array = _as_array(value)
    if array is None:
        return from_python(value, dtype)
    found = find(array.dtype)
    if found is not dtype:
        came = public_name(found) if found and array.dtype.kind != "O" else array.dtype.name
        raise InputError(f"expected {public_name(dtype)}, got {came}{_bits_hint(array, dtype)}")
    return to_storage(array, dtype)


def _as_array(value: object) -> ndarray | None:
    """An array of any kind as NumPy's; None for lists and Python scalars.

    The latter include numpy.float64 and numpy.str_, whose types the elements of lists tell.
    """
    if isinstance(value, ndarray):
        return value
    if isinstance(value, (list, tuple, range, int, float, complex, str, bytes)):
        return None
    kind = type(value).__name__
    try:
        if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
            return np.asarray(value)
        if hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{kind} cannot be read as an array: {reason}") from error
    try:
        return np.asarray(memoryview(value))  # type: ignore[arg-type]
    except TypeError:
        raise InputError(f"expected an array, got {kind}") from None


def _bits_hint(array: ndarray, dtype: DType) -> str:
    """How to pass bits for a type that NumPy alone does not have."""
    public = dtype.public
    if dtype.storage == public or dtype.kind is Kind.BOOL:
        return ""
    if array.dtype.kind != "u" or array.itemsize != public.itemsize:
        return ""
    name = f"{public.type.__module__}.{public.name}"
    return f"; if these are its bits, pass array.view({name})"


def _check_shape(shape: tuple[int, ...], dims: Shape | None) -> None:
    if dims is None:
        return
    fixed = [(d, s) for d, s in zip(dims, shape, strict=False) if isinstance(d, int)]
    if len(dims) != len(shape) or any(d != s for d, s in fixed):
        expected, came = (",".join(map(str, s)) for s in (dims, shape))
        raise InputError(f"expected shape [{expected}], got [{came}]")
