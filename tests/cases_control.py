"""If, Loop and Scan with bodies that only hand on what they get: what is handed where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from cases import Case
from cases_sequence import of
from onnx import GraphProto, TensorProto, helper

from minirt.data.arrays import to_storage
from minirt.data.tensors import to_proto
from minirt.dtypes import BY_NAME, find
from minirt.errors import ExecutionError, SchemaError, ShapeError
from minirt.ops.schemas import find_schema, versions
from minirt.types import OptionalType, SequenceType, TensorType, Type

A = np.float32([[1.5, -2.0, 3.0], [0.0, -0.0, 7.0]])
T, F = np.array(True), np.array(False)
EMPTY = np.zeros((2, 0), np.float32)


def body(
    inputs: Sequence[str],
    outputs: Sequence[str],
    constants: Mapping[str, Any] = MappingProxyType({}),
) -> GraphProto:
    """A graph whose outputs are its inputs and initializers, of types that it does not say."""
    return helper.make_graph(
        [],
        "body",
        [helper.make_empty_tensor_value_info(name) for name in inputs],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [_tensor(array, name) for name, array in constants.items()],
    )


def _tensor(array: Any, name: str) -> TensorProto:
    dtype = find(array.dtype)
    assert dtype is not None
    return to_proto(to_storage(np.asarray(array), dtype), dtype, name)


def tensor_types(op: str, opset: int) -> list[str]:
    """The names of the element types of tensors that an operator takes."""
    schema = find_schema("", op, opset)
    assert schema is not None
    names = sorted(name for name in schema.constraints["V"] if name.startswith("tensor("))
    return [name.removeprefix("tensor(").rstrip(")") for name in names]


# If


def branches(then: Sequence[Any], other: Sequence[Any]) -> dict[str, GraphProto]:
    """Branches that make constants."""
    return {
        name: body((), [f"{name}{i}" for i in range(len(arrays))], _numbered(name, arrays))
        for name, arrays in (("then_branch", then), ("else_branch", other))
    }


def _numbered(name: str, arrays: Sequence[Any]) -> dict[str, Any]:
    return {f"{name}{i}": array for i, array in enumerate(arrays)}


IF = [
    *(
        Case("If", (cond,), A if cond else -A, branches([A], [-A]), opset=opset)
        for opset in versions("", "If")
        for cond in (T, F)
    ),
    *(
        Case("If", (cond,), of(n, 2, 2) if cond else of(n, 3), branches([of(n, 2, 2)], [of(n, 3)]))
        for n in tensor_types("If", 25)
        for cond in (T, F)
    ),
    *(
        Case("If", (T.reshape(shape),), (A, EMPTY), branches([A, EMPTY], [A, A]))
        for shape in ((), (1,), (1, 1))
    ),
    Case("If", (F,), A[0], branches([A], [A[0]])),
    Case("If", (T,), (A, EMPTY), branches([A, EMPTY, A], [A, A, A]), outputs=2),
    Case("If", (T,), (A, None, EMPTY), branches([A, A, EMPTY], [A, A, A])),
    Case(
        "If",
        (np.array([True, False]),),
        attributes=branches([A], [A]),
        raises=(ShapeError, "cond is bool[2], but must be a single value"),
    ),
]

# Loop


def loop(carried: int, scanned: Sequence[int], **more: Any) -> dict[str, GraphProto]:
    """A body that hands on carried values, and scans those of these numbers, -1 the iteration's."""
    states = [f"v{i}" for i in range(carried)]
    items = ["i" if index < 0 else states[index] for index in scanned]
    return {"body": body(["i", "c", *states], ["c", *states, *items], **more)}


def once(x: Any, count: int) -> tuple[Any, ...]:
    """What a loop of so many iterations makes that hands on ``x``, and scans it."""
    return x, np.stack([x] * count) if count else np.empty((0, *x.shape), x.dtype)


