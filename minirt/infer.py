"""Types of values: an operator's one function gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from numbers import Integral
from typing import TYPE_CHECKING

from .errors import InputError, MinirtError, UnsupportedError, did_you_mean
from .load import read_graph
from .ops import registry
from .ops.checks import check_operand_types, type_name
from .ops.schemas import find_schema, newest_schema
from .passes.check import check
from .passes.upgrade import upgrade
from .types import Dim, TensorType, contradiction, merge, with_sizes

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from .external import Buffer
    from .graph import Graph, Node, Value
    from .load import Model
    from .ops.registry import Alias, Operator, Thunk
    from .ops.schemas import Parameter, Schema
    from .types import Type

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
    types: dict[Value, Type] = {}
    for inner in graph.graphs():
        given = {v: types[v] for v in inner.captures if v in types}
        types |= infer_types(inner, given | _defaults(inner))
    for value, type in types.items():
        value.type = type.without_value() if isinstance(type, TensorType) else type
    return graph


def _defaults(graph: Graph) -> dict[Value, Type]:
    """The contents of those inputs that no one means to be overridden.

    Before IR version 4 every initializer had to be listed as an input.
    """
    if graph.ir_version >= 4:
        return {}
    return {v: _constant(v, graph) for v in graph.inputs if v in graph.initializers}


def infer_types(graph: Graph, given: Mapping[Value, Type] | None = None) -> dict[Value, Type]:
    """The types of the values of ``graph``, which is not changed.

    ``given`` has types of inputs and captured values that are known better than the graph
    declares them. Constants carry their ``value``; the default of an input is not one.

    What the file declares fills what inference leaves open, and must not contradict it:
    SchemaError, or ShapeError, with the node. A size that comes from there is a promise
    of the file, not a fact. A value is left out if neither says anything about it.
    """
    types: dict[Value, Type] = {v: v.type for v in graph.inputs if v.type is not None}
    types |= {v: _constant(v, graph) for v in graph.initializers if v not in types}
    types.update(given or {})
    for node in graph.nodes:
        for value, type in zip(node.outputs, _output_types(node, types), strict=False):
            if value is not None and type is not None:
                types[value] = type
    return types


def _constant(value: Value, graph: Graph) -> TensorType:
    """The type of an initializer, with its contents."""
    array = graph.initializers[value]
    if not isinstance(value.type, TensorType):
        raise TypeError(f"initializer {value.name!r} of type {value.type}")
    return TensorType(value.type.dtype, array.shape, array)


def _output_types(node: Node, types: Mapping[Value, Type]) -> Sequence[Type | None]:
    """The types of the outputs of ``node``, held against those that are declared."""
    known = all(v is None or v in types for v in node.inputs)
    if not known or registry.find(node.domain, node.op_type, node.opset) is None:
        return [None if v is None else v.type for v in node.outputs]
    found, _ = apply(node, [None if v is None else types[v] for v in node.inputs])
    pairs = zip(node.outputs, found, strict=False)
    return [t if v is None else _settled(node, v, t) for v, t in pairs]


def _settled(node: Node, value: Value, found: Type) -> Type:
    """What inference found about an output, completed by what the file declares."""
    declared = value.type
    if declared is None or declared == found:
        return found
    merged = merge(found, declared)
    if merged is None:
        message = f"output {value.name!r} is declared {declared}, but is {found}"
        raise contradiction(message, found, declared).located(node.location)
    return merged


# One node


def apply(
    node: Node, operand_types: Sequence[Type | None]
) -> tuple[tuple[Type, ...], Thunk | Alias | None]:
    """Call the operator of ``node``: the types of its outputs, and how to run it.

    ``operand_types`` are those of ``node.inputs``, None where an operand is omitted. There
    may be more output types than the node has outputs. Errors name the node: SchemaError
    and ShapeError where types do not fit, UnsupportedError where there is no operator.
    """
    try:
        operator = registry.find(node.domain, node.op_type, node.opset)
        if operator is None:
            raise _not_implemented(node, "the operator is not implemented")
        binding = _bind(operator, node.opset, node.written_as, node.version != node.opset)
        binding.check(operand_types)
        types, how = operator.function(
            *operand_types,
            *[None] * (binding.fixed - len(operand_types)),
            **{name: node.attributes.get(name) for name in operator.attributes},
        )
    except MinirtError as error:
        error.located(node.location)
        raise
    except Exception as error:
        error.add_note(f"in {node.location}")
        raise
    types = types if isinstance(types, tuple) else (types,)
    if len(types) < len(node.outputs):
        message = f"only {len(types)} of {len(node.outputs)} outputs are implemented"
        raise _not_implemented(node, message).located(node.location)
    return types, how


def _not_implemented(node: Node, message: str) -> UnsupportedError:
    return UnsupportedError(message, op=node.qualified_name, opset=node.opset)


@dataclass(frozen=True, eq=False)
class _Binding:
    """The operand types that an operator may have at one opset, and how many it always gets."""

    fixed: int
    schema: Schema | None
    parameters: Sequence[Parameter]
    _seen: set[tuple[object, ...]] = field(default_factory=set)

    def check(self, operands: Sequence[Type | None]) -> None:
        """Raise SchemaError for operands of types that do not fit."""
        if self.schema is None:
            return
        kinds = tuple(
            t.dtype if isinstance(t, TensorType) else t and type_name(t) for t in operands
        )
        if kinds not in self._seen:
            check_operand_types(operands, self.parameters, self.schema)
            self._seen.add(kinds)


@cache
def _bind(operator: Operator, opset: int, written_as: str, upgraded: bool) -> _Binding:
    """The binding for nodes that the file writes as ``written_as`` of ``opset``."""
    fixed = len(operator.operands) - operator.is_variadic
    domain, name = operator.domain, operator.name
    schema, newest = find_schema(domain, written_as or name, opset), newest_schema(domain, name)
    if schema is None or newest is None:
        return _Binding(fixed, None, ())
    parameters = schema.inputs
    if upgraded:
        # The positions are those of the newest form; what the old one did not have is new there.
        old = {p.name: p for p in schema.inputs}
        parameters = tuple(old.get(p.name, p) for p in newest.inputs)
    if operator.types_of:
        schema = newest_schema(domain, operator.types_of) or schema
        allowed = schema.constraints
        parameters = tuple(replace(p, types=allowed[p.variable]) for p in parameters)
    return _Binding(fixed, schema, parameters)


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
