"""Reduce*, ArgMax, ArgMin. Expected: exact integers, or float64 rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from case_data import allowed, numbers, opsets, rounded, type_name
from cases import Case

from minirt.errors import SchemaError, ShapeError


def _exact(x: np.ndarray) -> np.ndarray:
    """Elements as Python's integers, or as float64."""
    return x.astype(object if x.dtype.kind in "iu" else np.float64)


def _l2(x):
    return math.sqrt(np.sum(np.square(x)))


def _mean(x):
    return math.trunc(x.sum() / x.size) if x.dtype == object else x.mean()


def _log(x):
    with np.errstate(divide="ignore"):
        return np.log(np.float64(x))


#: What each operator makes of a list of exact numbers.
OF_ALL: dict[str, Callable[[np.ndarray], Any]] = {
    "ReduceSum": np.sum,
    "ReduceMean": _mean,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceProd": np.prod,
    "ReduceL1": lambda x: np.sum(np.abs(x)),
    "ReduceL2": _l2,
    "ReduceLogSum": lambda x: _log(np.sum(x)),
    "ReduceLogSumExp": lambda x: _log(np.sum(np.exp(x.astype(np.float64)))),
    "ReduceSumSquare": lambda x: np.sum(np.square(x)),
}
SINCE_18 = [name for name in OF_ALL if name != "ReduceSum"]
BOUNDS = ("ReduceMax", "ReduceMin")
LOGARITHMS = ("ReduceLogSum", "ReduceLogSumExp")


def _reduce(name: str) -> Callable[..., np.ndarray]:
    """The operator as a function of its operands and attributes, of any version."""

    def reduce(data, axes_operand=None, *, axes=None, keepdims=1, noop_with_empty_axes=0):
        axes = axes if axes_operand is None else axes_operand.tolist()
        if not axes:
            axes = [] if noop_with_empty_axes else range(data.ndim)
        over = sorted(axis % data.ndim for axis in axes)
        kept = [axis for axis in range(data.ndim) if axis not in over]
        lines = _exact(data).transpose(kept + over)
        shape = lines.shape[: len(kept)]
        count = math.prod(data.shape[axis] for axis in over)
        result = np.empty(shape, object)
        for place in np.ndindex(*shape):
            result[place] = OF_ALL[name](lines[place].reshape(count))
        if data.dtype.kind in "iu" and name in ("ReduceL2", *LOGARITHMS):
            result = np.vectorize(math.trunc, otypes=[object])(result)
        final = [1 if axis in over else data.shape[axis] for axis in range(data.ndim)]
        return rounded(result, data.dtype).reshape(final if keepdims else shape)

    return reduce


def _data(name: str, dtype: Any, *shape: int) -> np.ndarray:
    """Numbers of which logarithms can be taken, where they are."""
    data = numbers(dtype, *shape)
    return abs(data) + data.dtype.type(1) if name == "ReduceLogSum" else data


def _axes(*axes: int) -> np.ndarray:
    return np.array(axes, np.int64)


def _case(name: str, data: np.ndarray, axes: np.ndarray | None, id: str, **attributes: int) -> Case:
    """A row of the newest version."""
    oldest = 27 if data.dtype.kind in "iu" and name in LOGARITHMS else 28
    narrow = data.dtype.itemsize == 2
    return Case(
        name,
        (data, axes),
        _reduce(name),
        attributes,
        opset=oldest,
        ulp=int(name in LOGARITHMS),
        body_ulp=2 if narrow else 1 if data.dtype.kind == "f" else 0,
        no_body=_no_body(name, data.dtype),
        id=f"{id} {type_name(data.dtype)}",
    )


def _no_body(name: str, dtype: np.dtype) -> str:
    """Why the definition by other operators gives something else."""
    if name == "ReduceL2" and dtype == np.float64:
        return "it goes through float32"
    if name == "ReduceLogSum" and dtype.kind in "iu":
        return "it takes the logarithm of integers, which there is not"
    return ""


def _types() -> list[Case]:
    rows = []
    for name in OF_ALL:
        before = 27 if name in LOGARITHMS else 28
        for dtype in allowed(name, before):
            rows.append(_case(name, _data(name, dtype, 2, 3, 4), _axes(1), "type"))
    return rows


