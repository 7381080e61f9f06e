"""TopK. Expected: Python's sort, which keeps the order of equal elements."""

from __future__ import annotations

import math

import numpy as np
from case_data import allowed, numbers, opsets, type_name
from cases import Case

from minirt.errors import SchemaError, ShapeError


def _topk(X, K=None, *, k=None, axis=-1, largest=1, sorted=1):
    count = k if K is None else int(K.reshape(()))
    lines = np.moveaxis(X, axis, -1)
    order = np.empty((*lines.shape[:-1], count), np.int64)
    for place in np.ndindex(*order.shape[:-1]):
        line = lines[place].tolist()
        keys = [(math.isnan(x), 0 if math.isnan(x) else x) for x in line]
        if largest:
            keys = [(not is_nan, -x) for is_nan, x in keys]
        order[place] = np.array(_sorted(range(len(line)), keys)[:count], np.int64)
    order = np.moveaxis(order, -1, axis)
    return np.take_along_axis(X, order, axis), order


def _sorted(places, keys):
    return sorted(places, key=keys.__getitem__)


def _rows() -> list[Case]:
    rows = []
    for dtype in allowed("TopK"):
        x = numbers(dtype, 3, 20)
        if np.dtype(dtype).kind in "iu":
            limits = np.iinfo(dtype)
            x[:, 3], x[:, 4], x[0, 5:8] = limits.max, limits.min, 0
        for k, largest in ((5, 1), (5, 0), (20, 1)):
            attributes = {"largest": largest}
            rows.append(
                Case("TopK", (x, np.array([k])), _topk, attributes, id=f"{type_name(dtype)} {k}")
            )
        if np.dtype(dtype).kind not in "iu":
            special = np.array([1, np.nan, -np.inf, np.inf, -np.nan, 0.0, -0.0, -1], dtype)
            for largest in (0, 1):
                attributes = {"largest": largest}
                rows.append(Case("TopK", (special, np.array([8])), _topk, attributes, id="special"))
    x, two = numbers(np.float32, 3, 7, 4), np.array([2])
    for opset in opsets("TopK"):
        attributes = {"k": 2} if opset == 1 else {}
        inputs = (x.astype(np.float64),) if opset == 1 else (x.astype(np.float64), two)
        rows += [
            Case("TopK", inputs, _topk, attributes, opset=opset),
            Case("TopK", inputs, _topk, {**attributes, "axis": 1}, opset=opset),
        ]
    return rows


X, ONE = numbers(np.float32, 3, 7, 4), np.array([1])


def _wrong(inputs, kind, text, opset=28, **attributes):
    return Case("TopK", inputs, attributes=attributes, opset=opset, outputs=2, raises=(kind, text))


CASES = [
    *_rows(),
    *(
        Case("TopK", (X, np.array([3])), _topk, {"axis": axis, "largest": largest}, id=f"{axis}")
        for axis in (0, 1, -1, -3)
        for largest in (0, 1)
    ),
    Case("TopK", (X, ONE), _topk, {"sorted": 0}, id="in any order"),
    Case("TopK", (X, np.array(2)), _topk, id="0-d K"),
    Case("TopK", (X, np.array([0])), _topk, id="none"),
    Case("TopK", (X[:, :0], np.array([0])), _topk, {"axis": 1}, id="none of none"),
    Case("TopK", (X[:0], ONE), _topk, {"axis": 1}, id="no lines"),
    Case("TopK", (np.zeros(300, np.uint8), np.array([300])), _topk, id="all equal"),
    Case("TopK", (numbers(np.int64, 5000), np.array([100])), _topk, id="long"),
    _wrong((X, ONE * 8), ShapeError, "K=8, but X float", axis=1),
    _wrong((X, -ONE), ShapeError, "K=-1 is negative"),
    _wrong((X, ONE), ShapeError, "axis=3", axis=3),
    _wrong((X, np.array([1, 2])), ShapeError, "K is int64[2], but must be a single value"),
    _wrong((X, ONE), SchemaError, "largest=2", largest=2),
    _wrong((X,), ShapeError, "-3 is negative", opset=1, k=-3),
]
