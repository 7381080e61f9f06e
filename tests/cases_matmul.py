"""MatMul, Gemm, MatMulInteger, QLinearMatMul, Det. Expected: exact arithmetic, rounded once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
from case_data import allowed, numbers, opsets, rounded, type_name
from cases import Case

from minirt.errors import ShapeError


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The exact product of whole numbers, as objects."""
    return np.matmul(A.astype(np.int64).astype(object), B.astype(np.int64).astype(object))


def _matmul(A, B):
    return rounded(product(A, B), A.dtype)


#: Shapes that are multiplied.
SHAPES = [
    ((2, 3), (3, 4)),
    ((1, 5), (5, 1)),
    ((5, 1), (1, 5)),
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((2, 2, 3), (3,)),
    ((3,), (2, 3, 4)),
    ((2, 1, 2, 3), (5, 3, 4)),
    ((2, 2, 3), (2, 3, 4)),
    ((2, 0), (0, 3)),
    ((0, 2), (2, 3)),
    ((2, 3), (3, 0)),
    ((0, 2, 3), (1, 3, 4)),
    ((0,), (0,)),
    ((17, 33), (33, 9)),
]


def _matmuls() -> list[Case]:
    rows = []
    for dtype in allowed("MatMul"):
        for left, right in SHAPES if dtype in (np.float32, np.uint64) else SHAPES[:2]:
            A, B = numbers(dtype, *left), numbers(dtype, *right)
            rows.append(Case("MatMul", (A, B), _matmul, id=type_name(dtype)))
    for opset in opsets("MatMul"):
        A, B = numbers(np.float16, 2, 3), numbers(np.float16, 3, 4)
        rows.append(Case("MatMul", (A, B), _matmul, opset=opset))
    large = np.int32([[2**31 - 1, 7, -(2**31)]] * 2)
    half = np.float16([[2048, 1, 1, 1, 1]])
    X = numbers(np.float32, 2, 3)
    return [
        *rows,
        Case("MatMul", (large, large.T.copy()), _matmul, id="overflow"),
        Case("MatMul", (large.astype(np.uint32), large.T.astype(np.uint32)), _matmul),
        Case("MatMul", (half, np.ones((5, 1), half.dtype)), np.float16([[2052]])),
        Case("MatMul", (np.float32([[np.inf, 1]]), np.float32([[0], [1]])), np.float32([[np.nan]])),
        Case("MatMul", (X, X), raises=(ShapeError, "rows of 3 by columns of 2")),
        Case("MatMul", (X, np.float32(1)), raises=(ShapeError, "one is a scalar")),
        Case("MatMul", (np.ones((2, 2, 2)), np.ones((3, 2, 2))), raises=(ShapeError, "broadcast")),
    ]


def _gemm(A, B, C=None, *, alpha=1.0, beta=1.0, transA=0, transB=0, broadcast=0):
    """The definition in fractions; integers wrap around, or are cut off."""
    total = product(A.T if transA else A, B.T if transB else B) * Fraction(alpha)
    if C is not None:
        total = total + C.astype(np.int64).astype(object) * Fraction(beta)
    if A.dtype.kind in "iu":
        return rounded(np.vectorize(int, otypes=[object])(total), A.dtype)
    return rounded(total.astype(np.float64), A.dtype)


