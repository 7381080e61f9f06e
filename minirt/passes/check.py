"""Every node held against the schema of its operator, as the model means it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import MinirtError, SchemaError, UnsupportedError
from ..ops import registry
from ..ops.checks import check_attributes, check_operands
from ..ops.registry import NEWEST_OPSETS, PRIVATE_DOMAIN
from ..ops.schemas import explain_absence, find_schema, newest_schema

if TYPE_CHECKING:
    from ..graph import Graph, Node
    from ..ops.schemas import Schema

__all__ = ["check"]


def check(graph: Graph) -> None:
    """Hold every node, at any depth, against its schema, and fill in the schema's defaults.

    Nodes of domains that ONNX does not define, and of operators that it does not have,
    are left alone. Raises SchemaError, and UnsupportedError for an opset that is newer
    than minirt.
    """
    _check_opset("", graph.opsets.get("", 1))
    for inner in graph.graphs():
        for node in inner.nodes:
            try:
                _check_node(node)
            except MinirtError as error:
                error.located(node.location)
                raise


def _check_node(node: Node) -> None:
    domain, name, opset = node.domain, node.op_type, node.opset
    if domain == PRIVATE_DOMAIN:
        raise UnsupportedError(f"domain {domain!r} is minirt's own; a file cannot use it")
    _check_opset(domain, opset)
    schema, newest = find_schema(domain, name, opset), newest_schema(domain, name)
    if schema is None or newest is None or (schema.deprecated and not _is_kept(schema)):
        reason = explain_absence(domain, name, opset)
        if reason:
            raise SchemaError(reason)
        return
    check_operands(node, schema)
    check_attributes(node, schema, newest)
    node.defaults = schema.defaults


def _is_kept(schema: Schema) -> bool:
    """Whether minirt has just the version that ONNX deprecates, for the files that use it."""
    operator = registry.find(schema.domain, schema.name, schema.since)
    return operator is not None and operator.since == schema.since


def _check_opset(domain: str, opset: int) -> None:
    newest = NEWEST_OPSETS.get(domain, opset)
    if opset > newest:
        raise UnsupportedError(
            f"the model imports opset {opset} of {domain or 'ai.onnx'}, but minirt implements "
            f"1 to {newest}; update minirt, or convert the model with onnx.version_converter",
            opset=opset,
        )