THREE, NONE, MANY = np.int64(3), np.int64(0), np.int64(2**62)
LOOP = [
    *(
        Case("Loop", (THREE, cond, A), once(A, 3), loop(1, [0]), opset=opset)
        for opset in versions("", "Loop")
        for cond in (T, None)
    ),
    *(
        Case("Loop", (THREE, T, of(n, 2)), once(of(n, 2), 3), loop(1, [0]))
        for n in tensor_types("Loop", 25)
    ),
    # No iterations, for any reason.
    *(
        Case("Loop", (most, cond, A), once(A, 0), loop(1, [0]))
        for most, cond in ((NONE, T), (NONE, None), (np.int64(-5), T), (MANY, F), (None, F))
    ),
    # Single values may have dimensions.
    Case("Loop", (THREE.reshape(1), T.reshape(1, 1), A), once(A, 3), loop(1, [0])),
    # Nothing carried, nothing scanned; the number of the iteration, which is 0-d.
    Case("Loop", (THREE, None), np.arange(3), loop(0, [-1])),
    Case("Loop", (THREE, None), (np.arange(3), np.arange(3)), loop(0, [-1, -1])),
    Case("Loop", (THREE, T, A), A, loop(1, [])),
    Case("Loop", (THREE, T, A, EMPTY), (A, EMPTY, np.stack([A] * 3)), loop(2, [0, 1]), outputs=3),
    Case("Loop", (THREE, T, A, EMPTY), (A, None, None, np.stack([EMPTY] * 3)), loop(2, [0, 1])),
    # A condition that stops after the first iteration; without `cond` it does not count.
    *(
        Case(
            "Loop",
            (THREE, cond),
            np.arange(1 if cond is not None else 3),
            {"body": body(["i", "c"], ["stop", "i"], {"stop": F})},
        )
        for cond in (T, None)
    ),
    Case("Loop", (None, T), np.arange(1), {"body": body(["i", "c"], ["stop", "i"], {"stop": F})}),
    Case(
        "Loop",
        (np.int64([1, 2]), T),
        attributes=loop(0, [-1]),
        raises=(ShapeError, "M is int64[2], but must be a single value"),
    ),
    Case(
        "Loop",
        (THREE, np.array([True, True])),
        attributes=loop(0, [-1]),
        raises=(ShapeError, "cond is bool[2], but must be a single value"),
    ),
    Case(
        "Loop",
        (THREE, T, A),
        attributes=loop(0, [-1]),
        raises=(SchemaError, "subgraph 'body' has 2 inputs, not 3"),
    ),
    Case(
        "Loop",
        (THREE, T, A),
        attributes={"body": body(["i", "c", "v"], ["c"])},
        raises=(
            SchemaError,
            "body makes 1 values, but should make a condition and 1 carried value",
        ),
    ),
    Case(
        "Loop",
        (THREE, T),
        attributes={"body": body(["i", "c"], ["i", "i"])},
        raises=(SchemaError, "the condition that body makes is int64[], but should be bool[]"),
    ),
    Case(
        "Loop",
        (THREE, T),
        attributes={"body": body(["i", "c"], ["two", "i"], {"two": np.array([True, True])})},
        raises=(ShapeError, "the condition that body makes is bool[2], but must be a single value"),
    ),
    Case(
        "Loop",
        (THREE, T, A),
        attributes={"body": body(["i", "c", "v"], ["c", "i"])},
        raises=(SchemaError, "carried value 0 is float[2,3], but body makes int64[] of it"),
    ),
]


def containers(opset: int) -> list[tuple[Any, Type]]:
    """Values that are no tensors, as a loop of this version may carry them."""
    element = TensorType(BY_NAME["float"])
    sequence = SequenceType(element)
    found: list[tuple[Any, Type]] = [([A, A[0]], sequence), ([], sequence)]
    if opset >= 16:
        found += [([A], OptionalType(sequence)), (A, OptionalType(element))]
    return found


