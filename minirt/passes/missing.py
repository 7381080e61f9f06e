"""Operators that minirt does not have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import MinirtError, UnsupportedError
from ..model.expansion import has_expansion
from ..model.typed import infer_types
from ..ops import registry
from ..ops.schemas import is_standard, nearest_operator, versions
from .check import check
from .expand import expand
from .upgrade import upgrade

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..graph import Graph, Node, Value
    from ..types import Type

__all__ = ["Missing", "find_missing", "listed", "missing_operators", "require_operators"]

#: So many missing operators are told apart, and functions in which one is used: a model may
#: name millions.
_MOST_LISTED, _MOST_FUNCTIONS = 100, 3


@dataclass
class Missing:
    """An operator that minirt does not have: ``nodes`` of a model use it.

    ``domain`` is "" for ai.onnx, ``opset`` the version of it that the nodes are of.
    ``functions`` are those of the model, and operators that ONNX defines by others, in
    which it is used. ``has_body`` says that it is such an operator itself, of which ONNX
    has no definition for the nodes at hand.
    """

    domain: str
    name: str
    opset: int
    nodes: int = 0
    functions: dict[str, None] = field(default_factory=dict)
    has_body: bool = False

    @property
    def qualified_name(self) -> str:
        """``"Conv"``, or ``"ai.onnx.ml.SVMRegressor"`` in another domain."""
        return f"{self.domain}.{self.name}" if self.domain else self.name

    def __str__(self) -> str:
        text = f"{self.name} ({self.domain or 'ai.onnx'} {self.opset}"
        text += f", {self.nodes} node{'' if self.nodes == 1 else 's'}"
        if self.functions:
            names, more = list(self.functions), len(self.functions) - _MOST_FUNCTIONS
            text += f", through {', '.join(names[:_MOST_FUNCTIONS])}"
            text += f" and {more} more" if more > 0 else ""
        if self.has_body:
            text += ", of which ONNX makes no function body with these types and attributes"
        elif is_standard(self.domain) and not versions(self.domain, self.name):
            text += f", not in ONNX{nearest_operator(self.domain, self.name)}"
        return f"{text})"


def find_missing(graph: Graph) -> list[Missing]:
    """The operators that minirt does not have and that running ``graph``, as read, needs.

    Functions of ONNX are expanded for that, so the graph is changed.
    """
    try:
        check(graph)
        upgrade(graph)
        expand(graph)
    except MinirtError:
        pass  # What is wrong with the model, loading it says.
    return missing_operators(graph)


def missing_operators(graph: Graph) -> list[Missing]:
    """The operators of ``graph``, at any depth, that minirt does not have, by domain and name.

    Those that could be replaced if only the types were known which others make are left out.
    """
    nodes = [node for inner in graph.graphs() for node in inner.nodes if not _is_there(node)]
    replaceable = [node for node in nodes if has_expansion(node)]
    if replaceable and len(replaceable) < len(nodes):
        types = _known_types(graph)
        waiting = {n for n in replaceable if any(v and v not in types for v in n.inputs)}
        nodes = [node for node in nodes if node not in waiting]
    found: dict[tuple[str, str, int], Missing] = {}
    callers: dict[Node, Node | None] = {}
    for node in nodes:
        key = node.domain, node.op_type, node.opset
        missing = found.setdefault(key, Missing(*key))
        missing.nodes += 1
        missing.has_body |= has_expansion(node)
        caller = _caller(node, callers)
        if caller is not None:
            missing.functions[caller.qualified_name] = None
    return [found[key] for key in sorted(found)]


def _is_there(node: Node) -> bool:
    return registry.find(node.domain, node.op_type, node.opset) is not None


def _known_types(graph: Graph) -> Mapping[Value, Type]:
    try:
        return infer_types(graph)
    except MinirtError:
        return {}


def _caller(node: Node, known: dict[Node, Node | None]) -> Node | None:
    """The outermost call of a function that ``node`` is in; ``known`` are those of others."""
    path = [node]
    while path[-1] not in known and path[-1].outer:
        path.append(path[-1].outer[0])
    for inner in reversed(path):
        if inner not in known:
            outer, attribute = inner.outer or (None, "")
            around = known[outer] if outer else None
            known[inner] = around or (None if attribute else outer)
    return known[node]


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
            op=first.qualified_name,
            opset=first.opset,
            operators=[operator.qualified_name for operator in missing[:_MOST_LISTED]],
        )
