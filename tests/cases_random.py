"""Random operators where chance has no say; :mod:`test_random` is about what they draw."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from cases import Case
from onnx import TensorProto

from minirt.dtypes import BY_CODE, BY_NAME
from minirt.errors import ExecutionError, SchemaError, ShapeError

FLOATS = ("float16", "float", "double")
EIGHTS = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
INTEGERS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
ANY = np.int16([[1, 2, 3]])


def public(name: str) -> np.dtype:
    return BY_NAME[name].public


# Normal and uniform: no width, no elements


def of_one_value():
    for opset, names in ((1, FLOATS), (22, ("bfloat16", *FLOATS))):
        for name in names:
            code, like = BY_NAME[name].code, np.zeros((2, 3), public(name))
            constant = np.full((2, 3), -1.5, public(name))
            normal, uniform = {"mean": -1.5, "scale": 0.0}, {"low": -1.5, "high": -1.5}
            for distribution, attributes in (("Normal", normal), ("Uniform", uniform)):
                made = {"shape": [2, 3], "dtype": code, **attributes}
                yield Case(f"Random{distribution}", (), constant, made, opset=opset)
                operator = f"Random{distribution}Like"
                yield Case(operator, (like,), constant, attributes, opset=opset)
                typed = {"dtype": code, **attributes}
                yield Case(operator, (ANY,), constant[:1], typed, opset=opset)
    for distribution in ("Normal", "Uniform"):
        for shape in ([0], [3, 0, 2]):
            empty = np.zeros(shape, np.float32)
            yield Case(f"Random{distribution}", (), empty, {"shape": shape})
            yield Case(f"Random{distribution}Like", (empty,), empty)
    # The type of the input is one that may not be drawn; its contents are never looked at.
    for like in (np.complex64([1]), np.array(["a"], object), np.zeros((), bool)):
        expected = np.zeros(like.shape, np.float64)
        yield Case(
            "RandomNormalLike", (like,), expected, {"dtype": TensorProto.DOUBLE, "scale": 0.0}
        )


def refused():
    for attributes, text in (
        ({"scale": -1.0}, "scale=-1.0"),
        ({"scale": float("nan")}, "scale=nan"),
        ({"mean": float("inf")}, "mean=inf"),
        ({"dtype": TensorProto.INT32}, "dtype=6"),
        ({"shape": [2, -1]}, "[2, -1]"),
    ):
        attributes = {"shape": [2], **attributes}
        yield Case("RandomNormal", (), attributes=attributes, raises=(SchemaError, text))
    for attributes, text in (
        ({"low": 2.0, "high": 1.0}, "low=2.0 and high=1.0"),
        ({"low": 0.0, "high": float("inf")}, "high=inf"),
        ({"dtype": TensorProto.BOOL}, "dtype=9"),
    ):
        attributes = {"shape": [2], **attributes}
        yield Case("RandomUniform", (), attributes=attributes, raises=(SchemaError, text))
    for operator in ("RandomNormalLike", "RandomUniformLike"):
        yield Case(operator, (ANY,), raises=(SchemaError, "without dtype it would be int16"))


# Bernoulli and Multinomial: what is sure


def certain(input, dtype=0, seed=0.0):
    return input.astype(BY_CODE[dtype].public if dtype else input.dtype)


def bernoulli(input, attributes=None, opset=28):
    # Greater has its operands in the wrong order there.
    reason = "ONNX's definition gives 0 with the probability of 1"
    return Case("Bernoulli", (input,), certain, attributes or {}, opset=opset, no_body=reason)


def sure():
    for opset, names in ((15, FLOATS), (22, ("bfloat16", *FLOATS))):
        for name in names:
            input = np.array([[0, 1, 1], [1, 0, 0]], public(name))
            yield bernoulli(input, {"seed": 2.5}, opset)
            for to in ("bfloat16", *FLOATS, *INTEGERS, "bool"):
                attributes = {"dtype": BY_NAME[to].code}
                yield bernoulli(input, attributes, opset)
        for name in names:
            logits = np.array([[-np.inf, 3, -np.inf], [-200, -np.inf, -np.inf]], public(name))
            drawn = np.int32([[1] * 5, [0] * 5])
            attributes = {"sample_size": 5, "seed": 1.0}
            yield Case("Multinomial", (logits,), drawn, attributes, opset={15: 7}.get(opset, opset))
            attributes = {"sample_size": 5, "dtype": TensorProto.INT64}
            yield Case("Multinomial", (logits,), drawn.astype(np.int64), attributes)
    huge = np.float32([[-np.inf, 1e4, -1e4]])  # e to the power of it is infinite
    yield Case("Multinomial", (huge,), np.int32([[1] * 3]), {"sample_size": 3})
    for shape in ((), (0,), (2, 0, 3)):
        yield bernoulli(np.ones(shape, np.float32))
    for batch, classes, samples in ((0, 3, 2), (0, 0, 2), (2, 0, 0), (2, 3, 0)):
        yield Case(
            "Multinomial",
            (np.zeros((batch, classes), np.float32),),
            np.zeros((batch, samples), np.int32),
            {"sample_size": samples},
        )
    for input, text in (
        (np.float32([0.5, 1.5]), "input[1] is 1.5"),
        (np.float64([[0.5], [-0.25]]), "input[1,0] is -0.25"),
        (np.float16(np.nan), "input is nan"),
    ):
        yield Case("Bernoulli", (input,), raises=(ExecutionError, text))
    for input, text in (
        (np.float32([[0, np.nan]]), "input[0,1] is nan"),
        (np.float32([[0, 1], [np.inf, 0]]), "input[1,0] is inf"),
        (np.float32([[0, 1], [-np.inf, -np.inf]]), "no column of row 1"),
    ):
        yield Case("Multinomial", (input,), raises=(ExecutionError, text))
    for input, attributes, error, text in (
        (np.float32([0, 1]), {}, ShapeError, "float[2]"),
        (np.zeros((2, 0), np.float32), {}, ShapeError, "float[2,0]"),
        (np.float32([[0, 1]]), {"sample_size": -1}, SchemaError, "sample_size=-1"),
        (np.float32([[0, 1]]), {"dtype": TensorProto.FLOAT}, SchemaError, "dtype=1"),
    ):
        yield Case("Multinomial", (input,), attributes=attributes, raises=(error, text))


# Dropout: out of training, and as ONNX's test cases drop


def all_kept(data, *_, **attributes):
    return data, np.ones(data.shape, bool)


def all_kept_of_one_type(data, **attributes):
    return data, np.ones(data.shape, data.dtype)


def dropped(data, ratio, training_mode, seed):
    """The rule of ONNX's own test cases, in exact numbers, rounded once."""
    np.random.seed(seed)
    ratio = 0.5 if ratio is None else float(np.reshape(ratio, ()))
    mask = np.random.uniform(0, 1.0, data.shape) >= ratio
    return (mask * data.astype(np.float64) * (1 / (1 - ratio))).astype(data.dtype), mask


