"""Element types as Numba types, with conversions built from the dtype table.

A :class:`Codec` is an element type with the options that rounding to it has. As a kernel
argument it *is* a type, so one kernel body serves every element type and is compiled,
and cached, once for each::

    dst[i] = encode(to, decode(from_, src[i]))

``decode`` gives the exact value in the narrowest carrier that holds it: int32, int64,
uint64, float32 or float64. ``encode`` rounds once, from the carrier to the codec.
``recode(to, from_, x)`` is both in one, and knows the shorter ways that some pairs have.

The functions have homes of their own: :mod:`.decoding`, :mod:`.encoding`, :mod:`.recoding`.
"""

from __future__ import annotations

from dataclasses import dataclass

from numba import types
from numba.extending import NativeValue, models, register_model, typeof_impl, unbox

from ..dtypes import BY_NAME, DType, Float

__all__ = ["Codec", "CodecType", "layout_of"]

_E8M0 = BY_NAME["float8e8m0"]


@dataclass(frozen=True)
class Codec:
    """An element type and how values are rounded to it.

    ``saturate`` means something for the float 8 types, ``round_mode`` (``"up"``, ``"down"``,
    ``"nearest"``) for float8e8m0; elsewhere both become the default, so that one pair of
    types is one kernel.
    """

    dtype: DType
    saturate: bool = True
    round_mode: str = "up"

    def __post_init__(self) -> None:
        if not (self.dtype.is_float and self.dtype.bits == 8):
            object.__setattr__(self, "saturate", True)
        if self.dtype is not _E8M0:
            object.__setattr__(self, "round_mode", "up")

    def __str__(self) -> str:
        saturate = "" if self.saturate else ",saturate=0"
        round_mode = f",{self.round_mode}" if self.dtype is _E8M0 else ""
        return f"{self.dtype}{saturate}{round_mode}"


class CodecType(types.Opaque):
    """The Numba type of one codec."""

    def __init__(self, codec: Codec) -> None:
        self.codec = codec
        super().__init__(f"Codec({codec})")


@typeof_impl.register(Codec)
def _typeof_codec(value, context):
    return CodecType(value)


register_model(CodecType)(models.OpaqueModel)


@unbox(CodecType)
def _unbox_codec(typ, value, context):
    return NativeValue(context.context.get_dummy_value())


def layout_of(dtype: DType) -> Float:
    """Where a floating-point type has its exponent and fraction; TypeError for others."""
    if dtype.float is None:
        raise TypeError(f"{dtype} is not a floating-point type")
    return dtype.float
