"""From a graph and concrete types to kernel calls over numbered buffers.

Values that are views of each other share a *root*, the value that is really made, and so
a buffer.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.values import public_copy
from ..errors import ExecutionError, MinirtError
from ..jit.threads import at_most, limit
from ..kernels.arrays import Shaped
from ..ops.registry import Alias
from ..types import Shape, TensorType, Type
from .arena import Arena
from .calls import contents_of, is_constant, known_types, live_calls, typed_calls, view_roots
from .steps import NOTHING, Buffer, Constant, Objects, Plan, Region, Rest, Returned, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..graph import Graph, Value
    from .calls import Call

__all__ = ["make_plan"]


def make_plan(
    graph: Graph,
    input_types: Mapping[Value, Type],
    outputs: Sequence[Value],
    around: Mapping[Value, Type] | None = None,
    public: bool = True,
    flat: bool = True,
) -> Plan:
    """Plan how to compute ``outputs``, any values of ``graph``, from inputs of these types.

    ``input_types`` are in the order in which a run gets its inputs; tensors are concrete, and
    may have contents. A graph input that is not among them keeps its initializer. ``around``
    are types of other values that are known, constants and those of enclosing graphs.
    Kernels are bound, and so compiled, here. Raises what typing the nodes raises.
    """
    inputs, around = tuple(input_types), around or {}
    types = known_types(graph, {**around, **input_types})
    calls = typed_calls(graph, types, outputs)
    if not calls.waiting:
        plan = _Builder(inputs, types, calls.ready, outputs, public).plan()
        return replace(plan, flat=flat)
    needed = calls.needed_later(types, outputs)
    made = [v for v in needed if v not in input_types]
    plan = _Builder(inputs, types, calls.ready, made, public=False).plan()
    slots = {v: slot for slot, v in enumerate((*inputs, *made))}
    threads = limit()

    def plan_rest(found: Mapping[Value, Type]) -> Plan:
        with at_most(threads):
            return make_plan(graph, found, outputs, types, public)

    rest = Rest(
        tuple(needed),
        tuple(map(types.__getitem__, needed)),
        tuple(map(slots.__getitem__, needed)),
        frozenset(v for node in calls.waiting for v in contents_of(node)),
        plan_rest,
    )
    return replace(plan, flat=flat, rest=rest)


class _Builder:
    """Places values in slots and binds kernels to them."""

    def __init__(
        self,
        inputs: tuple[Value, ...],
        types: dict[Value, Type],
        calls: list[Call],
        outputs: Sequence[Value],
        public: bool,
    ) -> None:
        self.types, self.outputs, self.public = types, outputs, public
        calls = live_calls(calls, types, outputs)
        self.calls = [c for c in calls if not isinstance(c.how, Alias)]
        self.roots = view_roots(calls, types)
        self.inputs = inputs
        self.slots: dict[Value, int] = {v: i for i, v in enumerate(inputs)}
        self.buffers: list[Buffer] = []
        self.arena = Arena()

    def plan(self) -> Plan:
        self._claim_results()
        steps = [*self._steps(), *self._copies()]
        return Plan(
            tuple(self.types[v] for v in self.inputs),
            tuple(_without_value(self.types[v]) for v in self.outputs),
            tuple(self.buffers),
            tuple(steps),
            self.arena.bytes,
            self.public,
        )

    def _claim_results(self) -> None:
        """Let the step that makes a wanted root write straight into the result, or be it."""
        writes = {
            value: _is_written(call, type)
            for call in self.calls
            for value, type in zip(call.node.outputs, call.results, strict=False)
            if value is not None and not is_constant(self.types[value])
        }
        for slot, value in enumerate(self.outputs, len(self.inputs)):
            root = self._root(value)
            if writes.get(root) or (root is value and root in writes and not self.public):
                self.slots.setdefault(root, slot)

    def _steps(self) -> Iterable[Step]:
        dying = self._deaths()
        for call, dead in zip(self.calls, dying, strict=True):
            reads = tuple(NOTHING if v is None else self._slot(v) for v in call.reads)
            outer = None if call.outer is None else tuple(map(self._slot, call.outer))
            self._take_over(call, dead)
            places = list(self._places(call))
            run = _bind(call)
            yield Step(
                run.function if isinstance(run, Shaped) else run,
                reads,
                tuple(slot for slot, is_written in places if is_written),
                call.node,
                call.operands,
                call.results,
                sum(map(_bytes, (*self._read_types(call), *call.results))),
                tuple(slot for slot, is_written in places if not is_written),
                tuple(self.slots[r] for r in dead if isinstance(self._own(r), Returned)),
                outer,
                tuple(self._shapes(call, isinstance(run, Shaped))),
            )
            # After the outputs have got theirs: a kernel may write before it has read all.
            for root in dead:
                self._free(root)

    def _take_over(self, call: Call, dead: list[Value]) -> None:
        """Let the first output have the buffer of an operand that nobody else needs.

        The kernel allows it where both have one shape: it reads an element before it writes
        what it makes of it.
        """
        value, type = call.node.outputs[0], call.results[0]
        if value is None or value in self.slots or not _is_written(call, type):
            return
        for root in map(self._root, call.inplace):
            buffer = self._own(root)
            if root in dead and isinstance(buffer, Region) and self._is_like(call, root, type):
                self.slots[value] = self.slots[root]
                dead.remove(root)
                return

    def _is_like(self, call: Call, root: Value, result: Type) -> bool:
        """Whether all that a call reads of a buffer looks like one of its outputs."""
        types = [self.types[v] for v in call.needs if self._root(v) is root]
        return all(
            isinstance(type, TensorType)
            and isinstance(result, TensorType)
            and (type.shape, type.dtype.storage) == (result.shape, result.dtype.storage)
            for type in types
        )

    def _read_types(self, call: Call) -> Iterable[Type]:
        return (self.types[v] for v in call.needs)

    def _shapes(self, call: Call, shaped: bool) -> Iterable[Shape | None]:
        """The shapes in which a kernel gets its arguments, None for flat and for no tensors."""
        operands = [None if v is None else self.types[v] for v in call.reads]
        for type in (*operands, *(t for t in call.results if _is_written(call, t))):
            yield type.shape if shaped and isinstance(type, TensorType) else None
        for value in call.outer or ():
            type = self.types[value]
            yield type.shape if isinstance(type, TensorType) else None

    def _deaths(self) -> list[list[Value]]:
        """For each call, the roots that no later call needs, and no result."""
        wanted = {self._root(v) for v in self.outputs}
        last: dict[Value, int] = {}
        for index, call in enumerate(self.calls):
            for value in (*call.made, *call.needs):
                last[self._root(value)] = index
        deaths: list[list[Value]] = [[] for _ in self.calls]
        for root, index in last.items():
            if root not in wanted:
                deaths[index].append(root)
        return deaths

    def _places(self, call: Call) -> Iterable[tuple[int, bool]]:
        """For each type that a call's operator gave: the slot, and whether the kernel writes there.

        What it does not write it returns.
        """
        for index, type in enumerate(call.results):
            value = call.node.outputs[index] if index < len(call.node.outputs) else None
            is_written = _is_written(call, type)
            if value is not None and value not in self.slots:
                self.slots[value] = self._allocate(type, is_written)
            yield NOTHING if value is None else self.slots[value], is_written

    def _copies(self) -> Iterable[Step]:
        """The results that another value holds already: results share no memory."""
        for slot, value in enumerate(self.outputs, len(self.inputs)):
            source, type = self._slot(value), _without_value(self.types[value])
            if isinstance(type, TensorType) and type.is_concrete:
                if source != slot:
                    bytes = 2 * _bytes(type)
                    yield Step(_copy, (source,), (slot,), None, (type,), (type,), bytes)
            elif source != slot:
                copy = partial(public_copy, type=type) if self.public else _same
                yield Step(copy, (source,), (), None, (type,), (type,), 0, (slot,))

    def _slot(self, value: Value) -> int:
        """Where the contents of a value are."""
        root = self._root(value)
        if root not in self.slots:
            type = self.types[root]
            if not is_constant(type) or type.value is None:
                raise ValueError(f"{root.name!r} is read before it is made")
            # Ones, and the like, may be one element that is shown many times.
            contents = np.ascontiguousarray(type.value)
            self.slots[root] = self._add(Constant(contents.reshape(-1)))
        return self.slots[root]

    def _root(self, value: Value) -> Value:
        return self.roots.get(value, value)

    def _allocate(self, type: Type, is_written: bool) -> int:
        if not isinstance(type, TensorType) or not is_written:
            return self._add(Returned(isinstance(type, TensorType) and type.is_concrete))
        size, dtype = type.size or 0, type.dtype.storage
        if dtype.hasobject:
            return self._add(Objects(size))
        return self._add(Region(self.arena.take(size * dtype.itemsize), size, dtype))

    def _free(self, root: Value) -> None:
        buffer = self._own(root)
        if isinstance(buffer, Region):
            self.arena.give(buffer.offset, buffer.size * buffer.dtype.itemsize)

    def _own(self, root: Value) -> Buffer | None:
        """The plan's own buffer of a root, None if it is an input or a result."""
        index = self.slots[root] - len(self.inputs) - len(self.outputs)
        return self.buffers[index] if index >= 0 else None

    def _add(self, buffer: Buffer) -> int:
        self.buffers.append(buffer)
        return len(self.inputs) + len(self.outputs) + len(self.buffers) - 1


def _is_written(call: Call, type: Type) -> bool:
    """Whether the kernel writes an output of this type where it is told; else it returns it."""
    return isinstance(type, TensorType) and type.is_concrete and not call.returns


def _without_value(type: Type) -> Type:
    return type.without_value() if isinstance(type, TensorType) else type


def _bytes(type: Type) -> int:
    """The memory of a tensor; what is in other values is not known."""
    return (type.size or 0) * type.dtype.storage.itemsize if isinstance(type, TensorType) else 0


def _bind(call: Call) -> Callable[..., Any] | Shaped:
    if call.how is None or isinstance(call.how, Alias):
        raise ValueError(f"{call.node} has no kernel")
    for type in call.results:
        if _bytes(type) > sys.maxsize:
            message = f"an output of type {type} is larger than any memory"
            raise ExecutionError(message).located(call.node.location)
    try:
        return call.how()
    except MinirtError as error:
        raise error.located(call.node.location) from None


def _copy(source: np.ndarray, target: np.ndarray) -> None:
    target[:] = source


def _same(value: Any) -> Any:
    return value
