"""Graphs as text for people: a line a value, with its type and what makes it.

::

    graph 'casts' (IR 10, ai.onnx 21)
      input %x: float[N,3]
      const %scale: float[2] = [0.5, 2.0]
      %t: float16[N,3] = Cast(%x, to=float16)
      %y: float[N,3] = If(%c)
        then_branch:
          ...
      output %y: float[N,3]
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .dtypes import BY_CODE
from .errors import printable
from .graph import Graph
from .types import TensorType

if TYPE_CHECKING:
    from .graph import Node, Value

__all__ = ["graph_text"]

#: Longer lists and tensors are not written out, and longer names and texts not to their end:
#: a name stands in a line for each of its uses.
_MOST_ELEMENTS, _MOST_CHARACTERS = 8, 200

_PLAIN_NAME = re.compile(r"[\w./:-]+")

#: Attributes whose numbers are element types.
_TYPE_CODES = frozenset({"to", "dtype", "output_dtype", "stash_type", "softmax_precision"})


def graph_text(graph: Graph) -> str:
    """``graph`` with its subgraphs, as lines without an end of line after the last."""
    opsets = (f"{domain or 'ai.onnx'} {version}" for domain, version in graph.opsets.items())
    versions = ", ".join([f"IR {graph.ir_version}", *opsets])
    lines = [printable(f"graph {graph.name!r} ({versions})")]
    # Instead of recursion: graphs nest to any depth.
    pending = [_lines(graph, 1, {graph})]
    while pending:
        for item in pending[-1]:
            if isinstance(item, str):
                lines.append(printable(item))
            else:
                pending.append(item)
                break
        else:
            pending.pop()
    return "\n".join(lines)


_Lines = Iterator["str | _Lines"]


def _lines(graph: Graph, depth: int, shown: set[Graph]) -> _Lines:
    """The lines of ``graph``, and those of a subgraph where they belong, once each."""
    indent, inputs = "  " * depth, set(graph.inputs)
    for value in graph.inputs:
        default = _contents(value, graph) or " = ..." if value in graph.initializers else ""
        yield f"{indent}input {_typed(value)}{default}"
    for value in graph.initializers:
        if value not in inputs:
            yield f"{indent}const {_typed(value)}{_contents(value, graph)}"
    for node in graph.nodes:
        yield f"{indent}{_node(node)}"
        for name, attribute in node.attributes.items():
            for title, inner in _titled_graphs(name, attribute):
                again = inner in shown
                yield f"{indent}  {title}:{' as above' if again else ''}"
                if not again:
                    shown.add(inner)
                    yield _lines(inner, depth + 2, shown)
    for value in graph.outputs:
        yield f"{indent}output {_typed(value)}"


def _titled_graphs(name: str, attribute: Any) -> Iterator[tuple[str, Graph]]:
    if isinstance(attribute, Graph):
        yield name, attribute
    elif isinstance(attribute, list):
        for index, item in enumerate(attribute):
            if isinstance(item, Graph):
                yield f"{name}[{index}]", item


def _node(node: Node) -> str:
    outputs = ", ".join("_" if v is None else _typed(v) for v in node.outputs)
    arguments = ["_" if v is None else _named(v) for v in node.inputs]
    for name, value in node.attributes.items():
        text = _attribute(name, value)
        if text and not _is_default(node, name):
            arguments.append(f"{name}={text}")
    return f"{outputs} = {node.qualified_name}({', '.join(arguments)})"


def _is_default(node: Node, name: str) -> bool:
    value, default = node.attributes[name], node.defaults.get(name)
    return type(value) is type(default) and bool(value == default)


def _typed(value: Value) -> str:
    return f"{_named(value)}: {value.type or '?'}"


def _named(value: Value) -> str:
    name = _cut(value.name)
    return f"%{name if _PLAIN_NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)}"


def _contents(value: Value, graph: Graph) -> str:
    """``" = [1, 2]"`` for a small initializer, "" for a large one."""
    array = graph.initializers[value]
    if array.size > _MOST_ELEMENTS or not isinstance(value.type, TensorType):
        return ""
    return f" = {_elements(array.view(value.type.dtype.public))}"


def _attribute(name: str, value: Any) -> str:
    """The text of an attribute, "" for graphs, which have lines of their own."""
    if name in _TYPE_CODES and type(value) is int and value in BY_CODE:
        return BY_CODE[value].name
    if isinstance(value, TensorType) and value.value is not None:
        small = value.value.size <= _MOST_ELEMENTS
        return _elements(value.value.view(value.dtype.public)) if small else str(value)
    if isinstance(value, list):
        if any(isinstance(item, Graph) for item in value):
            return ""
        shown = [_attribute("", item) for item in value[:_MOST_ELEMENTS]]
        more = [f"... {len(value)} in all"] if len(value) > _MOST_ELEMENTS else []
        return f"[{', '.join(shown + more)}]"
    return "" if isinstance(value, Graph) else _scalar(value)


def _elements(array: np.ndarray) -> str:
    """``array`` in nested brackets; a 0-d one is its element."""
    if array.ndim == 0:
        return _scalar(array.item() if array.dtype == object else array[()])
    if not array.size:
        return "[]"  # of which there could be any number
    items = map(_scalar, array) if array.ndim == 1 else map(_elements, array)
    return f"[{', '.join(items)}]"


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(_cut(value), ensure_ascii=False)
    # ONNX attributes are float32: their shortest digits, not those of the float64.
    return str(np.float32(value) if type(value) is float else value)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."
