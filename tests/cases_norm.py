"""Normalisation and global pooling, against their formulas in float64."""

from __future__ import annotations

from math import fsum

import ml_dtypes
import numpy as np
from cases import Case

from minirt.errors import SchemaError, ShapeError

BF16 = ml_dtypes.bfloat16
FLOATS = (np.float16, np.float32, np.float64)
X = np.random.RandomState(3).uniform(-4, 4, (2, 3, 4, 5))
#: B is large: where a sum cancels, little but the rounding of its terms is left.
CHANNELS = tuple(np.float64(p) for p in ([0.5, -1, 2], [16, 24, -40], [0.5, -1, 0], [2, 0.5, 4]))
SCALE, B, MEAN, VAR = CHANNELS


def double(*arrays):
    return [array.astype(np.float64) for array in arrays]


def rounded(numbers, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(numbers).astype(dtype)


def typed(dtype, *arrays):
    return tuple(array.astype(dtype) for array in arrays)


def over(parameter, x):
    return parameter.reshape(-1, *[1] * (x.ndim - 2)) if parameter.ndim == 1 else parameter


# BatchNormalization


def batch_norm(x, scale, b, mean, var, epsilon=1e-5, momentum=0.9, training=False, **_):
    numbers, *parameters = double(x, scale, b, mean, var)
    s, o, m, v = (over(p, x) for p in parameters)
    running, momentum = (), np.float64(np.float32(momentum))
    if training:
        axes = (0, *range(2, x.ndim)) if mean.ndim == 1 else 0
        now = numbers.mean(axes), numbers.var(axes)
        running = tuple(
            rounded(before * momentum + n * (1 - momentum), before.dtype)
            for before, n in zip((mean, var), now, strict=True)
        )
        m, v = (over(n, x) for n in now)
    y = rounded((numbers - m) / np.sqrt(v + np.float64(np.float32(epsilon))) * s + o, x.dtype)
    return (y, *running) if training else y


def train(*inputs, **attributes):
    return batch_norm(*inputs, **attributes, training=True)


def batches():
    for opset, types in (
        (1, FLOATS),
        (6, FLOATS),
        (7, FLOATS),
        (9, FLOATS),
        (14, (*FLOATS, BF16)),
        (15, (*FLOATS, BF16)),
    ):
        attributes = {"epsilon": 1e-3} | ({"consumed_inputs": [0] * 5} if opset == 1 else {})
        for dtype in types:
            inputs = typed(dtype, X, *CHANNELS)
            yield Case("BatchNormalization", inputs, batch_norm, attributes, opset=opset, ulp=2)
            training = {"training_mode": 1} if opset >= 14 else attributes
            momentum = {"momentum": 0.75}
            yield Case(
                "BatchNormalization", inputs, train, {**training, **momentum}, opset=opset, ulp=1
            )
    # Types of their own: those of X, of scale and B, and of the statistics.
    mixed = (*typed(np.float16, X), *typed(np.float32, SCALE, B), *typed(np.float64, MEAN, VAR))
    yield Case("BatchNormalization", mixed, batch_norm, ulp=1)
    yield Case("BatchNormalization", mixed, train, {"training_mode": 1}, ulp=1)
    for shape in ((4, 3), (2, 3, 1), (0, 3, 2), (2, 3, 0)):
        x = np.resize(X, shape).astype(np.float32)
        inputs = (x, *typed(np.float32, *CHANNELS))
        yield Case("BatchNormalization", inputs, batch_norm, ulp=2)
    line = typed(np.float32, X[0, 0, 0], *(p[:1] for p in CHANNELS))
    yield Case("BatchNormalization", line, batch_norm_of_a_line, ulp=2)
    # One number for each element, before opset 9.
    elements = typed(np.float32, X, *(np.resize(np.abs(p) + 1, (3, 4, 5)) for p in CHANNELS))
    yield Case("BatchNormalization", elements, batch_norm, {"spatial": 0}, opset=7, ulp=2)
    yield Case("BatchNormalization", elements, train, {"spatial": 0}, opset=7, ulp=1)
    for position, name in enumerate(("scale", "B", "input_mean", "input_var"), 1):
        inputs = list(typed(np.float32, X, *CHANNELS))
        inputs[position] = inputs[position][:2]
        text = f"{name} is float[2], but float[2,3,4,5] has 3 channels"
        yield Case("BatchNormalization", tuple(inputs), raises=(ShapeError, text))


def batch_norm_of_a_line(x, *parameters):
    return batch_norm(x[:, None], *parameters)[:, 0]


# The others


def instance_norm(input, scale, B, epsilon=1e-5, consumed_inputs=None):
    x, s, b = double(input, scale, B)
    axes = tuple(range(2, x.ndim))
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    epsilon = np.float64(np.float32(epsilon))
    return rounded((x - mean) / np.sqrt(var + epsilon) * over(s, x) + over(b, x), input.dtype)


def local_norm(x, size, alpha=1e-4, beta=0.75, bias=1.0):
    alpha, beta, bias = (np.float64(np.float32(a)) for a in (alpha, beta, bias))
    numbers = x.astype(np.float64)
    result = np.empty(x.shape)
    for c in range(x.shape[1]):
        near = slice(max(0, c - (size - 1) // 2), min(x.shape[1], c + size // 2 + 1))
        sums = np.square(numbers[:, near]).sum(1)
        result[:, c] = numbers[:, c] / (bias + alpha / size * sums) ** beta
    return rounded(result, x.dtype)


def average(x):
    lines = x.astype(np.float64).reshape(x.shape[0] * x.shape[1], -1)
    means = [fsum(line) / len(line) for line in lines.tolist()]
    return rounded(np.reshape(means, (*x.shape[:2], *[1] * (x.ndim - 2))), x.dtype)


def largest(x):
    flat = x.astype(np.float64).reshape(*x.shape[:2], -1).max(2)
    return flat.reshape(*x.shape[:2], *[1] * (x.ndim - 2)).astype(x.dtype)


def channels():
    for opset, types in ((1, FLOATS), (6, FLOATS), (22, (*FLOATS, BF16))):
        hint = {"consumed_inputs": [0]} if opset == 1 else {}
        for dtype in types:
            inputs = typed(dtype, X, SCALE, B)
            attributes = {"epsilon": 0.25, **hint}
            yield Case(
                "InstanceNormalization", inputs, instance_norm, attributes, opset=opset, ulp=1
            )
    for opset, types in ((1, FLOATS), (13, (*FLOATS, BF16))):
        for dtype in types:
            for size in (1, 2, 3):
                attributes = {"size": size, "alpha": 0.5, "beta": 0.5, "bias": 2.0}
                yield Case("LRN", typed(dtype, X), local_norm, attributes, opset=opset, ulp=1)
    for size in (4, 5, 8, 2**62):
        yield Case("LRN", typed(np.float32, X), local_norm, {"size": size}, ulp=1)
    line, x = np.zeros(3, np.float32), X.astype(np.float32)
    yield Case("LRN", (line,), attributes={"size": 1}, raises=(ShapeError, "float[3]"))
    yield Case("LRN", (x,), attributes={"size": 0}, raises=(SchemaError, "size=0"))
    short = typed(np.float32, X, SCALE[:2], B)
    yield Case("InstanceNormalization", short, raises=(ShapeError, "scale is float[2]"))


def pools():
    for opset, types in ((1, FLOATS), (22, (*FLOATS, BF16))):
        for dtype in types:
            # Above 0, so that sums do not cancel.
            yield Case("GlobalAveragePool", typed(dtype, X + 5), average, opset=opset, ulp=2)
            yield Case("GlobalMaxPool", typed(dtype, X), largest, opset=opset)
    for shape in ((2, 3), (2, 3, 7), (1, 1, 2, 2, 2), (0, 3, 2), (2, 0, 2), (0, 3, 0)):
        x = np.resize(X, shape).astype(np.float32)
        pooled = np.resize(x, (*shape[:2], *[1] * (len(shape) - 2)))
        yield Case("GlobalAveragePool", (x,), average if x.size else pooled, ulp=2)
        yield Case("GlobalMaxPool", (x,), largest if x.size else pooled)
    nothing = np.zeros((1, 2, 0), np.float32)
    yield Case("GlobalAveragePool", (nothing,), np.full((1, 2, 1), np.nan, np.float32))
    yield Case("GlobalMaxPool", (nothing,), raises=(ShapeError, "float[1,2,0]"))
    special = np.float32([[[1, np.nan, 2], [-np.inf, -1, -2], [-np.inf] * 3]])
    maxima = np.float32([[[np.nan], [-1], [-np.inf]]])
    yield Case("GlobalMaxPool", (special,), maxima)
    for op in ("GlobalAveragePool", "GlobalMaxPool"):
        yield Case(op, (np.zeros(3, np.float32),), raises=(ShapeError, "float[3]"))


CASES = [*batches(), *channels(), *pools()]
