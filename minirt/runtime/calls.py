"""What of a graph has to run: the nodes that outputs need, with the types of a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeGuard

from ..errors import UnsupportedError
from ..model.apply import apply
from ..model.typed import body_maker
from ..ops import registry
from ..ops.registry import Alias
from ..types import TensorType, Type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..graph import Graph, Node, Value
    from ..ops.registry import Operator, Thunk

__all__ = ["Call", "is_constant", "known_types", "live_calls", "typed_calls", "view_roots"]


@dataclass(frozen=True, slots=True)
class Call:
    """A node whose types are known; ``reads`` are the operands whose contents it needs."""

    node: Node
    operands: tuple[Type | None, ...]
    results: tuple[Type, ...]
    how: Thunk | Alias | None
    reads: tuple[Value | None, ...]

    @property
    def made(self) -> Iterable[Value]:
        """The values that it makes."""
        return (v for v in self.node.outputs if v is not None)


def known_types(graph: Graph, input_types: Mapping[Value, Type]) -> dict[Value, Type]:
    """The types of inputs and initializers; the contents of the latter are constants."""
    types: dict[Value, Type] = {}
    for value, array in graph.initializers.items():
        if not isinstance(value.type, TensorType):
            raise UnsupportedError(f"initializer {value.name!r} of type {value.type}")
        types[value] = TensorType(value.type.dtype, array.shape, array)
    return types | dict(input_types)


def typed_calls(graph: Graph, types: dict[Value, Type], outputs: Sequence[Value]) -> list[Call]:
    """Type the nodes on which ``outputs`` depend, in order; ``types`` is completed."""
    wanted, body = _ancestors(outputs), body_maker(types)
    calls = []
    for node in graph.nodes:
        if node not in wanted:
            continue
        operands = tuple(None if v is None else types[v] for v in node.inputs)
        results, how = apply(node, operands, body)
        # Trailing outputs may be omitted, and those in between are None.
        for value, result in zip(node.outputs, results, strict=False):
            if value is not None:
                types[value] = result
        calls.append(Call(node, operands, results, how, _reads(node, how)))
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
            stack += [v for _, inner in node.subgraphs() for v in inner.captures]
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


def live_calls(
    calls: list[Call], types: Mapping[Value, Type], outputs: Iterable[Value]
) -> list[Call]:
    """Those calls, in order, whose results are needed and not known already."""
    needed = set(outputs)
    live = []
    for call in reversed(calls):
        if any(v in needed and not is_constant(types[v]) for v in call.made):
            live.append(call)
            needed.update(v for v in call.reads if v is not None)
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
