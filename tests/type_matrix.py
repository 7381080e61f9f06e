"""Which operator takes which element types, found out by running each of them.

A node for each type variable of each operator comes from the tables of cases or from ONNX's
suite; its operands are made of every type that the schema allows. ``python tests/update.py``
writes the page TYPES.md, and :mod:`test_type_matrix` holds it against what is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from case_models import Form, build, type_of
from case_tables import WRITTEN, contents
from cases import Case
from onnx import defs

import minirt
from minirt.conformance import find_cases, read_values, suite_directory
from minirt.data.tensors import type_from_proto
from minirt.dtypes import TABLE, DType, Kind, find
from minirt.errors import MinirtError, SchemaError, UnsupportedError
from minirt.feeds import ValueInfo
from minirt.ops import registry
from minirt.ops.functions import find_function
from minirt.ops.registry import NEWEST_OPSETS
from minirt.ops.schemas import Parameter, Schema, find_schema, newest_schema
from minirt.types import TensorType, Type

__all__ = ["BODY", "KERNEL", "MISSING", "OPERATORS", "PAGE", "Row", "page", "rows"]

PAGE = Path(__file__).parent.parent / "TYPES.md"

#: What stands in a cell where ONNX allows the type: minirt has a kernel, it runs ONNX's
#: definition by other operators, or it has neither.
KERNEL, BODY, MISSING = "k", "b", "–"

#: The newest version of each operator, by domain and name.
OPERATORS: dict[tuple[str, str], Schema] = {
    key: schema
    for key in sorted({(s.domain, s.name) for s in defs.get_all_schemas()})
    if key[0] in NEWEST_OPSETS and (schema := newest_schema(*key)) and not schema.deprecated
}

#: Attributes that say the type of an output.
_TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype")

#: The element types, in the order of the table, as heads of columns.
_HEADS = (
    *("f32", "u8", "i8", "u16", "i16", "i32", "i64", "str", "bool", "f16", "f64", "u32", "u64"),
    *("c64", "c128", "bf16", "e4m3", "e4m3z", "e5m2", "e5m2z", "u4", "i4", "e2m1", "e8m0"),
    *("u2", "i2", "e2m3", "e3m2"),
)


@dataclass(frozen=True)
class Row:
    """The cells of one type variable, by element type, where ONNX allows the type.

    Of ``unproven`` types no case compares results: that they run is all that is known.
    """

    operator: str
    parameters: str
    cells: dict[DType, str]
    unproven: tuple[DType, ...] = ()

    def __str__(self) -> str:
        cells = " | ".join(self.cells.get(dtype, " ") for dtype in TABLE)
        return f"| {self.operator} | {self.parameters} | {cells} |"


def page(lines: Iterable[Row]) -> str:
    """The text of TYPES.md."""
    heads = f"| operator | of | {' | '.join(_HEADS)} |\n|---|---|{':-:|' * len(_HEADS)}\n"
    names = ", ".join(f"{h} {d.name}" for h, d in zip(_HEADS, TABLE, strict=True) if h != d.name)
    return f"{_INTRODUCTION.format(names=names)}\n{heads}" + "".join(f"{row}\n" for row in lines)


_INTRODUCTION = f"""\
# Operators and element types

For the newest version of each operator of ONNX, and for each group of operands and outputs
that have one type: **{KERNEL}** where minirt has a kernel, **{BODY}** where it runs ONNX's
definition of the operator by others, **{MISSING}** where ONNX allows the type and minirt has
neither, nothing where ONNX does not allow it. In a sequence, an optional or a map it is the
type of the elements. Written by `python tests/update.py`, which runs every cell; so do the
tests.