def _gemms() -> list[Case]:
    rows = []
    half = {"alpha": 0.5, "beta": 2.0}
    for dtype in allowed("Gemm"):
        A, B, C = numbers(dtype, 2, 3), numbers(dtype, 3, 4), numbers(dtype, 4)
        rows += [
            Case("Gemm", (A, B, C), _gemm, id=type_name(dtype)),
            Case("Gemm", (A.T.copy(), B.T.copy()), _gemm, {"transA": 1, "transB": 1}),
        ]
        if np.dtype(dtype).kind == "f" or dtype == ml_dtypes.bfloat16:
            rows.append(Case("Gemm", (A, B, C), _gemm, half, id=type_name(dtype)))
    A, B = numbers(np.float32, 2, 3), numbers(np.float32, 3, 4)
    for shape in ((), (1,), (4,), (1, 4), (2, 1), (1, 1), (2, 4)):
        rows.append(Case("Gemm", (A, B, numbers(np.float32, *shape)), _gemm, half))
    for opset in opsets("Gemm"):
        C = numbers(np.float64, 2, 4)
        row = (A.astype(np.float64), B.astype(np.float64), C)
        rows.append(Case("Gemm", row, _gemm, {"transA": 0}, opset=opset))
        if opset < 7:
            rows.append(Case("Gemm", (*row[:2], C[0]), _gemm, {"broadcast": 1}, opset=opset))
    integers = numbers(np.int32, 2, 3), numbers(np.int32, 3, 4), numbers(np.int32, 4)
    none, nan = np.zeros((2, 0), np.float32), np.float32([np.nan])
    return [
        *rows,
        Case("Gemm", integers, _gemm, {"alpha": 0.5, "beta": 0.25}, id="cut off"),
        Case(
            "Gemm", (np.int32([[2**30]]), np.int32([[1]])), np.int32([[-(2**31)]]), {"alpha": 2.5}
        ),
        Case("Gemm", integers, _gemm, {"alpha": -3.0, "beta": 2.0}, id="whole"),
        Case("Gemm", (np.uint32([[2**31]]), np.uint32([[2]]), np.uint32([[1]])), np.uint32([[1]])),
        Case("Gemm", (none, none.T.copy()), np.zeros((2, 2), np.float32), id="nothing"),
        Case("Gemm", (none, none.T.copy(), A[:, :1]), _gemm, id="C alone"),
        Case("Gemm", (A, B, nan), np.full((2, 4), np.nan, np.float32), id="NaN"),
        Case("Gemm", (A, A), raises=(ShapeError, "rows of 3 by columns of 2")),
        Case("Gemm", (A, B[0]), raises=(ShapeError, "B float[4] is no matrix")),
        Case("Gemm", (A, B, A), raises=(ShapeError, "C float[2,3] cannot be broadcast")),
        Case("Gemm", (A, B, B[None]), raises=(ShapeError, "C float[1,3,4] cannot be broadcast")),
    ]


def _centered(x: np.ndarray, zero: np.ndarray | None, column: bool) -> np.ndarray:
    zero = np.zeros(1, int) if zero is None else zero.astype(int)
    if zero.size == 1:
        zero = zero.reshape(())
    elif column and zero.ndim == 1:
        zero = zero[:, None]
    return x.astype(int) - zero


def _matmul_integer(A, B, a_zero_point=None, b_zero_point=None):
    total = product(_centered(A, a_zero_point, True), _centered(B, b_zero_point, False))
    return rounded(total, np.int32)


def _bytes(dtype: Any, *shape: int) -> np.ndarray:
    """All 256 values come."""
    count = int(np.prod(shape))
    return (np.arange(count) * 37 % 256).astype(np.uint8).view(dtype).reshape(shape)


def _integer_products() -> list[Case]:
    rows = []
    for left in (np.uint8, np.int8):
        for right in (np.uint8, np.int8):
            A, B = _bytes(left, 3, 300), _bytes(right, 300, 2)
            zeros = np.array(5, left), np.array([7], right)
            name = f"{type_name(left)} {type_name(right)}"
            rows += [
                Case("MatMulInteger", (A, B), _matmul_integer, id=name),
                Case("MatMulInteger", (A, B, *zeros), _matmul_integer, id=f"{name} zeros"),
            ]
    A, B = _bytes(np.uint8, 2, 3, 4), _bytes(np.int8, 4, 5)
    per_row, per_column = np.uint8([1, 200, 255]), np.int8([0, -128, 127, 5, 9])
    return [
        *rows,
        Case("MatMulInteger", (A[0], B, per_row, per_column), _matmul_integer, id="per line"),
        Case("MatMulInteger", (A, B, None, per_column), _matmul_integer, id="columns"),
        Case("MatMulInteger", (A, B, _bytes(np.uint8, 2, 3, 1)), _matmul_integer, id="stack"),
        Case("MatMulInteger", (A[0, 0], B), _matmul_integer, id="vector"),
        Case("MatMulInteger", (A[:0], B), _matmul_integer, id="nothing"),
        Case("MatMulInteger", (A, B, per_column.view(np.uint8)), raises=(ShapeError, "a_zero")),
        Case("MatMulInteger", (A, B, A), raises=(ShapeError, "several numbers for one row")),
    ]


