"""Cast through whole models: published points, versions, attributes, and odd memory."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from cast_data import MODES, Mode
from cast_models import cast_node, elements_of, make_model, public, run_chain, run_model
from cast_points import POINTS, Points
from onnx import TensorProto, helper

import minirt


@pytest.mark.parametrize("points", POINTS, ids=lambda p: f"{p.src}->{p.mode}")
def test_published_points(points: Points) -> None:
    dst, saturate, round_mode = points.mode
    options = {"saturate": int(saturate), "round_mode": round_mode}
    got = run_chain([points.src, dst], points.sources, **options)
    wrong = [
        f"{text}: {right!r} is right, not {mine!r}"
        for text, right, mine in zip(points.texts, points.results, got, strict=True)
        if right != mine
    ]
    assert not wrong


CAST_VERSIONS = [6, 9, 13, 19, 21, 23, 24, 25, 28]
CASTLIKE_VERSIONS = [15, 19, 21, 23, 24, 25]


@pytest.mark.parametrize(
    ("op", "opset"),
    [
        *[("Cast", opset) for opset in CAST_VERSIONS],
        *[("CastLike", opset) for opset in CASTLIKE_VERSIONS],
    ],
)
def test_every_version(op: str, opset: int) -> None:
    source = [0x3F800000, 0x477FE000, 0x47800000, 0xBF801001]
    right = [0x3C00, 0x7BFF, 0x7C00, 0xBC01]
    assert run_chain(["float", "float16"], source, op=op, opset=opset) == right


def test_version_1_names_its_type() -> None:
    node = helper.make_node("Cast", ["x"], ["y"], to="FLOAT16")
    model = make_model([node], "float", {"y": "float16"}, opset=1)
    (y,) = run_model(model, np.float32([1, 65520]))
    assert elements_of(y, "float16") == [0x3C00, 0x7C00]


@pytest.mark.parametrize("op", ["Cast", "CastLike"])
@pytest.mark.parametrize("opset", [19, 28])
def test_saturate_is_on_by_default(op: str, opset: int) -> None:
    source = public(["1e9", "-inf"], "string")
    model = make_model(
        [cast_node("x", "y", "float8e4m3fn", op)], "string", {"y": "float8e4m3fn"}, opset
    )
    assert elements_of(run_model(model, source)[0], "float8e4m3fn") == [0x7E, 0xFE]


def test_round_mode_is_up_by_default() -> None:
    model = make_model([cast_node("x", "y", "float8e8m0")], "float", {"y": "float8e8m0"})
    assert elements_of(run_model(model, np.float32([1.25, 5]))[0], "float8e8m0") == [128, 130]


@pytest.mark.parametrize("dst", ["float16", "int8", "float4e2m1", "bool"])
def test_options_that_do_not_concern_the_type_change_nothing(dst: str) -> None:
    source = public([0x7F7FFFFF, 0x3FC00000, 0xFF800000, 0x7FC00000], "float")
    plain = make_model([cast_node("x", "y", dst)], "float", {"y": dst})
    options = {"saturate": 0, "round_mode": "down"}
    other = make_model([cast_node("x", "y", dst, **options)], "float", {"y": dst})
    assert elements_of(run_model(plain, source)[0], dst) == elements_of(
        run_model(other, source)[0], dst
    )


# ----------------------------------------------------------------- odd memory


def test_any_other_byte_is_a_true_bool() -> None:
    """Of an input, and of an initializer's raw bytes."""
    bytes_ = np.array([0, 1, 2, 128, 255], np.uint8)
    for dst, one in (("int8", 1), ("float", 0x3F800000), ("int2", 1), ("string", "1")):
        model = make_model([cast_node("x", "y", dst)], "bool", {"y": dst})
        right = ["0" if dst == "string" else 0, one, one, one, one]
        assert elements_of(run_model(model, bytes_.view(bool))[0], dst) == right
        stored = TensorProto(name="w", data_type=TensorProto.BOOL, dims=[5])
        stored.raw_data = bytes_.tobytes()
        model = make_model([cast_node("w", "y", dst)], "bool", {"y": dst})
        model.graph.initializer.append(stored)
        assert elements_of(run_model(model, bytes_[:0].view(bool))[0], dst) == right


@pytest.mark.parametrize(
    ("name", "byte", "value"),
    [("int4", 0xFF, -1), ("int4", 0xF7, 7), ("uint4", 0xF3, 3), ("int2", 0xFE, -2)],
)
def test_spare_bits_of_a_byte_mean_nothing(name: str, byte: int, value: int) -> None:
    source = np.array([byte], np.uint8).view(getattr(ml_dtypes, name))
    model = make_model([cast_node("x", "y", "int64")], name, {"y": "int64"})
    assert run_model(model, source)[0].tolist() == [value]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (2, 3, 4)])
def test_shapes_are_kept(shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    graph = helper.make_graph(
        [cast_node("x", "y", "int8")],
        "cast",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.INT8, shape)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=14)
    (y,) = minirt.run(model, {"x": x})
    assert y.dtype == np.int8
    assert y.shape == shape
    assert np.array_equal(y, x)


def test_a_bad_string_is_named_and_gives_nothing() -> None:
    model = make_model([cast_node("x", "y", "float")], "string", {"y": "float"})
    with pytest.raises(minirt.MinirtError, match=r"2.*'4_2'"):
        run_model(model, np.array(["1", "2", "4_2", "x"], object))


def test_every_mode_has_a_published_point() -> None:
    """So that no mode can go missing from the table."""
    with_modes = {m for m in MODES if m != Mode(m.dst)}
    covered = {points.mode for points in POINTS}
    assert with_modes - covered == {Mode("float8e8m0", False, "down")}
