"""Running plans: memory for their buffers, and the function that calls their kernels."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..errors import ExecutionError, MinirtError
from ..types import TensorType
from .arena import ALIGNMENT
from .plan import NOTHING, Constant, Objects, Plan, Region, Returned

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from types import CodeType

    from ..ops.registry import Run
    from .plan import Step

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
        #: ``run(inputs)`` computes the results: new arrays of public types, or lists and
        #: dicts of them. ``inputs`` are values of the plan's input types, tensors as flat,
        #: C-contiguous, aligned storage buffers; they are not written to. Raises
        #: ExecutionError with the node and its operand types.
        self.run: Callable[[Buffers], list[Any]]
        # Without memory of its own a frame has no state, and one serves all threads.
        self.run = self._run_alone if plan.needs_memory else _Frame(plan, self._code).run

    def _run_alone(self, inputs: Buffers) -> list[Any]:
        # A frame whose run is broken off is not given back.
        frame = self._frames.take(self.plan) or _Frame(self.plan, self._code)
        results = frame.run(inputs)
        self._frames.give(frame)
        return results

    def profile(self, inputs: Buffers) -> list[float]:
        """Run once; return the seconds that each step of the plan took."""
        seconds: list[float] = []

        def timed(run: Run) -> Run:
            def call(*arguments: Any) -> Any:
                start = perf_counter()
                returned = run(*arguments)
                seconds.append(perf_counter() - start)
                return returned

            return call

        steps = tuple(replace(step, run=timed(step.run)) for step in self.plan.steps)
        _Frame(replace(self.plan, steps=steps), self._code).run(inputs)
        return seconds


class Executors:
    """The executors of one session by what they are for; those wanted last are kept.

    Like :class:`Frames` it takes no lock: two threads may plan the same, and one plan stays.
    """

    def __init__(self) -> None:
        self._frames = Frames()
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
        for i, type in _tensors(plan):
            scope |= {f"s{i}": type.shape, f"p{i}": type.dtype.public, f"v{i}": type.dtype.storage}
        exec(code, scope)
        #: See :attr:`Executor.run`.
        self.run: Callable[[Buffers], list[Any]] = scope["run"]


_FIRST_STEP = 4  # the line of the first step in the source


def _source(plan: Plan) -> str:
    """The run of a plan as a Python function, one line a step: ``k0(i0, b0)``.

    Inputs are i, results r and, seen as storage, o; buffers are b. What a kernel returns is
    a local variable, deleted when it is not needed any more. Straight calls cost half of
    what a loop over tuples of arguments does, and of a small node that is the most.
    """
    inputs = [f"i{i}" for i in range(len(plan.inputs))]
    results = [f"o{i}" for i in range(len(plan.results))]
    made = []
    for i, type in _tensors(plan):
        results[i] = f"r{i}"
        made.append(f"r{i} = empty(s{i}, p{i}); o{i} = {_flat(i, type)}")
    buffers = [f"b{i}" for i in range(len(plan.buffers))]
    names = [*inputs, *(f"o{i}" for i in range(len(results))), *buffers, "None"]
    steps = [_call(f"k{i}", step, names) for i, step in enumerate(plan.steps)]
    # Strings of this run are not kept until the next.
    emptied = [f"b{i}.fill(None)" for i, b in enumerate(plan.buffers) if isinstance(b, Objects)]
    body = [f"[{', '.join(inputs)}] = inputs; {'; '.join(made)}", *steps, *emptied]
    lines = ["def run(inputs):", " try:", *(f"  {line}" for line in body)]
    return "\n".join(
        [*lines, f"  return [{', '.join(results)}]", " except Exception as e: failed(e)"]
    )


def _call(kernel: str, step: Step, names: list[str]) -> str:
    """``b1, _ = k0(i0, b0); del b1``"""
    call = f"{kernel}({', '.join(names[slot] for slot in (*step.reads, *step.writes))})"
    targets = ", ".join("_" if slot == NOTHING else names[slot] for slot in step.returns)
    call = f"{targets} = {call}" if targets else call
    return "; ".join([call, *(f"del {names[slot]}" for slot in step.frees)])


def _tensors(plan: Plan) -> list[tuple[int, TensorType]]:
    """The results that are tensors, numbered among all."""
    return [(i, type) for i, type in enumerate(plan.results) if isinstance(type, TensorType)]


def _flat(index: int, type: TensorType) -> str:
    """A result as a flat storage buffer: no more views than it takes."""
    flat = f"r{index}" if len(type.shape or ()) == 1 else f"r{index}.ravel()"
    return flat if type.dtype.storage == type.dtype.public else f"{flat}.view(v{index})"


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
