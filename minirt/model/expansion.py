"""Nodes as the graphs that ONNX defines their operators by."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from onnx import AttributeProto, GraphProto, NodeProto, helper

from ..data.tensors import to_proto, type_to_proto
from ..errors import MinirtError
from ..graph import Graph
from ..ops.checks import check_operand_types
from ..ops.functions import find_function
from ..ops.registry import NEWEST_OPSETS
from ..ops.schemas import find_schema
from ..passes.check import check
from ..passes.inline import inline, recapture
from ..passes.upgrade import upgrade
from ..types import TensorType
from .build import build_call
from .scope import new_name, opsets_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import FunctionProto

    from ..graph import Node, Value
    from ..ops.schemas import Schema
    from ..types import Type

__all__ = ["expansion_of", "has_expansion"]

#: The domain of nodes that stand for subgraphs while ONNX puts a body together.
_SUBGRAPHS = "minirt.subgraphs"


def has_expansion(node: Node) -> bool:
    """Whether ONNX defines the operator of ``node`` by others."""
    return find_function(node.domain, node.op_type, _version(node)) is not None


def _version(node: Node) -> int:
    """The opset in which the operator means what ``node`` does: upgrades lead to the newest."""
    return node.opset if node.version == node.opset else NEWEST_OPSETS[node.domain]


def expansion_of(node: Node, types: Mapping[Value, Type], taken: dict[str, int]) -> Graph | None:
    """A graph of what ``node`` stands for: it takes its operands, and makes its outputs.

    ``types`` are those of values, as far as they are known; ``taken`` has the names that
    the values in the graph must not have, and gets more. The nodes are checked and have
    the newest form, but may have no operator either. None if ONNX has no body for the
    node, or if that depends on types that are not known.

    Raises SchemaError, with the node, for operands or attributes that do not fit.
    """
    schema = find_schema(node.domain, node.op_type, _version(node))
    if schema is None:
        return None
    try:
        proto = _definition(node, schema, types)
        if proto is None:
            return None
        opsets = {"": NEWEST_OPSETS[""]} | opsets_of(proto.opset_import, str(schema))
        body = build_call(node, proto, opsets | {_SUBGRAPHS: 1}, taken)
    except MinirtError as error:
        raise error.located(node.location) from None
    check(body)
    upgrade(body)
    subgraphs = dict(node.subgraphs())
    if subgraphs:
        _put_subgraphs(subgraphs, body, taken)
    recapture(body)
    return body


def _definition(node: Node, schema: Schema, types: Mapping[Value, Type]) -> FunctionProto | None:
    function = find_function(node.domain, node.op_type, _version(node))
    if function is None or not function.heeds(node.attributes):
        return None
    operands = [None if v is None else types.get(v) for v in node.inputs]
    check_operand_types(operands, schema.inputs, schema)
    if function.fixed is not None:
        return function.fixed
    # ONNX looks at the types of operands and of what subgraphs make without asking.
    known = all(v is None or v in types for v in node.inputs)
    if not known or any(v not in types for _, g in node.subgraphs() for v in g.outputs):
        return None
    return function.body(_message(node, schema, types), list(map(type_to_proto, operands)))


# Nodes as messages


def _message(node: Node, schema: Schema, types: Mapping[Value, Type]) -> NodeProto:
    """``node`` for ONNX to look at, with names of no meaning."""
    proto = NodeProto(op_type=node.op_type, domain=node.domain)
    for what, values, names in (("i", node.inputs, proto.input), ("o", node.outputs, proto.output)):
        names.extend("" if v is None else f"{what}{i}" for i, v in enumerate(values))
    for name, value in node.attributes.items():
        attribute = schema.attributes.get(name)
        if attribute is not None:
            kind = AttributeProto.AttributeType.Value(attribute.kind)
            if isinstance(value, Graph):
                value = _stand_in(name, value, types)
            elif isinstance(value, TensorType) and value.value is not None:
                value = to_proto(value.value, value.dtype)
            proto.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    return proto


def _stand_in(name: str, graph: Graph, types: Mapping[Value, Type]) -> GraphProto:
    """A graph with the interface of ``graph``, whose one node stands for its contents."""
    inputs = [f"{name}/in{i}" for i in range(len(graph.inputs))]
    outputs = [f"{name}/out{i}" for i in range(len(graph.outputs))]
    node = helper.make_node(name, inputs, outputs, domain=_SUBGRAPHS)
    proto = GraphProto(name=name, node=[node])
    for infos, names, values in (
        (proto.input, inputs, graph.inputs),
        (proto.output, outputs, graph.outputs),
    ):
        for info, value in zip(names, values, strict=True):
            infos.add(name=info, type=type_to_proto(types.get(value)))
    return proto


def _put_subgraphs(subgraphs: Mapping[str, Graph], body: Graph, taken: dict[str, int]) -> None:
    """Put ``subgraphs``, by attribute, where nodes in ``body`` stand for them."""
    for place in list(body.graphs()):
        nodes: list[Node] = []
        for node in place.nodes:
            if node.domain == _SUBGRAPHS:
                name = partial(new_name, node.op_type, taken=taken)
                nodes += inline(subgraphs[node.op_type], node, place, name)
            else:
                nodes.append(node)
        place.nodes = nodes
