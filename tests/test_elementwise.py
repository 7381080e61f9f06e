"""Kernels for single elements: in blocks, broadcast, in place; and what is said of types."""

from __future__ import annotations

import subprocess
import sys
import warnings

import ml_dtypes
import numpy as np
import pytest
from cases_arithmetic import quotient
from elementwise_rows import in_float64, integers
from onnx import ModelProto, parser

import minirt
from minirt.data.arrays import to_public, to_storage
from minirt.dtypes import BY_NAME
from minirt.errors import SchemaError, ShapeError
from minirt.kernels import arithmetic, arrays
from minirt.kernels.arrays import elementwise
from minirt.ops import registry
from minirt.types import Dim, TensorType

F2, BF = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
SHAPES = [
    ((40,), (40,)),
    ((40,), ()),
    ((), (40,)),
    ((40,), (1,)),
    ((5, 7), (7,)),
    ((5, 7), (5, 1)),
    ((5, 1), (1, 7)),
    ((2, 3, 4, 5), (3, 1, 5)),
    ((2, 3, 4, 5), (1, 3, 4, 1)),
    ((2, 3, 4, 5), (2, 1, 1, 5)),
    ((3, 1, 4), (1, 5, 1)),
    ((1, 1, 40), (1, 40)),
    ((2, 0, 40), (40,)),
    ((1,), (1, 1)),
]


def numbers(shape: tuple[int, ...], dtype: np.dtype, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def type_of(array: np.ndarray, dtype: str) -> TensorType:
    return TensorType(BY_NAME[dtype], array.shape)


@pytest.mark.parametrize("block", [1, 7, 16, 40, 1 << 15])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float"])
def test_blocks_give_what_the_whole_gives(monkeypatch, name, shapes, block):
    monkeypatch.setattr(arrays, "_BLOCK", block)
    dtype = BY_NAME[name]
    a, b = (numbers(shape, dtype.public, i) for i, shape in enumerate(shapes))
    expected = (a.astype(np.float32) * b.astype(np.float32)).astype(dtype.public)
    types = [type_of(x, name) for x in (a, b, expected)]
    out = np.empty(expected.shape, dtype.storage)
    kernel = elementwise(np.multiply, types[:2], types[2:])
    kernel.function(to_storage(a, dtype), to_storage(b, dtype), out)
    assert to_public(out, dtype).tobytes() == expected.tobytes()


@pytest.mark.parametrize("size", [40, 33_000, 70_001])
def test_omitted_operands_and_other_results(size):
    dtype = BY_NAME["float16"]
    x = numbers((size,), F2)
    given = [type_of(x, "float16"), None]
    result = type_of(x, "bool")
    out = np.empty(size, np.uint8)

    def above(x, limit, out):
        assert limit is None
        np.greater(x, 0, out=out)

    elementwise(above, given, [result]).function(to_storage(x, dtype), None, out)
    assert out.tolist() == (x > 0).astype(int).tolist()


def test_nothing_warns():
    x = np.float32([0.0, 1e38, -1.0])
    out = np.empty_like(x)
    types = [type_of(x, "float")] * 2
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        for function in (np.divide, np.multiply, np.power):
            elementwise(function, types, types[:1]).function(x, x, out)
        elementwise(np.log, types[:1], types[:1]).function(x, out)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_large_tensors_are_rounded_once(name):
    """Through a session: more than a block, and a rest."""
    public = BY_NAME[name].public
    a, b = numbers((3, 33_001), public), numbers((33_001,), public, 1)
    graph = "(T[3,33001] a, T[33001] b) => (T[3,33001] y) { y = Add(a, b) }".replace("T", name)
    y = minirt.run(model(graph), {"a": a, "b": b})["y"]
    expected = (a.astype(np.float32) + b.astype(np.float32)).astype(public)
    assert y.tobytes() == expected.tobytes()


def model(graph: str) -> ModelProto:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : 22]> g {graph}')


@pytest.mark.parametrize("op", ["Add", "Div", "Pow", "Mod", "BitShift", "Equal", "Less"])
def test_one_operand_twice(op):
    """The output may lie in the memory of both."""
    kind = "uint32" if op == "BitShift" else "int32"
    attributes = {"BitShift": '<direction = "LEFT">'}.get(op, "")
    x = np.arange(1, 9, dtype=kind)
    result = "bool" if op in ("Equal", "Less") else kind
    graph = (
        f"({kind}[N] x) => ({result}[N] z) "
        f"{{ y = Mul(x, x) w = Sub(y, x) z = {op} {attributes} (w, w) }}"
    )
    w = x * x - x
    expected = {
        "Add": w + w,
        "Div": np.minimum(w, 1),
        "Pow": np.array([pow(int(n), int(n), 1 << 32) for n in w], np.uint32).view(np.int32),
        "Mod": w * 0,
        "BitShift": np.where(w < 32, w << (w % 32), 0),
        "Equal": w == w,
        "Less": w < w,
    }[op]
    z = minirt.run(model(graph), {"x": x})["z"]
    assert z.tolist() == expected.tolist()


# Types


def types(op: str, *operands: TensorType, opset: int = 28, **attributes: object) -> TensorType:
    function = registry.find("", op, opset).function
    return function(*operands, **attributes)[0]


FLOAT, BOOL = BY_NAME["float"], BY_NAME["bool"]
UNKNOWN, NAMED = TensorType(FLOAT), TensorType(FLOAT, (Dim("N"), 3))


