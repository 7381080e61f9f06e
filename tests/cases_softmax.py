"""Softmax, LogSoftmax, Hardmax, LpNormalization. Expected: the formula in float64, rounded once.

The largest element is subtracted as it is everywhere: in float32, or float64 for float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from case_data import allowed, numbers, type_name
from cases import Case

from minirt.errors import SchemaError, ShapeError

NAMES = ("Softmax", "LogSoftmax", "Hardmax")


def _along_last(name: str, x: np.ndarray) -> np.ndarray:
    """The operator along the last of two axes."""
    result = np.zeros(x.shape)
    for line, out in zip(x.astype(x.dtype if x.itemsize > 2 else np.float32), result, strict=True):
        if not line.size:
            continue
        if name == "Hardmax":
            out[line.tolist().index(line.max())] = 1
            continue
        with np.errstate(all="ignore"):
            less = (line - line.max()).astype(np.float64)
            total = np.exp(less).sum()
            out[:] = less - np.log(total) if name == "LogSoftmax" else np.exp(less) / total
    return result


def _over_axis(name: str) -> Callable[..., np.ndarray]:
    def compute(input, *, axis=-1):
        lines = np.moveaxis(input, axis, -1)
        result = _along_last(name, lines.reshape(-1, lines.shape[-1])).reshape(lines.shape)
        return np.moveaxis(result, -1, axis).astype(input.dtype)

    return compute


def _over_matrix(name: str) -> Callable[..., np.ndarray]:
    """As it was up to opset 12: all axes from ``axis`` on are one."""

    def compute(input, *, axis=1):
        rows = int(np.prod(input.shape[: axis % input.ndim]))
        matrix = input.reshape(rows, input.size // rows)
        return _along_last(name, matrix).reshape(input.shape).astype(input.dtype)

    return compute


def _body(name: str, narrow: bool = False) -> dict[str, Any]:
    """How far the definition by other operators, which rounds sums to the type, may be off."""
    if name == "LogSoftmax" and narrow:
        return {"no_body": "the logarithm of a sum near 1 in 16 bits has no right digit"}
    return {"body_ulp": 1 << 12 if name == "LogSoftmax" else 6}


def _rows() -> list[Case]:
    rows = []
    for name in NAMES:
        new, old, ulp = _over_axis(name), _over_matrix(name), 2 * (name != "Hardmax")
        for dtype in allowed(name):
            narrow = np.dtype(dtype).itemsize == 2
            rules = {"ulp": 1 if narrow else ulp, "id": type_name(dtype), **_body(name, narrow)}
            x = numbers(dtype, 2, 5, 3)
            rows += [
                Case(name, (x,), new, **rules),
                Case(name, (x,), new, {"axis": 1}, **rules),
            ]
        x = numbers(np.float32, 3, 40, 5)
        long = np.linspace(-90, 9, 5000, dtype=np.float32).reshape(2, 2500)
        rows += [
            Case(name, (x,), new, {"axis": 0}, opset=13, ulp=ulp, **_body(name)),
            Case(name, (x,), new, {"axis": -2}, opset=28, ulp=ulp, **_body(name)),
            Case(name, (x,), old, {"axis": 0}, opset=1, ulp=ulp),
            Case(name, (x,), old, opset=1, ulp=ulp, id="default"),
            Case(name, (x,), old, opset=11, ulp=ulp, id="default"),
            Case(name, (x,), old, {"axis": -1}, opset=11, ulp=ulp),
            Case(name, (numbers(np.float16, 2, 3, 2),), old, opset=12, ulp=1),
            Case(name, (long,), new, ulp=ulp + 1, **_body(name), id="long"),
            Case(name, (long.T.copy(),), new, {"axis": 0}, ulp=ulp + 1, **_body(name), id="long"),
            Case(name, (x[:, :0],), x[:, :0], {"axis": 1}, id="nothing"),
            Case(name, (x[:0],), x[:0], {"axis": 1}, id="no lines"),
            Case(name, (x[:, :, :1],), new, id="one"),
            Case(name, (x,), attributes={"axis": 3}, raises=(ShapeError, "not in [-3, 2]")),
            Case(name, (x,), attributes={"axis": -4}, opset=11, raises=(ShapeError, "axis=-4")),
            Case(name, (np.float32(1),), raises=(ShapeError, "without dimensions")),
        ]
    return rows


_INF, _NAN = np.inf, np.nan


def _special(axis: int, x: list[list[float]], soft: list[list[float]], log: list[list[float]]):
    """Rows for lines along either axis."""
    for name, expected in (("Softmax", soft), ("LogSoftmax", log)):
        arrays = (np.float32(a) if axis else np.float32(a).T.copy() for a in (x, expected))
        input, output = arrays
        yield Case(name, (input,), output, {"axis": axis}, id=f"special {axis}")


SPECIAL = [
    row
    for axis in (0, 1)
    for row in _special(
        axis,
        [[_NAN, 1], [-_NAN, 1], [_INF, 1], [-_INF, 1], [-_INF, -_INF], [3e38, -3e38], [2e38] * 2],
        [[_NAN] * 2] * 3 + [[0, 1], [_NAN] * 2, [1, 0], [0.5, 0.5]],
        [[_NAN] * 2] * 3 + [[-_INF, 0], [_NAN] * 2, [0, -_INF]] + [[-np.log(np.float32(2))] * 2],
    )
]

HARDMAX = [
    Case("Hardmax", (np.float32([2, 5, 5, 1]),), np.float32([0, 1, 0, 0]), id="the first"),
    Case("Hardmax", (np.float32([0.0, -0.0]),), np.float32([1, 0]), id="zeros"),
    Case("Hardmax", (np.float32([-_INF, -_INF]),), np.float32([1, 0]), id="-Inf"),
    Case("Hardmax", (np.float32([_INF, _NAN, _NAN]),), np.float32([0, 1, 0]), id="NaN"),
]


def _normalized(input, *, axis=-1, p=2):
    x = input.astype(np.float64)
    norm = np.sum(abs(x) ** p, axis, keepdims=True) ** (1 / p)
    return np.where(norm == 0, 0, x / np.where(norm == 0, 1, norm)).astype(input.dtype)


def _norms() -> list[Case]:
    rows = []
    for opset in (1, 22):
        for dtype in allowed("LpNormalization", opset):
            x = numbers(dtype, 2, 3, 4)
            x[0, :, 1] = x[1, 2] = 0
            for attributes in ({}, {"axis": 1}, {"axis": -3, "p": 1}):
                rows.append(
                    Case("LpNormalization", (x,), _normalized, attributes, opset=opset, ulp=1)
                )
    x = np.float32([[3, -4], [np.inf, 1], [np.nan, 1], [0, -0.0]])
    return [
        *rows,
        Case("LpNormalization", (x[:1],), np.float32([[0.6, -0.8]]), id="3, 4, 5"),
        Case("LpNormalization", (x[1:3],), np.float32([[np.nan, 0], [np.nan] * 2]), id="special"),
        Case("LpNormalization", (x[3:],), np.float32([[0, 0]]), id="zeros"),
        Case("LpNormalization", (x[:0],), x[:0], {"axis": 0}, id="nothing"),
        Case("LpNormalization", (x,), attributes={"p": 3}, raises=(SchemaError, "p=3")),
        Case("LpNormalization", (x,), attributes={"axis": 2}, raises=(ShapeError, "axis=2")),
    ]


CASES = [*_rows(), *SPECIAL, *HARDMAX, *_norms()]
