"""From a graph and concrete types to kernel calls over numbered buffers.

A plan says everything about a run that does not depend on the contents of the inputs:
which nodes run, with which compiled kernels, and where each value lies. It is immutable;
:mod:`minirt.executor` gives it memory.

Values that are views of each other share a *root*, the value that is really made, and so
a buffer. Buffers are numbered *slots*: first the inputs, then the results, then the
plan's own, last :data:`NOTHING`, which stands for an omitted operand or output.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeGuard

from .arena import Arena
from .errors import MinirtError, UnsupportedError
from .graph import Node
from .infer import apply
from .ops import registry
from .ops.registry import Alias
from .types import TensorType, Type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np

    from .graph import Graph, Value
    from .ops.registry import Operator, Run, Thunk

__all__ = ["NOTHING", "Constant", "Objects", "Plan", "Region", "Step", "make_plan"]

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
class Step:
    """One call ``run(*reads, *writes)``, with slots for operands.

    ``node`` is None where a result is copied from another value; ``operands`` and
    ``results`` are types. ``bytes`` counts what the step reads and writes in memory.
    """

    run: Run
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    node: Node | None
    operands: tuple[Type | None, ...]
    results: tuple[TensorType, ...]
    bytes: int

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

    inputs: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    buffers: tuple[Constant | Region | Objects, ...]
    steps: tuple[Step, ...]
    arena_bytes: int

    @property
    def needs_memory(self) -> bool:
        """Whether a run needs buffers that no other run may use at the same time."""
        return not all(isinstance(b, Constant) for b in self.buffers)


def make_plan(
    graph: Graph, input_types: Mapping[Value, TensorType], outputs: Sequence[Value]
) -> Plan:
    """Plan how to compute ``outputs``, any values of ``graph``, from inputs of these types.

    ``input_types`` are concrete and in the order in which a run gets its inputs. A graph
    input that is not among them keeps its initializer. Kernels are bound, and so compiled,
    here. Raises what typing the nodes raises, and UnsupportedError where a type depends on
    the contents of a tensor.
    """
    types = _known_types(graph, input_types)
    calls = _live(_typed(graph, types, outputs), types, outputs)
    return _Builder(tuple(input_types), types, calls, outputs).plan()


@dataclass(frozen=True, slots=True)
class _Call:
    """A node whose types are known; ``reads`` are the operands whose contents it needs."""

    node: Node
    operands: tuple[Type | None, ...]
    results: tuple[Type, ...]
    how: Thunk | Alias | None
    reads: tuple[Value | None, ...]

    @property
    def made(self) -> Iterable[Value]:
        return (v for v in self.node.outputs if v is not None)


def _known_types(graph: Graph, input_types: Mapping[Value, TensorType]) -> dict[Value, Type]:
    """The types of inputs and initializers; the contents of the latter are constants."""
    types: dict[Value, Type] = {}
    for value, array in graph.initializers.items():
        if not isinstance(value.type, TensorType):
            raise UnsupportedError(f"initializer {value.name!r} of type {value.type}")
        types[value] = TensorType(value.type.dtype, array.shape, array)
    return types | dict(input_types)


def _typed(graph: Graph, types: dict[Value, Type], outputs: Sequence[Value]) -> list[_Call]:
    """Type the nodes on which ``outputs`` depend, in order; ``types`` is completed."""
    wanted = _ancestors(outputs)
    calls = []
    for node in graph.nodes:
        if node not in wanted:
            continue
        operands = tuple(None if v is None else types[v] for v in node.inputs)
        results, how = apply(node, operands)
        # Trailing outputs may be omitted, and those in between are None.
        for value, result in zip(node.outputs, results, strict=False):
            if value is not None:
                types[value] = result
        calls.append(_Call(node, operands, results, how, _reads(node, how)))
    return calls


def _ancestors(outputs: Iterable[Value]) -> set[Node]:
    """The nodes on which ``outputs`` depend, directly or not."""
    found: set[Node] = set()
    stack = list(outputs)
    while stack:
        node = stack.pop().producer
        if node is not None and node not in found:
            found.add(node)
            stack += [v for v in node.inputs if v is not None]
    return found


def _reads(node: Node, how: Thunk | Alias | None) -> tuple[Value | None, ...]:
    """The operands whose contents a node needs, in the order in which its kernel takes them."""
    operator = registry.find(node.domain, node.op_type, node.opset)
    if operator is None or how is None:
        return ()
    names = _operand_names(operator, len(node.inputs))
    operands = [*node.inputs, *[None] * (len(names) - len(node.inputs))]
    if isinstance(how, Alias):
        return (operands[names.index(how.operand)],)
    return tuple(v for n, v in zip(names, operands, strict=True) if n not in operator.type_only)


@cache
def _operand_names(operator: Operator, count: int) -> tuple[str, ...]:
    """The operand names of a node with ``count`` inputs; a variadic one comes last and repeats."""
    names = operator.operands
    return names + names[-1:] * (count - len(names))


def _live(calls: list[_Call], types: Mapping[Value, Type], outputs: Iterable[Value]) -> list[_Call]:
    """Those calls, in order, whose results are needed and not known already."""
    needed = set(outputs)
    live = []
    for call in reversed(calls):
        if any(v in needed and not _is_constant(types[v]) for v in call.made):
            live.append(call)
            needed.update(v for v in call.reads if v is not None)
    return live[::-1]


def _is_constant(type: Type) -> TypeGuard[TensorType]:
    return isinstance(type, TensorType) and type.value is not None


class _Builder:
    """Places values in slots and binds kernels to them."""

    def __init__(
        self,
        inputs: tuple[Value, ...],
        types: dict[Value, Type],
        calls: list[_Call],
        outputs: Sequence[Value],
    ) -> None:
        self.types, self.outputs = types, outputs
        self.calls = [c for c in calls if not isinstance(c.how, Alias)]
        self.roots = _roots(calls, types)
        self.inputs = inputs
        self.slots: dict[Value, int] = {v: i for i, v in enumerate(inputs)}
        self.buffers: list[Constant | Region | Objects] = []
        self.arena = Arena()

    def plan(self) -> Plan:
        self._claim_results()
        steps = [*self._steps(), *self._copies()]
        return Plan(
            tuple(self._tensor(v) for v in self.inputs),
            tuple(self._tensor(v).without_value() for v in self.outputs),
            tuple(self.buffers),
            tuple(steps),
            self.arena.bytes,
        )

    def _claim_results(self) -> None:
        """Let the step that makes a wanted root write straight into the result."""
        made = {v for call in self.calls for v in call.made if not _is_constant(self.types[v])}
        for slot, value in enumerate(self.outputs, len(self.inputs)):
            root = self._root(value)
            if root in made:
                self.slots.setdefault(root, slot)

    def _steps(self) -> Iterable[Step]:
        dying = self._deaths()
        for call, dead in zip(self.calls, dying, strict=True):
            reads = tuple(NOTHING if v is None else self._slot(v) for v in call.reads)
            writes = tuple(self._written(call))
            results = tuple(self._concrete(t, call.node) for t in call.results)
            moved = sum(_bytes(t) for t in (*self._read_types(call), *results))
            yield Step(_bind(call), reads, writes, call.node, call.operands, results, moved)
            # After the outputs have got theirs: a kernel may write before it has read all.
            for root in dead:
                self._free(root)

    def _read_types(self, call: _Call) -> Iterable[TensorType]:
        return (self._tensor(v) for v in call.reads if v is not None)

    def _deaths(self) -> list[list[Value]]:
        """For each call, the roots that no later call needs."""
        last: dict[Value, int] = {}
        for index, call in enumerate(self.calls):
            for value in (*call.made, *call.reads):
                if value is not None:
                    last[self._root(value)] = index
        deaths: list[list[Value]] = [[] for _ in self.calls]
        for root, index in last.items():
            deaths[index].append(root)
        return deaths

    def _written(self, call: _Call) -> Iterable[int]:
        """The slots of a call's outputs, one for each type that its operator returned."""
        for index, type in enumerate(call.results):
            value = call.node.outputs[index] if index < len(call.node.outputs) else None
            if value is None:
                yield NOTHING
            elif value in self.slots:
                yield self.slots[value]
            else:
                self.slots[value] = self._allocate(self._concrete(type, call.node))
                yield self.slots[value]

    def _copies(self) -> Iterable[Step]:
        """The results that another value holds already: results share no memory."""
        for slot, value in enumerate(self.outputs, len(self.inputs)):
            source = self._slot(value)
            if source != slot:
                type = self._tensor(value).without_value()
                yield Step(_copy, (source,), (slot,), None, (type,), (type,), 2 * _bytes(type))

    def _slot(self, value: Value) -> int:
        """Where the contents of a value are."""
        root = self._root(value)
        if root not in self.slots:
            contents = self._tensor(root).value
            if contents is None:
                raise ValueError(f"{root.name!r} is read before it is made")
            self.slots[root] = self._add(Constant(contents.reshape(-1)))
        return self.slots[root]

    def _root(self, value: Value) -> Value:
        return self.roots.get(value, value)

    def _allocate(self, type: TensorType) -> int:
        size, dtype = type.size or 0, type.dtype.storage
        if dtype.hasobject:
            return self._add(Objects(size))
        return self._add(Region(self.arena.take(size * dtype.itemsize), size, dtype))

    def _free(self, root: Value) -> None:
        buffer = self._own(root)
        if isinstance(buffer, Region):
            self.arena.give(buffer.offset, buffer.size * buffer.dtype.itemsize)

    def _own(self, root: Value) -> Constant | Region | Objects | None:
        """The plan's own buffer of a root, None if it is an input or a result."""
        index = self.slots[root] - len(self.inputs) - len(self.outputs)
        return self.buffers[index] if index >= 0 else None

    def _add(self, buffer: Constant | Region | Objects) -> int:
        self.buffers.append(buffer)
        return len(self.inputs) + len(self.outputs) + len(self.buffers) - 1

    def _tensor(self, value: Value) -> TensorType:
        return _tensor(self.types[value], value)

    def _concrete(self, type: Type, node: Node) -> TensorType:
        # The seam for data-dependent types: a plan would end before this node, and the
        # next one begin here, made when the types are known.
        tensor = _tensor(type, node)
        if not tensor.is_concrete:
            raise UnsupportedError(
                f"the output type {tensor} depends on the contents of a tensor",
                op=node.qualified_name,
                opset=node.opset,
            ).located(node.location)
        return tensor