CARRIED = [
    Case("Loop", (most, T, x), (x,), loop(1, []), opset=opset, types={2: t})
    for opset in (13, 16, 25)
    for x, t in containers(opset)
    for most in (NONE, THREE)
]

# Scan


def scan(states: int, inputs: int, scanned: Sequence[int], **more: Any) -> dict[str, Any]:
    """A body that hands on states, and scans values of these numbers, states first."""
    names = [f"v{i}" for i in range(states + inputs)]
    outputs = [*names[:states], *(names[index] for index in scanned)]
    return {"body": body(names, outputs), "num_scan_inputs": inputs, **more}


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
S = np.float32([10.0, 20.0])
SCAN = [
    *(
        Case("Scan", (S, X), (S, X), scan(1, 1, [1]), opset=opset)
        for opset in versions("", "Scan")
        if opset > 8
    ),
    *(
        Case("Scan", (of(n, 2), of(n, 3, 2)), (of(n, 2), of(n, 3, 2)), scan(1, 1, [1]))
        for n in tensor_types("Scan", 25)
    ),
    # Axes and directions, of one and of several.
    *(
        Case(
            "Scan",
            (X,),
            np.moveaxis(np.moveaxis(X, i, 0)[:: 1 if forth == back else -1], 0, o),
            scan(
                0,
                1,
                [0],
                scan_input_axes=[i],
                scan_output_axes=[o],
                scan_input_directions=[int(forth)],
                scan_output_directions=[int(back)],
            ),
        )
        for i in (-3, -1, 0, 1, 2)
        for o in (-3, -2, 0, 2)
        for forth in (False, True)
        for back in (False, True)
    ),
    Case(
        "Scan",
        (S, X, np.arange(4)),
        (S, np.stack([S] * 4), np.moveaxis(X, 2, 0), np.arange(4)[::-1]),
        scan(1, 2, [0, 1, 2], scan_input_axes=[2, 0], scan_input_directions=[0, 1]),
    ),
    # Parts without dimensions, and no parts.
    Case("Scan", (S,), S, scan(0, 1, [0])),
    Case("Scan", (S, S[:0]), (S, np.empty((0, 2), "f4"), S[:0]), scan(1, 1, [0, 1])),
    Case(
        "Scan", (S, X[:, :0]), (S, np.empty((0, 2, 4), "f4")), scan(1, 1, [1], scan_input_axes=[1])
    ),
    Case("Scan", (S, X), S, scan(1, 1, [1]), outputs=1),
    Case("Scan", (S, X), (None, X), scan(1, 1, [1])),
]

WRONG_SCANS = [
    Case("Scan", (S, X), attributes=scan(1, 1, [1]) | changed, raises=(error, text))
    for changed, error, text in [
        ({"num_scan_inputs": 0}, SchemaError, "num_scan_inputs=0, but should be from 1 to"),
        ({"num_scan_inputs": 3}, SchemaError, "num_scan_inputs=3, but should be from 1 to"),
        (
            {"scan_input_axes": [0, 1]},
            SchemaError,
            "scan_input_axes has 2 items, but should have 1",
        ),
        ({"scan_input_axes": [3]}, ShapeError, "scan_input_axes=3 is not in [-3, 2]"),
        ({"scan_output_axes": [-4]}, ShapeError, "scan_output_axes=-4 is not in [-3, 2]"),
        ({"scan_output_axes": [0, 1]}, SchemaError, "scan_output_axes has 2 items"),
        ({"scan_input_directions": [2]}, SchemaError, "scan_input_directions is [2], but each"),
        ({"scan_output_directions": [-1]}, SchemaError, "scan_output_directions is [-1], but"),
        ({"body": body(["a", "b"], [])}, SchemaError, "body makes 0 values of 1 state variables"),
        ({"body": body(["a"], ["a"])}, SchemaError, "subgraph 'body' has 1 inputs, not 2"),
        (
            {"body": body(["a", "b"], ["b", "b"])},
            ShapeError,
            "state variable 0 is float[2], but body makes float[3,4] of it",
        ),
        (
            {"body": body(["a", "b"], ["n"], {"n": np.int64([1, 2])})},
            SchemaError,
            "state variable 0 is float[2], but body makes int64[2] of it",
        ),
    ]
] + [
    Case(
        "Scan",
        (X, S[:1]),
        attributes=scan(0, 2, [0]),
        raises=(ShapeError, "float[2,3,4], float[1] are scanned together, but have sizes [2, 1]"),
    ),
    Case(
        "Scan",
        (S, A[0, 0]),
        attributes=scan(1, 1, [1]),
        raises=(ShapeError, "scan_input_axes=0 is not in a tensor without dimensions"),
    ),
]


