"""Nodes of old opsets rewritten to the newest form, so that operators know only that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import MinirtError
from ..ops import registry
from ..ops.checks import fill_defaults
from ..ops.schemas import newest_schema, schema_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph import Graph, Node

__all__ = ["upgrade"]


def upgrade(graph: Graph) -> bool:
    """Bring every node that has an operator, at any depth, to the form of the newest schema.

    So too if it has upgrades alone: then it may be that ONNX defines it by others.

    What an attribute means by default may change between versions, so the defaults of
    the node's own schema must be filled in before (:func:`minirt.passes.check.check`).
    Returns whether a node changed its form.
    """
    changed = False
    for inner in graph.graphs():
        for node in inner.nodes:
            key = node.domain, node.op_type, node.opset
            if registry.find(*key) or registry.upgrades(*key):
                changed |= _upgrade(node, inner)
    return changed


def _upgrade(node: Node, graph: Graph) -> bool:
    old, name = node.version, node.op_type
    try:
        while steps := _steps(node):
            to, rewrite = steps[0]
            rewrite(node, graph)
            node.version = to
    except MinirtError as error:
        error.located(node.location)
        raise
    if node.op_type != name:
        node.written_as = node.written_as or name
    operator = registry.find(node.domain, node.op_type, node.opset)
    newest = schema_of(operator) if operator else newest_schema(node.domain, node.op_type)
    if newest is not None:
        fill_defaults(node, newest)
        node.defaults = newest.defaults
    return node.version != old


def _steps(node: Node) -> list[tuple[int, Callable[[Node, Graph], None]]]:
    """The rewrites up to the form of the operator that ``node`` means: a later one has its own."""
    operator = registry.find(node.domain, node.op_type, node.opset)
    steps = registry.upgrades(node.domain, node.op_type, node.version)
    return [step for step in steps if operator is None or step[0] <= operator.until]
