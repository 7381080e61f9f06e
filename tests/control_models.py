"""Models with subgraphs, in ONNX's text form."""

from __future__ import annotations

from typing import Any

from onnx import ModelProto

from models import model

__all__ = ["conditional", "loop", "scan", "untyped"]


def conditional(then: str, other: str, result: str = "y", on: str = "c") -> str:
    """An If; each branch is ``"outputs; nodes"``."""
    branches = ", ".join(
        f"{name}_branch: graph = {name} () => ({outputs}) {{ {nodes} }}"
        for name, (outputs, nodes) in (("then", then.split(";")), ("else", other.split(";")))
    )
    return f"{result} = If ({on}) <{branches}>"


def loop(operands: str, inputs: str, nodes: str, outputs: str, results: str) -> str:
    """A Loop, of a body that does not say which types its inputs and outputs have."""
    body = f"body ({inputs}) => ({outputs}) {{ {nodes} }}"
    return f"{results} = Loop ({operands}) <body: graph = {body}>"


def scan(
    operands: str, inputs: str, nodes: str, outputs: str, results: str, attributes: str
) -> str:
    """A Scan, of a body that does not say which types its inputs and outputs have."""
    body = f"body ({inputs}) => ({outputs}) {{ {nodes} }}"
    return f"{results} = Scan <{attributes}, body: graph = {body}> ({operands})"


def untyped(inputs: str, outputs: str, body: str, **more: Any) -> ModelProto:
    """A model that does not say which types its outputs have: ``"x y"``."""
    proto = model(inputs, ", ".join(f"float {name}" for name in outputs.split()), body, **more)
    for output in proto.graph.output:
        output.ClearField("type")
    return proto
