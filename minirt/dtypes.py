"""The 28 ONNX element types: one table, from which every other fact is derived.

A row says what cannot be computed: the ``TensorProto.DataType`` code, the name
that ONNX type strings use, the kind, the width in *bits*, the NumPy type that
kernels index (``storage``, one element a slot), the NumPy type that callers hold
(``public``), the layout of a float format, and the field of TensorProto that
holds the values when ``raw_data`` does not.

Types of fewer than 8 bits are stored as their *code* in the low bits of a
``uint8``, the high bits zero, signed integers too: so packing is or-ing, data
movement needs one kernel a width, and memory looks as ml_dtypes makes it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["BY_CODE", "BY_NAME", "TABLE", "DType", "Float", "Kind", "find"]


class Kind(Enum):
    """What an element is."""

    FLOAT = "float"
    INT = "int"
    UINT = "uint"
    BOOL = "bool"
    COMPLEX = "complex"
    STRING = "string"


@dataclass(frozen=True)
class Float:
    """Bit layout of a binary floating-point format.

    ``nan`` says which codes are NaN: ``"ieee"`` (exponent all ones, fraction not
    zero), ``"all_ones"`` (all magnitude bits set), ``"neg_zero"`` (the code that
    would be -0) or ``"none"``.
    """

    exp: int
    man: int
    bias: int
    signed: bool = True
    inf: bool = True
    nan: str = "ieee"


@dataclass(frozen=True, eq=False)
class DType:
    """One element type. The 28 instances are singletons: compare with ``is``."""

    code: int
    name: str
    kind: Kind
    bits: int
    storage: np.dtype
    public: np.dtype
    float: Float | None
    proto_field: str

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return _by_code, (self.code,)

    @property
    def enum_name(self) -> str:
        """The ``TensorProto.DataType`` member: ``"FLOAT8E4M3FN"``."""
        return self.name.upper()

    @property
    def is_float(self) -> bool:
        """A real floating-point type, of any width."""
        return self.kind is Kind.FLOAT

    @property
    def is_integer(self) -> bool:
        """A signed or unsigned integer; bool is not one."""
        return self.kind is Kind.INT or self.kind is Kind.UINT

    @property
    def is_packed(self) -> bool:
        """Whether several elements share a byte where bytes are read or written."""
        return 0 < self.bits < 8

    @cached_property
    def pack_group(self) -> int:
        """The smallest number of elements that fills whole bytes: 1, 2 or 4."""
        return math.lcm(self.bits, 8) // self.bits if self.bits else 1

    def packed_size(self, count: int) -> int:
        """Bytes that ``count`` elements take in ``raw_data``: ``ceil(count * bits / 8)``."""
        return -(-count * self.bits // 8)

    @cached_property
    def code_mask(self) -> int:
        """The bits of a storage slot that mean anything."""
        return (1 << self.bits) - 1

    @cached_property
    def nan_code(self) -> int | None:
        """The positive quiet NaN, None where there is no NaN.

        FNUZ formats have one NaN, where -0 would be; it counts as negative.
        """
        f = self._float
        return {
            "ieee": self._inf_code | 1 << max(f.man - 1, 0),
            "all_ones": self._magnitude_mask,
            "neg_zero": 1 << (self.bits - 1),
            "none": None,
        }[f.nan]

    @cached_property
    def inf_code(self) -> int | None:
        """Positive infinity, None where there is none."""
        return self._inf_code if self._float.inf else None

    @cached_property
    def largest_code(self) -> int:
        """The code of the largest finite value."""
        last = self._magnitude_mask
        return {
            "ieee": self._inf_code - 1,
            "all_ones": last - 1,
            "neg_zero": last,
            "none": last,
        }[self._float.nan]

    @cached_property
    def largest(self) -> int | Fraction:
        """The largest finite value, exactly."""
        if self.kind is Kind.BOOL:
            return 1
        if self.is_integer:
            return (1 << (self.bits - (self.kind is Kind.INT))) - 1
        return self._finite(self.largest_code)

    @cached_property
    def smallest(self) -> int | Fraction:
        """The smallest (most negative) finite value, exactly."""
        if self.kind is Kind.INT:
            return -(1 << (self.bits - 1))
        if self.kind in (Kind.UINT, Kind.BOOL):
            return 0
        return -self.largest if self._float.signed else self._finite(0)

    def value_of(self, code: int) -> int | Fraction | str:
        """The exact value of ``code``: an int, a Fraction, or "nan", "inf", "-inf".

        The sign of a zero is in the code alone.
        """
        if self.kind is Kind.BOOL:
            return int(code != 0)
        if self.is_integer:
            code &= self.code_mask
            negative = self.kind is Kind.INT and code >> (self.bits - 1)
            return code - (1 << self.bits) if negative else code
        f = self._float
        negative = f.signed and code >> (self.bits - 1) & 1
        magnitude = code & self._magnitude_mask
        if self._is_nan(code, magnitude):
            return "nan"
        if magnitude == self._inf_code and f.inf:
            return "-inf" if negative else "inf"
        value = self._finite(magnitude)
        return -value if negative else value

    def _finite(self, magnitude: int) -> Fraction:
        f = self._float
        exponent, fraction = magnitude >> f.man, magnitude & (1 << f.man) - 1
        if exponent == 0 and f.man:
            return Fraction(fraction, 1 << f.man) * Fraction(2) ** (1 - f.bias)
        return (1 + Fraction(fraction, 1 << f.man)) * Fraction(2) ** (exponent - f.bias)

    def _is_nan(self, code: int, magnitude: int) -> bool:
        return {
            "ieee": magnitude > self._inf_code,
            "all_ones": magnitude == self._magnitude_mask,
            "neg_zero": code == 1 << (self.bits - 1),
            "none": False,
        }[self._float.nan]

    @property
    def _float(self) -> Float:
        if self.float is None:
            raise TypeError(f"{self.name} is not a floating-point type")
        return self.float

    @cached_property
    def _magnitude_mask(self) -> int:
        return (1 << (self._float.exp + self._float.man)) - 1

    @cached_property
    def _inf_code(self) -> int:
        return ((1 << self._float.exp) - 1) << self._float.man


def _row(
    code: int,
    name: str,
    kind: Kind,
    bits: int,
    storage: str,
    public: Any,
    proto_field: str,
    layout: Float | None = None,
) -> DType:
    return DType(code, name, kind, bits, np.dtype(storage), np.dtype(public), layout, proto_field)


_F, _I, _U, _C = Kind.FLOAT, Kind.INT, Kind.UINT, Kind.COMPLEX
_ml = ml_dtypes

#: Every element type, by ``TensorProto.DataType`` code.
TABLE: tuple[DType, ...] = (
    _row(1, "float", _F, 32, "f4", "f4", "float_data", Float(8, 23, 127)),
    _row(2, "uint8", _U, 8, "u1", "u1", "int32_data"),
    _row(3, "int8", _I, 8, "i1", "i1", "int32_data"),
    _row(4, "uint16", _U, 16, "u2", "u2", "int32_data"),
    _row(5, "int16", _I, 16, "i2", "i2", "int32_data"),
    _row(6, "int32", _I, 32, "i4", "i4", "int32_data"),
    _row(7, "int64", _I, 64, "i8", "i8", "int64_data"),
    _row(8, "string", Kind.STRING, 0, "O", "O", "string_data"),
    _row(9, "bool", Kind.BOOL, 8, "u1", "?", "int32_data"),
    _row(10, "float16", _F, 16, "u2", "f2", "int32_data", Float(5, 10, 15)),
    _row(11, "double", _F, 64, "f8", "f8", "double_data", Float(11, 52, 1023)),
    _row(12, "uint32", _U, 32, "u4", "u4", "uint64_data"),
    _row(13, "uint64", _U, 64, "u8", "u8", "uint64_data"),
    _row(14, "complex64", _C, 64, "c8", "c8", "float_data"),
    _row(15, "complex128", _C, 128, "c16", "c16", "double_data"),
    _row(16, "bfloat16", _F, 16, "u2", _ml.bfloat16, "int32_data", Float(8, 7, 127)),
    _row(
        17, "float8e4m3fn", _F, 8, "u1", _ml.float8_e4m3fn, "int32_data",
        Float(4, 3, 7, inf=False, nan="all_ones"),
    ),
    _row(
        18, "float8e4m3fnuz", _F, 8, "u1", _ml.float8_e4m3fnuz, "int32_data",
        Float(4, 3, 8, inf=False, nan="neg_zero"),
    ),
    _row(19, "float8e5m2", _F, 8, "u1", _ml.float8_e5m2, "int32_data", Float(5, 2, 15)),
    _row(
        20, "float8e5m2fnuz", _F, 8, "u1", _ml.float8_e5m2fnuz, "int32_data",
        Float(5, 2, 16, inf=False, nan="neg_zero"),
    ),
    _row(21, "uint4", _U, 4, "u1", _ml.uint4, "int32_data"),
    _row(22, "int4", _I, 4, "u1", _ml.int4, "int32_data"),
    _row(
        23, "float4e2m1", _F, 4, "u1", _ml.float4_e2m1fn, "int32_data",
        Float(2, 1, 1, inf=False, nan="none"),
    ),
    _row(
        24, "float8e8m0", _F, 8, "u1", _ml.float8_e8m0fnu, "int32_data",
        Float(8, 0, 127, signed=False, inf=False, nan="all_ones"),
    ),
    _row(25, "uint2", _U, 2, "u1", _ml.uint2, "int32_data"),
    _row(26, "int2", _I, 2, "u1", _ml.int2, "int32_data"),
    _row(
        27, "float6e2m3", _F, 6, "u1", _ml.float6_e2m3fn, "int32_data",
        Float(2, 3, 1, inf=False, nan="none"),
    ),
    _row(
        28, "float6e3m2", _F, 6, "u1", _ml.float6_e3m2fn, "int32_data",
        Float(3, 2, 3, inf=False, nan="none"),
    ),
)  # fmt: skip

BY_CODE: dict[int, DType] = {d.code: d for d in TABLE}
BY_NAME: dict[str, DType] = {d.name: d for d in TABLE}
_BY_PUBLIC: dict[np.dtype, DType] = {d.public: d for d in TABLE}


def _by_code(code: int) -> DType:
    return BY_CODE[code]


def find(key: object) -> DType | None:
    """The element type that ``key`` names, None if there is none.

    ``key`` is a ``TensorProto.DataType`` code, an ONNX name (``"float8e4m3fn"``), a
    NumPy or ml_dtypes dtype in any byte order or anything ``numpy.dtype`` takes;
    NumPy's text types are ``string``.
    """
    if isinstance(key, DType):
        return key
    if key is None or isinstance(key, bool):
        # NumPy takes None for float64, and True would pass for the code 1.
        return None
    if isinstance(key, (int, np.integer)):
        return BY_CODE.get(int(key))
    if isinstance(key, str) and key in BY_NAME:
        return BY_NAME[key]
    try:
        dtype = np.dtype(key)  # type: ignore[call-overload]
    except TypeError:
        return None
    if dtype.kind in "USTO":
        return BY_NAME["string"]
    return _BY_PUBLIC.get(dtype.newbyteorder("="))
