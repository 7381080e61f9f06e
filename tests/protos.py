"""Protobuf messages for tests, also those that ONNX's text form cannot say."""

from __future__ import annotations

from typing import Any

from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

Shape = list[int | str | None]


def value(name: str, type_: int = TensorProto.FLOAT, shape: Shape | None = None) -> ValueInfoProto:
    """A declaration, float by default; of unknown rank without a shape."""
    return helper.make_tensor_value_info(name, type_, shape)


def untyped(name: str) -> ValueInfoProto:
    """A declaration that says nothing."""
    return ValueInfoProto(name=name)


def node(op_type: str, inputs: str, outputs: str, name: str = "", **attributes: Any) -> NodeProto:
    """A node; operands are separated by blanks, an omitted one is ``_``."""
    split = [[n.replace("_", "") for n in names.split()] for names in (inputs, outputs)]
    domain = attributes.pop("domain", "")
    return helper.make_node(op_type, *split, name=name, domain=domain, **attributes)


def graph(nodes: list[NodeProto], inputs: list = [], outputs: list = [], **more: Any):  # noqa: B006
    """A graph; an input or output that is a name has type float or none."""
    return helper.make_graph(
        nodes,
        "main",
        [value(i) if isinstance(i, str) else i for i in inputs],
        [untyped(o) if isinstance(o, str) else o for o in outputs],
        **more,
    )


def model(nodes: list[NodeProto], inputs: list, outputs: list, **more: Any) -> ModelProto:
    """A model of IR version 10 that imports opset 21, unless told otherwise."""
    opsets = more.pop("opsets", {"": 21})
    version, functions = more.pop("ir_version", 10), more.pop("functions", [])
    return helper.make_model(
        graph(nodes, inputs, outputs, **more),
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in opsets.items()],
        functions=functions,
        ir_version=version,
    )