{{names}}.
"""


# Finding out


def rows(schema: Schema) -> Iterator[Row]:
    """The rows of an operator: for each type variable that is no single type, or the first."""
    groups: dict[str, list[Parameter]] = {}
    for parameter in (*schema.inputs, *schema.outputs):
        groups.setdefault(parameter.variable, []).append(parameter)
    chosen = [v for v, group in groups.items() if len(_allowed(group[0])) > 1] or list(groups)[:1]
    name = f"{schema.domain}.{schema.name}" if schema.domain else schema.name
    for variable in chosen:
        names = ", ".join(dict.fromkeys(p.name for p in groups[variable]))
        proven = _proven(schema, variable)
        cells, unproven = {}, []
        for dtype in _allowed(groups[variable][0]):
            cells[dtype] = _have(schema) if dtype in proven else _try(schema, variable, dtype)
            if cells[dtype] == KERNEL and dtype not in proven:
                unproven.append(dtype)
        yield Row(name, names, cells, tuple(unproven))


def _allowed(parameter: Parameter) -> list[DType]:
    names = {match[1] for text in parameter.types for match in re.finditer(r"\((\w+)\)", text)}
    return [dtype for dtype in TABLE if dtype.name in names]


def _have(schema: Schema) -> str:
    """How minirt runs an operator, if it does."""
    opset = NEWEST_OPSETS[schema.domain]
    if registry.find(schema.domain, schema.name, opset):
        return KERNEL
    return BODY if find_function(schema.domain, schema.name, opset) else MISSING


def _try(schema: Schema, variable: str, dtype: DType) -> str:
    """Run a node of the operator with elements of ``dtype``, the first that will take them."""
    have = _have(schema)
    if have == MISSING:
        return MISSING
    fault: MinirtError = UnsupportedError("there is no node to try")
    for case in _examples(schema, variable):
        try:
            if _run(_with_type(case, schema, variable, dtype), schema, variable, dtype):
                return have
        except (UnsupportedError, SchemaError) as error:
            # The types of attributes and bodies may have to be others as well.
            fault = error
    if isinstance(fault, UnsupportedError) or have == BODY:
        return MISSING
    fault.add_note(f"{schema} with {variable} = {dtype}")
    raise fault


def _run(case: Case, schema: Schema, variable: str, dtype: DType) -> bool:
    """Run a case; whether a variable that no operand has is of ``dtype`` then."""
    model, feeds = build(case, Form(constant=contents(case)))
    with np.errstate(all="ignore"):
        outputs = minirt.load(model).run(feeds)
    made = [
        _element(type_of(y)) is dtype
        for i, y in enumerate(outputs)
        if _at(schema.outputs, i).variable == variable and (hasattr(y, "dtype") or y)
    ]
    return all(made) and (bool(made) or _is_operand(schema, variable))


# Nodes


@cache
def _proven(schema: Schema, variable: str) -> frozenset[DType]:
    """The types with which a case of the newest version compares results."""
    written = [case for case in _cases(schema) if case in WRITTEN]
    return frozenset(
        dtype for case in written for dtype in _types_of(case, schema, variable) if dtype
    )


@cache
def _cases(schema: Schema) -> tuple[Case, ...]:
    """Nodes of the operator's newest version: of the tables, then of ONNX's suite."""
    written = [
        case
        for case in WRITTEN
        if (case.domain, case.op, case.raises) == (schema.domain, schema.name, None)
        and _version(case) == schema.since
    ]
    return (*written, *_suite().get((schema.domain, schema.name), ()))


def _version(case: Case) -> int:
    schema = find_schema(case.domain, case.op, case.opset)
    return schema.since if schema else 0


def _types_of(case: Case, schema: Schema, variable: str) -> list[DType | None]:
    """The element types that a variable has in a case, None for an operand that is not there."""
    inputs = [
        _element(case.types.get(i) or (None if x is None else type_of(x)))
        for i, x in enumerate(case.inputs)
        if _at(schema.inputs, i).variable == variable
    ]
    if inputs or case not in WRITTEN:
        return inputs
    outputs = case.results()
    return [
        _element(type_of(y) if hasattr(y, "dtype") or y else None)
        for i, y in enumerate(outputs)
        if y is not None and _at(schema.outputs, i).variable == variable
    ]


def _at(parameters: tuple[Parameter, ...], position: int) -> Parameter:
    return parameters[min(position, len(parameters) - 1)]


def _element(type: Type | None) -> DType | None:
    while type is not None and not hasattr(type, "dtype"):
        type = type.element
    return type and type.dtype


def _is_operand(schema: Schema, variable: str) -> bool:
    return any(p.variable == variable for p in schema.inputs)


def _examples(schema: Schema, variable: str) -> list[Case]:
    """The nodes in which an operand, or none at all, has a variable; the smallest first."""
    needed = _is_operand(schema, variable)
    fitting = [c for c in _cases(schema) if not needed or any(_types_of(c, schema, variable))]
    return sorted(fitting, key=lambda case: sum(_size(x) for x in case.inputs))


def _size(value: Any) -> int:
    return sum(map(_size, value)) if isinstance(value, list) else np.size(value)


def _with_type(case: Case, schema: Schema, variable: str, dtype: DType) -> Case:
    """A case in which what has the variable is made of elements of another type."""
    places = [_at(schema.inputs, i).variable == variable for i in range(len(case.inputs))]
    inputs = [
        _retyped(x, dtype) if here else x for x, here in zip(case.inputs, places, strict=True)
    ]
    types = {i: _retyped_type(t, dtype) if places[i] else t for i, t in case.types.items()}
    attributes = dict(case.attributes)
    if not _is_operand(schema, variable):
        for name in _TYPE_ATTRIBUTES:
            if name in schema.attributes:
                attributes[name] = dtype.code
        if "value" in schema.attributes:
            attributes["value"] = np.zeros(1, dtype.public)
    # What comes out does not matter, only which outputs there are.
    results = tuple(None if y is None else 0 for y in case.results())
    changed = {"inputs": tuple(inputs), "types": types, "attributes": attributes}
    return replace(case, expected=results, elementwise=False, **changed)


def _retyped(value: Any, dtype: DType) -> Any:
    if isinstance(value, list):
        return [_retyped(item, dtype) for item in value]
    if isinstance(value, dict):
        return {key: _retyped(item, dtype) for key, item in value.items()}
    if not isinstance(value, np.ndarray | np.generic):
        return value
    if dtype.kind is Kind.STRING:
        return np.asarray([str(item) for item in np.ravel(value)], object).reshape(np.shape(value))
    if np.asarray(value).dtype == object:
        return np.zeros(np.shape(value), dtype.public)
    array = np.asarray(value)
    own = find(array.dtype)
    if own and own.is_packed:  # not every two of ml_dtypes' types know each other
        array = array.astype(np.float64 if own.is_float else np.int64)
    if array.dtype.kind == "c" and dtype.kind is not Kind.COMPLEX:
        array = array.real
    with np.errstate(all="ignore"):
        return array.astype(dtype.public)


def _retyped_type(type: Type, dtype: DType) -> Type:
    if hasattr(type, "dtype"):
        return replace(type, dtype=dtype)
    return replace(type, element=type.element and _retyped_type(type.element, dtype))


@cache
def _suite() -> dict[tuple[str, str], list[Case]]:
    """The nodes of the suite's models of one node, as cases, where they fit the newest version."""
    found: dict[tuple[str, str], list[Case]] = {}
    for case in find_cases([suite_directory()]):
        proto = onnx.load(case.path / "model.onnx")
        node, *others = proto.graph.node
        schema = OPERATORS.get((node.domain, node.op_type))
        if schema and not others and not proto.graph.initializer and _fits(node, schema):
            found.setdefault((node.domain, node.op_type), []).append(
                _as_case(proto, case.data_sets[0])
            )
    return found


def _fits(node: onnx.NodeProto, schema: Schema) -> bool:
    return len(node.input) <= schema.inputs_range[1] and all(
        attribute.name in schema.attributes for attribute in node.attribute
    )


def _as_case(proto: onnx.ModelProto, data_set: Path) -> Case:
    node = proto.graph.node[0]
    declared = {v.name: type_from_proto(v.type) for v in proto.graph.input}
    infos = [ValueInfo(name, type) for name, type in declared.items()]
    values = dict(zip(declared, read_values(data_set, "input", infos), strict=True))
    operands = [(i, declared[name]) for i, name in enumerate(node.input) if name]
    return Case(
        node.op_type,
        tuple(values.get(name) for name in node.input),
        (0,) * len(node.output),
        {a.name: a for a in node.attribute},
        outputs=len(node.output),
        domain=node.domain,
        types={i: type for i, type in operands if not isinstance(type, TensorType)},
    )
