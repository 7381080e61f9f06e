"""What rows of several tables are made of: element types as schemas list them, and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirt.dtypes import BY_NAME, find
from minirt.ops.schemas import find_schema, versions

__all__ = ["allowed", "numbers", "opsets", "rounded", "type_name"]


def opsets(name: str) -> tuple[int, ...]:
    """The versions of an operator of ai.onnx."""
    return versions("", name)


def allowed(name: str, opset: int = 28, operand: int = 0) -> list[np.dtype]:
    """The NumPy and ml_dtypes types that an operand may have, in the order of their codes."""
    schema = find_schema("", name, opset)
    assert schema is not None
    names = (t.removeprefix("tensor(").removesuffix(")") for t in schema.inputs[operand].types)
    return [dtype.public for dtype in sorted((BY_NAME[n] for n in names), key=lambda d: d.code)]


def type_name(dtype: Any) -> str:
    """The name of an element type in ONNX."""
    found = find(dtype)
    assert found is not None
    return found.name


def numbers(dtype: Any, *shape: int) -> np.ndarray:
    """Small whole numbers, positive ones only where there are no others; for bool both values."""
    values = (np.arange(np.prod(shape, dtype=int)) * 7 % 17 - 8).reshape(shape)
    if np.dtype(dtype) == np.bool_:
        return values % 3 == 0
    return (abs(values) if np.dtype(dtype).kind == "u" else values).astype(dtype)


def rounded(values: Any, dtype: Any) -> np.ndarray:
    """Exact values as elements: integers wrap around, floats are rounded."""
    array = np.asarray(values)
    if np.dtype(dtype).kind in "iu" and array.dtype.kind in "iuO":
        low = np.array([int(v) & 0xFFFF_FFFF_FFFF_FFFF for v in array.flat], np.uint64)
        return low.reshape(array.shape).astype(dtype)
    with np.errstate(all="ignore"):
        return array.astype(np.float64).astype(dtype)
