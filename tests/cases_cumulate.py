"""CumSum, CumProd. Expected: Python's integers, or float32 one step after the other."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import accumulate

import numpy as np
from case_data import allowed, numbers, rounded, type_name
from cases import Case

from minirt.errors import SchemaError, ShapeError

COMBINE = {"CumSum": (operator.add, 0), "CumProd": (operator.mul, 1)}


def _cumulate(name: str) -> Callable[..., np.ndarray]:
    combine, neutral = COMBINE[name]

    def compute(x, axis, *, exclusive=0, reverse=0):
        dtype = object if x.dtype.kind in "iu" else np.float32 if x.itemsize < 8 else np.float64
        lines = np.moveaxis(x.astype(dtype), int(axis.reshape(())), -1)
        result = np.empty(lines.shape, dtype)
        for place in np.ndindex(*lines.shape[:-1]):
            line = lines[place][:: -1 if reverse else 1]
            first = dtype(neutral) if dtype is not object else neutral
            sums = list(accumulate([first, *line[:-1]] if exclusive else line, combine))
            result[place] = sums[: line.size][:: -1 if reverse else 1]
        return rounded(np.moveaxis(result, -1, int(axis.reshape(()))), x.dtype)

    return compute


def _rows() -> list[Case]:
    rows = []
    for name in COMBINE:
        oracle, last = _cumulate(name), np.array(-1, np.int32)
        for dtype in allowed(name):
            x = numbers(dtype, 3, 5)
            for axis in (last, np.array(0)):
                rows.append(Case(name, (x, axis), oracle, id=type_name(dtype)))
        x = numbers(np.float32, 2, 4, 3)
        for axis in (np.array(1), np.array(2), np.array([0])):
            for exclusive, reverse in ((1, 0), (0, 1), (1, 1)):
                flags = {"exclusive": exclusive, "reverse": reverse}
                rows.append(Case(name, (x, axis), oracle, flags, id=f"axis {axis}"))
        rows += [
            Case(name, (x[:, :0], np.array(1)), x[:, :0], id="nothing"),
            Case(name, (x[:0], np.array(1)), x[:0], {"exclusive": 1}, id="no lines"),
            Case(name, (x[:, :1], np.array(1)), oracle, {"exclusive": 1}, id="one"),
            Case(name, (np.int32([2**31 - 1, 2, 3]), last), oracle, id="overflow"),
            Case(name, (np.float32([-0.0, -0.0]), last), oracle, id="-0"),
            Case(name, (x, np.array(3)), raises=(ShapeError, "axis=3 is not in [-3, 2]")),
            Case(
                name,
                (x, np.array([0, 1])),
                raises=(ShapeError, "axis is int64[2], but must be a single value"),
            ),
            Case(name, (np.float32(1), np.array(0)), raises=(ShapeError, "without dimensions")),
            Case(name, (x, last), attributes={"reverse": 2}, raises=(SchemaError, "reverse=2")),
        ]
    return rows


EXACT = [
    Case(
        "CumSum", (np.float16([2048, 1, 1, 1]), np.array(0)), np.float16([2048, 2048, 2050, 2052])
    ),
    Case("CumSum", (np.float32([1, np.nan, 2]), np.array(0)), np.float32([1, np.nan, np.nan])),
    Case("CumSum", (numbers(np.float64, 3), np.array(0)), np.float64([-8, -9, -3]), opset=11),
    Case("CumSum", (numbers(np.int32, 3), np.array(0)), np.int32([-8, -9, -3]), opset=13),
    Case("CumSum", (numbers(np.float64, 3), np.array(0)), np.float64([-8, -9, -3]), opset=14),
]

CASES = [*_rows(), *EXACT]
