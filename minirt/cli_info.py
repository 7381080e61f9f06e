"""What ``minirt info`` says about a model. Needs neither Numba nor the model's operators."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import TYPE_CHECKING

from .errors import printable
from .load import read_graph
from .passes.check import listed, missing_operators
from .types import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .graph import Graph, Value

__all__ = ["describe", "megabytes"]

#: The most characters of a line, and of a first column that the second one waits for.
_LONGEST, _WIDEST = 2000, 60


def describe(path: str, *, follow_symlinks: bool = False) -> Iterator[str]:
    """The model's head, inputs, outputs, operators and those that minirt lacks, as lines.

    Raises what :func:`minirt.load.read_graph` raises.
    """
    graph = read_graph(path, follow_symlinks=follow_symlinks)
    return (printable(line, _LONGEST) for line in (path, *_lines(graph)))


def _lines(graph: Graph) -> Iterator[str]:
    yield from _table(_head(graph))
    yield "inputs"
    yield from _table(_values(graph, graph.inputs))
    yield "outputs"
    yield from _table(_values(graph, graph.outputs))
    yield "operators"
    counts = Counter(node.qualified_name for inner in graph.graphs() for node in inner.nodes)
    yield from _table((name, str(count)) for name, count in sorted(counts.items()))
    if missing := missing_operators(graph):
        yield "not implemented"
        yield from (f"  {operator}" for operator in listed(missing))


def megabytes(size: int) -> str:
    """A number of bytes for a person: ``"512 B"``, ``"3.4 kB"``, ``"12.0 MB"``."""
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{size} B" if unit == "B" else f"{value:.1f} {unit}"


def _head(graph: Graph) -> Iterator[tuple[str, str]]:
    if graph.producer:
        yield "producer", graph.producer
    yield "IR version", str(graph.ir_version)
    opsets = graph.opsets.items()
    yield "opsets", ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in opsets)
    arrays = [(v, array) for g in graph.graphs() for v, array in g.initializers.items()]
    elements = sum(prod(array.shape) for _, array in arrays)
    size = sum(_size(value, array.size) for value, array in arrays)
    where = f"{len(arrays)} initializer{'s' * (len(arrays) != 1)}"
    yield "parameters", f"{elements:,} in {where}, {megabytes(size)}"
    for key, value in graph.metadata.items():
        yield key, " ".join(value.split())
    if graph.doc:
        yield "doc", " ".join(graph.doc.split())


def _size(value: Value, count: int) -> int:
    """Bytes that the elements take in a file."""
    return value.type.dtype.packed_size(count) if isinstance(value.type, TensorType) else 0


def _values(graph: Graph, values: Iterable[Value]) -> Iterator[tuple[str, str]]:
    for value in values:
        type_ = "type not declared" if value.type is None else str(value.type)
        yield value.name, type_ + (", has a default" if value in graph.initializers else "")


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Two columns, indented; a word where there are no rows."""
    rows = list(rows)
    width = min(max((len(left) for left, _ in rows), default=0), _WIDEST)
    yield from (f"  {left:{width}}  {right}" for left, right in rows)
    if not rows:
        yield "  none"
