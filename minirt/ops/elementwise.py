"""What operators on single elements have in common: their types, and how they broadcast.

Such an operator is a line in a table of its family::

    binary("Add", np.add)

A function is called as NumPy's are, ``function(a, b, out)``, over arrays of numbers
(:func:`minirt.kernels.arrays.elementwise`). ``out`` may be one of the others.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any

from .. import kernels
from ..errors import ShapeError
from ..kernels.arrays import Shaped, elementwise, number_dtype
from ..types import Dim, TensorType
from .arguments import flag
from .registry import op
from .shapes import broadcast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from ..dtypes import DType
    from ..types import Shape
    from .registry import Run, Thunk

__all__ = [
    "aligned",
    "binary",
    "broadcasting",
    "check_fits",
    "map_scalar",
    "old_binary",
    "same_shape",
    "scalar",
    "unary",
]


# One operand


def unary(
    name: str,
    function: Callable[..., Any],
    *,
    operand: str = "X",
    result: DType | None = None,
) -> None:
    """Register ``name``: of each element of ``operand`` what ``function(x, out)`` makes.

    The output has the type of the operand, or ``result``.
    """

    def apply(x):
        y = x.with_dtype(result or x.dtype)
        return y, lambda: elementwise(function, [x], [y])

    op(name, inplace=(operand,))(_with_parameters(apply, [operand]))


def scalar(name: str, function: str, *parameters: str, operand: str = "X") -> None:
    """Register ``name``, which is the ``function`` of :func:`minirt.kernels.map_scalar`.

    Its ``parameters`` are attributes. In place its loop would not be vectorised.
    """

    def apply(x, **attributes):
        values = [attributes[name] for name in parameters]
        return x.without_value(), lambda: map_scalar(function, x, *values)

    op(name)(_with_parameters(apply, [operand], parameters))


def map_scalar(function: str, x: TensorType, *parameters: float) -> Run:
    """The kernel that applies ``function`` to elements of a float type."""
    real = number_dtype(x.dtype)

    @cache
    def bound(size: int) -> Callable[..., None]:
        run: Callable[..., None] = kernels.map_scalar(function, real, size, *parameters)
        return run

    run = bound(x.size or 0)
    if real == x.dtype.storage:
        return run

    # Blocks have another size; what was bound is compiled.
    def apply(numbers: np.ndarray, out: np.ndarray) -> None:
        bound(numbers.size)(numbers.reshape(-1), out.reshape(-1))

    return elementwise(apply, [x], [x])


# Two operands


def binary(
    name: str,
    function: Callable[..., Any],
    *,
    operands: tuple[str, str] = ("A", "B"),
    result: DType | None = None,
    since: int = 1,
) -> None:
    """Register ``name``: of pairs of elements what ``function(a, b, out)`` makes.

    Operands are broadcast to one another. The output has the element type of the first one,
    or ``result``.
    """

    def apply(a, b):
        return broadcasting(function, a, b, result=result)

    register = op(name, since=since, inplace=operands)
    register(_with_parameters(apply, operands))


def broadcasting(
    function: Callable[..., Any], *operands: TensorType, result: DType | None = None
) -> tuple[TensorType, Thunk]:
    """The output of ``function(*operands, out)`` over operands that are broadcast."""
    y = TensorType(result or operands[0].dtype, broadcast(*operands))
    return y, lambda: elementwise(function, operands, [y])


def old_binary(
    name: str,
    function: Callable[..., Any],
    *,
    operands: tuple[str, str] = ("A", "B"),
    result: DType | None = None,
) -> None:
    """Register ``name`` as it was up to opset 6, where only the second operand is broadcast."""

    def apply(a, b, *, axis, broadcast):
        along = aligned(a, b, axis) if flag("broadcast", broadcast) else b
        y = TensorType(result or a.dtype, a.shape if broadcast else same_shape(a, b))

        def thunk() -> Shaped:
            run = elementwise(function, [a, along], [y]).function
            return Shaped(lambda a, b, y: run(a, b.reshape(along.shape), y))

        return y, thunk

    register = op(name, inplace=operands[:1])
    register(_with_parameters(apply, operands, ["axis", "broadcast"]))


def aligned(a: TensorType, b: TensorType, axis: int | None) -> TensorType:
    """``b`` with axes of size 1 after its own, so that it lies along ``a`` from ``axis`` on.

    Without an axis, the last one of ``b`` lies along the last one of ``a``. Raises ShapeError.
    """
    if a.shape is None or b.shape is None:
        return TensorType(b.dtype, None)
    rank = len(a.shape)
    if b.size == 1:
        return b.with_shape(*(1,) * min(rank, len(b.shape)))
    after = 0
    if axis is not None:
        after = rank - len(b.shape) - (axis + rank if axis < 0 else axis)
    if not 0 <= after <= max(rank - len(b.shape), 0):
        raise ShapeError(f"{b} cannot lie along {a} from axis {axis} on")
    along = b.with_shape(*b.shape, *(1,) * after)
    check_fits(along, a)
    return along


def check_fits(b: TensorType, a: TensorType) -> None:
    """Raise ShapeError if ``b`` cannot be broadcast to ``a``."""
    if a.shape is None or b.shape is None:
        return
    pairs = zip(b.shape[::-1], a.shape[::-1], strict=False)
    if len(b.shape) > len(a.shape) or any(
        isinstance(m, int) and isinstance(n, int) and m not in (1, n) for m, n in pairs
    ):
        raise ShapeError(f"{b} cannot be broadcast to {a}")


# Any number of operands


def same_shape(*types: TensorType) -> Shape | None:
    """The shape that all operands must have where nothing is broadcast."""
    known = [type.shape for type in types if type.shape is not None]
    for shape in known:
        if not _agree(shape, known[0]):
            raise ShapeError(
                f"{', '.join(map(str, types))} differ in shape, "
                f"and nothing is broadcast at this opset"
            )
    return known[0] if known else None


def _agree(first: Shape, second: Shape) -> bool:
    return len(first) == len(second) and all(
        a == b or isinstance(a, Dim) or isinstance(b, Dim)
        for a, b in zip(first, second, strict=True)
    )


# Signatures


def _with_parameters(
    function: Callable[..., Any], operands: Sequence[str], attributes: Sequence[str] = ()
) -> Callable[..., Any]:
    """``function`` under the names that the schema has for its parameters."""
    parameter = inspect.Parameter
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter(name, parameter.POSITIONAL_OR_KEYWORD) for name in operands]
        + [parameter(name, parameter.KEYWORD_ONLY) for name in attributes]
    )
    return function
