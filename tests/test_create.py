"""Tensors that a few numbers ask for: more than there can be, and none at all."""

from __future__ import annotations

import numpy as np
import pytest

import minirt
from minirt.errors import ExecutionError
from models import model, session

#: What makes a tensor of any size, from inputs or from attributes alone.
FROM_SIZES = ("int64[N] s", "float[] y", "y = ConstantOfShape(s)")
INSIDE = ("int64[N] s", "float16[] y", "x = ConstantOfShape(s)  y = Cast<to=10>(x)")


@pytest.mark.parametrize("graph", [FROM_SIZES, INSIDE], ids=["output", "inside"])
@pytest.mark.parametrize(
    "sizes",
    [[2**46], [2**62, 4], [2**63 - 1] * 3, [2**20, 2**20, 2**6]],
    ids=["one", "beyond 64 bits", "largest", "product"],
)
def test_more_elements_than_there_is_memory(graph, sizes):
    with pytest.raises(ExecutionError, match=r"memory|Memory|too big") as error:
        session(*graph).run([np.int64(sizes)])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("shape", ["[281474976710656]", "[4611686018427387904, 4]"])
@pytest.mark.parametrize("name", ["RandomNormal", "RandomUniform"])
def test_more_random_numbers_than_there_is_memory(name, shape):
    made = session("", "float16[] y", f"x = {name}<shape={shape}>()  y = Cast<to=10>(x)")
    with pytest.raises(ExecutionError, match="memory"):
        made.run([])


def test_a_range_without_end():
    steps = session("int64 a, int64 b, int64 c", "int64[N] y", "y = Range(a, b, c)")
    with pytest.raises(ExecutionError, match="memory"):
        steps.run([np.int64(n) for n in (-(2**63), 2**63 - 1, 1)])


def test_a_large_constant_takes_no_memory_until_it_runs():
    made = model(
        "", "float[N] y", "y = ConstantOfShape(s)", initializers="int64[1] s = {70368744177664}"
    )
    assert str(minirt.infer(made).outputs[0].type) == "float[70368744177664]"
    minirt.load(made)


def test_a_size_that_is_zero_makes_others_harmless():
    y = session(*INSIDE).run([np.int64([2**60, 0])])[0]
    assert (y.shape, y.dtype) == ((2**60, 0), np.float16)


@pytest.mark.parametrize(
    ("declared", "inferred"),
    [("int64[3] s", "float[?,?,?]"), ("int64[N] s", "float[...]"), ("int64[] s", "float[...]")],
)
def test_the_rank_is_what_is_known_of_a_shape(declared, inferred):
    made = model(declared, "y", "y = ConstantOfShape(s)")
    assert str(minirt.infer(made).outputs[0].type) == inferred


def test_an_unknown_matrix_has_two_dimensions():
    made = model("float[] x", "y", "y = EyeLike<dtype=7>(x)")
    assert str(minirt.infer(made).outputs[0].type) == "int64[?,?]"
    made = model("float[N, 3] x", "y", "y = EyeLike(x)")
    assert str(minirt.infer(made).outputs[0].type) == "float[N,3]"
