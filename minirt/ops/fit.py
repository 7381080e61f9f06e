"""Operands held against the shapes that they must have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import ShapeError
from ..types import TensorType, merge

if TYPE_CHECKING:
    from ..types import Dim, Shape

__all__ = ["fit"]


def fit(name: str, operand: TensorType, *shape: int | Dim, why: str = "") -> Shape:
    """What the shape of an operand and the one that it must have say together.

    Raises ShapeError, which ends in ``why``, where they contradict each other.
    """
    wanted = operand.with_shape(*shape)
    both = merge(operand, wanted)
    if not isinstance(both, TensorType) or both.shape is None:
        raise ShapeError(f"{name} is {operand}, but must be {wanted}{why}")
    return both.shape