def data(name: str) -> np.ndarray:
    return np.array([[-1.5, 0, 2, 3], [0.25, -6, 1, -0.0]], np.float32).astype(public(name))


def dropouts():
    for name in FLOATS:
        hint = {"is_test": 1, "consumed_inputs": [0]}
        yield Case("Dropout", (data(name),), all_kept_of_one_type, hint, opset=1)
        for opset, attributes in ((6, {"is_test": 1}), (7, {})):
            attributes = {**attributes, "ratio": 0.75}
            yield Case("Dropout", (data(name),), all_kept_of_one_type, attributes, opset=opset)
        yield Case("Dropout", (data(name),), all_kept, {"ratio": 0.75}, opset=10)
    for opset, names in (
        (12, FLOATS),
        (13, ("bfloat16", *FLOATS)),
        (22, ("bfloat16", *FLOATS, *EIGHTS)),
    ):
        ratio, off, on = np.float32(0.75), np.array(False), np.array(True)
        for name in names:
            yield Case("Dropout", (data(name),), all_kept, opset=opset)
            yield Case("Dropout", (data(name), ratio), all_kept, opset=opset, outputs=1)
            yield Case("Dropout", (data(name), ratio, off), all_kept, opset=opset)
            # 1 / (1 - 0.75) = 4 is exact, so that one rounding is all there is.
            for outputs in (1, 2):
                inputs, seed = (data(name), ratio, on), {"seed": 0}
                yield Case("Dropout", inputs, dropped, seed, opset=opset, outputs=outputs)
            yield Case("Dropout", (data(name), None, on), dropped, {"seed": 7}, opset=opset)
    for ratio in (np.float16([0.5]), np.float64(0.5), np.array(0.5, ml_dtypes.float8_e5m2)):
        yield Case(
            "Dropout", (data("float"), ratio, np.array([True])), dropped, {"seed": 2**32 - 1}
        )
    for seed in (2**32, -1, 2**63 - 1):  # beyond what NumPy takes
        zero = np.float32(0)
        yield Case("Dropout", (data("double"), zero, np.array(True)), all_kept, {"seed": seed})
    empty = np.zeros((2, 0), np.float32)
    yield Case("Dropout", (empty, np.float32(0.5), np.array(True)), all_kept)
    yield Case("Dropout", (np.float32(3),), all_kept)
    for inputs, error, text in (
        ((data("float"), np.float32(1), np.array(True)), ExecutionError, "ratio is 1.0"),
        ((data("float"), np.float32(-0.5), np.array(True)), ExecutionError, "ratio is -0.5"),
        ((data("float"), np.float32(np.nan), np.array(True)), ExecutionError, "ratio is nan"),
        ((data("float"), np.float32([0, 0]), np.array(True)), ShapeError, "ratio is float[2]"),
        ((data("float"), None, np.array([True] * 2)), ShapeError, "training_mode is bool[2]"),
    ):
        yield Case("Dropout", inputs, raises=(error, text))


CASES = [*of_one_value(), *refused(), *sure(), *dropouts()]
