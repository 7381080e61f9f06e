"""Inference for people: a model's graph with the type of every value."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING

from ..errors import InputError, did_you_mean
from ..passes.check import check
from ..passes.upgrade import upgrade
from ..types import Dim, TensorType, merge, with_sizes
from .apply import apply
from .load import read_graph
from .typed import constant_type, infer_types

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from ..data.external import Buffer
    from ..graph import Graph, Value
    from ..types import Type
    from .load import Model

    #: A size, a name, or None for a dimension that is not known.
    Dims = Sequence[int | str | None]

__all__ = ["apply", "infer", "infer_types"]


def infer(
    model: Model,
    shapes: Mapping[str, Dims] | None = None,
    *,
    follow_symlinks: bool = False,
    base_dir: str | os.PathLike[str] | None = None,
    external: Mapping[str, Buffer] | None = None,
) -> Graph:
    """The graph of ``model``, with the type of every value as far as it can be known.

    ``str()`` of it is a text for people. ``shapes`` gives shapes of inputs, each
    dimension a number, a name or None; a number for a named dimension holds wherever the
    model uses the name. Values of operators that minirt does not have get the types that
    the file declares; ``value.type`` is None if it declares none. ``follow_symlinks``,
    ``base_dir`` and ``external`` say where external data is, see :func:`minirt.load`.

    Raises ModelError for a model that is wrong, InputError for shapes that do not fit it,
    and OSError for a file that cannot be read.
    """
    graph = read_graph(model, follow_symlinks=follow_symlinks, base_dir=base_dir, external=external)
    check(graph)
    upgrade(graph)
    if shapes:
        _fix_sizes(graph, shapes)
    for value, type in infer_types(graph, _defaults(graph)).items():
        value.type = type.without_value() if isinstance(type, TensorType) else type
    return graph


def _defaults(graph: Graph) -> dict[Value, Type]:
    """The contents of those inputs that no one means to be overridden, at any depth.

    Before IR version 4 every initializer had to be listed as an input.
    """
    if graph.ir_version >= 4:
        return {}
    return {
        value: constant_type(value, inner)
        for inner in graph.graphs()
        for value in inner.inputs
        if value in inner.initializers
    }


# Shapes of inputs


def _fix_sizes(graph: Graph, shapes: Mapping[str, Dims]) -> None:
    """Give inputs these shapes, and named dimensions their sizes wherever they are."""
    inputs = {v.name: v for v in graph.inputs}
    sizes: dict[str, tuple[int, str]] = {}
    for name, dims in shapes.items():
        value = inputs.get(name)
        if value is None:
            raise InputError(f"shapes: the model has no input {name!r}{did_you_mean(name, inputs)}")
        declared = value.type
        if not isinstance(declared, TensorType):
            raise InputError(f"shapes: input {name!r} is {declared}, which has no shape")
        given = TensorType(declared.dtype, _shape(name, dims))
        value.type = merge(given, declared)
        if value.type is None:
            raise InputError(f"shapes: input {name!r} is {declared}, not {given}")
        for symbol, size in zip(declared.shape or (), given.shape or (), strict=False):
            if isinstance(symbol, Dim) and symbol.name and isinstance(size, int):
                first, where = sizes.setdefault(symbol.name, (size, name))
                if first != size:
                    raise InputError(
                        f"shapes: {symbol} is {first} in input {where!r}, but {size} in {name!r}"
                    )
    numbers = {symbol: size for symbol, (size, _) in sizes.items()}
    for inner in graph.graphs():
        for value in inner.values():
            value.type = value.type and with_sizes(value.type, numbers)


def _shape(name: str, dims: Dims) -> tuple[int | Dim, ...]:
    if not isinstance(dims, Sequence) or isinstance(dims, str):
        raise InputError(f"shapes: input {name!r} has {dims!r}, which is no list of dimensions")
    return tuple(_dimension(name, dim) for dim in dims)


def _dimension(name: str, dim: object) -> int | Dim:
    if dim is None or isinstance(dim, str):
        return Dim(dim)
    if isinstance(dim, Integral) and not isinstance(dim, bool) and int(dim) >= 0:
        return int(dim)
    raise InputError(
        f"shapes: input {name!r} has dimension {dim!r}; one is a number from 0, a name or None"
    )