def padded(x: np.ndarray, lengths: Sequence[int], reverse: bool = False) -> np.ndarray:
    """Each sequence up to its length, and what a blank is in ``x``."""
    result = np.zeros_like(x)
    for row, source, length in zip(result, x, lengths, strict=True):
        row[:length] = source[:length][::-1] if reverse else source[:length]
    return result


LENGTHS = np.int64([2, 0])
TEXTS = np.array([["a", "b"], ["c", "d"]], object)
BATCHED = [
    Case("Scan", (lengths, S, X), (S, padded(X, counts, back)), attributes, opset=8)
    for lengths, counts in ((None, [3, 3]), (LENGTHS, LENGTHS), (np.int64([3, 1]), [3, 1]))
    for back in (False, True)
    for attributes in [scan(1, 1, [1], directions=[int(back)])]
] + [
    Case("Scan", (None, of(n, 2), of(n, 2, 3)), (of(n, 2), of(n, 2, 3)), scan(1, 1, [1]), opset=8)
    for n in tensor_types("Scan", 8)
]
BATCHED += [
    Case(
        "Scan",
        (np.int64([1, 0]), TEXTS),
        np.array([["a", ""], ["", ""]], object),
        scan(0, 1, [0]),
        opset=8,
    ),
    Case("Scan", (None, X[:0]), X[:0], scan(0, 1, [0]), opset=8),
    Case("Scan", (None, X[:, :0]), X[:, :0], scan(0, 1, [0]), opset=8),
    Case("Scan", (np.int64([0, 0]), X), np.zeros_like(X), scan(0, 1, [0]), opset=8),
    *(
        Case("Scan", (lengths, S, X), attributes=scan(1, 1, [1]), opset=8, raises=raises)
        for lengths, raises in [
            (np.int64([2, 4]), (ExecutionError, "sequence_lens[1] is 4, but not in [0, 3]")),
            (np.int64([-1, 4]), (ExecutionError, "sequence_lens[0] is -1, but not in [0, 3]")),
            (
                np.int64([1, 1, 1]),
                (ShapeError, "sequence_lens is int64[3], but should be int64[2]"),
            ),
            (np.int64([[1, 1]]), (ShapeError, "sequence_lens is int64[1,2], but should be")),
        ]
    ),
    *(
        Case("Scan", (None, *operands), attributes=attributes, opset=8, raises=raises)
        for operands, attributes, raises in [
            ((S, X[:1]), scan(1, 1, [1]), (ShapeError, "but have sizes [2, 1]")),
            ((X, X[:, :2]), scan(0, 2, [0]), (ShapeError, "but have sizes [3, 2]")),
            ((S, S), scan(1, 1, [1]), (ShapeError, "the sequence axis=1 is not in [-1, 0]")),
            ((S[0], X), scan(1, 1, [1]), (ShapeError, "the batch axis=0 is not in a tensor")),
            ((S, X), scan(1, 1, [1], directions=[2]), (SchemaError, "directions is [2], but each")),
        ]
    ),
]

CASES = [*IF, *LOOP, *CARRIED, *SCAN, *WRONG_SCANS, *BATCHED]
