"""Cast and CastLike: element type conversion.

https://onnx.ai/onnx/operators/onnx__Cast.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import kernels
from ..dtypes import BY_CODE, BY_NAME, DType, Kind
from ..errors import SchemaError
from .arguments import flag
from .registry import Alias, op, upgrade

if TYPE_CHECKING:
    from ..graph import Graph, Node
    from ..types import TensorType

_ROUND_MODES = ("up", "down", "nearest")


@op("Cast", types_of="Cast")
def cast(input, *, to, saturate, round_mode):
    """Each element of ``input`` as the type whose TensorProto.DataType code is ``to``."""
    dtype = BY_CODE.get(to)
    if dtype is None or dtype.kind is Kind.COMPLEX:
        raise SchemaError(
            f"to={to} is no element type that Cast can make; castable are {_castable()}"
        )
    return _convert(input, dtype, saturate, round_mode)


@op("CastLike", type_only=("target_type",), types_of="Cast")
def cast_like(input, target_type, *, saturate, round_mode):
    """Each element of ``input`` as the element type of ``target_type``, which is never read."""
    return _convert(input, target_type.dtype, saturate, round_mode)


def _convert(input: TensorType, dtype: DType, saturate: int, round_mode: str):
    if round_mode not in _ROUND_MODES:
        raise SchemaError(f"round_mode={round_mode!r} is none of {', '.join(_ROUND_MODES)}")
    saturate = flag("saturate", saturate)
    output = input.with_dtype(dtype)
    if dtype is input.dtype:
        return output, Alias("input")
    return output, lambda: kernels.convert(
        input.dtype, dtype, output.size, saturate=saturate, round_mode=round_mode
    )


@upgrade("Cast", to=6)
def _(node: Node, graph: Graph) -> None:
    """Cast-1 names the type: to="FLOAT16"."""
    name = node.attributes["to"]
    dtype = BY_NAME.get(name.lower()) if isinstance(name, str) and name.isupper() else None
    if dtype is None:
        raise SchemaError(
            f"to={name!r} is no element type; Cast-1 takes the name of one, such as 'FLOAT16'"
        )
    node.attributes["to"] = dtype.code


def _castable() -> str:
    return ", ".join(f"{d.code} ({d.name})" for d in BY_CODE.values() if d.kind is not Kind.COMPLEX)
