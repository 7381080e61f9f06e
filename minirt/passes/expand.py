"""Operators that minirt does not have, replaced by ONNX's own definitions of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.expansion import has_expansion
from ..model.typed import Frame, Typing
from .inline import recapture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import Graph, Node, Value
    from ..types import Type

__all__ = ["expand"]


def expand(graph: Graph, *, always: bool = False) -> bool:
    """Replace nodes without an operator, at any depth, by the bodies of ONNX's functions.

    In bodies too, until every node has an operator, or no body that can be made of it:
    some depend on types, which are inferred on the way. ``always`` replaces nodes that have
    an operator as well, so that the two can be compared. Nodes must have been checked.
    Returns whether a node was replaced.

    Raises what inference raises, SchemaError for nodes that do not fit a body, and
    UnsupportedError for more nodes than can be meant.
    """
    walk = _AlwaysExpanding({}) if always else _Expanding({})
    if not any(walk.expands(node) for inner in graph.graphs() for node in inner.nodes):
        return False
    walk.walk(graph)
    recapture(graph)
    return walk.spent.expansions > 0


class _Expanding(Typing):
    """Types a graph, and replaces its nodes."""

    def __init__(self, given: Mapping[Value, Type]) -> None:
        super().__init__(given)
        self._names: dict[Graph, dict[str, int]] = {}

    def expand(self, node: Node, frame: Frame) -> bool:
        graph = self.expansion(node, self._taken(frame.graph))
        if graph is None:
            return False
        self.add_constants(graph)
        frame.graph.initializers.update(graph.initializers)
        frame.pending += reversed(graph.nodes)
        node.detach()
        return True

    def _leave(self, frame: Frame) -> None:
        frame.graph.nodes = frame.done

    def _taken(self, graph: Graph) -> dict[str, int]:
        """The names that values of ``graph`` have; those of new ones are added."""
        if graph not in self._names:
            self._names[graph] = dict.fromkeys((v.name for v in graph.values()), 1)
        return self._names[graph]


class _AlwaysExpanding(_Expanding):
    def expands(self, node: Node) -> bool:
        return has_expansion(node)