def _tensor(type: Type, owner: Value | Node) -> TensorType:
    if not isinstance(type, TensorType):
        where = owner.location if isinstance(owner, Node) else f"value {owner.name!r}"
        raise UnsupportedError(f"a run holds only tensors yet, not {type}").located(where)
    return type


def _bytes(type: TensorType) -> int:
    return (type.size or 0) * type.dtype.storage.itemsize


def _roots(calls: Iterable[_Call], types: Mapping[Value, Type]) -> dict[Value, Value]:
    """For each value that is a view, the value whose buffer it shows."""
    roots: dict[Value, Value] = {}
    for call in calls:
        if isinstance(call.how, Alias):
            source, view = call.reads[0], call.node.outputs[0]
            if source is not None and view is not None and not _is_constant(types[view]):
                _check_view(types[source], types[view], call.node)
                roots[view] = roots.get(source, source)
    return roots


def _check_view(source: Type, view: Type, node: Node) -> None:
    """A view is the same flat buffer: only its shape may differ."""
    old, new = _tensor(source, node), _tensor(view, node)
    if old.dtype.storage != new.dtype.storage or old.size != new.size:
        raise ValueError(f"{node} cannot show {old} as {new} without a copy")


def _bind(call: _Call) -> Run:
    if call.how is None or isinstance(call.how, Alias):
        raise ValueError(f"{call.node} has no kernel")
    try:
        return call.how()
    except MinirtError as error:
        raise error.located(call.node.location) from None


def _copy(source: np.ndarray, target: np.ndarray) -> None:
    target[:] = source
