"""Attributes and small operands that several families of operators read in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import BY_NAME
from ..errors import SchemaError, ShapeError
from ..graph import Value
from ..types import TensorType

if TYPE_CHECKING:
    from ..dtypes import DType
    from ..graph import Graph, Node

__all__ = ["attribute_to_operand", "flag", "single"]

_INT64 = BY_NAME["int64"]


def flag(name: str, value: int) -> bool:
    """The attribute ``name``, which is 0 or 1. Raises SchemaError."""
    if value not in (0, 1):
        raise SchemaError(f"{name}={value} is neither 0 nor 1")
    return value == 1


def single(name: str, operand: TensorType | None) -> Any:
    """The value in an operand that must have one element, None while it is not known.

    It is as in storage: 0 or 1 for a bool. Raises ShapeError for another number of elements.
    """
    if operand is None:
        return None
    if operand.size not in (None, 1):
        raise ShapeError(f"{name} is {operand}, but must be a single value")
    return None if operand.value is None else operand.value.item()


def attribute_to_operand(
    node: Node, graph: Graph, name: str, *, rank: int = 1, dtype: DType = _INT64
) -> None:
    """Make an attribute of numbers the next operand of ``node``, of ``rank`` 0 or 1.

    Does nothing if the node has no such attribute.
    """
    content = node.attributes.pop(name, None)
    if content is None:
        return
    array = np.array(content, dtype.storage).reshape((-1,) * rank)
    array.flags.writeable = False
    operand = Value(name, TensorType(dtype, array.shape))
    graph.initializers[operand] = array
    node.inputs.append(operand)
