"""What makes, keeps and converts: a row a version and a type; other tests go much further."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from cases import Case
from onnx import TensorProto

from minirt.dtypes import BY_NAME, TABLE, DType, Kind
from minirt.errors import SchemaError

X = np.float32([[-2.5, 0.0, 1.0], [3.25, -0.5, 448.0]])
HALF = X.astype(np.float16)


def _to_half(x, to):
    return x.astype(np.float16)


#: The one number that every type has.
ONES = {
    dtype: np.array(["1", "1"], object) if dtype.kind is Kind.STRING else np.ones(2, dtype.public)
    for dtype in TABLE
}
CASTABLE = [dtype for dtype in TABLE if dtype.kind is not Kind.COMPLEX]
FLOAT = BY_NAME["float"]


def no_body(dtype: DType) -> str:
    """CastLike takes what Cast takes, but its schema, to which its body is held, does not say."""
    return "ONNX's CastLike has no 6-bit types" if dtype.bits == 6 else ""


CASES = [
    Case("Cast", (X,), HALF, {"to": "FLOAT16"}, opset=1),
    *(
        Case("Cast", (X,), _to_half, {"to": TensorProto.FLOAT16}, opset=opset, elementwise=True)
        for opset in (6, 9, 13, 19, 21, 23, 24, 25, 28)
    ),
    Case(
        "Cast",
        (np.float32([1000.0]),),
        np.array([np.nan], ml_dtypes.float8_e4m3fn),
        {"to": TensorProto.FLOAT8E4M3FN, "saturate": 0},
    ),
    Case("Cast", (X,), attributes={"to": 999}, raises=(SchemaError, "999")),
    *(Case("CastLike", (X, HALF[:1]), HALF, opset=opset) for opset in (15, 19, 21, 23, 24, 25)),
    *(
        Case("Constant", (), X, {"value": X}, opset=v)
        for v in (1, 9, 11, 12, 13, 19, 21, 23, 24, 25)
    ),
    *(Case("Identity", (X,), X, opset=v) for v in (1, 13, 14, 16, 19, 21, 23, 24, 25)),
    Case("Identity", ([X, X[0]],), [X, X[0]]),
    *(Case("Cast", (ONES[d],), ONES[FLOAT], {"to": FLOAT.code}, id=f"{d}") for d in CASTABLE),
    *(Case("Cast", (ONES[FLOAT],), ONES[d], {"to": d.code}, id=f"to {d}") for d in CASTABLE),
    *(Case("CastLike", (ONES[d], X), ONES[FLOAT], id=f"{d}", no_body=no_body(d)) for d in CASTABLE),
    *(
        Case("CastLike", (ONES[FLOAT], ONES[d]), ONES[d], id=f"to {d}", no_body=no_body(d))
        for d in CASTABLE
    ),
    *(Case("Constant", (), ONES[d], {"value": ONES[d]}, id=f"{d}") for d in TABLE),
    *(
        Case("ConstantOfShape", (np.int64([2]),), ONES[d], {"value": ONES[d][:1]}, id=f"{d}")
        for d in TABLE
        if d.kind not in (Kind.STRING, Kind.COMPLEX) and d.bits != 6 and "int2" not in d.name
    ),
    *(Case("Identity", (ONES[d],), ONES[d], id=f"{d}") for d in TABLE if d.bits != 6),
]
