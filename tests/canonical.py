"""Graphs in a form that is equal for graphs that do the same in the same way."""

from __future__ import annotations

from itertools import count
from typing import Any

from minirt.graph import Graph, Value
from minirt.types import TensorType

__all__ = ["canonical"]


def canonical(graph: Graph, around: dict[Value, Any] | None = None) -> list[Any]:
    """The nodes of ``graph`` and its outputs, with numbers for values.

    ``around`` says what stands for the values of graphs around. It makes no difference
    whether a constant is an initializer or a node.
    """
    values: dict[Value, Any] = dict(around or {})
    depth = len(values)
    numbers = (f"{depth}:{number}" for number in count())
    values |= {v: _constant(v.type, array) for v, array in graph.initializers.items()}
    values |= zip(graph.inputs, numbers, strict=False)
    lines: list[Any] = []
    for node in graph.nodes:
        if node.op_type == "Constant":
            ((name, content),) = node.attributes.items()
            values[node.outputs[0]] = (
                _attribute(content, {}) if name == "value" else [name, content]
            )
            continue
        inputs = [v and values[v] for v in node.inputs]
        attributes = sorted((n, _attribute(a, values)) for n, a in node.attributes.items())
        values |= zip(node.outputs, numbers, strict=False)
        outputs = [v and values[v] for v in node.outputs]
        lines.append((node.domain, node.op_type, inputs, outputs, attributes))
    return [*lines, [values[v] for v in graph.outputs]]


def _constant(type_: Any, array: Any) -> tuple[Any, ...]:
    return "constant", str(type_.dtype), array.shape, array.tobytes() or array.tolist()


def _attribute(value: Any, values: dict[Value, Any]) -> Any:
    if isinstance(value, Graph):
        return canonical(value, values)
    if isinstance(value, list):
        return [_attribute(item, values) for item in value]
    if isinstance(value, TensorType) and value.value is not None:
        return _constant(value, value.value)
    return value
