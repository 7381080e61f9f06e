"""Every node held against the schema of its operator, as the model means it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ..errors import MinirtError, SchemaError, UnsupportedError
from ..ops import registry
from ..ops.checks import check_attributes, check_operands
from ..ops.registry import NEWEST_OPSETS, PRIVATE_DOMAIN
from ..ops.schemas import (
    explain_absence,
    find_schema,
    is_standard,
    nearest_operator,
    newest_schema,
    versions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Graph, Node
    from ..ops.schemas import Schema

__all__ = ["Missing", "check", "listed", "missing_operators", "require_operators"]

#: So many missing operators are told apart: a model may name millions.
_MOST_LISTED = 100


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


class Missing(NamedTuple):
    """An operator that minirt does not have: ``nodes`` of a model use it.

    ``domain`` is "" for ai.onnx, ``opset`` the version of it that the model imports.
    """

    domain: str
    name: str
    opset: int
    nodes: int

    def __str__(self) -> str:
        text = f"{self.name} ({self.domain or 'ai.onnx'} {self.opset}"
        text += f", {self.nodes} node{'' if self.nodes == 1 else 's'}"
        if is_standard(self.domain) and not versions(self.domain, self.name):
            text += f", not in ONNX{nearest_operator(self.domain, self.name)}"
        return f"{text})"


def missing_operators(graph: Graph) -> list[Missing]:
    """The operators of ``graph``, at any depth, that minirt does not have, by domain and name."""
    counts = Counter(
        (node.domain, node.op_type, node.opset)
        for inner in graph.graphs()
        for node in inner.nodes
        if registry.find(node.domain, node.op_type, node.opset) is None
    )
    return [Missing(*key, count) for key, count in sorted(counts.items())]


def listed(missing: Sequence[Missing]) -> list[str]:
    """A text for each of ``missing``, of very many for the first and how many more there are."""
    more = len(missing) - _MOST_LISTED
    texts = list(map(str, missing[:_MOST_LISTED]))
    return [*texts, f"and {more} more"] if more > 0 else texts


def require_operators(graph: Graph) -> None:
    """Raise UnsupportedError with all operators of ``graph`` that minirt does not have."""
    missing = missing_operators(graph)
    if missing:
        first = missing[0]
        raise UnsupportedError(
            f"minirt does not implement {len(missing)} operator{'' if len(missing) == 1 else 's'} "
            f"of this model: {', '.join(listed(missing))}",
            op=f"{first.domain}.{first.name}" if first.domain else first.name,
            opset=first.opset,
        )
