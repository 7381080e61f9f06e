"""Optionals: what is there, what is not, and tensors and sequences in their place."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import Case
from cases_sequence import of

from minirt.data.tensors import type_to_proto
from minirt.dtypes import BY_NAME
from minirt.errors import ExecutionError, SchemaError
from minirt.ops.schemas import find_schema
from minirt.types import OptionalType, SequenceType, TensorType, Type

A = np.float32([[1.5, -2.0, 3.0], [0.0, -0.0, 7.0]])
FLOAT = TensorType(BY_NAME["float"], (2, 3))
FLOATS = SequenceType(FLOAT)


def elements(op: str, opset: int) -> list[tuple[Any, Type]]:
    """A value of every type that an optional of this version may hold, with its type."""
    schema = find_schema("", op, opset)
    assert schema is not None
    found: list[tuple[Any, Type]] = []
    for name in sorted(schema.constraints["O"]):
        if name.startswith("optional("):
            dtype = name.rpartition("(")[2].rstrip(")")
            element = TensorType(BY_NAME[dtype], (2, 2))
            if "seq(" in name:
                found.append(([of(dtype, 2, 2), of(dtype, 2, 2)], SequenceType(element)))
            else:
                found.append((of(dtype, 2, 2), element))
    assert found
    return found


def optional(element: Type) -> dict[int, Type]:
    return {0: OptionalType(element)}


CASES = [
    # Optional
    *(
        Case("Optional", (x,), x, opset=opset, types={0: t})
        for opset in (15, 28)
        for x, t in elements("Optional", opset)
    ),
    Case("Optional", (A,), A, {"type": type_to_proto(FLOAT)}),
    Case("Optional", (A,), A, {"type": type_to_proto(TensorType(FLOAT.dtype))}),
    Case(
        "Optional",
        (A,),
        attributes={"type": type_to_proto(FLOATS)},
        raises=(SchemaError, "input is float[2,3], but type says seq(float[2,3])"),
    ),
    Case("Optional", (), raises=(SchemaError, "needs an input, or the attribute type")),
    # OptionalGetElement
    *(
        Case("OptionalGetElement", (x,), x, opset=opset, types={0: type})
        for opset in (15, 18, 28)
        for x, t in elements("OptionalGetElement", opset)
        for type in ([OptionalType(t)] if opset == 15 else [OptionalType(t), t])
    ),
    *(
        Case(
            "OptionalGetElement",
            (None,),
            types=optional(t),
            opset=opset,
            raises=(ExecutionError, f"the optional({t}) is empty"),
        )
        for t in (FLOAT, FLOATS)
        for opset in (15, 18, 28)
    ),
    # OptionalHasElement
    *(
        Case("OptionalHasElement", (x,), np.True_, opset=opset, types={0: type})
        for opset in (15, 18, 28)
        for x, t in elements("OptionalHasElement", opset)
        for type in ([OptionalType(t)] if opset == 15 else [OptionalType(t), t])
    ),
    *(
        Case("OptionalHasElement", (None,), np.False_, opset=opset, types=optional(t))
        for opset in (15, 18, 28)
        for t in (FLOAT, FLOATS)
    ),
    Case("OptionalHasElement", ([],), np.True_, types=optional(FLOATS)),
    Case("OptionalHasElement", ([],), np.True_, types={0: FLOATS}),
    *(
        Case("OptionalHasElement", inputs, np.False_, opset=opset)
        for opset in (18, 28)
        for inputs in ((), (None,))
    ),
]
