"""The types of all values of a graph, and subgraphs as operators see them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import SchemaError, ShapeError, UnsupportedError
from ..graph import Value
from ..ops import registry
from ..types import TensorType, contradiction, merge
from .apply import apply
from .expansion import expansion_of, has_expansion
from .fold import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..graph import Graph, Node
    from ..types import Type

__all__ = ["Body", "Frame", "Typing", "constant_type", "infer_types", "typing_around"]

#: So many nodes may come of ONNX's functions, which make dozens of a few bytes, and copy the
#: subgraphs of nodes at every level; and so many may be typed in subgraphs whose operators ask
#: for their types, perhaps several times.
_MOST_NODES, _MOST_RETYPED = 300_000, 1_000_000

#: So deep may subgraphs nest whose types operators ask for, each with inputs: that is recursion.
_DEEPEST = 64


def infer_types(graph: Graph, given: Mapping[Value, Type] | None = None) -> dict[Value, Type]:
    """The types of the values of ``graph``, and of all graphs in it, which are not changed.

    ``given`` has types of inputs and captured values that are known better than the graph
    declares them. Constants carry their ``value``; the default of an input is not one.

    A node without an operator has the types that its function's body gives, if ONNX has
    one. What the file declares fills what inference leaves open, and must not contradict
    it: SchemaError, or ShapeError, with the node. A size that comes from there is a promise
    of the file, not a fact. A value is left out if neither says anything about it.
    """
    typing = Typing(given or {})
    typing.walk(graph)
    return typing.types


def typing_around(types: dict[Value, Type]) -> Typing:
    """For subgraphs around which values have ``types``, of which kernels rely on what is found.

    More may come to be known later; those in subgraphs are added.
    """
    typing = Typing({})
    typing.types, typing.believes = types, False
    return typing


def constant_type(value: Value, graph: Graph) -> TensorType:
    """The type of an initializer of ``graph``, with its contents."""
    array = graph.initializers[value]
    if not isinstance(value.type, TensorType):
        raise TypeError(f"initializer {value.name!r} of type {value.type}")
    return TensorType(value.type.dtype, array.shape, array)


@dataclass(eq=False, slots=True)
class Frame:
    """A graph that is being walked: ``pending`` are the nodes to come, the next one last.

    ``call`` is the node of another graph that this one stands for, once as that graph has
    it and once with the outputs that are made here. ``may_fail``: an operator will ask for the
    types of what the graph makes, and may do without.
    """

    graph: Graph
    pending: list[Node]
    call: tuple[Node, Node] | None = None
    may_fail: bool = False
    done: list[Node] = field(default_factory=list)


@dataclass
class _Spent:
    """What a walk took so far: nodes from ``expansions``, and nodes ``retyped`` in subgraphs."""

    expansions: int = 0
    retyped: int = 0


class Typing:
    """A walk through a graph and all graphs in it, which fills ``types``.

    A subgraph comes before the node that has it, with inputs of the types that the file
    declares, or with those that its operator asks for. There is no other recursion. It
    ``believes`` what the file declares about values of which less is found.
    """

    def __init__(self, given: Mapping[Value, Type]) -> None:
        self.types = dict(given)
        self.believes = True
        self.spent = _Spent()
        self._depth = 0
        self._frames: list[Frame] = []
        self._entered: set[Graph] = set()
        self._failed: dict[Graph, ShapeError] = {}

    def walk(self, graph: Graph) -> None:
        """Type the values of ``graph``."""
        self._enter(graph)
        while self._frames:
            frame = self._frames[-1]
            if frame.pending:
                self._step(frame)
            else:
                self._leave(self._frames.pop())

    def body(self, graph: Graph) -> Body:
        """A subgraph for the operator of the node that has it."""
        return Body(graph, self)

    def with_inputs(self, graph: Graph, inputs: Mapping[Value, Type]) -> Mapping[Value, Type]:
        """The types in a subgraph that has inputs of these types."""
        if graph in self._failed:
            raise self._failed[graph]
        if graph in self._entered and all(self.types.get(v) == t for v, t in inputs.items()):
            return self.types
        if self._depth == _DEEPEST:
            raise UnsupportedError(f"subgraphs with inputs nest more than {_DEEPEST} deep")
        captured = {v: self.types[v] for v in graph.captures if v in self.types}
        inner = type(self)(captured | dict(inputs))
        inner.spent, inner._depth, inner.believes = self.spent, self._depth + 1, self.believes
        inner.walk(graph)
        self._entered |= inner._entered
        self.types.update(inner.types)
        return inner.types

    def expands(self, node: Node) -> bool:
        """Whether a body of ONNX's is to give the types of ``node``."""
        return registry.find(node.domain, node.op_type, node.opset) is None and has_expansion(node)

    def expansion(self, node: Node, taken: dict[str, int]) -> Graph | None:
        """The body that ``node`` stands for, if it can be made."""
        graph = expansion_of(node, self.types, taken)
        if graph is not None:
            self.spent.expansions += sum(len(inner.nodes) for inner in graph.graphs())
            if self.spent.expansions > _MOST_NODES:
                message = f"functions expand to more than {_MOST_NODES} nodes"
                raise UnsupportedError(message).located(node.location)
        return graph

    def expand(self, node: Node, frame: Frame) -> bool:
        """Arrange for a body to be typed in place of ``node``; False if there is none."""
        # With outputs of its own, as producers are not to change.
        twin = replace(node, outputs=[v and Value(v.name) for v in node.outputs])
        graph = self.expansion(twin, {})
        if graph is not None:
            self._enter(graph, (node, twin))
        return graph is not None

    def _enter(
        self, graph: Graph, call: tuple[Node, Node] | None = None, may_fail: bool = False
    ) -> None:
        self._entered.add(graph)
        for value in graph.inputs:
            if value.type is not None:
                self.types.setdefault(value, value.type)
        self.add_constants(graph)
        self._frames.append(Frame(graph, graph.nodes[::-1], call, may_fail))

    def add_constants(self, graph: Graph) -> None:
        """Note the types of initializers, unless they are known."""
        for value in graph.initializers:
            if value not in self.types:
                self.types[value] = constant_type(value, graph)

    def _step(self, frame: Frame) -> None:
        node = frame.pending[-1]
        expands, applies = self.expands(node), self._is_applicable(node)
        # Others wait until the operator asks for them.
        inner = [g for _, g in node.subgraphs() if expands or not (applies and g.inputs)]
        if self._enter_new(inner, may_fail=applies and not expands):
            return  # and come back
        frame.pending.pop()
        self._count(node)
        if expands and self.expand(node, frame):
            return
        frame.done.append(node)
        try:
            self._settle(node, self._found(node) if applies else [None] * len(node.outputs))
        except ShapeError as error:
            self._fail(error)
        self._enter_new(graph for _, graph in node.subgraphs())

    def _enter_new(self, graphs: Iterable[Graph], may_fail: bool = False) -> bool:
        new = dict.fromkeys(graph for graph in graphs if graph not in self._entered)
        for graph in new:
            self._enter(graph, may_fail=may_fail)
        return bool(new)

    def _fail(self, error: ShapeError) -> None:
        """Keep ``error`` for the operator that asks for the graph, if one will: else raise it."""
        for frame in reversed(self._frames):
            if frame.may_fail:
                self._failed.setdefault(frame.graph, error)
                return
        raise error

    def _is_applicable(self, node: Node) -> bool:
        """Whether there is an operator, and are types to call it with."""
        known = all(v is None or v in self.types for v in node.inputs)
        return known and registry.find(node.domain, node.op_type, node.opset) is not None

    def _count(self, node: Node) -> None:
        self.spent.retyped += self._depth > 0
        if self.spent.retyped > _MOST_RETYPED:
            message = f"the types of subgraphs take more than {_MOST_RETYPED} steps to find"
            raise UnsupportedError(message).located(node.location)

    def _leave(self, frame: Frame) -> None:
        if frame.call:
            node, twin = frame.call
            self._settle(node, [None if v is None else self.types.get(v) for v in twin.outputs])

    def _found(self, node: Node) -> Sequence[Type | None]:
        """The types of outputs that the operator of ``node`` gives."""
        operands = [None if v is None else self.types[v] for v in node.inputs]
        try:
            types, how = apply(node, operands, self.body)
            return folded(node, operands, types, how)
        except _Untyped:
            return [None] * len(node.outputs)
        except ShapeError:
            stated = [_as_stated(v, t) for v, t in zip(node.inputs, operands, strict=True)]
            if all(t is s for t, s in zip(operands, stated, strict=True)):
                raise
            # It may be that the node never runs; if it does, the run says what is wrong.
            return apply(node, stated, self.body)[0]

    def _settle(self, node: Node, found: Sequence[Type | None]) -> None:
        """Note what was found about outputs, completed by what the file declares."""
        for value, type in zip(node.outputs, found, strict=False):
            if value is None:
                continue
            settled = _settled(node, value, type) if self.believes or type is None else type
            if settled is not None:
                self.types[value] = settled


