"""Running plans: memory for their buffers, and the function that calls their kernels."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from ..errors import ExecutionError, MinirtError
from ..types import TensorType
from .arena import ALIGNMENT
from .steps import NOTHING, Constant, Objects, Plan, Region, Returned

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from types import CodeType

    from ..types import Shape, Type
    from .steps import Step

    #: Flat storage buffers, and storage form (:mod:`minirt.data.values`) of what is no tensor.
    Buffers = Sequence[Any]

__all__ = ["Executor", "Executors", "Frames"]

#: How many executors a session keeps.
_KEPT = 64

#: Idle frames are kept up to these bounds; the one last used is always kept.
_IDLE_FRAMES = 32
_IDLE_BYTES = 256 << 20


class Executor:
    """A plan that can be run, by any number of threads at once."""

    def __init__(self, plan: Plan, frames: Frames) -> None:
        self.plan = plan
        #: When it was last wanted, on the clock of its :class:`Executors`.
        self.used = 0
        self._frames = frames
        self._code = compile(_source(plan), "<plan>", "exec")
        # Without memory of its own a frame has no state, and one serves all threads.
        self._run = self._run_alone if plan.needs_memory else _Frame(plan, self._code).run
        #: ``run(inputs)`` computes the results: new arrays of public types, or lists and
        #: dicts of them, or all that in storage form if the plan says so. ``inputs`` are values of
        #: the plan's input types, tensors as C-contiguous, aligned storage buffers, flat if
        #: the plan says so; they are not written to. Raises ExecutionError with the node and its
        #: operand types.
        self.run: Callable[[Buffers], list[Any]]
        self.run = self._run if plan.rest is None else self._run_on
        self._next = Executors(frames) if plan.rest else None

    def _run_alone(self, inputs: Buffers) -> list[Any]:
        # A frame whose run is broken off is not given back.
        frame = self._frames.take(self.plan) or _Frame(self.plan, self._code)
        results = frame.run(inputs)
        self._frames.give(frame)
        return results

    def _run_on(self, inputs: Buffers) -> list[Any]:
        """Run plan after plan."""
        executor = self
        while executor.plan.rest:
            executor, inputs = executor._following(inputs, executor._run(inputs))
        return executor._run(inputs)

    def _following(self, inputs: Buffers, results: Buffers) -> tuple[Executor, Buffers]:
        """What runs after this, and its inputs."""
        rest, cache = self.plan.rest, self._next
        if rest is None or cache is None:
            raise ValueError("nothing follows")
        values = [*inputs, *results]
        given = [values[slot] for slot in rest.slots]
        key, types = rest.settle(given)
        executor = cache.get(key) or cache.add(key, rest.plan(types))
        return executor, [
            array.reshape(-1) if isinstance(type, TensorType) else array
            for array, type in zip(given, types.values(), strict=True)
        ]

    def profile(self, inputs: Buffers) -> list[tuple[Step, float]]:
        """Run once; return the steps with the seconds that each took."""
        found, executor = [], self
        while True:
            results, measured = executor._profiled(inputs)
            found += measured
            if executor.plan.rest is None:
                return found
            executor, inputs = executor._following(inputs, results)

    def _profiled(self, inputs: Buffers) -> tuple[list[Any], list[tuple[Step, float]]]:
        """The results, and the steps of this plan alone."""
        seconds: list[float] = []

        def timed(run: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                start = perf_counter()
                returned = run(*arguments)
                seconds.append(perf_counter() - start)
                return returned

            return call

        steps = tuple(replace(step, run=timed(step.run)) for step in self.plan.steps)
        results = _Frame(replace(self.plan, steps=steps), self._code).run(inputs)
        return results, list(zip(self.plan.steps, seconds, strict=True))


class Executors:
    """The executors of one session by what they are for; those wanted last are kept.

    Like :class:`Frames` it takes no lock: two threads may plan the same, and one plan stays.
    """

    def __init__(self, frames: Frames | None = None) -> None:
        self._frames = frames or Frames()
        self._kept: dict[Hashable, Executor] = {}
        self._clock = itertools.count()

    def get(self, key: Hashable) -> Executor | None:
        """The executor for ``key``, None if there is none any more."""
        executor = self._kept.get(key)
        if executor is not None:
            executor.used = next(self._clock)
        return executor

    def add(self, key: Hashable, plan: Plan) -> Executor:
        """An executor of ``plan`` for ``key``, unless another thread has added one."""
        executor = Executor(plan, self._frames)
        executor.used = next(self._clock)
        executor = self._kept.setdefault(key, executor)
        while len(self._kept) > _KEPT:
            oldest = min(list(self._kept.items()), key=lambda item: item[1].used)
            self._kept.pop(oldest[0], None)
        return executor


class Frames:
    """The idle frames of one session.

    It takes no lock, which a fork could leave locked: each operation on the dictionary is
    atomic, and a frame belongs to the thread that has popped it.
    """

    def __init__(self) -> None:
        self._idle: dict[_Frame, None] = {}

    def take(self, plan: Plan) -> _Frame | None:
        """A frame of ``plan`` that nobody else has, None if there is none."""
        for frame in reversed(list(self._idle)):
            if frame.plan is plan and self._idle.pop(frame, "gone") is None:
                return frame
        return None

    def give(self, frame: _Frame) -> None:
        """Keep a frame for later, and drop those beyond the bounds that waited longest."""
        self._idle[frame] = None
        kept = 0
        for count, idle in enumerate(reversed(list(self._idle)), 1):
            kept += idle.plan.arena_bytes
            if count > 1 and (count > _IDLE_FRAMES or kept > _IDLE_BYTES):
                self._idle.pop(idle, None)


class _Frame:
    """The memory of one run of a plan, and the function that uses it."""

    def __init__(self, plan: Plan, code: CodeType) -> None:
        self.plan = plan
        arena = _aligned_bytes(plan.arena_bytes)
        scope: dict[str, Any] = {"empty": np.empty, "failed": partial(_raise_located, plan)}
        for i, slot in enumerate(plan.buffers):
            if not isinstance(slot, Returned):
                scope[f"b{i}"] = _buffer(slot, arena)
        scope |= {f"k{i}": step.run for i, step in enumerate(plan.steps)}
        for index, shape in _shaped_buffers(plan):
            scope[_shaped_name(f"b{index}", shape)] = scope[f"b{index}"].reshape(shape)
        for i, type in _allocated(plan):
            public = type.dtype.public if plan.public else type.dtype.storage
            scope |= {f"s{i}": type.shape, f"p{i}": public, f"v{i}": type.dtype.storage}
        exec(code, scope)
        #: See :attr:`Executor.run`.
        self.run: Callable[[Buffers], list[Any]] = scope["run"]


_FIRST_STEP = 4  # the line of the first step in the source


def _source(plan: Plan) -> str:
    """The run of a plan as a Python function, one line a step: ``k0(i0, b0)``.

    Inputs are i, results r and, seen as flat storage, o; buffers are b, and b_2_3 of shape
    (2, 3). What a kernel returns is a local variable, deleted when it is not needed any more.
    Straight calls cost half of what a loop over tuples of arguments does, and of a small
    node that is the most.
    """
    inputs = [f"i{i}" for i in range(len(plan.inputs))]
    results = [f"o{i}" for i in range(len(plan.results))]
    made = []
    for i, type in _allocated(plan):
        results[i] = f"r{i}"
        made.append(f"r{i} = empty(s{i}, p{i}); o{i} = {_flat(i, type, plan.public)}")
    names = _names(plan)
    steps = [_call(f"k{i}", step, names) for i, step in enumerate(plan.steps)]
    # Strings of this run are not kept until the next.
    emptied = [f"b{i}.fill(None)" for i, b in enumerate(plan.buffers) if isinstance(b, Objects)]
    body = [f"[{', '.join(inputs)}] = inputs; {'; '.join(made)}", *steps, *emptied]
    lines = ["def run(inputs):", " try:", *(f"  {line}" for line in body)]
    return "\n".join(
        [*lines, f"  return [{', '.join(results)}]", " except Exception as e: failed(e)"]
    )


class _Name(NamedTuple):
    """A slot in the source. What it holds is ``flat``, ``fixed`` in memory, or as it comes.

    An ``array`` that is known to come in a ``shape`` need not be put in that.
    """

    text: str
    flat: bool = False
    fixed: bool = False
    array: bool = False
    shape: Shape | None = None

    def shown(self, shape: Shape | None) -> str:
        """The slot as an array of ``shape``, for None as a flat one, if it is an array at all."""
        if self.fixed:
            return self.text if shape is None else _shaped_name(self.text, shape)
        if shape is None:
            return f"{self.text}.reshape(-1)" if self.array else self.text
        if shape == self.shape or (self.flat and len(shape) == 1):
            return self.text
        return f"{self.text}.reshape({shape})"


def _names(plan: Plan) -> list[_Name]:
    """The names of all slots, last of :data:`NOTHING`."""
    names = [_input_name(f"i{i}", type, plan.flat) for i, type in enumerate(plan.inputs)]
    allocated = dict(_allocated(plan))
    for i, type in enumerate(plan.results):
        array = isinstance(type, TensorType) and type.is_concrete and i not in allocated
        names.append(_Name(f"o{i}", flat=i in allocated, array=array))
    for i, buffer in enumerate(plan.buffers):
        if isinstance(buffer, Returned):
            names.append(_Name(f"b{i}", array=buffer.is_array))
        else:
            names.append(_Name(f"b{i}", flat=True, fixed=True))
    return [*names, _Name("None")]


def _input_name(text: str, type: Type, flat: bool) -> _Name:
    if flat or not isinstance(type, TensorType):
        return _Name(text, flat=True)
    is_flat = len(type.shape or ()) == 1
    return _Name(text, flat=is_flat, array=not is_flat, shape=type.shape)


def _call(kernel: str, step: Step, names: list[_Name]) -> str:
    """``b1, _ = k0(i0, b0); del b1``"""
    slots = (*step.reads, *step.writes, *(step.outer or ()))
    shapes = step.shapes or (None,) * len(slots)
    arguments = [
        names[slot].shown(None if slot == NOTHING else shape)
        for slot, shape in zip(slots, shapes, strict=True)
    ]
    if step.outer is not None:
        count = len(step.reads) + len(step.writes)
        outer = "".join(f"{argument}, " for argument in arguments[count:])
        arguments = [*arguments[:count], f"({outer})"]
    call = f"{kernel}({', '.join(arguments)})"
    targets = ", ".join("_" if slot == NOTHING else names[slot].text for slot in step.returns)
    call = f"{targets} = {call}" if targets else call
    return "; ".join([call, *(f"del {names[slot].text}" for slot in step.frees)])


def _shaped_buffers(plan: Plan) -> set[tuple[int, Shape]]:
    """The buffers that kernels get in a shape, by their number."""
    first = len(plan.inputs) + len(plan.results)
    return {
        (slot - first, shape)
        for step in plan.steps
        for slot, shape in zip(
            (*step.reads, *step.writes, *(step.outer or ())), step.shapes, strict=False
        )
        if slot >= first
        and shape is not None
        and not isinstance(plan.buffers[slot - first], Returned)
    }


def _shaped_name(name: str, shape: Shape) -> str:
    return "_".join(map(str, (name, *shape, "")))


def _allocated(plan: Plan) -> list[tuple[int, TensorType]]:
    """The results that are arrays for steps to write to, numbered among all."""
    returned = {slot - len(plan.inputs) for step in plan.steps for slot in step.returns}
    return [
        (i, type)
        for i, type in enumerate(plan.results)
        if isinstance(type, TensorType) and i not in returned
    ]


def _flat(index: int, type: TensorType, public: bool) -> str:
    """A result as a flat storage buffer: no more views than it takes."""
    flat = f"r{index}" if len(type.shape or ()) == 1 else f"r{index}.ravel()"
    same = not public or type.dtype.storage == type.dtype.public
    return flat if same else f"{flat}.view(v{index})"


def _buffer(slot: Constant | Region | Objects, arena: np.ndarray) -> np.ndarray:
    match slot:
        case Constant(buffer):
            return buffer
        case Objects(size):
            return np.empty(size, object)
        case Region(offset, size, dtype):
            return arena[offset : offset + size * dtype.itemsize].view(dtype)


def _aligned_bytes(count: int) -> np.ndarray:
    block = np.empty(count + ALIGNMENT, np.uint8)
    start = -block.ctypes.data % ALIGNMENT
    return block[start : start + count]


def _raise_located(plan: Plan, error: Exception) -> NoReturn:
    """Raise ``error`` as one of our tree, with the step where it happened."""
    line = error.__traceback__.tb_lineno if error.__traceback__ else 0
    step = plan.steps[line - _FIRST_STEP] if line >= _FIRST_STEP else None
    place = step.name if step else "allocating the results"
    types = [str(t) for t in step.operands] if step else []
    if not isinstance(error, MinirtError):
        message = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ExecutionError(message, node_path=place, types=types).located(place) from error
    if isinstance(error, ExecutionError):
        error.node_path, error.types = error.node_path or place, tuple(types)
    raise error.located(place)
