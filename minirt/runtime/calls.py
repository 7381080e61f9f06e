"""What of a graph has to run: the nodes that outputs need, with the types of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

from ..errors import UnsupportedError
from ..model.apply import apply
from ..model.fold import folded
from ..ops import registry
from ..ops.registry import Alias
from ..types import TensorType, Type
from .bodies import body_maker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..graph import Graph, Node, Value
    from ..ops.registry import Thunk

__all__ = ["Call", "Calls", "is_constant", "known_types", "live_calls", "typed_calls", "view_roots"]


@dataclass(frozen=True, slots=True)
class Call:
    """A node whose types are known; ``reads`` are the operands that its kernel gets.

    ``outer`` are the values of enclosing graphs that its subgraphs use, None without subgraphs.
    ``returns``: it gives its outputs instead of writing them. ``inplace`` are operands whose
    buffer an output may take over.
    """

    node: Node
    operands: tuple[Type | None, ...]
    results: tuple[Type, ...]
    how: Thunk | Alias | None
    reads: tuple[Value | None, ...]
    outer: tuple[Value, ...] | None = None
    returns: bool = False
    inplace: tuple[Value, ...] = ()

    @property
    def made(self) -> Iterable[Value]:
        """The values that it makes."""
        return (v for v in self.node.outputs if v is not None)

    @property
    def needs(self) -> Iterable[Value]:
        """The values whose contents it needs."""
        return (v for v in (*self.reads, *(self.outer or ())) if v is not None)


@dataclass(slots=True)
class Calls:
    """The calls that can be planned, and the nodes that wait for what only a run can tell."""

    ready: list[Call] = field(default_factory=list)
    waiting: list[Node] = field(default_factory=list)
    #: What waiting nodes are to make.
    missing: set[Value] = field(default_factory=set)

    def needed_later(self, types: Mapping[Value, Type], outputs: Iterable[Value]) -> list[Value]:
        """The values, other than constants, that waiting nodes need, and those that are wanted."""
        values = [v for node in self.waiting for v in _read_by(node, types)]
        found = dict.fromkeys([*values, *outputs])
        return [v for v in found if v not in self.missing and not is_constant(types[v])]


def known_types(graph: Graph, input_types: Mapping[Value, Type]) -> dict[Value, Type]:
    """The types of inputs and initializers; the contents of the latter are constants."""
    types: dict[Value, Type] = {}
    for value, array in graph.initializers.items():
        if not isinstance(value.type, TensorType):
            raise UnsupportedError(f"initializer {value.name!r} of type {value.type}")
        types[value] = TensorType(value.type.dtype, array.shape, array)
    return types | dict(input_types)


def typed_calls(graph: Graph, types: dict[Value, Type], outputs: Sequence[Value]) -> Calls:
    """Type the nodes on which ``outputs`` depend, in order; ``types`` is completed.

    A node waits for operands that others are yet to make, or whose sizes are not known,
    and for the contents that decide its type.
    """
    wanted, bodies = _ancestors(outputs, types), body_maker(types)
    calls = Calls()
    for node in graph.nodes:
        if node not in wanted:
            continue
        if not _is_ready(node, types, calls.missing):
            calls.waiting.append(node)
            calls.missing.update(v for v in node.outputs if v is not None)
            continue
        operands = tuple(None if v is None else types[v] for v in node.inputs)
        outer = _outer(node, types)
        results, how = apply(node, operands, partial(bodies, outer=outer or ()))
        results = folded(node, operands, results, how)
        # Trailing outputs may be omitted, and those in between are None.
        for value, result in zip(node.outputs, results, strict=False):
            if value is not None:
                types[value] = result
        calls.ready.append(_call(node, operands, results, how, outer))
    return calls


def _is_ready(node: Node, types: Mapping[Value, Type], missing: set[Value]) -> bool:
    values = [*node.inputs, *_captures(node)]
    if any(v in missing or not _is_settled(types[v]) for v in values if v is not None):
        return False
    return all(is_constant(types[v]) for v in contents_of(node))


def contents_of(node: Node) -> Iterable[Value]:
    """The operands whose contents decide the types of what ``node`` makes."""
    operator = registry.find(node.domain, node.op_type, node.opset)
    if operator is None or not operator.contents:
        return ()
    names = operator.operand_names(len(node.inputs))
    pairs = zip(names, node.inputs, strict=False)
    return [v for name, v in pairs if v is not None and name in operator.contents]


def _read_by(node: Node, types: Mapping[Value, Type]) -> Iterable[Value]:
    """What ``node`` needs, to be planned and to run: of some operands the type is enough."""
    operator = registry.find(node.domain, node.op_type, node.opset)
    names = operator.operand_names(len(node.inputs)) if operator else ()
    unread = operator.type_only if operator else ()
    for name, value in zip(names, node.inputs, strict=False):
        if value is not None and not (name in unread and _is_settled(types.get(value))):
            yield value
    yield from _captures(node)


def _is_settled(type: Type | None) -> bool:
    """Whether this is all that there is to know of a type."""
    return type is not None and (not isinstance(type, TensorType) or type.is_concrete)


def _captures(node: Node) -> Iterable[Value]:
    return dict.fromkeys(v for _, inner in node.subgraphs() for v in inner.captures)


def _outer(node: Node, types: Mapping[Value, Type]) -> tuple[Value, ...] | None:
    if not any(node.subgraphs()):
        return None
    return tuple(v for v in _captures(node) if not is_constant(types[v]))


def _ancestors(outputs: Iterable[Value], types: Mapping[Value, Type]) -> set[Node]:
    """The nodes on which ``outputs`` depend, directly or not, up to values of known types."""
    found: set[Node] = set()
    stack = [v for v in outputs if v not in types]
    while stack:
        node = stack.pop().producer
        if node is not None and node not in found:
            found.add(node)
            used = (*node.inputs, *_captures(node))
            stack += [v for v in used if v is not None and v not in types]
    return found


def _call(
    node: Node,
    operands: tuple[Type | None, ...],
    results: tuple[Type, ...],
    how: Thunk | Alias | None,
    outer: tuple[Value, ...] | None,
) -> Call:
    operator = registry.find(node.domain, node.op_type, node.opset)
    if operator is None or how is None:
        return Call(node, operands, results, how, ())
    names = operator.operand_names(len(node.inputs))
    values = [*node.inputs, *[None] * (len(names) - len(node.inputs))]
    if isinstance(how, Alias):
        return Call(node, operands, results, how, (values[names.index(how.operand)],))
    reads = tuple(values[i] for i in operator.reads(names))
    inplace = tuple(v for n, v in zip(names, values, strict=True) if v and n in operator.inplace)
    return Call(node, operands, results, how, reads, outer, operator.returns, inplace)


def live_calls(
    calls: list[Call], types: Mapping[Value, Type], outputs: Iterable[Value]
) -> list[Call]:
    """Those calls, in order, whose results are needed and not known already."""
    needed = set(outputs)
    live = []
    for call in reversed(calls):
        if any(v in needed and not is_constant(types[v]) for v in call.made):
            live.append(call)
            needed.update(call.needs)
    return live[::-1]


def is_constant(type: Type) -> TypeGuard[TensorType]:
    """Whether the contents are known already."""
    return isinstance(type, TensorType) and type.value is not None


def view_roots(calls: Iterable[Call], types: Mapping[Value, Type]) -> dict[Value, Value]:
    """For each value that is a view, the value whose buffer it shows."""
    roots: dict[Value, Value] = {}
    for call in calls:
        if isinstance(call.how, Alias):
            source, view = call.reads[0], call.node.outputs[0]
            if source is not None and view is not None and not is_constant(types[view]):
                _check_view(types[source], types[view], call.node)
                roots[view] = roots.get(source, source)
    return roots


def _check_view(source: Type, view: Type, node: Node) -> None:
    """A view of a tensor is the same flat buffer: only its shape may differ."""
    if isinstance(source, TensorType) and isinstance(view, TensorType):
        same = source.dtype.storage == view.dtype.storage and source.size == view.size
    else:
        same = type(source) is type(view)
    if not same:
        raise ValueError(f"{node} cannot show {source} as {view} without a copy")
