"""Graphs put in place of nodes, and what they capture."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..graph import Graph
from .identity import pass_through

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..graph import Node, Value

__all__ = ["inline", "recapture"]


def inline(inner: Graph, node: Node, place: Graph, name: Callable[[str], str]) -> list[Node]:
    """What does in ``place`` what ``inner`` does, with the operands and outputs of ``node``.

    ``inner`` is not changed, and may be used again. Its values get names by ``name``, its
    initializers go to ``place``. Captures have to be found again.
    """
    copier = _Copier(name)
    copier.join(inner.inputs, node.inputs)
    made = {v for n in inner.nodes for v in n.outputs}
    copier.join([v if v in made else None for v in inner.outputs], node.outputs)
    for old, array in inner.initializers.items():
        if old not in copier.values:
            place.initializers[copier.value(old)] = array
    nodes = copier.nodes(inner)
    for old, new in zip(inner.outputs, node.outputs, strict=True):
        source = copier.values.get(old, old)
        if new is not None and source is not new:
            nodes.append(pass_through(source, new, node.outer))
    return nodes


class _Copier:
    """Copies nodes and the graphs in them, at any depth and without recursion."""

    def __init__(self, name: Callable[[str], str]) -> None:
        self.values: dict[Value, Value] = {}
        self._name = name
        self._graphs: dict[Graph, Graph] = {}
        self._begun: list[Graph] = []

    def join(self, olds: Iterable[Value | None], news: Iterable[Value | None]) -> None:
        """Let each of ``news`` stand for one of ``olds``, the first where there are more."""
        for old, new in zip(olds, news, strict=True):
            if old is not None and new is not None and old not in self.values:
                self.values[old] = new
                new.type = new.type or old.type

    def value(self, old: Value) -> Value:
        """What stands for ``old`` from now on."""
        if old not in self.values:
            self.values[old] = replace(old, name=self._name(old.name), producer=None)
        return self.values[old]

    def nodes(self, graph: Graph) -> list[Node]:
        """The nodes of ``graph`` anew."""
        nodes = list(map(self._node, graph.nodes))
        for old in self._begun:  # which grows meanwhile
            new = self._graphs[old]
            new.inputs = [self.value(v) for v in old.inputs]
            new.initializers = {self.value(v): array for v, array in old.initializers.items()}
            new.nodes = list(map(self._node, old.nodes))
            new.outputs = [self.values.get(v, v) for v in old.outputs]
        return nodes

    def _node(self, old: Node) -> Node:
        node = replace(
            old,
            inputs=[v and self.values.get(v, v) for v in old.inputs],
            outputs=[v and self.value(v) for v in old.outputs],
            attributes={name: self._attribute(value) for name, value in old.attributes.items()},
        )
        for value in node.outputs:
            if value is not None:
                value.producer = node
        return node

    def _attribute(self, value: Any) -> Any:
        if isinstance(value, list):
            return list(map(self._attribute, value))
        if not isinstance(value, Graph):
            return value
        if value not in self._graphs:
            self._graphs[value] = replace(value)
            self._begun.append(value)
        return self._graphs[value]


def recapture(graph: Graph) -> None:
    """Find again, for ``graph`` and all graphs in it, which values of graphs around they use."""
    for inner in reversed(list(graph.graphs())):
        own = set(inner.values())
        used: dict[Value, None] = {}
        for node in inner.nodes:
            used.update((v, None) for v in node.inputs if v is not None)
            for _, body in node.subgraphs():
                used.update(dict.fromkeys(body.captures))
        used.update(dict.fromkeys(inner.outputs))
        inner.captures = [value for value in used if value not in own]
