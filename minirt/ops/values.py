"""What operators share that hand on whole values, as If and Loop do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ExecutionError
from ..types import TensorType, merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..types import Shape, Type

__all__ = ["promised", "returned", "stacked"]


def returned(values: Sequence[Any], types: Sequence[Type]) -> Any:
    """What a kernel returns that makes ``values``: the one, or a tuple of all.

    Raises ExecutionError for a tensor of another shape than its type says, on which other
    kernels rely.
    """
    for index, (value, type) in enumerate(zip(values, types, strict=True)):
        if isinstance(type, TensorType) and not _fits(value.shape, type.shape):
            shape = ",".join(map(str, value.shape))
            raise ExecutionError(f"output {index} has shape [{shape}], but should be {type}")
    return values[0] if len(values) == 1 else tuple(values)


def _fits(sizes: tuple[int, ...], shape: Shape | None) -> bool:
    if shape is None or sizes == shape:
        return True
    return len(sizes) == len(shape) and all(
        size == dim for size, dim in zip(sizes, shape, strict=True) if isinstance(dim, int)
    )


def promised(found: TensorType, declared: Type | None) -> TensorType:
    """``found`` with what a file declares where no one knows better."""
    merged = None if declared is None else merge(found, declared)
    return merged if isinstance(merged, TensorType) else found


def stacked(index: int, items: Sequence[np.ndarray], type: TensorType) -> np.ndarray:
    """Scan output ``index``: storage arrays of one shape along a new first axis.

    ``type`` is that of an item; of no items sizes are 0 where they are not known. Raises
    ExecutionError where a shape changes.
    """
    if not items:
        known = [dim if isinstance(dim, int) else 0 for dim in type.shape or ()]
        return np.empty((0, *known), type.dtype.storage)
    shape = items[0].shape
    result = np.empty((len(items), *shape), type.dtype.storage)
    for number, item in enumerate(items):
        if item.shape != shape:
            raise ExecutionError(
                f"scan output {index} has shape {list(shape)} in iteration 0, "
                f"but {list(item.shape)} in iteration {number}"
            )
        result[number, ...] = item
    return result
