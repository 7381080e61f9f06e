"""Names while a graph is built: each is defined once, and found from the inside out."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..errors import ParseError, SchemaError, did_you_mean
from ..graph import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from onnx import FunctionProto, GraphProto, OperatorSetIdProto

    from ..graph import Graph, Node

__all__ = ["Call", "Scope", "domain_of", "new_name", "opsets_of", "text_of"]


_LONGEST_PREFIX = 200


def text_of(text: str | bytes, what: str = "a text in the model") -> str:
    """``text`` itself. Raises ParseError for bytes: so protobuf hands out what is not UTF-8."""
    if isinstance(text, str):
        return text
    raise ParseError(f"{what} is not UTF-8: {text!r}")


def domain_of(name: str | bytes) -> str:
    """A domain by the one of its names that minirt uses: "" for ``"ai.onnx"``."""
    return "" if name == "ai.onnx" else text_of(name, "a domain")


def opsets_of(imports: Iterable[OperatorSetIdProto], importer: str) -> dict[str, int]:
    """The imported version of each domain. Raises SchemaError for two of one domain."""
    opsets: dict[str, int] = {}
    for item in imports:
        domain, version = domain_of(item.domain), item.version
        name = domain or "ai.onnx"
        if version < 1:
            raise SchemaError(f"{importer} imports opset {version} of {name}; the first is 1")
        if opsets.setdefault(domain, version) != version:
            raise SchemaError(
                f"{importer} imports two opsets of {name}, {opsets[domain]} and {version}"
            )
    return opsets


@dataclass(frozen=True, slots=True)
class Call:
    """What one call of a function gives to the function's nodes.

    Its outputs become ``results``, by their names in the function; ``arguments`` are the
    attributes. Other values of the function are named below ``prefix``, unlike all those
    ``taken``, which says for each name how often it was wanted.
    """

    results: Mapping[str, Value]
    arguments: dict[str, Any]
    prefix: str
    taken: dict[str, int]

    def name(self, name: str) -> str:
        """A name in the graph for a value that has ``name`` in the function."""
        return new_name(self.prefix, name, self.taken)


def new_name(prefix: str, name: str, taken: dict[str, int]) -> str:
    """``name`` below ``prefix`` and unlike those ``taken``, to which it is added."""
    # Cut, or calls in calls would have names of the square of their depth together.
    wanted = name = f"{prefix[:_LONGEST_PREFIX]}/{name}"
    while name in taken:
        name = f"{wanted}'{taken[wanted]}"
        taken[wanted] += 1
    taken[name] = 1
    return name


@dataclass(eq=False, slots=True)
class Scope:
    """The names of one graph, or of one call of a function.

    A subgraph sees the names of the graphs around it (``parent``); those that it uses
    become ``captures``. A function sees its operands alone, which are its first ``names``,
    None where the call omits one. ``graph`` is where the nodes end up, ``outer`` the node
    to which it all belongs, with the attribute for a subgraph, and ``call`` the call that
    is being expanded, also for a subgraph in a function.
    """

    proto: GraphProto | FunctionProto
    graph: Graph
    opsets: Mapping[str, int]
    outer: tuple[Node, str] | None = None
    parent: Scope | None = None
    call: Call | None = None
    names: dict[str, Value | None] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    captures: dict[Value, None] = field(default_factory=dict)

    @property
    def is_function(self) -> bool:
        """Whether this is a call of a function, and not a graph."""
        return self.call is not None and self.parent is None

    @property
    def location(self) -> str:
        """``"If 'cond' (node 3) > then_branch"``, "" for the model's own graph."""
        if self.outer is None:
            return ""
        node, attribute = self.outer
        return f"{node.location} > {attribute}" if attribute else node.location

    def define(self, name: str, what: str, producer: Node | None = None) -> Value:
        """The value that gets this name. ``what`` it is begins messages: ``"output"``."""
        if name in self.names:
            raise SchemaError(f"{what} {name!r} is defined twice, first {self._definition(name)}")
        if not name:
            raise SchemaError(f"one {what} has no name")
        value = self._new(text_of(name, f"the name of one {what}"))
        value.producer = producer
        self.names[name] = value
        return value

    def _new(self, name: str) -> Value:
        call = self.call
        if call is None or self.parent is not None:
            return Value(name)
        return call.results.get(name) or Value(call.name(name))

    def _definition(self, name: str) -> str:
        value = self.names[name]
        if self.is_function and name in self.proto.input:
            return "as an input of the function"
        if value is not None and value.producer is not None:
            return f"by {value.producer.location}"
        return "as a graph input" if value in self.graph.inputs else "as an initializer"

    def find(self, name: str, what: str) -> Value | None:
        """The value of this name, here or around; None for an operand that the call omits."""
        value = self.names.get(name)
        return value if value is not None else self._find_around(name, what)

    def _find_around(self, name: str, what: str) -> Value | None:
        passed: list[Scope] = []
        for scope in self._outwards():
            if name in scope.names:
                value = scope.names[name]
                if value is not None:
                    for inner in passed:
                        inner.captures[value] = None
                return value
            passed.append(scope)
        known = chain.from_iterable(scope.names for scope in passed)
        name = text_of(name, f"the name of one {what}")
        raise SchemaError(
            f"{what} {name!r} is made by no node, and is no input or initializer"
            f"{did_you_mean(name, known)}"
        )

    def _outwards(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent
