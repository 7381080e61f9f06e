"""Models of one node each, made of a :class:`cases.Case`, in the forms in which nodes occur."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from cases import Case
from onnx import AttributeProto, ModelProto, NodeProto, helper

from minirt import SparseTensor
from minirt.data.arrays import to_storage
from minirt.data.tensors import to_proto, type_to_proto
from minirt.dtypes import BY_NAME, find
from minirt.ops import registry
from minirt.ops.registry import NEWEST_OPSETS
from minirt.ops.schemas import find_schema
from minirt.types import Dim, MapType, SequenceType, SparseTensorType, TensorType, Type

__all__ = ["COPIES", "Form", "build", "derived", "register_copy", "spread", "type_of"]

#: The domain of the operator that copies, see :func:`register_copy`.
COPIES = "test.copies"

#: As many elements the long variant of an elementwise case has: blocks, and a rest.
_LONG = 3001

#: How many bytes are dirty before the node gets memory for its outputs.
_DIRTY = 1 << 16


@dataclass(frozen=True)
class Form:
    """How the inputs of a node come to it, and how much of their types is declared.

    ``constant`` holds positions of initializers. ``inner``: inputs and outputs are values
    inside of the graph. ``kept``: so are they, and inputs are used again afterwards.
    ``shapes`` are ``"sizes"``, ``"names"`` or ``"none"``, for which not even ranks are declared.
    """

    constant: frozenset[int] = frozenset()
    inner: bool = False
    kept: bool = False
    shapes: str = "sizes"


# Types of values


def type_of(value: Any) -> Type:
    """The type of a value as callers hold it."""
    if isinstance(value, SparseTensor):
        return SparseTensorType(_dtype(value.values), value.shape)
    if isinstance(value, dict):
        key = "string" if isinstance(next(iter(value)), str) else "int64"
        return MapType(BY_NAME[key], type_of(np.asarray(next(iter(value.values())))))
    if isinstance(value, list):
        first = type_of(value[0])
        return SequenceType(TensorType(first.dtype) if isinstance(first, TensorType) else first)
    return TensorType(_dtype(value), np.shape(value))


def _dtype(array: Any) -> Any:
    dtype = find(array.dtype)
    if dtype is None:
        raise TypeError(f"ONNX has no {array.dtype}")
    return dtype


def _types(case: Case) -> list[Type | None]:
    """The types of operands, None where one is omitted."""
    return [
        case.types.get(i) or (None if value is None else type_of(value))
        for i, value in enumerate(case.inputs)
    ]


def _declared(type: Type, index: int, shapes: str) -> Type:
    if not isinstance(type, TensorType | SparseTensorType) or shapes == "sizes":
        return type
    if shapes == "none":
        return replace(type, shape=None)
    return replace(type, shape=tuple(Dim(f"{index}_{axis}") for axis in range(len(type.shape))))


# Models


def build(case: Case, form: Form = Form()) -> tuple[ModelProto, dict[str, Any]]:
    """A model with the case's node, called ``"node"``, and what to feed it.

    The node's operands are ``x0``, ``x1`` …, the outputs of the model ``y0``, ``y1`` …, then,
    where inputs are ``kept``, ``k0`` …, which must equal the inputs.
    """
    types, inner = _types(case), form.inner or form.kept
    names = ["" if type is None else f"x{i}" for i, type in enumerate(types)]
    fed = {i: f"{n}_fed" if inner else n for i, n in enumerate(names) if n}
    fed = {i: name for i, name in fed.items() if i not in form.constant}
    results = _output_names(case)
    made = [f"{n}_made" if inner and n else n for n in results]
    node = helper.make_node(case.op, names, made, name="node", domain=case.domain)
    node.attribute.extend(_attributes(case))
    nodes = [node]
    if inner:
        before = [_copy(name, f"x{i}", "dirt") for i, name in fed.items()]
        after = [_copy(m, n) for m, n in zip(made, results, strict=True) if n]
        after += [_copy(f"x{i}", f"k{i}") for i in fed if form.kept]
        dirt = helper.make_node("Dirt", [], ["dirt"], domain=COPIES)
        nodes = [dirt, *before, node, *after]
    outputs = [*filter(None, results), *(f"k{i}" for i in fed if form.kept)]
    graph = helper.make_graph(
        nodes,
        "case",
        [
            helper.make_value_info(n, type_to_proto(_declared(types[i], i, form.shapes)))
            for i, n in fed.items()
        ],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [_tensor(case.inputs[i], names[i]) for i in sorted(form.constant)],
    )
    opsets = {"": NEWEST_OPSETS[""], case.domain: case.opset, COPIES: 1}
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid(d, version) for d, version in opsets.items()]
    )
    return model, {name: case.inputs[i] for i, name in fed.items()}


def _output_names(case: Case) -> list[str]:
    results = case.results() if case.raises is None else (0,) * (case.outputs or 1)
    count = len(results) if case.outputs is None else case.outputs
    return [f"y{i}" if result is not None else "" for i, result in enumerate(results[:count])]


def _copy(source: str, target: str, *after: str) -> NodeProto:
    return helper.make_node("Copy", [source, *after], [target], domain=COPIES)


def _tensor(array: Any, name: str) -> Any:
    dtype = _dtype(array)
    return to_proto(to_storage(np.asarray(array), dtype), dtype, name)


def _attributes(case: Case) -> Iterator[AttributeProto]:
    schema = find_schema(case.domain, case.op, case.opset)
    for name, value in case.attributes.items():
        if isinstance(value, AttributeProto):
            yield value
            continue
        if isinstance(value, np.ndarray):
            value = _tensor(value, "")
        known = schema.attributes.get(name) if schema else None
        kind = None
        if known and isinstance(value, list | tuple) and not value:
            kind = AttributeProto.AttributeType.Value(known.kind)
        yield helper.make_attribute(name, value, attr_type=kind)


# The operator that copies


def register_copy() -> None:
    """Register ``Copy``, for the length of a test: what it gives lies in memory of the plan.

    Memory that is free is full of what ``Dirt`` left there.
    """

    @registry.op("Copy", domain=COPIES)
    def copy(x: Type, *after: Type) -> Any:
        if isinstance(x, TensorType):
            return x.without_value(), lambda: _copy_tensor
        return x, lambda: lambda value, *_: value

    @registry.op("Dirt", domain=COPIES)
    def dirt() -> Any:
        return TensorType(BY_NAME["uint8"], (_DIRTY,)), lambda: lambda out: out.fill(0xA5)


def _copy_tensor(x: np.ndarray, *rest: np.ndarray) -> None:
    rest[-1][...] = x


# Variants of inputs


def spread(value: Any) -> Any:
    """The same array in other memory: a view with gaps, backwards along the last axis."""
    if not isinstance(value, np.ndarray) or not value.ndim:
        return value
    memory = np.empty([2 * n + 1 for n in value.shape], value.dtype)
    view = memory[tuple(slice(1, None, 2) for _ in value.shape)][..., ::-1]
    view[...] = value
    return view


def derived(case: Case) -> Iterator[Case]:
    """An elementwise case on single elements, on none, and on many."""
    if not case.elementwise:
        return
    made: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "0-d": lambda x: x.reshape(-1)[:1].reshape(()),
        "empty": lambda x: np.empty((2, 0, 3), x.dtype),
    }
    if len({x.shape for x in case.inputs if x is not None and x.ndim}) == 1:
        made["long"] = lambda x: np.resize(x, _LONG)
    for name, change in made.items():
        inputs = tuple(x if x is None or not x.ndim else change(x) for x in case.inputs)
        yield replace(case, inputs=inputs, elementwise=False, id=f"{case.id} {name}".strip())
