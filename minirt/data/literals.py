"""Python numbers and text as tensors: a value that the type does not have is refused.

One is not: a Python float is a decimal's nearest already, so a float type of 16 bits and
more takes its own nearest, as NumPy does. Where few values exist, rounding is a decision.
"""

from __future__ import annotations

import math
import reprlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import BY_NAME, DType, Float, Kind
from ..errors import InputError
from .arrays import to_storage

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["from_python", "public_name"]

# NumPy has no more dimensions than these, and a list may contain itself.
_MAX_RANK = 64


def from_python(value: object, dtype: DType) -> np.ndarray:
    """A scalar, or nested sequences of scalars, as a storage array of ``dtype``.

    A scalar is a bool, int, float or complex whose value ``dtype`` has exactly (2.0 is an
    int4, 2**24 + 1 no float32; -0.0 only fits a type that knows it), or a float within the
    range of a float type of 16 bits and more, which becomes the nearest, ties to even; for
    ``string`` it is a str or UTF-8 bytes. NumPy scalars must be of ``dtype.public``.

    Raises InputError for ragged sequences, and for a value that does not fit, with its index.
    """
    items, shape = _flatten(value)
    codes: list[Any] = []
    for position, item in enumerate(items):
        try:
            codes += _codes(item, dtype)
        except InputError as error:
            if shape:
                error.located(_place(position, shape))
            raise
    if dtype.kind is Kind.STRING:
        storage = np.empty(len(codes), object)
        storage[:] = codes
    else:
        storage = np.array(codes, _code_type(dtype)).view(dtype.storage)
    return storage.reshape(shape)


def public_name(dtype: DType) -> str:
    """What callers know an element type as: ``"float32"``, ``"bfloat16"``, ``"str"``."""
    return "str" if dtype.kind is Kind.STRING else dtype.public.name


# Structure


def _flatten(value: object) -> tuple[list[object], tuple[int, ...]]:
    """The elements of nested sequences, in C order, and the shape."""
    items: list[Any] = [value]
    shape: list[int] = []
    while any(map(_is_sequence, items)):
        sizes = {len(i) if _is_sequence(i) else -1 for i in items}
        if len(sizes) > 1:
            lengths = ["no sequence" if s < 0 else f"length {s}" for s in sorted(sizes)]
            raise InputError(f"ragged: at depth {len(shape)} there are {' and '.join(lengths)}")
        if len(shape) == _MAX_RANK:
            raise InputError(f"lists are nested more than {_MAX_RANK} deep")
        shape += sizes
        items = [inner for outer in items for inner in outer]
    return items, tuple(shape)


def _is_sequence(item: object) -> bool:
    return isinstance(item, (list, tuple, range)) or (
        isinstance(item, np.ndarray) and item.ndim > 0
    )


def _place(position: int, shape: tuple[int, ...]) -> str:
    return f"element [{','.join(map(str, np.unravel_index(position, shape)))}]"


# Elements


def _code_type(dtype: DType) -> np.dtype:
    """The unsigned integers that storage of ``dtype`` is made of: two for a complex number."""
    return np.dtype(f"u{dtype.storage.itemsize // (2 if dtype.kind is Kind.COMPLEX else 1)}")


def _codes(item: object, dtype: DType) -> Sequence[Any]:
    """The storage of one element: a str, or the bits of its one or two numbers."""
    if isinstance(item, (np.generic, np.ndarray)):
        return _numpy_codes(np.asarray(item), dtype)
    if dtype.kind is Kind.STRING:
        return (_text(item),)
    if not isinstance(item, (int, float, complex)):
        raise InputError(f"{_show(item)} is not a number")
    if dtype.kind is Kind.COMPLEX:
        part = BY_NAME["float" if dtype.bits == 64 else "double"]
        codes = [_code(item.real, part), _code(item.imag, part)]
    elif isinstance(item, complex):
        raise InputError(f"{_show(item)} is not a real number")
    else:
        codes = [_code(item, dtype)]
    if None in codes:
        hint = "; round it with numpy.array(..., dtype)" if dtype.float and dtype.bits < 16 else ""
        raise InputError(
            f"{_show(item)} is not exactly representable as {public_name(dtype)}{hint}"
        )
    return codes


def _numpy_codes(array: np.ndarray, dtype: DType) -> Sequence[Any]:
    if dtype.kind is not Kind.STRING and array.dtype != dtype.public:
        raise InputError(f"expected {public_name(dtype)}, got {array.dtype}")
    storage = to_storage(array, dtype).reshape(1)
    return (
        storage.tolist() if dtype.kind is Kind.STRING else storage.view(_code_type(dtype)).tolist()
    )


def _text(item: object) -> str:
    if isinstance(item, str):
        return str(item)
    if not isinstance(item, bytes):
        raise InputError(f"{_show(item)} is not text")
    try:
        return item.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{_show(item)} is not UTF-8 text: {error.reason}") from None


def _code(value: int | float, dtype: DType) -> int | None:
    """The bits of a number in ``dtype``, None if it has no such value."""
    negative = math.copysign(1, value) < 0 if isinstance(value, float) else value < 0
    if dtype.float:
        return _float_code(value, negative, dtype, dtype.float)
    if (isinstance(value, float) and not value.is_integer()) or (value == 0 and negative):
        return None
    return int(value) & dtype.code_mask if dtype.smallest <= value <= dtype.largest else None


def _float_code(value: int | float, negative: bool, dtype: DType, layout: Float) -> int | None:
    if value != value:
        # The sign bit is set already in the one NaN of the types that have no negative one.
        code, can_be_negative = dtype.nan_code, True
    elif value in (math.inf, -math.inf):
        code, can_be_negative = dtype.inf_code, layout.signed
    else:
        inexact = isinstance(value, float) and dtype.bits >= 16
        code = _magnitude(*abs(value).as_integer_ratio(), layout, inexact)
        if not 0 <= code <= dtype.largest_code:
            return None
        can_be_negative = layout.signed and (code > 0 or layout.nan != "neg_zero")
    if code is None or (negative and not can_be_negative):
        return None
    return code | negative << (dtype.bits - 1)


def _magnitude(numerator: int, denominator: int, layout: Float, inexact: bool) -> int:
    """The code of a fraction whose denominator is a power of two, -1 if it has none.

    It may be beyond the largest of the format. ``inexact`` takes the nearest, ties to even.
    """
    if numerator == 0:
        return 0 if layout.man else -1  # a format without fraction bits has no zero
    lowest = (1 if layout.man else 0) - layout.bias
    scale = denominator.bit_length() - 1
    exponent = max(numerator.bit_length() - 1 - scale, lowest)
    unit = 1 << max(scale + exponent, 0)
    units, rest = divmod(numerator << layout.man, unit)
    if inexact:
        units += 2 * rest > unit or (2 * rest == unit and units & 1)
    elif rest:
        return -1
    units <<= max(-scale - exponent, 0)
    # The leading one of a normal number adds the 1 that is missing from its exponent.
    return (exponent + layout.bias - 1 << layout.man) + units


def _show(value: object) -> str:
    """``repr``, cut to a line; Python refuses to print integers of thousands of digits."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    return reprlib.repr(value)