def _forms() -> list[Case]:
    rows = []
    for name in OF_ALL:
        x = _data(name, np.float32, 2, 3, 4, 2)
        rows += [
            _case(name, x, None, "all axes"),
            _case(name, x, _axes(), "empty axes", keepdims=0),
            _case(name, x, _axes(), "no axes", noop_with_empty_axes=1),
            _case(name, x, None, "no operand", noop_with_empty_axes=1, keepdims=0),
            _case(name, x, _axes(-1, 0), "first and last"),
            _case(name, x, _axes(-1, 0), "first and last, dropped", keepdims=0),
            _case(name, x, _axes(3, 2), "last two", keepdims=0),
            _case(name, x, _axes(1, 2), "middle"),
            _case(name, x[0, 0, 0, 0:1].reshape(()), _axes(), "0-d"),
            _case(name, x[0, 0, 0, 0:1].reshape(()), None, "0-d, dropped", keepdims=0),
            _case(name, x[:0], _axes(1), "nothing of nothing"),
            _case(name, _data(name, np.float32, 3, 1000), _axes(1), "long lines"),
            _case(name, _data(name, np.float32, 1000, 3), _axes(0), "long columns"),
        ]
    return rows


#: What there is of no elements.
OF_NONE = {
    "ReduceSum": 0,
    "ReduceMean": np.nan,
    "ReduceMax": -np.inf,
    "ReduceMin": np.inf,
    "ReduceProd": 1,
    "ReduceL1": 0,
    "ReduceL2": 0,
    "ReduceLogSum": -np.inf,
    "ReduceLogSumExp": -np.inf,
    "ReduceSumSquare": 0,
}


def _empty() -> list[Case]:
    rows = []
    for name, value in OF_NONE.items():
        for dtype in allowed(name) if name in (*BOUNDS, "ReduceMean") else (np.float16, np.float32):
            nothing, axes = np.zeros((2, 0, 3), dtype), _axes(1)
            expected, kind = value, np.dtype(dtype).kind
            if kind in "iub" and name in BOUNDS:
                limits = (
                    (False, True) if kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
                )
                expected = limits[name == "ReduceMin"]
            if kind in "iu" and name == "ReduceMean":
                rows.append(Case(name, (nothing, axes), raises=(ShapeError, "no elements")))
            else:
                made = np.full((2, 1, 3), expected, dtype)
                rows.append(Case(name, (nothing, axes), made, id=f"nothing {type_name(dtype)}"))
        wide = np.zeros((2, 0, 3), np.float32)
        rows.append(Case(name, (wide, _axes(0)), wide[:1], id="nothing stays"))
    return rows


X = np.float32([[3, np.nan, -np.inf], [np.inf, -7, -np.inf]])


def _versions() -> list[Case]:
    rows = []
    for name in OF_ALL:
        upgraded = 13 if name == "ReduceSum" else 18
        for opset in opsets(name):
            x = _data(name, np.float64, 2, 3, 4)
            rules = {"opset": opset, "ulp": int(name in LOGARITHMS), "no_body": "see the others"}
            if opset >= upgraded:
                rows.append(Case(name, (x, _axes(-2)), _reduce(name), **rules))
                continue
            rows.append(Case(name, (x,), _reduce(name), {"axes": [0, 2], "keepdims": 0}, **rules))
            if name in ("ReduceSum", "ReduceMax"):
                rows += [
                    Case(name, (x,), _reduce(name), {"keepdims": 1}, **rules),
                    Case(name, (x,), _reduce(name), {"axes": [-1]}, **rules),
                ]
    return rows


def _bits(name: str, data: Any, expected: Any, **rules: Any) -> Case:
    """Along the last axis."""
    return Case(name, (np.asarray(data), _axes(-1)), expected, {"keepdims": 0}, **rules)


TENTHS = np.full(100_000, 0.1, np.float32)
EXACT_SUM = np.float32([math.fsum(TENTHS.tolist())])

