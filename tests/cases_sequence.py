"""Sequences of tensors, by Python's lists and NumPy's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from case_elements import elements
from cases import Case

from minirt.dtypes import BY_NAME
from minirt.errors import ExecutionError, SchemaError, ShapeError
from minirt.ops.schemas import find_schema
from minirt.types import Dim, SequenceType, TensorType

A = np.float32([[1.5, -2.0, 3.0], [0.0, -0.0, 7.0]])
B = np.float32([[4.0, 5.0, 6.0]])
C = np.float32(8.0)[...]
EMPTY = np.zeros((0, 3), np.float32)
MIXED = [A, C, B, EMPTY]
FLOATS = {0: SequenceType(TensorType(BY_NAME["float"]))}
ROWS = {0: SequenceType(TensorType(BY_NAME["float"], (Dim(), 3)))}


def of(name: str, *shape: int) -> np.ndarray:
    """A tensor of this element type."""
    return elements(BY_NAME[name].public, *shape)


def element_types(op: str, opset: int, variable: str) -> list[str]:
    """The names of the element types of the sequences that an operator takes or makes."""
    schema = find_schema("", op, opset)
    assert schema is not None
    found = [name for name in schema.constraints[variable] if name.startswith("seq(")]
    return sorted(name.rpartition("(")[2].rstrip(")") for name in found)


def at(sequence: list[Any], position: Any) -> Any:
    return sequence[int(position)]


def inserted(sequence: list[Any], tensor: Any, position: Any = None) -> list[Any]:
    result = list(sequence)
    result.insert(len(result) if position is None else int(position), tensor)
    return result


def erased(sequence: list[Any], position: Any = None) -> list[Any]:
    result = list(sequence)
    del result[-1 if position is None else int(position)]
    return result


def put_together(sequence: list[Any], axis: int, new_axis: int = 0) -> Any:
    return (np.stack if new_axis else np.concatenate)(sequence, axis)


def split(array: Any, sizes: Any = None, axis: int = 0, keepdims: int = 1) -> list[Any]:
    """By the words of the specification."""
    count = array.shape[axis]
    if sizes is None:
        parts = [array.take([i] if keepdims else i, axis) for i in range(count)]
        return list(map(np.asarray, parts))
    ends = np.cumsum(sizes) if sizes.ndim else np.append(np.arange(sizes, count, sizes), count)
    ends = ends if count or sizes.ndim else ends[:0]
    starts = [0, *ends[:-1]]
    return [array.take(range(s, e), axis) for s, e in zip(starts[: len(ends)], ends, strict=True)]


def position(index: int, dtype: type = np.int64) -> np.ndarray:
    return np.array(index, dtype)


CASES = [
    Case("SequenceEmpty", (), []),
    *(
        Case("SequenceEmpty", (), [], {"dtype": BY_NAME[name].code})
        for name in element_types("SequenceEmpty", 11, "S")
    ),
    Case("SequenceEmpty", (), attributes={"dtype": 99}, raises=(SchemaError, "dtype=99 is no")),
    # Construct
    *(
        Case("SequenceConstruct", (of(n, 2, 3), of(n), of(n, 0)), lambda *xs: list(xs))
        for n in element_types("SequenceConstruct", 11, "S")
    ),
    Case("SequenceConstruct", (A,), [A]),
    Case("SequenceConstruct", (A, A, A), [A, A, A]),
    Case("SequenceConstruct", (A, A.astype("i4")), raises=(SchemaError, "float and int32")),
    # At
    *(
        Case("SequenceAt", ([of(n, 2), of(n, 3)], position(i)), at, types={0: _type})
        for n in element_types("SequenceAt", 11, "S")
        for _type in [SequenceType(TensorType(BY_NAME[n], (Dim(),)))]
        for i in (0, -1)
    ),
    *(
        Case("SequenceAt", ([A, B, EMPTY], position(i, dtype)), at, types=ROWS)
        for dtype in (np.int32, np.int64)
        for i in range(-3, 3)
    ),
    Case("SequenceAt", ([A, A + 1], position(1).reshape(1)), A + 1, types=ROWS),
    *(
        Case("SequenceAt", (MIXED, position(i)), raises=(ExecutionError, f"position {i} is not in"))
        for i in (4, -5, 2**62, -(2**63))
    ),
    Case(
        "SequenceAt",
        ([], position(0)),
        types=FLOATS,
        raises=(ExecutionError, "position 0 is not in an empty sequence, with 0 tensors"),
    ),
    Case("SequenceAt", (MIXED, np.int64([0, 1])), raises=(ShapeError, "must be a single value")),
    # Insert
    *(
        Case("SequenceInsert", ([of(n, 2), of(n)], of(n, 2, 2), position(1)), inserted)
        for n in element_types("SequenceInsert", 11, "S")
    ),
    *(
        Case("SequenceInsert", (MIXED, B, position(i, dtype)), inserted)
        for dtype in (np.int32, np.int64)
        for i in range(-4, 5)
    ),
    Case("SequenceInsert", (MIXED, B), inserted),
    Case("SequenceInsert", ([], C), [C], types=FLOATS),
    Case("SequenceInsert", ([], EMPTY, position(0)), [EMPTY], types=FLOATS),
    *(
        Case(
            "SequenceInsert",
            (MIXED, B, position(i)),
            raises=(ExecutionError, f"position {i} is not in [-4, 4], with 4 tensors"),
        )
        for i in (5, -5)
    ),
    Case(
        "SequenceInsert",
        (MIXED, of("int64", 2)),
        raises=(SchemaError, "int64[2] cannot be in a sequence of float"),
    ),
    # Erase
    *(
        Case("SequenceErase", ([of(n, 2), of(n)], position(0)), erased)
        for n in element_types("SequenceErase", 11, "S")
    ),
    *(
        Case("SequenceErase", (MIXED, position(i, dtype)), erased)
        for dtype in (np.int32, np.int64)
        for i in range(-4, 4)
    ),
    Case("SequenceErase", (MIXED,), erased),
    Case("SequenceErase", ([A],), []),
    *(
        Case("SequenceErase", (MIXED, position(i)), raises=(ExecutionError, f"position {i} is not"))
        for i in (4, -5)
    ),
    Case(
        "SequenceErase",
        ([],),
        types=FLOATS,
        raises=(ExecutionError, "position -1 is not in an empty sequence"),
    ),
    # Length
    *(
        Case("SequenceLength", ([of(n, 2), of(n)],), np.int64(2))
        for n in element_types("SequenceLength", 11, "S")
    ),
    Case("SequenceLength", ([],), np.int64(0), types=FLOATS),
    # Concat
    *(
        Case(
            "ConcatFromSequence",
            ([of(n, 2, 2), of(n, 2, 3), of(n, 2, 0)],),
            put_together,
            {"axis": axis},
            types={0: SequenceType(TensorType(BY_NAME[n], (2, Dim())))},
        )
        for n in element_types("ConcatFromSequence", 11, "S")
        for axis in (1, -1)
    ),
    *(
        Case(
            "ConcatFromSequence",
            ([A, -A],),
            put_together,
            {"axis": axis, "new_axis": 1},
            types={0: SequenceType(TensorType(BY_NAME["float"], (2, 3)))},
        )
        for axis in (-3, -2, -1, 0, 1, 2)
    ),
    Case(
        "ConcatFromSequence",
        ([C, C + 1],),
        put_together,
        {"axis": 0, "new_axis": 1},
        types={0: SequenceType(TensorType(BY_NAME["float"], ()))},
    ),
    Case("ConcatFromSequence", ([B],), B, {"axis": 0}, types=ROWS),
    Case(
        "ConcatFromSequence",
        ([],),
        attributes={"axis": 0},
        types=FLOATS,
        raises=(ExecutionError, "an empty sequence cannot be concatenated"),
    ),
    Case(
        "ConcatFromSequence",
        ([A, B],),
        attributes={"axis": 1},
        raises=(ExecutionError, "tensor 1 has shape [1, 3], which does not go with [2, 3]"),
    ),
    Case(
        "ConcatFromSequence",
        ([A, B],),
        attributes={"axis": 0, "new_axis": 1},
        raises=(ExecutionError, "tensor 1 has shape [1, 3]"),
    ),
    Case(
        "ConcatFromSequence",
        ([A, C],),
        attributes={"axis": 0},
        raises=(ExecutionError, "tensor 1 has shape []"),
    ),
    *(
        Case(
            "ConcatFromSequence",
            ([A],),
            attributes={"axis": axis, "new_axis": new},
            types=types,
            raises=(ShapeError, f"axis={axis} is not in"),
        )
        for axis, new in ((2, 0), (-3, 0), (3, 1), (-4, 1))
        for types in (ROWS, FLOATS)
    ),
    Case(
        "ConcatFromSequence",
        ([C],),
        attributes={"axis": 0},
        raises=(ShapeError, "axis=0 is not in a tensor without dimensions"),
    ),
    Case(
        "ConcatFromSequence",
        ([A],),
        attributes={"axis": 0, "new_axis": 2},
        raises=(SchemaError, "new_axis=2 is neither 0 nor 1"),
    ),
    # Split
    *(
        Case("SplitToSequence", (of(n, 5, 2), sizes), split, opset=opset)
        for opset in (11, 24)
        for n in element_types("SplitToSequence", opset, "S")
        for sizes in (position(2), np.int32([1, 0, 4]))
    ),
    *(
        Case("SplitToSequence", (A, sizes), split, {"axis": axis})
        for axis in (-1, 1)
        for sizes in (
            position(1),
            position(2, np.int32),
            position(3),
            position(7),
            np.int64([3]),
            np.int64([2, 1]),
            np.int64([0, 3, 0]),
        )
    ),
    *(
        Case("SplitToSequence", (x,), split, {"axis": axis, "keepdims": keepdims})
        for x, axes in ((A, (0, 1, -1, -2)), (B, (0, 1)), (A[0], (0, -1)))
        for axis in axes
        for keepdims in (0, 1)
    ),
    # `keepdims` does not count where there is `split`.
    Case("SplitToSequence", (A, position(1)), [A[:1], A[1:]], {"keepdims": 0}),
    Case("SplitToSequence", (EMPTY,), []),
    Case("SplitToSequence", (EMPTY, position(2)), []),
    Case("SplitToSequence", (EMPTY, np.int64([])), []),
    Case("SplitToSequence", (EMPTY, np.int64([0, 0])), [EMPTY, EMPTY]),
    Case("SplitToSequence", (EMPTY, position(2)), [EMPTY[:, :2], EMPTY[:, :1]], {"axis": 1}),
    *(
        Case(
            "SplitToSequence",
            (A, sizes),
            attributes={"axis": 1},
            raises=((ExecutionError, ShapeError), text),
        )
        for sizes, text in (
            (np.int64([1, 1]), "split is [1, 1], but should be sizes that add up to 3"),
            (np.int64([4, -1]), "split is [4, -1]"),
            (np.int64([2**62, 2**62, 2**62, 2**62, 3]), "split is [461"),
            (np.int64([]), "split is []"),
            (position(0), "split is 0, but should be positive"),
            (position(-2), "split is -2, but should be positive"),
            (np.int64([[3]]), "split is int64[1,1]"),
        )
    ),
    *(
        Case(
            "SplitToSequence", (x,), attributes={"axis": axis}, raises=(ShapeError, f"axis={axis}")
        )
        for x, axis in ((A, 2), (A, -3), (C, 0))
    ),
    Case(
        "SplitToSequence",
        (A,),
        attributes={"keepdims": 2},
        raises=(SchemaError, "keepdims=2 is neither 0 nor 1"),
    ),
]
