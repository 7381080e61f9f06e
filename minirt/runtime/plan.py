"""From a graph and concrete types to kernel calls over numbered buffers.

A plan says everything about a run that does not depend on the contents of the inputs:
which nodes run, with which compiled kernels, and where each value lies. It is immutable;
:mod:`minirt.runtime.executor` gives it memory.

Values that are views of each other share a *root*, the value that is really made, and so
a buffer. Buffers are numbered *slots*: first the inputs, then the results, then the
plan's own, last :data:`NOTHING`, which stands for an omitted operand or output.

Tensors lie flat in memory that the plan provides. A value of any other type is a Python
object in storage form (:mod:`minirt.data.values`), which the kernel makes and returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..data.values import public_copy
from ..errors import MinirtError, UnsupportedError
from ..ops.registry import Alias
from ..types import TensorType, Type
from .arena import Arena
from .calls import is_constant, known_types, live_calls, typed_calls, view_roots

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np

    from ..graph import Graph, Node, Value
    from ..ops.registry import Run
    from .calls import Call

__all__ = ["NOTHING", "Constant", "Objects", "Plan", "Region", "Returned", "Step", "make_plan"]

#: The slot of what is not there; kernels get None for it.
NOTHING = -1


@dataclass(frozen=True, slots=True)
class Constant:
    """A slot whose contents are known: a flat storage buffer that is never written."""

    buffer: np.ndarray


@dataclass(frozen=True, slots=True)
class Region:
    """A slot that is ``size`` elements of ``dtype`` at a byte offset of the arena."""

    offset: int
    size: int
    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class Objects:
    """A slot of ``size`` Python objects: strings cannot live in an arena."""

    size: int


@dataclass(frozen=True, slots=True)
class Returned:
    """A slot for a value that a kernel makes itself, gone when no step needs it any more."""


Buffer = Constant | Region | Objects | Returned


@dataclass(frozen=True, slots=True)
class Step:
    """One call ``*returns = run(*reads, *writes)``, with slots for operands.

    ``node`` is None where a result is copied from another value; ``operands`` and
    ``results`` are types. ``bytes`` counts what the step reads and writes in tensors.
    ``frees`` are slots of returned values that no later step needs.
    """

    run: Run
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    node: Node | None
    operands: tuple[Type | None, ...]
    results: tuple[Type, ...]
    bytes: int
    returns: tuple[int, ...] = ()
    frees: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """What runs, for people: ``"Cast 'widen' (node 3)"``."""
        return self.node.location if self.node else "copy of a result"


@dataclass(frozen=True, eq=False)
class Plan:
    """What to call in which order, for inputs of fixed types.

    ``inputs`` and ``results`` are the types of the first slots, ``buffers`` the slots
    that follow; all those in the arena take ``arena_bytes`` together.
    """

    inputs: tuple[Type, ...]
    results: tuple[Type, ...]
    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    arena_bytes: int

    @property
    def needs_memory(self) -> bool:
        """Whether a run needs buffers that no other run may use at the same time."""
        return any(isinstance(b, Region | Objects) for b in self.buffers)


def make_plan(graph: Graph, input_types: Mapping[Value, Type], outputs: Sequence[Value]) -> Plan:
    """Plan how to compute ``outputs``, any values of ``graph``, from inputs of these types.

    ``input_types`` are in the order in which a run gets its inputs; tensors are concrete. A
    graph input that is not among them keeps its initializer. Kernels are bound, and so
    compiled, here. Raises what typing the nodes raises, and UnsupportedError where a type
    depends on the contents of a tensor.
    """
    types = known_types(graph, input_types)
    calls = live_calls(typed_calls(graph, types, outputs), types, outputs)
    return _Builder(tuple(input_types), types, calls, outputs).plan()


class _Builder:
    """Places values in slots and binds kernels to them."""

    def __init__(
        self,
        inputs: tuple[Value, ...],
        types: dict[Value, Type],
        calls: list[Call],
        outputs: Sequence[Value],
    ) -> None:
        self.types, self.outputs = types, outputs
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
        )

    def _claim_results(self) -> None:
        """Let the step that makes a wanted root write straight into the result."""
        made = {v for call in self.calls for v in call.made if not is_constant(self.types[v])}
        for slot, value in enumerate(self.outputs, len(self.inputs)):
            root = self._root(value)
            if root in made and isinstance(self.types[root], TensorType):
                self.slots.setdefault(root, slot)

    def _steps(self) -> Iterable[Step]:
        dying = self._deaths()
        for call, dead in zip(self.calls, dying, strict=True):
            reads = tuple(NOTHING if v is None else self._slot(v) for v in call.reads)
            places = list(self._places(call))
            yield Step(
                _bind(call),
                reads,
                tuple(slot for slot, is_written in places if is_written),
                call.node,
                call.operands,
                call.results,
                sum(map(_bytes, (*self._read_types(call), *call.results))),
                tuple(slot for slot, is_written in places if not is_written),
                tuple(self.slots[r] for r in dead if isinstance(self._own(r), Returned)),
            )
            # After the outputs have got theirs: a kernel may write before it has read all.
            for root in dead:
                self._free(root)

    def _read_types(self, call: Call) -> Iterable[Type]:
        return (self.types[v] for v in call.reads if v is not None)

    def _deaths(self) -> list[list[Value]]:
        """For each call, the roots that no later call needs, and no result."""
        wanted = {self._root(v) for v in self.outputs}
        last: dict[Value, int] = {}
        for index, call in enumerate(self.calls):
            for value in (*call.made, *call.reads):
                if value is not None:
                    last[self._root(value)] = index
        deaths: list[list[Value]] = [[] for _ in self.calls]
        for root, index in last.items():
            if root not in wanted:
                deaths[index].append(root)
        return deaths

    def _places(self, call: Call) -> Iterable[tuple[int, bool]]:
        """For each type that a call's operator gave: the slot, and whether the kernel writes there.

        What is not a tensor it returns.
        """
        for index, type in enumerate(call.results):
            value = call.node.outputs[index] if index < len(call.node.outputs) else None
            if isinstance(type, TensorType):
                self._require_concrete(type, call.node)
            if value is not None and value not in self.slots:
                self.slots[value] = self._allocate(type)
            yield NOTHING if value is None else self.slots[value], isinstance(type, TensorType)

    def _copies(self) -> Iterable[Step]:
        """The results that another value holds already: results share no memory."""
        for slot, value in enumerate(self.outputs, len(self.inputs)):
            source, type = self._slot(value), _without_value(self.types[value])
            if not isinstance(type, TensorType):
                copy = partial(public_copy, type=type)
                yield Step(copy, (source,), (), None, (type,), (type,), 0, (slot,))
            elif source != slot:
                yield Step(_copy, (source,), (slot,), None, (type,), (type,), 2 * _bytes(type))

    def _slot(self, value: Value) -> int:
        """Where the contents of a value are."""
        root = self._root(value)
        if root not in self.slots:
            type = self.types[root]
            if not is_constant(type) or type.value is None:
                raise ValueError(f"{root.name!r} is read before it is made")
            self.slots[root] = self._add(Constant(type.value.reshape(-1)))
        return self.slots[root]

    def _root(self, value: Value) -> Value:
        return self.roots.get(value, value)

    def _allocate(self, type: Type) -> int:
        if not isinstance(type, TensorType):
            return self._add(Returned())
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

    def _require_concrete(self, type: TensorType, node: Node) -> None:
        # The seam for data-dependent types: a plan would end before this node, and the
        # next one begin here, made when the types are known.
        if not type.is_concrete:
            raise UnsupportedError(
                f"the output type {type} depends on the contents of a tensor",
                op=node.qualified_name,
                opset=node.opset,
            ).located(node.location)


def _without_value(type: Type) -> Type:
    return type.without_value() if isinstance(type, TensorType) else type


def _bytes(type: Type) -> int:
    """The memory of a tensor; what is in other values is not known."""
    return (type.size or 0) * type.dtype.storage.itemsize if isinstance(type, TensorType) else 0


def _bind(call: Call) -> Run:
    if call.how is None or isinstance(call.how, Alias):
        raise ValueError(f"{call.node} has no kernel")
    try:
        return call.how()
    except MinirtError as error:
        raise error.located(call.node.location) from None


def _copy(source: np.ndarray, target: np.ndarray) -> None:
    target[:] = source
