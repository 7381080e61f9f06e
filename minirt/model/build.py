"""ModelProto to Graph: names become edges, functions are expanded, nodes get into order.

Here are the rules of names: what is defined once, what is found where. Whether the
operators exist and fit together is the concern of :mod:`minirt.passes`.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from ..data.payloads import Payloads
from ..data.tensors import type_from_proto
from ..errors import MinirtError, ParseError, SchemaError, UnsupportedError
from ..graph import Graph, Node
from ..passes.identity import pass_through
from ..types import contradiction, merge
from .attributes import Readers, read_attribute
from .functions import Functions, call_scope
from .order import sort_nodes
from .scope import Scope, domain_of, opsets_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy as np
    from onnx import (
        AttributeProto,
        FunctionProto,
        GraphProto,
        ModelProto,
        SparseTensorProto,
        TensorProto,
        TypeProto,
        ValueInfoProto,
    )

    from ..data.external import ExternalData
    from ..graph import Value
    from ..types import Type

__all__ = ["NEWEST_IR", "OLDEST_IR", "build", "build_call"]

#: The versions of the file format that are read; older ones do not say what operators mean.
OLDEST_IR, NEWEST_IR = 3, 14


def build(model: ModelProto, external: ExternalData | None = None) -> Graph:
    """The graph of ``model``, which is not changed.

    ``external`` finds the data of tensors that is stored outside. Nodes may be in any
    order, here and in subgraphs; calls of the model's own functions are replaced by the
    functions' nodes. Raises ParseError for payloads, SchemaError for names and
    UnsupportedError for an IR version that minirt does not read.
    """
    _check_ir(model.ir_version)
    producer = f"{text_of(model.producer_name)} {text_of(model.producer_version)}"
    graph = Graph(
        opsets=opsets_of(model.opset_import, "the model"),
        ir_version=model.ir_version,
        producer=producer.strip(),
        metadata={text_of(p.key): text_of(p.value) for p in model.metadata_props},
    )
    root = Scope(model.graph, graph, graph.opsets)
    _Builder(Functions(model.functions), external).build(root)
    return graph


def build_call(
    node: Node, proto: FunctionProto, opsets: dict[str, int], taken: dict[str, int]
) -> Graph:
    """What ``node``, as a call of ``proto``, stands for.

    The graph takes the operands of ``node`` from around it, and makes its outputs. Its nodes
    mean what ``opsets`` say. Names are unlike those ``taken``, which gets more. Raises
    SchemaError for a call that does not fit.
    """
    graph = Graph(node.op_type, opsets=opsets, ir_version=NEWEST_IR)
    graph.outputs = [value for value in node.outputs if value is not None]
    root = call_scope(node, proto, graph, opsets, taken)
    _Builder(Functions(()), None).build(root)
    return graph


def _check_ir(version: int) -> None:
    if not version:
        raise ParseError("the model has no ir_version; is it an ONNX model?")
    if not OLDEST_IR <= version <= NEWEST_IR:
        hint = "update minirt, or save it with" if version > NEWEST_IR else "convert it to"
        raise UnsupportedError(
            f"the model has IR version {version}, but minirt reads {OLDEST_IR} to {NEWEST_IR}; "
            f"{hint} one of these"
        )


class _Builder:
    """Works off scopes, outer ones first, so that nesting costs no recursion."""

    def __init__(self, functions: Functions, external: ExternalData | None) -> None:
        self._functions, self._payloads = functions, Payloads(external)
        self._scopes: list[Scope] = []
        self._bodies: dict[Node, Scope] = {}  # what takes the place of a call
        self._inner: dict[Node, list[Graph]] = {}  # the subgraphs of a node
        self._handed_on = False  # whether a function uses a graph that a call gives it

    def build(self, root: Scope) -> None:
        """Fill the graph of ``root`` with what its message says."""
        self._scopes.append(root)
        for scope in self._scopes:  # which grows meanwhile
            try:
                self._work_off(scope)
            except MinirtError as error:
                if scope.outer:
                    error.located(scope.location)
                raise
        graphs = [scope for scope in self._scopes if scope is root or not scope.is_function]
        for scope in graphs:
            scope.graph.captures = list(scope.captures)
        for scope in reversed(graphs):
            self._order(scope)
        for call in self._bodies:
            call.detach()

    def _work_off(self, scope: Scope) -> None:
        if not scope.is_function:
            self._define_inputs(scope)
            self._define_initializers(scope)
        self._define_nodes(scope)
        self._declare_types(scope)
        self._connect(scope)
        if scope.is_function and scope.outer:
            self._return(scope.outer[0], scope)
        else:
            self._define_outputs(scope)

    # What a scope defines

    def _define_inputs(self, scope: Scope) -> None:
        proto, graph = scope.proto, scope.graph
        graph.name, graph.doc = text_of(proto.name), text_of(proto.doc_string)
        for info in proto.input:
            value = scope.define(info.name, "graph input")
            value.type = _declared(info, "graph input")
            value.doc = text_of(info.doc_string)
            if value.type is None and scope.parent is None:
                raise SchemaError(f"graph input {value.name!r} has no type")
            graph.inputs.append(value)

    def _define_initializers(self, scope: Scope) -> None:
        for tensor in scope.proto.initializer:
            self._define_initializer(scope, tensor.name, tensor)
        for sparse in scope.proto.sparse_initializer:
            self._define_initializer(scope, sparse.values.name, sparse)

    def _define_initializer(
        self, scope: Scope, name: str, proto: TensorProto | SparseTensorProto
    ) -> None:
        initializers, value = scope.graph.initializers, scope.names.get(name)
        if value is None or value in initializers:
            value = scope.define(name, "initializer")
        contents = self._payloads.read(proto, f"initializer {name!r}")
        initializers[value] = cast("np.ndarray", contents.value)
        declared, value.type = value.type, value.type or contents.without_value()
        if declared and not merge(declared, contents):
            message = f"graph input {name!r} is {declared}, but its initializer is {contents}"
            raise contradiction(message, declared, contents)

    def _define_nodes(self, scope: Scope) -> None:
        for index, proto in enumerate(scope.proto.node):
            domain = domain_of(proto.domain)
            opset = scope.opsets.get(domain, 0)
            node = Node(text_of(proto.op_type), domain, opset, [], [], {}, text_of(proto.name))
            node.index, node.version, node.outer = index, opset, scope.outer
            node.overload, node.doc = proto.overload, text_of(proto.doc_string)
            scope.nodes.append(node)
            try:
                if not node.op_type:
                    raise SchemaError("has no op_type")
                if not opset:
                    raise _not_imported(domain, scope.opsets)
                node.outputs = _trimmed(
                    [scope.define(n, "output", node) if n else None for n in proto.output]
                )
            except MinirtError as error:
                error.located(node.location)
                raise

    def _declare_types(self, scope: Scope) -> None:
        """Note the types and texts that the file states beside those of the inputs."""
        outputs = () if scope.is_function else scope.proto.output
        for info in chain(scope.proto.value_info, outputs):
            value, declared = scope.names.get(info.name), _declared(info, "value")
            # Leftovers of values that are no more are common, and harmless.
            if value is None:
                continue
            value.doc = value.doc or text_of(info.doc_string)
            if declared is None:
                continue
            known = value.type or declared
            value.type = merge(known, declared)
            if value.type is None:
                message = f"value {info.name!r} is declared as {known} and as {declared}"
                raise contradiction(message, known, declared)

    # What a scope uses

    def _connect(self, scope: Scope) -> None:
        for proto, node in zip(scope.proto.node, scope.nodes, strict=True):
            try:
                node.inputs = _trimmed([scope.find(n, "input") if n else None for n in proto.input])
                if proto.attribute:
                    node.attributes = self._attributes(proto.attribute, node, scope)
                if self._functions:
                    self._expand(node, scope)
            except MinirtError as error:
                error.located(node.location)
                raise

    def _attributes(
        self, protos: Iterable[AttributeProto], node: Node, scope: Scope
    ) -> dict[str, Any]:
        """The attributes of ``node``; references to those of a call are resolved."""
        read_tensor = self._payloads.read_once if scope.call else self._payloads.read
        readers: Readers = {
            "t": read_tensor,
            "sparse_tensor": read_tensor,
            "tp": _read_type,
            "g": partial(self._open, node, scope),
        }
        attributes: dict[str, Any] = {}
        for proto in protos:
            name, reference = text_of(proto.name), proto.ref_attr_name
            if not name:
                raise SchemaError("has an attribute without a name")
            if name in attributes:
                raise SchemaError(f"attribute {name} is given twice")
            if not reference or scope.call is None:
                attributes[name] = read_attribute(proto, readers)
            elif reference in scope.call.arguments:
                attributes[name] = self._hand_on(scope.call.arguments[reference], node)
        return attributes

    def _hand_on(self, value: Any, node: Node) -> Any:
        """An argument of a call, for a node of the function."""
        items = value if isinstance(value, list) else [value]
        self._functions.spend(len(items))
        graphs = [item for item in items if isinstance(item, Graph)]
        if graphs:
            self._inner.setdefault(node, []).extend(graphs)
            self._handed_on = True
        return value

    def _open(self, node: Node, scope: Scope, proto: GraphProto, where: str) -> Graph:
        """A subgraph, which is worked off later."""
        graph = Graph(opsets=dict(scope.opsets), ir_version=scope.graph.ir_version)
        self._inner.setdefault(node, []).append(graph)
        outer = node, where.removeprefix("attribute ")
        self._scopes.append(Scope(proto, graph, scope.opsets, outer, scope, scope.call))
        return graph

    def _define_outputs(self, scope: Scope) -> None:
        for info in scope.proto.output:
            value = scope.find(info.name, "graph output")
            if value is None:
                raise SchemaError(f"graph output {info.name!r} is an operand that the call omits")
            scope.graph.outputs.append(value)

    # Calls of functions

    def _expand(self, node: Node, scope: Scope) -> None:
        """Arrange for a call to be replaced by the nodes of its function."""
        body = self._functions.body(node, scope)
        if body is not None and body.call is not None:
            defaults = [p for p in body.proto.attribute_proto if p.name not in node.attributes]
            body.call.arguments.update(self._attributes(defaults, node, body))
            self._bodies[node] = body
            self._scopes.append(body)

    def _return(self, node: Node, scope: Scope) -> None:
        """Hand on what no node of the function makes as a result of the call ``node``."""
        for name, result in zip(scope.proto.output, node.outputs, strict=False):
            if result is None:
                continue
            value = scope.find(name, "output")
            if value is None:
                raise SchemaError(f"output {name!r} is an operand that the call omits")
            if value is not result:
                scope.nodes.append(pass_through(value, result, (node, "")))

    # Order

    def _order(self, scope: Scope) -> None:
        nodes = list(self._expanded(scope)) if self._bodies else scope.nodes
        if self._handed_on:
            self._capture_around(nodes, scope.graph)
        scope.graph.nodes = sort_nodes(nodes, self._inner)

    def _capture_around(self, nodes: Iterable[Node], graph: Graph) -> None:
        """Let the graphs of a function capture what a graph in them does that a call gives."""
        inner = dict.fromkeys(g for node in nodes for g in self._inner.get(node, ()))
        used = dict.fromkeys(value for g in inner for value in g.captures)
        own = {*graph.inputs, *graph.initializers, *(v for n in nodes for v in n.outputs)}
        graph.captures = list(
            dict.fromkeys(graph.captures) | {v: None for v in used if v not in own}
        )

    def _expanded(self, scope: Scope) -> Iterator[Node]:
        """The nodes of a graph, those of a function in place of a call."""
        pending = [iter(scope.nodes)]
        while pending:
            for node in pending[-1]:
                if node in self._bodies:
                    pending.append(iter(self._bodies[node].nodes))
                    break
                yield node
            else:
                pending.pop()


def _not_imported(domain: str, opsets: Mapping[str, int]) -> SchemaError:
    known = ", ".join(f"{name or 'ai.onnx'} {version}" for name, version in opsets.items())
    return SchemaError(
        f"no opset of domain {domain or 'ai.onnx'!r} is imported, only {known or 'none'}"
    )


def _trimmed(values: list[Value | None]) -> list[Value | None]:
    """``values`` without omitted ones at the end, which say nothing."""
    while values and values[-1] is None:
        values.pop()
    return values


def _declared(info: ValueInfoProto, what: str) -> Type | None:
    """The type that ``info`` states, None if it leaves that open."""
    proto = info.type
    kind = proto.WhichOneof("value")
    if kind is None or (kind == "tensor_type" and not proto.tensor_type.elem_type):
        return None
    return type_from_proto(proto, where=f"{what} {info.name!r}")


def _read_type(proto: TypeProto, where: str) -> Type:
    return type_from_proto(proto, where=where)
