"""The kernels of quantisation on long tensors, whose blocks several threads share."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

import minirt
from minirt.dtypes import find

SHAPE = (3, 70, 1100)
#: axis, block_size and the shape of the scale.
LAYOUTS = {
    "all": (1, 0, ()),
    "first": (0, 0, (3,)),
    "middle": (1, 0, (70,)),
    "last": (2, 0, (1100,)),
    "blocks of rows": (1, 16, (3, 5, 1100)),
    "blocks in rows": (2, 128, (3, 70, 9)),
    "blocks of the first": (0, 2, (2, 70, 1100)),
}
TYPES = [np.uint8, np.int8, np.uint16, np.int16]


def run(op, *inputs, **attributes):
    names = [f"x{i}" for i in range(len(inputs))]
    declared = [
        helper.make_tensor_value_info(name, find(x.dtype).code, x.shape)
        for name, x in zip(names, inputs, strict=True)
    ]
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], **attributes)],
        "g",
        declared,
        [helper.make_empty_tensor_value_info("y")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    session = minirt.load(model)
    results = [session.run(list(inputs), threads=threads)[0] for threads in (1, 2)]
    assert results[0].tobytes() == results[1].tobytes()
    return results[0]


def laid_over(operand, axis, block_size):
    if not operand.ndim:
        return operand
    if not block_size:
        return operand.reshape(-1, *[1] * (len(SHAPE) - 1 - axis))
    return np.repeat(operand, block_size, axis).take(range(SHAPE[axis]), axis)


@pytest.fixture(scope="module")
def numbers():
    return np.random.RandomState(1).uniform(-9e4, 9e4, SHAPE).astype(np.float32)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES)
def test_quantize(layout, dtype, numbers):
    axis, block_size, shape = LAYOUTS[layout]
    limits = np.iinfo(dtype)
    draw = np.random.RandomState(2)
    scale = draw.uniform(1, 800 if limits.bits == 8 else 3, shape).astype(np.float32)
    zero = draw.randint(limits.min, limits.max, shape).astype(dtype)
    y = run("QuantizeLinear", numbers, scale, zero, axis=axis, block_size=block_size)
    rounded = np.rint(numbers / laid_over(scale, axis, block_size)).astype(np.int64)
    sums = rounded + laid_over(zero, axis, block_size)
    np.testing.assert_array_equal(y, np.clip(sums, limits.min, limits.max).astype(dtype))
    assert len(np.unique(y)) > 200  # and not the limits alone


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES)
def test_dequantize(layout, dtype, numbers):
    axis, block_size, shape = LAYOUTS[layout]
    limits = np.iinfo(dtype)
    codes = numbers.astype(np.int64).astype(dtype)
    draw = np.random.RandomState(3)
    scale = draw.uniform(1e-3, 2, shape).astype(np.float32)
    zero = draw.randint(limits.min, limits.max, shape).astype(dtype)
    y = run("DequantizeLinear", codes, scale, zero, axis=axis, block_size=block_size)
    difference = codes.astype(np.int64) - laid_over(zero, axis, block_size)
    exact = difference.astype(np.float32) * laid_over(scale, axis, block_size)
    np.testing.assert_array_equal(y, exact)


def test_every_float32_of_a_step_is_rounded_as_it_is_divided():
    """All numbers around the ties of a few steps."""
    ties = np.arange(-140, 140, dtype=np.float32) + np.float32(0.5)
    steps = np.arange(-64, 65, dtype=np.int32)
    for scale in (np.float32(0.1), np.float32(3), np.float32(1 / 3)):
        bits = (ties * scale).view(np.int32)[:, None] + steps
        x = bits.view(np.float32)
        y = run("QuantizeLinear", x, scale, np.int8(0))
        np.testing.assert_array_equal(y, np.clip(np.rint(x / scale), -128, 127))


def test_four_bits_wrap_nowhere():
    x = np.linspace(-40, 40, 5001, dtype=np.float32)
    y = run("QuantizeLinear", x, np.float32(2), output_dtype=TensorProto.INT4)
    np.testing.assert_array_equal(y.astype(np.float32), np.clip(np.rint(x / 2), -8, 7))
