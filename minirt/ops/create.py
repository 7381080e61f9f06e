"""Operators that make tensors from attributes."""

from __future__ import annotations

from math import ceil, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import kernels
from ..dtypes import BY_NAME
from ..errors import SchemaError, ShapeError
from ..kernels.arrays import Shaped
from ..types import Dim, TensorType
from .arguments import single
from .element_types import result_dtype
from .registry import op

if TYPE_CHECKING:
    from ..dtypes import DType

_FLOAT, _DOUBLE, _INT64 = BY_NAME["float"], BY_NAME["double"], BY_NAME["int64"]
_STRING = BY_NAME["string"]
#: In what Range computes 16-bit floats, by its attribute.
_STASHES = {_FLOAT.code: _FLOAT, _DOUBLE.code: _DOUBLE}


@op("Constant")
def constant(
    *,
    sparse_value,
    value,
    value_float,
    value_floats,
    value_int,
    value_ints,
    value_string,
    value_strings,
):
    """The tensor that the one attribute which is given holds; a number or string is 0-d.

    https://onnx.ai/onnx/operators/onnx__Constant.html
    """
    given = {
        "sparse_value": sparse_value,
        "value": value,
        "value_float": _tensor(value_float, _FLOAT),
        "value_floats": _tensor(value_floats, _FLOAT),
        "value_int": _tensor(value_int, _INT64),
        "value_ints": _tensor(value_ints, _INT64),
        "value_string": _tensor(value_string, _STRING),
        "value_strings": _tensor(value_strings, _STRING),
    }
    names = [name for name, content in given.items() if content is not None]
    if len(names) != 1:
        raise SchemaError(
            f"needs exactly one of the attributes {', '.join(given)}, "
            f"but has {' and '.join(names) or 'none'}"
        )
    return given[names[0]], None


def _tensor(content: Any, dtype: DType) -> TensorType | None:
    if content is None:
        return None
    array = np.array(content, dtype.storage)
    array.flags.writeable = False
    return TensorType(dtype, array.shape, array)


@op("ConstantOfShape", contents=("input",))
def constant_of_shape(input, *, value):
    """A tensor of the shape that ``input`` lists, filled with the one element of ``value``.

    Without ``value`` that is the float 0. Raises ShapeError for a negative size.

    https://onnx.ai/onnx/operators/onnx__ConstantOfShape.html
    """
    if value is None:
        value = TensorType(_FLOAT, (1,), np.zeros(1, _FLOAT.storage))
    if value.size != 1:
        raise SchemaError(f"value must have one element, but it is {value}")
    dtype = result_dtype("ConstantOfShape", "output", value.dtype.code, _FLOAT, "value's type")
    filler = value.value.reshape(())[()]
    return TensorType(dtype, _listed(input)), lambda: lambda output: output.fill(filler)


def _listed(sizes: TensorType) -> tuple[int | Dim, ...] | None:
    """The shape that a 1-D tensor lists, as far as it is known."""
    if sizes.shape is None:
        return None
    if len(sizes.shape) != 1:
        raise ShapeError(f"the sizes are {sizes}, but they must be a 1-D tensor")
    if sizes.value is None:
        count = sizes.shape[0]
        return tuple(Dim() for _ in range(count)) if isinstance(count, int) else None
    if (sizes.value < 0).any():
        raise ShapeError(f"the sizes {sizes.value.tolist()} must not be negative")
    return tuple(sizes.value.tolist())


@op("Range", contents=("start", "limit", "delta"))
def range_(start, limit, delta, *, stash_type):
    """``start + i * delta`` for each i up to ``limit``, which is left out.

    There are ``ceil((limit - start) / delta)`` elements, for floats as float64 divides. Each is
    computed from ``i``, not from the one before, so errors do not add up: integers exactly,
    floats in float64 and rounded once, 16-bit floats in the type that ``stash_type`` names.
    Raises ShapeError where there is no such number, as for a ``delta`` of 0.

    https://onnx.ai/onnx/operators/onnx__Range.html
    """
    dtype = start.dtype
    first, last, step = (
        _number(operand, name)
        for operand, name in ((start, "start"), (limit, "limit"), (delta, "delta"))
    )
    is_stashed = dtype.is_float and dtype.bits < 32
    stash = _STASHES.get(stash_type) if is_stashed else _DOUBLE if dtype.is_float else _INT64
    if stash is None:
        raise SchemaError(f"stash_type={stash_type} is neither 1 (float) nor 11 (double)")
    if first is None or last is None or step is None:
        return TensorType(dtype, (Dim(),)), None
    count = _count(first, last, step)
    return TensorType(dtype, (count,)), lambda: _steps(first, step, count, stash, dtype)


def _number(operand: TensorType, name: str) -> int | float | None:
    """What a tensor of one element holds, None while it is not known."""
    single(name, operand)
    if operand.value is None:
        return None
    number = operand.value.reshape(()).view(operand.dtype.public)
    return int(number) if operand.dtype.is_integer else float(number)


def _count(start: float, limit: float, delta: float) -> int:
    """How many elements there are from ``start`` to ``limit``."""
    where = f"from start={start} to limit={limit} by delta={delta}"
    if delta == 0:
        raise ShapeError(f"no number of steps leads {where}")
    if isinstance(start, int):
        return max(-int((start - limit) // delta), 0)
    steps = (limit - start) / delta
    if not isfinite(steps):
        raise ShapeError(f"no finite number of steps leads {where}")
    return max(ceil(steps), 0)


def _steps(start: float, delta: float, count: int, stash: DType, dtype: DType):
    """The kernel of Range: computes in ``stash``, which is rounded to ``dtype`` at the end."""

    def fill(output: np.ndarray) -> None:
        # Products of large integers may wrap around, but then the sums do so again.
        output[:] = np.arange(count, dtype=number) * number(delta) + number(start)

    number = stash.storage.type
    if not dtype.is_float or dtype.bits >= 32:
        return fill
    convert = kernels.convert(stash, dtype, count, saturate=True, round_mode="up")

    def fill_narrow(output: np.ndarray) -> None:
        exact = np.empty(count, stash.storage)
        fill(exact)
        convert(exact, output)

    return fill_narrow


@op("EyeLike", type_only=("input",))
def eye_like(input, *, dtype, k):
    """A matrix of the shape of ``input`` with ones on its ``k``-th diagonal, else zeros.

    https://onnx.ai/onnx/operators/onnx__EyeLike.html
    """
    if input.shape is not None and len(input.shape) != 2:
        raise ShapeError(f"input is {input}, but it must have two dimensions")
    shape = (Dim(), Dim()) if input.shape is None else input.shape
    output = TensorType(result_dtype("EyeLike", "output", dtype, input.dtype), shape)
    one = np.ones((), output.dtype.public).view(output.dtype.storage)
    return output, lambda: Shaped(lambda output: _fill_diagonal(output, k, one))


def _fill_diagonal(matrix: np.ndarray, k: int, one: np.ndarray) -> None:
    rows, columns = matrix.shape
    first, stop = max(0, -k), min(rows, columns - k)
    matrix.fill(0)
    if first < stop:
        start = first * columns + first + k
        matrix.reshape(-1)[start : start + (stop - first) * (columns + 1) : columns + 1] = one