def test_what_is_not_known_stays_so():
    assert types("Add", UNKNOWN, NAMED).shape is None
    assert types("Add", NAMED, TensorType(FLOAT, (3,))) == NAMED
    assert types("Add", NAMED, TensorType(FLOAT, (4, 1))).shape == (4, 3)
    assert types("Less", NAMED, NAMED) == NAMED.with_dtype(BOOL)
    assert types("Where", UNKNOWN.with_dtype(BOOL), NAMED, NAMED).shape is None
    assert types("Clip", NAMED, UNKNOWN, None) == NAMED
    assert types("Clip", NAMED, None, TensorType(FLOAT, (Dim(),))) == NAMED
    assert types("PRelu", UNKNOWN, NAMED) == UNKNOWN
    assert types("Sum", UNKNOWN, NAMED, opset=6) == NAMED
    assert types("Max", UNKNOWN, NAMED).shape is None


def test_what_is_not_known_of_old_broadcasting():
    def add(a: TensorType, b: TensorType, axis: int | None = None, broadcast: int = 1):
        return types("Add", a, b, opset=6, axis=axis, broadcast=broadcast)

    assert add(UNKNOWN, NAMED) == UNKNOWN
    assert add(NAMED, UNKNOWN) == NAMED
    assert add(UNKNOWN, NAMED, broadcast=0) == NAMED
    assert add(NAMED, NAMED, broadcast=0) == NAMED
    assert add(NAMED, TensorType(FLOAT, (Dim("M"),)), axis=0) == NAMED
    with pytest.raises(ShapeError, match=r"float\[4\] cannot be broadcast to float\[N,3\]"):
        add(NAMED, TensorType(FLOAT, (4,)))
    with pytest.raises(ShapeError, match=r"float\[3\], .* nothing is broadcast at this opset"):
        add(TensorType(FLOAT, (3,)), NAMED, broadcast=0)


@pytest.mark.parametrize("shape", [(2,), (0,), (2, 1)])
def test_limits_are_single_numbers(shape):
    limit = TensorType(FLOAT, shape)
    with pytest.raises(ShapeError, match="min is float"):
        types("Clip", NAMED, limit, None)
    with pytest.raises(ShapeError, match="max is float"):
        types("Clip", NAMED, None, limit)


def test_attributes_are_looked_at_when_types_are_found():
    with pytest.raises(SchemaError, match="direction='UP' is neither"):
        types("BitShift", UNKNOWN, UNKNOWN, direction="UP")


# What is done by NumPy for few elements, and by loops for many


@pytest.mark.parametrize("few", [0, 1 << 20], ids=["loop", "NumPy"])
@pytest.mark.parametrize("dtype", [f"{kind}{bits}" for kind in "iu" for bits in (1, 2, 4, 8)])
def test_division_towards_zero(monkeypatch, few, dtype):
    monkeypatch.setattr(arithmetic, "FEW", few)
    x = integers(np.dtype(dtype))
    if x.itemsize == 8:
        exact = np.array([2**53, 2**53 - 1, 2**53 + 1, 3 << 53, 10**15], dtype)
        x = np.concatenate([x, exact, exact * np.array(-1).astype(dtype)])
    expected = in_float64(quotient)(x[:, None], x)
    with np.errstate(all="ignore"):
        for a, b, wanted in (
            (x[:, None], x, expected),
            (x, x[3:4], expected[:, 3]),
            (x[:1].reshape(()), x, expected[0]),
            (x[:1], x[1:2], expected[0, 1:2]),
        ):
            out = np.empty(wanted.shape, dtype)
            arithmetic.divide(a, b, out)
            assert out.tolist() == wanted.tolist()


@pytest.mark.parametrize("few", [0, 1 << 20], ids=["loop", "NumPy"])
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16", "O"])
def test_choice(monkeypatch, few, dtype):
    monkeypatch.setattr(arithmetic, "FEW", few)
    condition = np.random.default_rng(5).integers(0, 2, (3, 1, 7), np.uint8)
    x, y = np.arange(5).astype(dtype)[:, None], np.arange(100, 107).astype(dtype)
    for a, b in ((x, y), (y, x), (x[0], y), (y, x[1].reshape(()))):
        expected = np.where(condition, a, b)
        out = np.empty(expected.shape, dtype)
        arithmetic.choose(condition, a, b, out)
        assert out.tolist() == expected.tolist()


def test_choice_through_a_session():
    condition = np.random.default_rng(6).integers(0, 2, (9, 1001)).astype(bool)
    x, y = np.arange(9009.0).reshape(9, 1001), np.arange(1001.0)
    graph = "(bool[9,N] c, double[9,N] x, double[N] y) => (double[9,N] z) { z = Where(c, x, y) }"
    z = minirt.run(model(graph), {"c": condition, "x": x, "y": y})["z"]
    assert z.tobytes() == np.where(condition, x, y).tobytes()


SHAPE_ARITHMETIC = """
import sys
sys.modules["numba"] = None
from onnx import parser
import minirt
graph = '(float[N,6] x) => (float[A,B] z) <int64[1] two = {2}, int64[1] all = {-1}>'
graph += '{ s = Shape(x) h = Div(s, two) c = Less(h, two) m = Mul(h, all) w = Where(c, s, m)'
graph += 'v = Max(w, two) y = Pow(v, two) z = ConstantOfShape(y) }'
model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 22]> g {graph}')
graph = minirt.infer(model, {"x": [2, 6]})
print(graph.outputs[0].type)
"""


def test_shapes_are_computed_without_numba():
    command = [sys.executable, "-c", SHAPE_ARITHMETIC]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.stderr, done.stdout) == ("", "float[4,4]\n")
