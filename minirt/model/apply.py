"""One node: its operator's function, called with the types of its operands."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import MinirtError, SchemaError, UnsupportedError
from ..graph import Graph
from ..ops import registry
from ..ops.checks import check_operand_types, type_name
from ..ops.registry import Alias
from ..ops.schemas import find_schema, newest_schema, schema_of
from ..types import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..graph import Node
    from ..ops.registry import Body, Operator, Thunk
    from ..ops.schemas import Parameter, Schema
    from ..types import Type

__all__ = ["apply"]


def apply(
    node: Node,
    operand_types: Sequence[Type | None],
    body: Callable[[Graph], Body] | None = None,
) -> tuple[tuple[Type, ...], Thunk | Alias | None]:
    """Call the operator of ``node``: the types of its outputs, and how to run it.

    ``operand_types`` are those of ``node.inputs``, None where an operand is omitted;
    ``body`` makes of a subgraph what the operator gets for it. There may be more output
    types than the node has outputs. Errors name the node: SchemaError and ShapeError where
    types do not fit, UnsupportedError where there is no operator.
    """
    try:
        operator = registry.find(node.domain, node.op_type, node.opset)
        if operator is None:
            raise _not_implemented(node, "the operator is not implemented")
        binding = _bind(operator, node.opset, node.written_as, node.version != node.opset)
        binding.check(operand_types)
        keywords = {name: _bound(node.attributes.get(name), body) for name in operator.attributes}
        if operator.counts:
            keywords[operator.counts] = len(node.outputs)
        missing = [None] * (binding.fixed - len(operand_types))
        types, how = operator.function(*operand_types, *missing, **keywords)
    except MinirtError as error:
        error.located(node.location)
        raise
    except Exception as error:
        error.add_note(f"in {node.location}")
        raise
    types = types if isinstance(types, tuple) else (types,)
    if len(types) < len(node.outputs):
        raise _too_few(node, len(types)).located(node.location)
    if how is not None and not isinstance(how, Alias):
        # It is computed, even if its type was made from one that carries contents.
        types = tuple(t.without_value() if isinstance(t, TensorType) else t for t in types)
    return types, how


def _bound(attribute: Any, body: Callable[[Graph], Body] | None) -> Any:
    if body is not None and isinstance(attribute, list):
        return [_bound(item, body) for item in attribute]
    return body(attribute) if body is not None and isinstance(attribute, Graph) else attribute


def _too_few(node: Node, made: int) -> MinirtError:
    """The error for a node that has more outputs than are made."""
    if any(node.subgraphs()):
        return SchemaError(f"has {len(node.outputs)} outputs, but its subgraphs make {made}")
    return _not_implemented(node, f"only {made} of {len(node.outputs)} outputs are implemented")


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
    schema, newest = find_schema(domain, written_as or name, opset), schema_of(operator)
    if schema is None or newest is None:
        return _Binding(fixed, None, ())
    parameters = schema.inputs
    if upgraded:
        # The positions are those of the newest form; what the old one did not have is new there.
        old = {p.name: p for p in schema.inputs}
        parameters = tuple(_either(old.get(p.name, p), p) for p in newest.inputs)
    if operator.types_of:
        schema = newest_schema(domain, operator.types_of) or schema
        allowed = schema.constraints
        parameters = tuple(replace(p, types=allowed[p.variable]) for p in parameters)
    return _Binding(fixed, schema, parameters)


def _either(old: Parameter, new: Parameter) -> Parameter:
    """The old operand, or in its place the attribute of that name, which became an operand."""
    return replace(new, types=old.types | new.types) if old.types.isdisjoint(new.types) else old
