"""Every operator that ONNX does not define by others, with types of outputs by its schema.

They cannot run, and shapes are not known; element types are right wherever the schema ties
them to operands or attributes. That is enough to expand functions in any model.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from onnx import defs

from minirt.dtypes import BY_CODE, BY_NAME
from minirt.ops import registry
from minirt.ops.functions import find_function
from minirt.ops.registry import NEWEST_OPSETS, op
from minirt.types import SequenceType, TensorType, Type

__all__ = ["register_all"]

#: The subgraphs that give the types of outputs.
_SUBGRAPHS = {"If": "then_branch", "Loop": "body", "Scan": "body"}

#: Defined by others from some version on, but a body of an older version uses it.
_USED_BEFORE_IT_WAS_DEFINED = ("Relu",)


def register_all() -> None:
    """Register, for the length of a test, all versions of those that minirt does not have."""
    known = {(o.domain, o.name) for o in registry.operators()}
    for schema in defs.get_all_schemas_with_history():
        domain, name, since = schema.domain, schema.name, schema.since_version
        newest = NEWEST_OPSETS.get(domain, 0)
        if since > newest or (domain, name) in known:
            continue
        if find_function(domain, name, newest) is None or name in _USED_BEFORE_IT_WAS_DEFINED:
            op(name, domain=domain, since=since)(_function(schema))


def _function(schema: Any) -> Callable[..., Any]:
    def function(*operands: Type | None, **attributes: Any) -> tuple[tuple[Type, ...], None]:
        if schema.name in _SUBGRAPHS:
            made = attributes[_SUBGRAPHS[schema.name]].types(*_inputs_of_body(schema, operands))
            return tuple(map(_without_shape, made[schema.name == "Loop" :])), None
        count = min(schema.max_output, 8)
        parameters = [schema.outputs[min(i, len(schema.outputs) - 1)] for i in range(count)]
        return tuple(_type(schema, p, operands, attributes) for p in parameters), None

    # Operands and attributes may have the same name, which no function could say.
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        list(_parameters(schema)), __validate_parameters__=False
    )
    return function


def _inputs_of_body(schema: Any, operands: tuple[Type | None, ...]) -> list[Type | None]:
    """Operands, but the condition of If and the lengths that Scan takes before opset 9."""
    first = 1 if schema.name == "If" or (schema.name, schema.since_version) == ("Scan", 8) else 0
    return [t and _without_shape(t) for t in operands[first:]]


def _without_shape(type_: Type) -> Type:
    return TensorType(type_.dtype) if isinstance(type_, TensorType) else type_


def _parameters(schema: Any) -> Iterator[inspect.Parameter]:
    for parameter in schema.inputs:
        variadic = parameter.option == defs.OpSchema.FormalParameterOption.Variadic
        kind = inspect.Parameter.VAR_POSITIONAL if variadic else inspect.Parameter.POSITIONAL_ONLY
        yield inspect.Parameter(parameter.name, kind)
    for name in schema.attributes:
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)


def _type(schema: Any, output: Any, operands: Any, attributes: dict[str, Any]) -> Type:
    for parameter, operand in zip(schema.inputs, operands, strict=False):
        if operand is not None and parameter.type_str == output.type_str:
            return TensorType(operand.dtype) if isinstance(operand, TensorType) else operand
    if "value" in attributes:  # of ConstantOfShape
        return TensorType(attributes["value"].dtype if attributes["value"] else BY_NAME["float"])
    codes = [attributes[n] for n in ("to", "dtype", "output_dtype") if attributes.get(n)]
    tensors = [t.dtype for t in operands if isinstance(t, TensorType)]
    dtype = BY_CODE[codes[0]] if codes else (tensors or [BY_NAME["float"]])[0]
    if all(type_.startswith("seq(") for type_ in output.types):
        return SequenceType(TensorType(dtype))
    if len(output.types) == 1:
        return TensorType(BY_NAME[min(output.types)[len("tensor(") : -1]])
    elements = [t.element for t in operands if isinstance(t, SequenceType) and t.element]
    return elements[0] if elements else TensorType(dtype)
