"""Sequences of tensors: lists in storage form, which are made anew and never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.values import element_of
from ..dtypes import BY_CODE, BY_NAME
from ..errors import ExecutionError, SchemaError, ShapeError
from ..kernels.arrays import Shaped
from ..types import Dim, SequenceType, TensorType, union
from .arguments import single
from .registry import op
from .shapes import normalized_axis
from .values import returned

if TYPE_CHECKING:
    from ..types import Shape, Type

_FLOAT, _INT64 = BY_NAME["float"], BY_NAME["int64"]


@op("SequenceEmpty")
def sequence_empty(*, dtype):
    """A sequence of no tensors of the type whose code is ``dtype``, float by default.

    https://onnx.ai/onnx/operators/onnx__SequenceEmpty.html
    """
    element = _FLOAT if dtype is None else BY_CODE.get(dtype)
    if element is None:
        raise SchemaError(f"dtype={dtype} is no element type; those are {_codes()}")
    return SequenceType(TensorType(element), empty=True), lambda: lambda: []


@op("SequenceConstruct")
def sequence_construct(*inputs):
    """A sequence of copies of ``inputs``, tensors of one element type.

    https://onnx.ai/onnx/operators/onnx__SequenceConstruct.html
    """
    element = inputs[0].without_value()
    for operand in inputs[1:]:
        element = _element(element, operand)
    return SequenceType(element), lambda: Shaped(lambda *arrays: [array.copy() for array in arrays])


@op("SequenceAt", returns=True)
def sequence_at(input_sequence, position):
    """The tensor at ``position``, in [-n, n - 1].

    https://onnx.ai/onnx/operators/onnx__SequenceAt.html
    """
    element = _tensor_in(input_sequence)
    single("position", position)

    def run(sequence: list[Any], position: np.ndarray) -> Any:
        return returned([sequence[_index(position, len(sequence))]], [element])

    return element, lambda: run


@op("SequenceInsert")
def sequence_insert(input_sequence, tensor, position):
    """``input_sequence`` with a copy of ``tensor`` before ``position``, by default at the end.

    ``position`` is in [-n, n].

    https://onnx.ai/onnx/operators/onnx__SequenceInsert.html
    """
    element = _element(_tensor_in(input_sequence), tensor)
    if input_sequence.empty:
        element = tensor.without_value()
    single("position", position)

    def run(sequence: list[Any], tensor: np.ndarray, position: np.ndarray | None) -> list[Any]:
        n = len(sequence)
        index = n if position is None else _index(position, n, n)
        return [*sequence[:index], tensor.copy(), *sequence[index:]]

    return SequenceType(element), lambda: Shaped(run)


@op("SequenceErase")
def sequence_erase(input_sequence, position):
    """``input_sequence`` without the tensor at ``position``, in [-n, n - 1], by default the last.

    https://onnx.ai/onnx/operators/onnx__SequenceErase.html
    """
    single("position", position)

    def run(sequence: list[Any], position: np.ndarray | None) -> list[Any]:
        last = np.array(-1)
        index = _index(last if position is None else position, len(sequence))
        return [*sequence[:index], *sequence[index + 1 :]]

    return input_sequence, lambda: run


@op("SequenceLength")
def sequence_length(input_sequence):
    """The number of tensors, 0-d.

    https://onnx.ai/onnx/operators/onnx__SequenceLength.html
    """

    def run(sequence: list[Any], length: np.ndarray) -> None:
        length[0] = len(sequence)

    return TensorType(_INT64, ()), lambda: run


def _codes() -> str:
    return ", ".join(f"{code} ({dtype.name})" for code, dtype in BY_CODE.items())


def _tensor_in(sequence: SequenceType) -> TensorType:
    """The type of the elements of a sequence."""
    element = element_of(sequence)
    if not isinstance(element, TensorType):
        raise SchemaError(f"{sequence} is no sequence of tensors")
    return element


def _element(element: Type, tensor: TensorType) -> Type:
    """The type of the elements of a sequence of which ``tensor`` becomes one."""
    wider = union(element, tensor)
    if wider is None:
        raise SchemaError(f"{tensor} cannot be in a sequence of {element}")
    return wider


def _index(position: np.ndarray, count: int, last: int | None = None) -> int:
    """A position in ``count`` tensors, up to ``last``, counted from the front."""
    index, most = int(position.item()), count - 1 if last is None else last
    if not -count <= index <= most:
        bounds = f"in [{-count}, {most}]" if most >= 0 else "in an empty sequence"
        raise ExecutionError(f"position {index} is not {bounds}, with {count} tensors")
    return index + count if index < 0 else index


# Tensors to one and back


@op("ConcatFromSequence", returns=True)
def concat_from_sequence(input_sequence, *, axis, new_axis):
    """All tensors put together along ``axis``, which is a new one if ``new_axis`` is 1.

    https://onnx.ai/onnx/operators/onnx__ConcatFromSequence.html
    """
    if new_axis not in (0, 1):
        raise SchemaError(f"new_axis={new_axis} is neither 0 nor 1")
    element = _tensor_in(input_sequence)
    result = element.with_dtype(element.dtype)
    if element.shape is not None:
        place = normalized_axis(axis, len(element.shape) + new_axis)
        rest = element.shape[place + 1 - new_axis :]
        result = element.with_shape(*element.shape[:place], Dim(), *rest)

    def run(sequence: list[np.ndarray]) -> Any:
        return returned([_concatenated(sequence, axis, new_axis)], [result])

    return result, lambda: run


def _concatenated(sequence: list[np.ndarray], axis: int, new_axis: int) -> np.ndarray:
    if not sequence:
        raise ExecutionError("an empty sequence cannot be concatenated")
    first = sequence[0].shape
    place = normalized_axis(axis, len(first) + new_axis)
    for index, array in enumerate(sequence):
        sizes = list(array.shape)
        if not new_axis and len(sizes) == len(first):
            sizes[place] = first[place]
        if tuple(sizes) != first:
            raise ExecutionError(
                f"tensor {index} has shape {list(array.shape)}, which does not go with "
                f"{list(first)} of tensor 0 along {'new ' * new_axis}axis {place}"
            )
    return np.stack(sequence, place) if new_axis else np.concatenate(sequence, place)


@op("SplitToSequence")
def split_to_sequence(input, split, *, axis, keepdims):
    """The parts of ``input`` along ``axis``, of the sizes that ``split`` gives.

    A 0-d ``split`` is the size of all, but the last may be smaller. Without it each is of size
    1, and with ``keepdims`` 0 lacks the axis.

    https://onnx.ai/onnx/operators/onnx__SplitToSequence.html
    """
    if keepdims not in (0, 1):
        raise SchemaError(f"keepdims={keepdims} is neither 0 nor 1")
    if split is not None and len(split.shape or ()) > 1:
        raise ShapeError(f"split is {split}, but must be a single value or a list")
    drops = split is None and not keepdims
    element = input.with_dtype(input.dtype)
    if input.shape is not None:
        axis = normalized_axis(axis, len(input.shape))
        element = input.with_shape(*_part(input.shape, axis, split, drops))

    def run(array: np.ndarray, split: np.ndarray | None) -> list[np.ndarray]:
        sizes = _sizes(array.shape[axis], split, ExecutionError)
        parts = np.split(array, np.cumsum(sizes)[:-1], axis) if sizes else []
        return [(part.squeeze(axis) if drops else part).copy() for part in parts]

    return SequenceType(element), lambda: Shaped(run)


def _part(shape: Shape, axis: int, split: TensorType | None, drops: bool) -> Shape:
    """The shape that all parts have."""
    size, kept = shape[axis], (*shape[:axis], *shape[axis + 1 :])
    if drops:
        return kept
    part: int | Dim = 1 if split is None else Dim()
    if split is not None and split.value is not None and isinstance(size, int):
        sizes = set(_sizes(size, split.value, ShapeError))
        part = sizes.pop() if len(sizes) == 1 else part
    return (*kept[:axis], part, *kept[axis:])


def _sizes(
    size: int, split: np.ndarray | None, error: type[ExecutionError | ShapeError]
) -> list[int]:
    """The sizes of the parts of an axis of ``size``."""
    if split is None:
        return [1] * size
    if split.ndim == 0:
        part = int(split)
        if part <= 0:
            raise error(f"split is {part}, but should be positive")
        full, left = divmod(size, part)
        return [part] * full + [left] * (left > 0)
    sizes = [int(part) for part in split]
    if any(part < 0 for part in sizes) or sum(sizes) != size:
        raise error(f"split is {sizes}, but should be sizes that add up to {size}, as axis has")
    return sizes
