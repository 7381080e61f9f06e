"""What ``minirt info`` says about a model. Needs neither Numba nor the model's operators."""

from __future__ import annotations

import re
from collections import Counter
from math import prod
from typing import TYPE_CHECKING, Any

from ..errors import InputError, printable
from ..model.infer import infer
from ..model.load import read_graph, read_model
from ..passes.missing import find_missing, listed
from ..types import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..graph import Graph, Value
    from ..model.infer import Dims

__all__ = ["describe", "megabytes", "read_shapes"]

#: The most characters of a line, and of a first column that the second one waits for.
_LONGEST, _WIDEST = 2000, 60


def describe(
    path: str,
    *,
    shapes: Mapping[str, Dims] | None = None,
    follow_symlinks: bool = False,
    base_dir: str | None = None,
) -> Iterator[str]:
    """The model's head, inputs, outputs, operators and those that minirt lacks, as lines.

    With ``shapes``, which may be empty, the whole graph follows, each value with its type,
    where inputs have those shapes. Raises what :func:`minirt.model.load.read_graph` and
    :func:`minirt.infer` raise.
    """
    model, folder = read_model(path)  # once: it may come from a pipe
    where: Any = {"follow_symlinks": follow_symlinks, "base_dir": base_dir or folder}
    lines = [path, *_lines(read_graph(model, **where))]
    if shapes is not None:
        lines += [
            "values",
            *(f"  {line}" for line in str(infer(model, shapes, **where)).split("\n")),
        ]
    return (printable(line, _LONGEST) for line in lines)


def read_shapes(arguments: Sequence[str]) -> dict[str, Dims]:
    """What ``-s`` arguments say, by input: ``x=1,N,?`` is ``[1, "N", None]``, ``x=`` a scalar.

    Raises InputError that names the argument.
    """
    shapes: dict[str, Dims] = {}
    for argument in arguments:
        name, equals, text = argument.rpartition("=")  # names may contain "=", too
        if not equals:
            raise InputError(f"-s {argument}: write -s NAME=SIZES, such as -s x=1,3,224,224")
        if name in shapes:
            raise InputError(f"-s {argument}: input {name!r} has a shape already")
        shapes[name] = [_dimension(part.strip(), argument) for part in text.split(",") if text]
    return shapes


def _dimension(text: str, argument: str) -> int | str | None:
    if re.fullmatch("[0-9]{1,18}", text):
        return int(text)
    if not text or re.match(r"[-+.\d]", text):
        raise InputError(f"-s {argument}: {text!r} is no size from 0, no name and no ?")
    return None if text == "?" else text


def _lines(graph: Graph) -> Iterator[str]:
    yield from _table(_head(graph))
    yield "inputs"
    yield from _table(_values(graph, graph.inputs))
    yield "outputs"
    yield from _table(_values(graph, graph.outputs))
    yield "operators"
    counts = Counter(node.qualified_name for inner in graph.graphs() for node in inner.nodes)
    yield from _table((name, str(count)) for name, count in sorted(counts.items()))
    if missing := find_missing(graph):
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
        default = ", has a default" if value in graph.initializers else ""
        doc = f"  {' '.join(value.doc.split())}" if value.doc else ""
        yield value.name, f"{type_}{default}{doc}"


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Two columns, indented; a word where there are no rows."""
    rows = list(rows)
    width = min(max((len(left) for left, _ in rows), default=0), _WIDEST)
    yield from (f"  {left:{width}}  {right}" for left, right in rows)
    if not rows:
        yield "  none"
