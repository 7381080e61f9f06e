"""Functions: what a call of one stands for, and those that a model defines itself.

https://onnx.ai/onnx/repo-docs/IR.html#functions
"""

from __future__ import annotations

from functools import reduce
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from ..errors import SchemaError, UnsupportedError, did_you_mean
from .order import CycleError, sorted_by_need
from .scope import Call, Scope, domain_of, opsets_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from onnx import FunctionProto, GraphProto, NodeProto

    from ..graph import Graph, Node

    #: Domain, name and overload.
    Key = tuple[str, str, str]

__all__ = ["Functions", "call_scope"]

#: Functions that call functions can ask for any number of nodes in a few bytes. A call of
#: one costs time and memory by its size in the file; tensors do not count, they are shared.
_MOST_NODES = 1_000_000
_MOST_BYTES = 64 << 20


class _Size(NamedTuple):
    """What a call comes to, or anything beyond the bounds."""

    nodes: int
    bytes: int

    def plus(self, other: _Size) -> _Size:
        nodes, size = self.nodes + other.nodes, self.bytes + other.bytes
        # Bounded, as doubling a thousand times would make numbers of a thousand bits.
        return _Size(min(nodes, _MOST_NODES + 1), min(size, _MOST_BYTES + 1))


class Functions:
    """The functions that a model defines.

    Raises SchemaError if one is defined twice, or calls itself.
    """

    def __init__(self, protos: Iterable[FunctionProto]) -> None:
        self._protos: dict[Key, FunctionProto] = {}
        for proto in protos:
            key = domain_of(proto.domain), text_of(proto.name), text_of(proto.overload)
            if key in self._protos:
                raise SchemaError(f"{_title(key)} is defined twice")
            self._protos[key] = proto
        self._sizes = self._expanded_sizes()
        self._expanded = _Size(0, 0)
        self._taken: dict[Graph, dict[str, int]] = {}

    def __bool__(self) -> bool:
        return bool(self._protos)

    def body(self, node: Node, scope: Scope) -> Scope | None:
        """What replaces ``node`` of ``scope``, None if it calls no function.

        A function has precedence over an operator of its name. Raises SchemaError for a
        call that does not fit, and UnsupportedError for more nodes than can be meant.
        """
        key = node.domain, node.op_type, node.overload
        proto = self._protos.get(key)
        if proto is None:
            return None
        title = _title(key)
        _check_attributes(node, proto, title)
        if scope.call is None:  # or it has been counted with its caller
            self._spend(self._sizes[key])
        taken = self._taken.get(scope.graph)
        if taken is None:
            taken = self._taken[scope.graph] = dict.fromkeys(scope.names, 1)
        opsets = opsets_of(proto.opset_import, title)
        return call_scope(node, proto, scope.graph, opsets, taken)

    def spend(self, items: int) -> None:
        """Count that a node of a function uses a list of so many ``items``."""
        self._spend(_Size(0, 8 * items))

    def _spend(self, size: _Size) -> None:
        self._expanded = self._expanded.plus(size)
        if self._expanded.nodes > _MOST_NODES:
            raise UnsupportedError(f"functions expand to more than {_MOST_NODES} nodes")
        if self._expanded.bytes > _MOST_BYTES:
            raise UnsupportedError(f"functions expand to more than {_MOST_BYTES} bytes")

    def _expanded_sizes(self) -> dict[Key, _Size]:
        """What a call of each function comes to, the calls in it included."""
        own: dict[Key, _Size] = {}
        calls: dict[Key, list[Key]] = {}
        for key, proto in self._protos.items():
            nodes = list(_nodes_of(proto))
            calls[key] = [k for k in map(_key, nodes) if k in self._protos]
            own[key] = _Size(1 + len(nodes), proto.ByteSize() - sum(map(_tensor_bytes, nodes)))
        sizes: dict[Key, _Size] = {}
        try:
            for key in sorted_by_need(self._protos, calls.__getitem__):
                sizes[key] = reduce(_Size.plus, (sizes[called] for called in calls[key]), own[key])
        except CycleError as error:
            path = error.describe(lambda key: _title(key).removeprefix("function "))
            raise SchemaError(f"a function must not call itself: {path}") from None
        return sizes


def call_scope(
    node: Node,
    proto: FunctionProto,
    graph: Graph,
    opsets: Mapping[str, int],
    taken: dict[str, int],
) -> Scope:
    """The names in ``proto`` as ``node`` calls it; its nodes are to become nodes of ``graph``.

    ``taken`` has the names that values of ``graph`` have, and gets more. Raises SchemaError
    for operands and outputs that the function does not have.
    """
    _check_counts(node, proto, _title((node.domain, node.op_type, node.overload)))
    results = {
        name: value
        for name, value in zip(proto.output, node.outputs, strict=False)
        if value is not None
    }
    prefix = next((v.name for v in results.values()), node.op_type)
    call = Call(results, dict(node.attributes), prefix, taken)
    names = dict(zip_longest(proto.input, node.inputs))
    return Scope(proto, graph, opsets, (node, ""), call=call, names=names)


def _key(node: NodeProto) -> Key:
    return domain_of(node.domain), node.op_type, node.overload


def _nodes_of(proto: FunctionProto) -> Iterator[NodeProto]:
    """The nodes of a function, at any depth of subgraphs."""
    bodies: list[FunctionProto | GraphProto] = [proto]
    for body in bodies:  # which grows meanwhile
        for node in body.node:
            yield node
            for attribute in node.attribute:
                bodies += [attribute.g] if attribute.HasField("g") else attribute.graphs


def _tensor_bytes(node: NodeProto) -> int:
    """The bytes of the tensors among the attributes of ``node``."""
    size = 0
    for attribute in node.attribute:
        size += sum(t.ByteSize() for t in (*attribute.tensors, *attribute.sparse_tensors))
        size += attribute.t.ByteSize() + attribute.sparse_tensor.ByteSize()
    return size


def _title(key: Key) -> str:
    domain, name, overload = key
    title = f"function {domain}.{name}" if domain else f"function {name}"
    return f"{title}:{overload}" if overload else title


def _check_counts(node: Node, proto: FunctionProto, title: str) -> None:
    for what, given, taken in (
        ("input", node.inputs, proto.input),
        ("output", node.outputs, proto.output),
    ):
        if len(given) > len(taken):
            raise SchemaError(f"has {len(given)} {what}s, but {title} has {len(taken)}")
    if len(set(proto.input)) < len(proto.input):
        raise SchemaError(f"{title} has two inputs of the same name")


def _check_attributes(node: Node, proto: FunctionProto, title: str) -> None:
    known = [*proto.attribute, *(p.name for p in proto.attribute_proto)]
    for name in node.attributes:
        if name not in known:
            raise SchemaError(f"{title} has no attribute {name!r}{did_you_mean(name, known)}")
