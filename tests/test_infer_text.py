"""Graphs as text."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper
from operators import bare, temporary  # noqa: F401
from protos import graph, model, node, value

import minirt
from minirt.dtypes import TABLE
from minirt.model.load import load_graph, read_graph

pytestmark = pytest.mark.usefixtures("bare")

BOOL = TensorProto.BOOL


def tensor(name, type_, shape, numbers):
    return helper.make_tensor(name, type_, shape, numbers)


def test_a_graph():
    proto = model(
        [
            node("Cast", "x", "t", to=TensorProto.FLOAT16, saturate=1),
            node("CastLike", "t k", "y"),
            node("Constant", "", "k", value_floats=[0.1, 2.0]),
        ],
        [value("x", 1, ["N", 3]), value("scale", 1, [2]), value("big", 1, [3, 3])],
        [value("y", 1, ["N", 3])],
        initializer=[
            tensor("scale", 1, [2], [0.5, 1e10]),
            tensor("big", 1, [3, 3], [0.0] * 9),
            tensor("w", TensorProto.INT4, [2, 2], [1, -1, 7, 0]),
            tensor("table", 1, [64, 3], [0.0] * 192),
        ],
        opsets={"": 21, "ai.onnx.ml": 3},
    )
    assert (
        str(minirt.infer(proto))
        == """\
graph 'main' (IR 10, ai.onnx 21, ai.onnx.ml 3)
  input %x: float[N,3]
  input %scale: float[2] = [0.5, 1e+10]
  input %big: float[3,3] = ...
  const %w: int4[2,2] = [[1, -1], [7, 0]]
  const %table: float[64,3]
  %t: float16[N,3] = Cast(%x, to=float16)
  %k: float[2] = Constant(value_floats=[0.1, 2.0])
  %y: float[N,3] = CastLike(%t, %k)
  output %y: float[N,3]"""
    )


def test_subgraphs_stand_below_their_node():
    inner = graph([node("Identity", "x", "i")], [], ["i"])
    body = graph(
        [node("If", "c", "t", then_branch=inner, else_branch=graph([], [], ["w"]))],
        [value("step", TensorProto.INT64, [])],
        ["t"],
        initializer=[tensor("w", 1, [1], [2.0])],
    )
    proto = model(
        [node("Repeat", "c", "y", domain="vendor", body=body, count=3)],
        [value("c", BOOL, []), value("x", 1, ["N"])],
        ["y"],
        opsets={"": 21, "vendor": 1},
    )
    assert (
        str(minirt.infer(proto))
        == """\
