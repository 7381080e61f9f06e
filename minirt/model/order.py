"""Topological order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import SchemaError
from ..graph import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from ..graph import Graph

__all__ = ["CycleError", "sort_nodes", "sorted_by_need"]

_T = TypeVar("_T", bound="Hashable")

#: So many members of a cycle are named; more would not be read.
_NAMED = 6


class CycleError(Exception):
    """Things need each other. ``path`` leads from one to itself, each needing the next."""

    def __init__(self, path: Sequence[Any]) -> None:
        super().__init__(path)
        self.path = path

    def describe(self, name: Callable[[Any], str]) -> str:
        """``"a -> b -> a"``, in the direction of the needs, shortened where it is long."""
        names = list(map(name, self.path))
        if len(names) > _NAMED + 1:
            names[_NAMED - 1 : -1] = [f"{len(names) - _NAMED} more"]
        return " -> ".join(names)


def sorted_by_need(items: Iterable[_T], needs: Callable[[_T], Iterable[_T]]) -> list[_T]:
    """``items`` and all that they need, each after what it needs, and otherwise in order.

    Takes linear time and no recursion. Raises CycleError.
    """
    ordered: list[_T] = []
    done: dict[_T, bool] = {}  # False: on the path, its needs are being met
    for start in items:
        if start in done:
            continue
        done[start] = False
        path, pending = [start], [iter(needs(start))]
        while path:
            for item in pending[-1]:
                if item not in done:
                    done[item] = False
                    path.append(item)
                    pending.append(iter(needs(item)))
                    break
                if not done[item]:
                    raise CycleError([*path[path.index(item) :], item])
            else:
                pending.pop()
                done[path[-1]] = True
                ordered.append(path.pop())
    return ordered


def sort_nodes(
    nodes: Sequence[Node], subgraphs: Mapping[Node, Sequence[Graph]] | None = None
) -> list[Node]:
    """``nodes`` of one graph in an order in which each value is made before it is used.

    ``subgraphs`` are those of a node; it needs what they capture. The order of ``nodes`` is
    kept but for what has to come earlier. Takes linear time. Raises SchemaError that names
    the nodes of a cycle.
    """
    members, subgraphs = set(nodes), subgraphs or {}
    # Subgraphs are items of the order too, so that one of many nodes is looked at once.
    items: Sequence[Node | Graph] = nodes

    def needs(item: Node | Graph) -> Iterable[Node | Graph]:
        for value in item.inputs if isinstance(item, Node) else item.captures:
            if value is not None and value.producer in members:
                yield value.producer
        if isinstance(item, Node):
            yield from subgraphs.get(item, ())

    try:
        return [item for item in sorted_by_need(items, needs) if isinstance(item, Node)]
    except CycleError as error:
        cycle = [item for item in error.path[:0:-1] if isinstance(item, Node)]  # as values flow
        path = CycleError([*cycle, cycle[0]]).describe(lambda node: node.location)
    raise SchemaError(f"nodes need each other's outputs: {path}")