SPECIAL = [
    _bits("ReduceSum", TENTHS[None], EXACT_SUM, ulp=3, id="many in a line"),
    Case("ReduceSum", (TENTHS[:, None], _axes(0)), EXACT_SUM[None], ulp=3, id="many lines"),
    Case("ReduceSum", (np.float32([[-0.0]]), _axes(1)), np.float32([[-0.0]]), id="-0"),
    Case("ReduceSum", (np.full((3, 40, 2), -0.0), _axes(1)), np.full((3, 1, 2), -0.0), id="-0"),
    _bits("ReduceMax", X, np.float32([np.nan, np.inf]), id="NaN"),
    _bits("ReduceMin", X, np.float32([np.nan, -np.inf]), id="NaN"),
    _bits("ReduceSum", X, np.float32([np.nan, np.nan]), id="NaN"),
    _bits("ReduceLogSumExp", X, np.float32([np.nan, np.inf]), id="NaN"),
    _bits("ReduceLogSumExp", np.full((2, 2), -np.inf), np.full(2, -np.inf), id="-Inf"),
    _bits(
        "ReduceLogSumExp",
        np.float32([[1e4, 1e4], [-1e4, -1e4]]),
        np.float32([1e4 + math.log(2), -1e4 + math.log(2)]),
        no_body="it overflows",
    ),
    _bits("ReduceSum", np.int32([[2**31 - 1, 1]]), np.int32([-(2**31)]), id="overflow"),
    _bits("ReduceProd", np.uint32([[2**31, 2], [3, 5]]), np.uint32([0, 15]), id="overflow"),
    _bits("ReduceSumSquare", np.int32([[2**16, 5]]), np.int32([25]), id="overflow"),
    _bits("ReduceL1", np.int64([[-(2**63), 3]]), np.int64([-(2**63) + 3]), id="overflow"),
    _bits("ReduceMean", np.int32([[2**31 - 1] * 2]), np.int32([2**31 - 1]), id="no overflow"),
    _bits("ReduceMean", np.int32([[-7, 0], [7, 0]]), np.int32([-3, 3]), id="towards zero"),
    _bits("ReduceMean", np.uint64([[2**63 - 1, 2**63]]), np.uint64([2**63 - 1]), id="64 bits"),
    _bits("ReduceSum", np.float16([[2048, 1, 1, 1, 1]]), np.float16([2052]), id="float32 inside"),
    _bits("ReduceSum", np.float16([[60000, 60000]]), np.float16([np.inf]), id="too large"),
    _bits("ReduceSum", np.float16([[60000, 60000, -60000]]), np.float16([60000]), id="in between"),
    _bits(
        "ReduceL2",
        np.float16([[300, 400]]),
        np.float16([500]),
        no_body="squares are rounded to float16",
    ),
    _bits("ReduceL2", np.int32([[-3, 4], [1, 1]]), np.int32([5, 1]), id="cut off"),
]

WRONG = [
    Case("ReduceSum", (X, _axes(2)), raises=(ShapeError, "axes=2 is not in [-2, 1]")),
    Case("ReduceSum", (X, _axes(-3)), raises=(ShapeError, "axes=-3")),
    Case("ReduceMax", (X, _axes(0, -2)), raises=(ShapeError, "names an axis twice")),
    Case("ReduceSum", (X, np.int64([[0]])), raises=(ShapeError, "dimension")),
    Case("ReduceSum", (X,), attributes={"keepdims": 2}, raises=(SchemaError, "keepdims=2")),
    Case("ReduceSum", (X,), attributes={"axes": [5]}, opset=11, raises=(ShapeError, "5")),
    Case("ArgMax", (X,), attributes={"axis": 2}, raises=(ShapeError, "axis=2 is not in [-2, 1]")),
    Case("ArgMin", (X[:0],), attributes={"axis": 0}, raises=(ShapeError, "no elements")),
    Case("ArgMin", (X,), attributes={"select_last_index": 3}, raises=(SchemaError, "=3")),
    Case("ArgMax", (np.float32(1),), raises=(ShapeError, "without dimensions")),
]


def _arg(largest: bool) -> Callable[..., np.ndarray]:
    def find(data, *, axis=0, keepdims=1, select_last_index=0):
        lines = np.moveaxis(data, axis, -1)
        found = np.empty(lines.shape[:-1], np.int64)
        for place in np.ndindex(*found.shape):
            line = lines[place].tolist()
            best = max(line) if largest else min(line)
            places = [i for i, value in enumerate(line) if value == best]
            found[place] = places[-1 if select_last_index else 0]
        return np.expand_dims(found, axis) if keepdims else found

    return find


def _args() -> list[Case]:
    rows = []
    for name in ("ArgMax", "ArgMin"):
        oracle = _arg(name == "ArgMax")
        for opset in opsets(name):
            rows.append(Case(name, (numbers(np.float32, 3, 4, 5),), oracle, opset=opset))
            rows.append(Case(name, (numbers(np.int8, 20, 4),), oracle, {"axis": -1}, opset=opset))
        for dtype in allowed(name):
            x = numbers(dtype, 2, 30, 2)
            for attributes in ({"axis": 1}, {"axis": 1, "select_last_index": 1, "keepdims": 0}):
                rows.append(Case(name, (x,), oracle, attributes, id=type_name(dtype)))
        infinite = np.float32([[np.inf, np.inf], [-np.inf, -np.inf], [-np.inf, 0]])
        rows += [
            Case(name, (infinite,), oracle, {"axis": 1}, id="infinite"),
            Case(name, (np.float32([0.0, -0.0]),), np.int64([0]), id="zeros"),
            Case(name, (np.float16([1, np.nan, np.nan]),), np.int64([1]), id="NaN"),
            Case(
                name,
                (np.float32([1, np.nan, np.nan]),),
                np.int64([2]),
                {"select_last_index": 1},
                id="last NaN",
            ),
            Case(name, (X[:0],), np.zeros((0, 1), np.int64), {"axis": 1}, id="nothing"),
        ]
    return rows


CASES = [*_types(), *_forms(), *_empty(), *_versions(), *SPECIAL, *_args(), *WRONG]