def _settled(node: Node, value: Value, found: Type | None) -> Type | None:
    declared = value.type
    if found is None or declared is None or declared == found:
        return found or declared
    merged = merge(found, declared)
    if merged is None:
        message = f"output {value.name!r} is declared {declared}, but is {found}"
        raise contradiction(message, found, declared).located(node.location)
    return merged


def _as_stated(value: Value | None, type: Type | None) -> Type | None:
    """The type of an operand, with its contents only if they stand in the file."""
    computed = value is not None and value.producer is not None and any(value.producer.inputs)
    return type.without_value() if computed and isinstance(type, TensorType) else type


class _Untyped(UnsupportedError):
    """The type of what a subgraph makes is not known, as some operator in it is not."""


class Body:
    """A subgraph as the operator of its node sees it: :class:`minirt.ops.registry.Body`."""

    def __init__(self, graph: Graph, typing: Typing) -> None:
        self.graph = graph
        self._typing = typing

    @property
    def inputs(self) -> tuple[Type | None, ...]:
        """The types of the inputs as the file declares them, None where it does not."""
        return tuple(value.type for value in self._parameters)

    @property
    def outputs(self) -> tuple[Type | None, ...]:
        """The types of the outputs as the file declares them, None where it does not."""
        return tuple(value.type for value in self.graph.outputs)

    @property
    def _parameters(self) -> list[Value]:
        """The inputs without a default: files of old IR versions list initializers as inputs."""
        return [v for v in self.graph.inputs if v not in self.graph.initializers]

    def types(self, *inputs: Type | None) -> tuple[Type, ...]:
        """The types of what the subgraph makes of inputs of these types."""
        graph = self.graph
        types = self._typing.with_inputs(graph, self.input_types(*inputs))
        for value in graph.outputs:
            if value not in types:
                raise _Untyped(f"the type of {value.name!r} is not known")
        return tuple(types[value] for value in graph.outputs)

    def input_types(self, *inputs: Type | None) -> dict[Value, Type]:
        """The types of the inputs, those that the file declares where None is given."""
        values, name = self._parameters, self.graph.name
        if len(inputs) != len(values):
            message = f"subgraph {name!r} has {len(values)} inputs, not {len(inputs)}"
            raise SchemaError(message)
        types = {
            value: value.type if type is None else self._given(value, type)
            for value, type in zip(values, inputs, strict=True)
        }
        return {value: type for value, type in types.items() if type is not None}

    def program(self, *inputs: Type | None) -> Callable[..., list[Any]]:
        """Only plans run subgraphs."""
        raise TypeError("a subgraph is run in plans only")

    def _given(self, value: Value, given: Type) -> Type:
        """The type of an input; contents may be others the next time."""
        if isinstance(given, TensorType):
            given = given.without_value()
        if value.type is None or not self._typing.believes:
            return given
        merged = merge(given, value.type)
        if merged is None:
            message = (
                f"input {value.name!r} of subgraph {self.graph.name!r} "
                f"is declared {value.type}, but is {given}"
            )
            raise contradiction(message, given, value.type)
        return merged
