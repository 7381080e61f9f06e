"""The model's own functions: what a call of one stands for.

https://onnx.ai/onnx/repo-docs/IR.html#functions
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from .errors import SchemaError, UnsupportedError, did_you_mean
from .scope import Call, Scope, domain_of, opsets_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import FunctionProto

    from .graph import Graph, Node
    from .scope import Key

__all__ = ["Functions"]

#: Functions that call functions can ask for any number of nodes in a few bytes.
_MOST_NODES = 1_000_000


class Functions:
    """The functions that a model defines. Raises SchemaError if one is defined twice."""

    def __init__(self, protos: Iterable[FunctionProto]) -> None:
        self._protos: dict[Key, FunctionProto] = {}
        self._taken: dict[Graph, set[str]] = {}
        self._nodes = 0
        for proto in protos:
            key = domain_of(proto.domain), text_of(proto.name), text_of(proto.overload)
            if key in self._protos:
                raise SchemaError(f"{_title(key)} is defined twice")
            self._protos[key] = proto

    def __bool__(self) -> bool:
        return bool(self._protos)

    def body(self, node: Node, scope: Scope) -> Scope | None:
        """What replaces ``node`` of ``scope``, None if it calls no function.

        A function has precedence over an operator of its name. Raises SchemaError for a
        call that does not fit and for recursion, and UnsupportedError before expansion
        gets out of hand.
        """
        key = node.domain, node.op_type, node.overload
        proto = self._protos.get(key)
        if proto is None:
            return None
        _check_call(node, proto, _title(key))
        _check_recursion(key, scope.call)
        self._nodes += len(proto.node) + 1
        if self._nodes > _MOST_NODES:
            raise UnsupportedError(f"calls of functions expand to more than {_MOST_NODES} nodes")
        return Scope(
            proto,
            scope.graph,
            opsets_of(proto.opset_import, _title(key)),
            (node, ""),
            call=self._call(key, node, proto, scope),
            names=dict(zip_longest(proto.input, node.inputs)),
        )

    def _call(self, key: Key, node: Node, proto: FunctionProto, scope: Scope) -> Call:
        taken = self._taken.setdefault(scope.graph, set(scope.names))
        results = {
            name: value
            for name, value in zip(proto.output, node.outputs, strict=False)
            if value is not None
        }
        prefix = next((v.name for v in results.values()), node.op_type)
        return Call(key, results, dict(node.attributes), scope.call, prefix, taken)


def _title(key: Key) -> str:
    domain, name, overload = key
    title = f"function {domain}.{name}" if domain else f"function {name}"
    return f"{title}:{overload}" if overload else title


def _check_call(node: Node, proto: FunctionProto, title: str) -> None:
    for what, given, taken in (
        ("input", node.inputs, proto.input),
        ("output", node.outputs, proto.output),
    ):
        if len(given) > len(taken):
            raise SchemaError(f"has {len(given)} {what}s, but {title} has {len(taken)}")
    if len(set(proto.input)) < len(proto.input):
        raise SchemaError(f"{title} has two inputs of the same name")
    known = [*proto.attribute, *(p.name for p in proto.attribute_proto)]
    for name in node.attributes:
        if name not in known:
            raise SchemaError(f"{title} has no attribute {name!r}{did_you_mean(name, known)}")


def _check_recursion(key: Key, call: Call | None) -> None:
    path = [_title(key)]
    while call is not None:
        path.append(_title(call.function))
        if call.function == key:
            raise SchemaError(f"a function must not call itself: {' -> '.join(reversed(path))}")
        call = call.caller
