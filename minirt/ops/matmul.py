"""Products of matrices: MatMul, Gemm, MatMulInteger, QLinearMatMul; and Det."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import kernels
from ..dtypes import BY_NAME
from ..errors import ShapeError
from ..kernels import products
from ..kernels.arrays import computed, number_dtype
from ..types import Dim, TensorType
from .registry import op, upgrade
from .shapes import broadcast

if TYPE_CHECKING:
    from ..graph import Graph, Node
    from ..types import Shape

_INT32 = BY_NAME["int32"]


@op("MatMul")
def matmul(A, B):
    """The product of matrices, of stacks of matrices, or of vectors, as ``numpy.matmul``.

    https://onnx.ai/onnx/operators/onnx__MatMul.html
    """
    Y = TensorType(A.dtype, _product_shape(A, B))
    return Y, lambda: computed(products.matmul(number_dtype(Y.dtype)), [A, B], [Y])


@op("Gemm")
def gemm(A, B, C=None, *, alpha, beta, transA, transB):
    """``alpha`` * A * B + ``beta`` * C, with A and B transposed if so said.

    https://onnx.ai/onnx/operators/onnx__Gemm.html
    """
    left, right = _matrix("A", A, transA), _matrix("B", B, transB)
    Y = TensorType(A.dtype, _product_shape(left, right))
    if C is not None:
        _check_spreads("C", C, Y)

    def thunk():
        run = products.gemm(number_dtype(Y.dtype), alpha, beta)
        return computed(
            lambda a, b, *rest: run(a.T if transA else a, b.T if transB else b, *rest),
            [A, B, C],
            [Y],
        )

    return Y, thunk


@upgrade("Gemm", to=7)
def _(node: Node, graph: Graph) -> None:
    """That C may be broadcast had to be said."""
    node.attributes.pop("broadcast", None)


@op("MatMulInteger")
def matmul_integer(A, B, a_zero_point=None, b_zero_point=None):
    """The product of A and B less their zero points, in int32, which wraps around.

    https://onnx.ai/onnx/operators/onnx__MatMulInteger.html
    """
    Y = TensorType(_INT32, _product_shape(A, B))
    a_shape = _line_shape("a_zero_point", a_zero_point, A, rows=True)
    b_shape = _line_shape("b_zero_point", b_zero_point, B, rows=False)

    def thunk():
        multiply = kernels.multiply_short()

        def run(a, b, a_zero, b_zero, y):
            a, b = products.centered(a, a_zero, a_shape), products.centered(b, b_zero, b_shape)
            multiply(a, b, y)

        return computed(run, [A, B, a_zero_point, b_zero_point], [Y])

    return Y, thunk


@op("QLinearMatMul")
def qlinear_matmul(a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point):
    """The product of two quantized tensors, quantized again.

    Integers are multiplied exactly and scaled in float64; the quotient is rounded to even
    before the zero point is added.

    https://onnx.ai/onnx/operators/onnx__QLinearMatMul.html
    """
    y = TensorType(y_zero_point.dtype, _product_shape(a, b))
    given = [a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point]
    a_shape = _line_shape("a_scale", a_scale, a, rows=True)
    b_shape = _line_shape("b_scale", b_scale, b, rows=False)
    y_shape = _line_shape("y_scale", y_scale, y, rows=True)
    for scale, zero in ((a_scale, a_zero_point), (b_scale, b_zero_point), (y_scale, y_zero_point)):
        _check_same_shape(scale, zero)

    def thunk():
        multiply = products.matmul_quantized(number_dtype(y.dtype))

        def run(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, y):
            a, b = products.centered(a, a_zero, a_shape), products.centered(b, b_zero, b_shape)
            scales = a_scale.reshape(a_shape), b_scale.reshape(b_shape), y_scale.reshape(y_shape)
            multiply(a, b, scales, y_zero.reshape(y_shape), y)

        return computed(run, given, [y])

    return y, thunk


@op("Det")
def det(X):
    """The determinants of square matrices.

    https://onnx.ai/onnx/operators/onnx__Det.html
    """
    if X.shape is None:
        return X.without_value(), None
    if len(X.shape) < 2:
        raise ShapeError(f"X {X} is no matrix")
    rows, columns = X.shape[-2:]
    if isinstance(rows, int) and isinstance(columns, int) and rows != columns:
        raise ShapeError(f"the matrices of X {X} are not square")
    Y = X.with_shape(*X.shape[:-2])
    return Y, lambda: computed(products.determinants, [X], [Y])


def _product_shape(A: TensorType, B: TensorType) -> Shape | None:
    """The shape of ``numpy.matmul(A, B)``, None while a rank is not known."""
    if A.shape is None or B.shape is None:
        return None
    if not A.shape or not B.shape:
        raise ShapeError(f"{A} and {B} cannot be multiplied: one is a scalar")
    left = A.shape if len(A.shape) > 1 else (1, *A.shape)
    right = B.shape if len(B.shape) > 1 else (*B.shape, 1)
    if isinstance(left[-1], int) and isinstance(right[-2], int) and left[-1] != right[-2]:
        raise ShapeError(
            f"{A} and {B} cannot be multiplied: rows of {left[-1]} by columns of {right[-2]}"
        )
    stack = broadcast(A.with_shape(*left[:-2]), B.with_shape(*right[:-2]))
    rows = left[-2:-1] if len(A.shape) > 1 else ()
    return (*(stack or ()), *rows, *(right[-1:] if len(B.shape) > 1 else ()))


def _matrix(name: str, operand: TensorType, transposed: int) -> TensorType:
    """The type of a matrix as it is multiplied."""
    if operand.shape is None:
        return operand.with_shape(Dim(), Dim())
    if len(operand.shape) != 2:
        raise ShapeError(f"{name} {operand} is no matrix")
    return operand.with_shape(*operand.shape[:: -1 if transposed else 1])


def _check_spreads(name: str, operand: TensorType, target: TensorType) -> None:
    """Raise ShapeError if ``operand`` cannot be broadcast to the shape of ``target``."""
    if operand.shape is None or target.shape is None:
        return
    missing = len(target.shape) - len(operand.shape)
    if missing < 0 or any(
        isinstance(size, int) and isinstance(wanted, int) and size not in (1, wanted)
        for size, wanted in zip(operand.shape, target.shape[missing:], strict=True)
    ):
        raise ShapeError(f"{name} {operand} cannot be broadcast to {target}")


def _line_shape(name: str, operand: TensorType | None, target: TensorType, *, rows: bool) -> Shape:
    """The shape in which a scale or zero point is broadcast to the matrices of ``target``.

    It has one number for all, or one for each row of a matrix: each column if not ``rows``.
    """
    if operand is None or operand.shape is None or operand.size == 1:
        return ()
    shape = (*operand.shape, 1) if rows and len(operand.shape) == 1 else operand.shape
    summed = -1 if rows else -2
    if len(shape) >= -summed and isinstance(shape[summed], int) and shape[summed] != 1:
        line = "row" if rows else "column"
        raise ShapeError(f"{name} {operand} has several numbers for one {line} of {target}")
    _check_spreads(name, operand.with_shape(*shape), target)
    return shape


def _check_same_shape(scale: TensorType, zero: TensorType) -> None:
    if scale.is_concrete and zero.is_concrete and scale.shape != zero.shape:
        one = scale.size == zero.size == 1
        if not one:
            raise ShapeError(f"scale {scale} and zero point {zero} differ in shape")