def _quantized(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    """The definition in fractions: rounded to even, then the zero point is added."""
    total = product(_centered(a, a_zero, True), _centered(b, b_zero, False))
    scales = np.vectorize(lambda x: Fraction(float(x)), otypes=[object])
    left = scales(a_scale if a_scale.size == 1 or a_scale.ndim > 1 else a_scale[:, None])
    factor = left * scales(b_scale) / scales(y_scale)
    limits = np.iinfo(y_zero.dtype)
    quotients = np.vectorize(round, otypes=[object])(total * factor) + int(y_zero.reshape(()))
    return np.clip(quotients, limits.min, limits.max).astype(y_zero.dtype)


def _quantized_products() -> list[Case]:
    rows = []
    for opset, scale in ((10, np.float32), (21, np.float32), (21, np.float16), (28, np.float32)):
        for left, right, made in (("u1", "i1", "u1"), ("i1", "u1", "i1"), ("u1", "u1", "i1")):
            a, b = _bytes(left, 3, 20), _bytes(right, 20, 4)
            one = [np.array(x, scale) for x in (0.25, 0.5, 64)]
            zeros = np.array(3, left), np.array(-5 % 128, right), np.array(9, made)
            row = (a, one[0], zeros[0], b, one[1], zeros[1], one[2], zeros[2])
            rows.append(Case("QLinearMatMul", row, _quantized, opset=opset))
    a, b, one = _bytes("i1", 2, 3), _bytes("i1", 3, 2), np.float32([1])
    zero, lines = np.int8([0]), (np.float32([0.5, 2]), np.int8([1, -3]))
    per_line = (a, *lines, b, *lines, one * 16, zero)
    ties = (np.int8([[1, 3, 5]]).T.copy(), one, zero, np.int8([[1]]), one, zero, one * 2, zero + 1)
    f8 = ml_dtypes.float8_e4m3fn
    eighths = (np.array([[1.5, -2]], f8), one, np.zeros(1, f8), np.array([[2], [0.25]], f8))
    return [
        *rows,
        Case("QLinearMatMul", per_line, _quantized, id="per line"),
        Case("QLinearMatMul", ties, np.int8([[1], [3], [3]]), id="to even, then the zero point"),
        Case(
            "QLinearMatMul",
            (*eighths, one, np.zeros(1, f8), one / 2, np.zeros(1, f8)),
            np.array([[5]], f8),
            id="float8",
        ),
        Case(
            "QLinearMatMul",
            (a, lines[0], zero, b, one, zero, one, zero),
            raises=(ShapeError, "differ in shape"),
        ),
    ]


def _det(X):
    """By permutations, in fractions."""

    def of(matrix: list[list[Fraction]]) -> Fraction:
        if not matrix:
            return Fraction(1)
        minors = ([row[:j] + row[j + 1 :] for row in matrix[1:]] for j in range(len(matrix)))
        terms = ((-1) ** j * matrix[0][j] * of(m) for j, m in enumerate(minors))
        return sum(terms, Fraction(0))

    count = int(np.prod(X.shape[:-2]))
    stack = X.reshape(count, *X.shape[-2:]).astype(np.float64)
    found = [float(of([[Fraction(x) for x in row] for row in m.tolist()])) for m in stack]
    return np.array(found).reshape(X.shape[:-2]).astype(X.dtype)


def _dets() -> list[Case]:
    rows = []
    for opset in opsets("Det"):
        for dtype in allowed("Det", opset):
            for shape in ((3, 3), (2, 3, 2, 2), (1, 1), (0, 2, 2), (0, 0), (4, 4)):
                rows.append(Case("Det", (numbers(dtype, *shape),), _det, ulp=4, opset=opset))
    return [
        *rows,
        Case("Det", (np.zeros((3, 3)),), np.float64(0), id="singular"),
        Case("Det", (np.zeros((3, 2)),), raises=(ShapeError, "not square")),
        Case("Det", (np.zeros(3),), raises=(ShapeError, "no matrix")),
    ]


CASES = [*_matmuls(), *_gemms(), *_integer_products(), *_quantized_products(), *_dets()]
