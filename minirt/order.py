"""Topological order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .graph import Node, Value

__all__ = ["sort_nodes"]

#: So many nodes of a cycle are named; more would not be read.
_NAMED = 6


def sort_nodes(
    nodes: Sequence[Node], captures: Mapping[Node, Sequence[Value]] | None = None
) -> list[Node]:
    """``nodes`` of one graph in an order in which each value is made before it is used.

    ``captures`` are the values that the subgraphs of a node use. The order of ``nodes``
    is kept but for what has to come earlier. Takes linear time and no recursion. Raises
    SchemaError that names the nodes of a cycle.
    """
    captures = captures or {}
    position = {node: i for i, node in enumerate(nodes)}

    def needs(index: int) -> Iterator[int]:
        node = nodes[index]
        for value in (*node.inputs, *captures.get(node, ())):
            if value is not None and value.producer in position:
                yield position[value.producer]

    ordered: list[Node] = []
    seen = bytearray(len(nodes))  # 1: on the path, 2: in the order
    for start in range(len(nodes)):
        if seen[start]:
            continue
        seen[start] = 1
        path, pending = [start], [needs(start)]
        while path:
            for index in pending[-1]:
                if not seen[index]:
                    seen[index] = 1
                    path.append(index)
                    pending.append(needs(index))
                    break
                if seen[index] == 1:
                    raise _cycle([nodes[i] for i in path[path.index(index) :]])
            else:
                pending.pop()
                seen[path[-1]] = 2
                ordered.append(nodes[path.pop()])
    return ordered


def _cycle(consumers: Sequence[Node]) -> SchemaError:
    """The error for nodes that each need the next one, the last one the first."""
    ring = [node.location for node in (*reversed(consumers), consumers[-1])]
    if len(ring) > _NAMED + 1:
        ring[_NAMED - 1 : -1] = [f"{len(ring) - _NAMED} more"]
    return SchemaError(f"nodes need each other's outputs: {' -> '.join(ring)}")