graph 'main' (IR 10, ai.onnx 21, vendor 1)
  input %c: bool[]
  input %x: float[N]
  %y: ? = vendor.Repeat(%c, count=3)
    body:
      input %step: int64[]
      const %w: float[1] = [2.0]
      %t: ? = If(%c)
        else_branch:
          output %w: float[1]
        then_branch:
          %i: float[N] = Identity(%x)
          output %i: float[N]
      output %t: ?
  output %y: ?"""
    )


def test_lists_of_subgraphs_are_numbered():
    choose = node("Choose", "x", "y", domain="vendor", scale=2.0)
    choose.attribute.append(helper.make_attribute("bodies", [graph([], [], ["x"])] * 2))
    proto = model([choose], [value("x", 1, [1])], ["y"], opsets={"vendor": 1})
    assert str(read_graph(proto)).splitlines()[2:-1] == [
        "  %y: ? = vendor.Choose(%x, scale=2.0)",
        "    bodies[0]:",
        "      output %x: float[1]",
        "    bodies[1]:",
        "      output %x: float[1]",
    ]


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        (3, "3"),
        (0.1, "0.1"),
        (float("nan"), "nan"),
        ('say "hi"\n', '"say \\"hi\\"\\n"'),
        ("é", '"é"'),
        ([1, 2], "[1, 2]"),
        ([0.1], "[0.1]"),
        (["a", "b"], '["a", "b"]'),
        (list(range(100)), "[0, 1, 2, 3, 4, 5, 6, 7, ... 100 in all]"),
        (tensor("", 1, [], [0.5]), "0.5"),
        (tensor("", TensorProto.STRING, [2], ["a", "b"]), '["a", "b"]'),
        (tensor("", BOOL, [1, 2], [True, False]), "[[True, False]]"),
        (tensor("", 1, [9], [0.0] * 9), "float[9]"),
        (helper.make_tensor_type_proto(1, ["N"]), "float[N]"),
    ],
)
def test_attributes(attribute, text):
    odd = node("Odd", "", "y", domain="vendor", a=attribute)
    loaded = read_graph(model([odd], [], ["y"], opsets={"vendor": 1}))
    assert str(loaded).splitlines()[1] == f"  %y: ? = vendor.Odd(a={text})"


@pytest.mark.parametrize(
    ("attribute", "text"),
    [(1, "float"), (99, "99"), ([1], "[1]"), (1.0, "1.0"), ("1", '"1"'), (b"", '""')],
)
def test_only_numbers_are_codes_of_types(attribute, text):
    odd = node("Odd", "", "y", domain="vendor", to=attribute)
    loaded = read_graph(model([odd], [], ["y"], opsets={"vendor": 1}))
    assert str(loaded).splitlines()[1] == f"  %y: ? = vendor.Odd(to={text})"


def test_defaults_and_types_in_attributes():
    def shown(**attributes):
        proto = model([node("Cast", "x", "y", **attributes)], [value("x", 1, [])], ["y"])
        proto.opset_import[0].version = 25
        return str(load_graph(proto)).splitlines()[2].removeprefix("  %y: ? = ")

    assert shown(to=17) == "Cast(%x, to=float8e4m3fn)"
    assert shown(to=17, saturate=1, round_mode="up") == "Cast(%x, to=float8e4m3fn)"
    assert shown(to=24, saturate=0, round_mode="down") == (
        'Cast(%x, round_mode="down", saturate=0, to=float8e8m0)'
    )


@pytest.mark.parametrize("dtype", TABLE, ids=repr)
def test_elements_of_every_type(dtype):
    ones = {"string": '"1"', "bool": "True", "complex64": "(1+0j)", "complex128": "(1+0j)"}
    ones |= dict.fromkeys(("float", "double", "float16"), "1.0")  # ml_dtypes writes 1
    numbers = ["1"] if dtype.name == "string" else [1]
    proto = model([], [], ["w"], initializer=[tensor("w", dtype.code, [1], numbers)])
    assert str(load_graph(proto)).splitlines()[1] == (
        f"  const %w: {dtype}[1] = [{ones.get(dtype.name, '1')}]"
    )


def test_operands_and_outputs_that_are_omitted():
    proto = model(
        [node("Clip", "x _ x", "a"), node("LSTM", "x x x", "_ h")], [value("x", 1, None)], ["a"]
    )
    assert str(read_graph(proto)).splitlines()[2:4] == [
        "  %a: ? = Clip(%x, _, %x)",
        "  _, %h: ? = LSTM(%x, %x, %x)",
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("layer.1/conv-2:0", "%layer.1/conv-2:0"),
        ("a b", '%"a b"'),
        ('"', '%"\\""'),
        ("gewicht_größe", "%gewicht_größe"),
    ],
)
def test_odd_names_are_quoted(name, text):
    assert str(read_graph(model([], [name], [])))[len("graph 'main' (IR 10, ai.onnx 21)\n") :] == (
        f"  input {text}: float[...]"
    )


def test_a_line_is_a_line_whatever_a_name_holds():
    odd = node("Od\nd", "", "y", domain="v\x1b[31m")
    proto = model([odd], [value("x", 1, ["N\n"])], ["y"], opsets={"v\x1b[31m": 1})
    assert str(read_graph(proto)).splitlines() == [
        "graph 'main' (IR 10, v\\x1b[31m 1)",
        "  input %x: float[N\\n]",
        "  %y: ? = v\\x1b[31m.Od\\nd()",
        "  output %y: ?",
    ]


def test_a_model_without_imports():
    proto = onnx.ModelProto(ir_version=8, graph=graph([], [], []))
    assert str(read_graph(proto)) == "graph 'main' (IR 8)"
