"""Scan: a subgraph that runs along the axes of tensors.

https://onnx.ai/onnx/operators/onnx__Scan.html
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ExecutionError, SchemaError, ShapeError
from ..kernels.arrays import Shaped
from ..types import Dim, TensorType, contradiction, merge
from .registry import op
from .shapes import normalized_axis
from .values import promised, returned, stacked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..types import Type
    from .registry import Body, Run

    Program = Callable[..., list[Any]]


@op("Scan", since=9, returns=True)
def scan(
    *initial_state_and_scan_inputs,
    body,
    num_scan_inputs,
    scan_input_axes,
    scan_input_directions,
    scan_output_axes,
    scan_output_directions,
):
    """Run ``body`` on the parts of the last ``num_scan_inputs`` operands along an axis of each.

    The other operands are state variables, each of which keeps its shape. What else ``body``
    makes is put together along the output axes. Direction 1 is from the back to the front.
    """
    states, inputs = _split(initial_state_and_scan_inputs, num_scan_inputs)
    axes = _each("scan_input_axes", scan_input_axes, len(inputs))
    axes = [_axis("scan_input_axes", a, x) for a, x in zip(axes, inputs, strict=True)]
    reverse = _flags("scan_input_directions", scan_input_directions, len(inputs))
    length = _common([_size(x, a) for x, a in zip(inputs, axes, strict=True)], inputs)
    parts = [_without(x, a) for x, a in zip(inputs, axes, strict=True)]
    finals, items = _made(body, states, parts)
    rows = [_with(item, 0, length) for item in items]
    places = _each("scan_output_axes", scan_output_axes, len(rows))
    places = [_axis("scan_output_axes", a, row) for a, row in zip(places, rows, strict=True)]
    backward = _flags("scan_output_directions", scan_output_directions, len(items))
    types = (*finals, *(_with(item, a, length) for item, a in zip(items, places, strict=True)))

    def bind() -> Run:
        program = body.program(*states, *parts)
        kinds = list(map(promised, items, body.outputs[len(states) :]))

        def run(*values: Any) -> Any:
            *operands, outer = values
            initial, arrays = operands[: len(states)], operands[len(states) :]
            arrays = list(map(_in_front, arrays, axes, reverse))
            last, outputs = _iterate(program, outer, initial, arrays, kinds)
            return returned([*last, *map(_arranged, outputs, places, backward)], types)

        return Shaped(run)

    return types, bind


@op("Scan", since=8, returns=True)
def scan_batches(sequence_lens, *initial_state_and_scan_inputs, body, directions, num_scan_inputs):
    """Scan along axis 1 of the last ``num_scan_inputs`` operands, for each index of axis 0 anew.

    ``sequence_lens`` has the number of steps for each; the outputs hold zeros, or empty texts,
    behind these. Direction 1 is from the last of these steps to the first.
    """
    operands = initial_state_and_scan_inputs
    states, inputs = _split(operands, num_scan_inputs)
    reverse = _flags("directions", directions, len(inputs))
    batch = _common([_size(x, _axis("the batch axis", 0, x)) for x in operands], operands)
    length = _common([_size(x, _axis("the sequence axis", 1, x)) for x in inputs], inputs)
    if sequence_lens is not None:
        _check_lengths(sequence_lens, batch)
    initial = [_without(x, 0) for x in states]
    parts = [_without(_without(x, 0), 0) for x in inputs]
    finals, items = _made(body, initial, parts)
    rows = [_with(item, 0, length) for item in items]
    types = tuple(_with(type, 0, batch) for type in (*finals, *rows))

    def bind() -> Run:
        program = body.program(*initial, *parts)
        kinds = list(map(promised, items, body.outputs[len(states) :]))

        def run(lengths: np.ndarray | None, *values: Any) -> Any:
            *operands, outer = values
            states, inputs = operands[: len(initial)], operands[len(initial) :]
            steps = _steps(lengths, *inputs[0].shape[:2])
            each = partial(_iterate, program, outer, kinds=kinds)
            return returned(_in_batches(each, states, inputs, steps, reverse, kinds), types)

        return Shaped(run)

    return types, bind


# Types


def _split(operands: Sequence[TensorType], count: int) -> tuple[Sequence[TensorType], ...]:
    """State variables and scan inputs."""
    if not 1 <= count <= len(operands):
        raise SchemaError(
            f"num_scan_inputs={count}, but should be from 1 to the number of operands, "
            f"{len(operands)}"
        )
    return operands[:-count], operands[-count:]


def _each(name: str, numbers: Sequence[int] | None, count: int) -> Sequence[int]:
    """An attribute that has a number for each of ``count`` values, 0 where it is not given."""
    if numbers is None:
        return [0] * count
    if len(numbers) != count:
        raise SchemaError(f"{name} has {len(numbers)} items, but should have {count}")
    return numbers


def _flags(name: str, numbers: Sequence[int] | None, count: int) -> Sequence[int]:
    flags = _each(name, numbers, count)
    if not {0, 1}.issuperset(flags):
        raise SchemaError(f"{name} is {list(flags)}, but each should be 0 or 1")
    return flags


def _axis(name: str, axis: int, operand: TensorType) -> int:
    """``axis`` counted from the front where the rank is known."""
    return axis if operand.shape is None else normalized_axis(axis, len(operand.shape), name)


def _size(operand: TensorType, axis: int) -> int | Dim:
    return Dim() if operand.shape is None else operand.shape[axis]


def _common(sizes: Sequence[int | Dim], operands: Sequence[TensorType]) -> int | Dim:
    """The one size that all have."""
    numbers = [size for size in sizes if isinstance(size, int)]
    if len(set(numbers)) > 1:
        types = ", ".join(map(str, operands))
        raise ShapeError(f"{types} are scanned together, but have sizes {numbers}")
    return numbers[0] if numbers else sizes[0]


def _without(operand: TensorType, axis: int) -> TensorType:
    if operand.shape is None:
        return operand
    return operand.with_shape(*operand.shape[:axis], *operand.shape[axis + 1 :])


def _with(operand: TensorType, axis: int, size: int | Dim) -> TensorType:
    if operand.shape is None:
        return operand
    return operand.with_shape(*operand.shape[:axis], size, *operand.shape[axis:])


def _made(
    body: Body, states: Sequence[TensorType], parts: Sequence[TensorType]
) -> tuple[list[TensorType], list[TensorType]]:
    """The types of state variables, and of the other values that ``body`` makes."""
    made = [_tensor(i, type) for i, type in enumerate(body.types(*states, *parts))]
    if len(made) < len(states):
        raise SchemaError(f"body makes {len(made)} values of {len(states)} state variables")
    finals = [_kept(i, *pair) for i, pair in enumerate(zip(states, made, strict=False))]
    return finals, made[len(states) :]


def _tensor(index: int, type: Type) -> TensorType:
    if not isinstance(type, TensorType):
        raise SchemaError(f"output {index} of body is {type}, but should be a tensor")
    return type


def _kept(index: int, state: TensorType, made: TensorType) -> TensorType:
    merged = merge(state, made)
    if not isinstance(merged, TensorType):
        message = f"state variable {index} is {state}, but body makes {made} of it"
        raise contradiction(message, state, made)
    return merged


def _check_lengths(lengths: TensorType, batch: int | Dim) -> None:
    expected = lengths.with_shape(batch)
    if merge(lengths, expected) is None:
        raise ShapeError(f"sequence_lens is {lengths}, but should be {expected}")


# Runs


def _iterate(
    program: Program,
    outer: tuple[Any, ...],
    states: Sequence[np.ndarray],
    inputs: Sequence[np.ndarray],
    kinds: Sequence[TensorType],
) -> tuple[Sequence[np.ndarray], list[np.ndarray]]:
    """The last states, and all else that is made, along a first axis as ``inputs`` have it.

    ``kinds`` are the types of what else a step makes.
    """
    made: list[list[np.ndarray]] = [[] for _ in kinds]
    for step in range(len(inputs[0])):
        outputs = program(outer, *states, *[array[step, ...] for array in inputs])
        for index, (old, new) in enumerate(zip(states, outputs, strict=False)):
            if old.shape != new.shape:
                raise ExecutionError(
                    f"state variable {index} has shape {list(old.shape)}, "
                    f"but body makes {list(new.shape)} of it in iteration {step}"
                )
        states, items = outputs[: len(states)], outputs[len(states) :]
        for row, item in zip(made, items, strict=True):
            row.append(item)
    if not len(inputs[0]):
        states = [state.copy() for state in states]  # buffers of operands are used again
    return states, list(map(stacked, range(len(kinds)), made, kinds))


def _in_batches(
    iterate: Callable[..., tuple[Sequence[np.ndarray], list[np.ndarray]]],
    states: Sequence[np.ndarray],
    inputs: Sequence[np.ndarray],
    steps: Sequence[int],
    reverse: Sequence[int],
    kinds: Sequence[TensorType],
) -> list[np.ndarray]:
    """The last states and all else that is made, for each index of the first axis."""
    lasts = [np.empty_like(state) for state in states]
    made: list[list[np.ndarray]] = [[] for _ in kinds]
    for index, count in enumerate(steps):
        parts = [array[index, :count] for array in inputs]
        parts = [_in_front(part, 0, flag) for part, flag in zip(parts, reverse, strict=True)]
        last, outputs = iterate([state[index, ...] for state in states], parts)
        for target, state in zip(lasts, last, strict=True):
            target[index, ...] = state
        for row, output in zip(made, outputs, strict=True):
            row.append(output)
    size = inputs[0].shape[1]
    return [*lasts, *(_padded(i, made[i], kind, size) for i, kind in enumerate(kinds))]


def _in_front(array: np.ndarray, axis: int, reverse: int) -> np.ndarray:
    """``array`` with ``axis`` as the first, along which it consists of contiguous parts."""
    array = np.ascontiguousarray(np.moveaxis(array, axis, 0))
    return array[::-1] if reverse else array


def _arranged(result: np.ndarray, axis: int, reverse: int) -> np.ndarray:
    axis = normalized_axis(axis, result.ndim, "scan_output_axes")
    return np.ascontiguousarray(np.moveaxis(result[::-1] if reverse else result, 0, axis))


def _steps(lengths: np.ndarray | None, count: int, size: int) -> list[int]:
    """The number of steps for each index of the batch."""
    if lengths is None:
        return [size] * count
    for index, length in enumerate(lengths):
        if not 0 <= length <= size:
            raise ExecutionError(f"sequence_lens[{index}] is {length}, but not in [0, {size}]")
    return [int(length) for length in lengths]


def _padded(index: int, rows: Sequence[np.ndarray], type: TensorType, size: int) -> np.ndarray:
    """Scan output ``index`` of all batches, each as long as ``size``, of parts of ``type``."""
    filled = [row for row in rows if len(row)]
    known = [dim if isinstance(dim, int) else 0 for dim in type.shape or ()]
    shape = filled[0].shape[1:] if filled else tuple(known)
    blank = "" if type.dtype.storage.hasobject else 0
    result = np.full((len(rows), size, *shape), blank, type.dtype.storage)
    for number, row in enumerate(rows):
        if len(row) and row.shape[1:] != shape:
            raise ExecutionError(
                f"scan output {index} has parts of shape {list(shape)} in one sequence, "
                f"but {list(row.shape[1:])} in sequence {number}"
            )
        if len(row):
            result[number, : len(row)] = row
    return result
