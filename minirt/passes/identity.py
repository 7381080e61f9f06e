"""Nodes that hand a value on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..graph import Node
from ..ops.registry import NEWEST_OPSETS

if TYPE_CHECKING:
    from ..graph import Value

__all__ = ["pass_through"]


def pass_through(source: Value, target: Value, outer: tuple[Node, str] | None = None) -> Node:
    """A node, within the node ``outer``, that makes ``target`` the same as ``source``."""
    opset = NEWEST_OPSETS[""]
    node = Node("Identity", "", opset, [source], [target], version=opset, outer=outer)
    target.producer = node
    return node
