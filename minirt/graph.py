"""A model in memory: values, nodes, graphs.

Edges are object references, not names, so a rewrite never has to rename: an omitted
optional operand is None, and a value knows the node that makes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np

    from .types import Type

__all__ = ["Graph", "Mapped", "Node", "Value"]

_NO_DEFAULTS: Mapping[str, Any] = {}  # shared, and not to be changed


@dataclass(eq=False, slots=True)
class Value:
    """An edge: a graph input, an initializer, or an output of ``producer``."""

    name: str
    type: Type | None = None
    producer: Node | None = None
    doc: str = ""

    def __repr__(self) -> str:
        return f"Value({self.name!r}, {self.type})"


@dataclass(eq=False, slots=True)
class Node:
    """One operator application.

    ``domain`` is "" for ai.onnx. ``opset`` is the version of its domain that the
    model imports: it chooses the meaning. ``version`` is the opset whose form
    (operands, attributes) the node has now, later after upgrades. Attributes are
    Python values: int, float, str, lists of them, :class:`Graph`, arrays with their
    type (:class:`~minirt.types.TensorType` with ``value``); ``defaults`` are those that
    need not be said.

    ``index`` is the position in the file. ``outer`` is the node whose subgraph or
    function body this one stands in, with the attribute that holds the subgraph.
    ``written_as`` is the operator that the file names, where an upgrade has put another
    in its place.
    """

    op_type: str
    domain: str
    opset: int
    inputs: list[Value | None]
    outputs: list[Value | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    index: int = -1
    version: int = 0
    overload: str = ""
    doc: str = ""
    outer: tuple[Node, str] | None = None
    written_as: str = ""
    defaults: Mapping[str, Any] = field(default_factory=lambda: _NO_DEFAULTS)

    @property
    def qualified_name(self) -> str:
        """``"Cast"``, or with its domain where that is not ai.onnx: ``"ai.onnx.ml.Scaler"``."""
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type

    @property
    def location(self) -> str:
        """Where an error happened, outermost graph first.

        ``"Conv 'layer1/conv2' (node 12)"``, ``"If 'cond' (node 3) > then_branch > Add (node 0)"``
        """
        path, outer = [self._label], self.outer
        while outer is not None:
            node, attribute = outer
            path += [attribute, node._label] if attribute else [node._label]
            outer = node.outer
        return " > ".join(reversed(path))

    def subgraphs(self) -> Iterator[tuple[str, Graph]]:
        """The graphs in attributes, with the attribute's name."""
        for name, attribute in self.attributes.items():
            for item in attribute if isinstance(attribute, list) else [attribute]:
                if isinstance(item, Graph):
                    yield name, item

    def detach(self) -> None:
        """Let go of all values and attributes: others do its work, and only name it."""
        self.inputs, self.outputs, self.attributes = [], [], {}

    @property
    def _label(self) -> str:
        domain = f"{self.domain}." if self.domain else ""
        name = f" {self.name!r}" if self.name else ""
        index = f" (node {self.index})" if self.index >= 0 else ""
        return f"{domain}{self.written_as or self.op_type or '?'}{name}{index}"

    def __repr__(self) -> str:
        return f"<{self.location}>"


class Mapped(Protocol):
    """Files that are mapped into memory: :class:`minirt.data.external.ExternalData`."""

    def check_unchanged(self) -> None:
        """Raise ParseError if one was written to since it was mapped."""


@dataclass(eq=False, slots=True, repr=False)
class Graph:
    """Nodes in an order in which every value is made before it is used.

    ``initializers`` maps values to C-contiguous arrays of ``dtype.storage``; one whose
    value is also in ``inputs`` is a default that a caller may override. ``captures``
    are values of enclosing graphs that a subgraph uses. ``mapped`` are the files, if any,
    of which tensors of the model are views.
    """

    name: str = ""
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    initializers: dict[Value, np.ndarray] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    captures: list[Value] = field(default_factory=list)
    opsets: dict[str, int] = field(default_factory=dict)
    ir_version: int = 0
    doc: str = ""
    producer: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    mapped: Mapped | None = None

    def values(self) -> Iterator[Value]:
        """Every value of this graph, once, inputs first; those of subgraphs are not among them."""
        seen: set[Value] = set()
        sources = [self.inputs, self.initializers, *(n.outputs for n in self.nodes)]
        for source in sources:
            for value in source:
                if value is not None and value not in seen:
                    seen.add(value)
                    yield value

    def subgraphs(self) -> Iterator[tuple[Node, str, Graph]]:
        """The graphs in attributes of this graph's own nodes, with node and attribute name."""
        for node in self.nodes:
            for name, inner in node.subgraphs():
                yield node, name, inner

    def graphs(self) -> Iterator[Graph]:
        """This graph and all graphs in it, at any depth, each once, outer ones first.

        One that a function gets as an argument may be in several nodes.
        """
        found, seen = [self], {self}
        for graph in found:
            yield graph
            for _, _, inner in graph.subgraphs():
                if inner not in seen:
                    seen.add(inner)
                    found.append(inner)

    def __str__(self) -> str:
        """The graph as text, a line a value; see :mod:`minirt.text`."""
        from .text import graph_text

        return graph_text(self)
