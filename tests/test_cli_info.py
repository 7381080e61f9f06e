"""``minirt info``: what it says of values, and with which shapes."""

from __future__ import annotations

import pytest

import minirt
from minirt.cli import main
from minirt.cli.info import describe, read_shapes
from models import model

BODY = "h = Cast<to=10>(x) y = Cast<to=11>(h) v = Identity(w)"


@pytest.fixture
def path(tmp_path, monkeypatch):
    made = model(
        "float[N,3] x, float[2] w",
        "double[N,3] y, float[2] v",
        BODY,
        initializers="float[2] w = {1, 2}",
        opset=21,
    )
    made.graph.input[0].doc_string = "rows of\nsamples"
    made.graph.output[0].doc_string = "the same"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    return "m.onnx"


HEAD = """\
m.onnx
  IR version  10
  opsets      ai.onnx 21
  parameters  2 in 1 initializer, 8 B
inputs
  x  float[N,3]  rows of samples
  w  float[2], has a default
outputs
  y  double[N,3]  the same
  v  float[2]
operators
  Cast      2
  Identity  1
"""

VALUES = """\
values
  graph 'main' (IR 10, ai.onnx 21)
    input %x: float[{n},3]
    input %w: float[2] = [1.0, 2.0]
    %h: float16[{n},3] = Cast(%x, to=float16)
    %y: double[{n},3] = Cast(%h, to=double)
    %v: float[2] = Identity(%w)
    output %y: double[{n},3]
    output %v: float[2]
"""


@pytest.mark.parametrize(
    ("words", "n"),
    [
        ([], None),
        (["--shapes"], "N"),
        (["-s", "x=4,3"], "4"),
        (["-s", "x=4, ?", "--shapes"], "4"),
        (["-s", "x=?,3"], "N"),
        (["-s", "x=rows,3"], "rows"),
    ],
)
def test_values_and_their_shapes(path, capsys, words, n):
    assert main(["info", path, *words]) == 0
    assert capsys.readouterr() == (HEAD + (VALUES.format(n=n) if n else ""), "")


@pytest.mark.parametrize(
    ("arguments", "shapes"),
    [
        (["x=1,3,224,224"], {"x": [1, 3, 224, 224]}),
        (["x=N, 3 ,?", "w=2"], {"x": ["N", 3, None], "w": [2]}),
        (["x="], {"x": []}),
        (["a=b=0"], {"a=b": [0]}),
        (["x=past + 1,dim.0"], {"x": ["past + 1", "dim.0"]}),
        ([], {}),
    ],
)
def test_shapes_on_the_command_line(arguments, shapes):
    assert read_shapes(arguments) == shapes


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("x", "write -s NAME=SIZES, such as -s x=1,3,224,224"),
        ("x=1,", "'' is no size from 0, no name and no ?"),
        ("x=-1", "'-1' is no size from 0, no name and no ?"),
        ("x=1.5", "'1.5' is no size from 0, no name and no ?"),
        ("x=1000000000000000000", "'1000000000000000000' is no size from 0, no name and no ?"),
        ("x=2x", "'2x' is no size from 0, no name and no ?"),
    ],
)
def test_what_is_no_shape(argument, message):
    with pytest.raises(minirt.InputError) as caught:
        read_shapes([argument])
    assert str(caught.value) == f"-s {argument}: {message}"


def test_an_input_has_one_shape():
    with pytest.raises(minirt.InputError, match=r"^-s x=2: input 'x' has a shape already$"):
        read_shapes(["x=1", "x=2"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-s", "x=4,4"], "minirt: shapes: input 'x' is float[N,3], not float[4,4]\n"),
        (["-s", "X=4,3"], "minirt: shapes: the model has no input 'X'"),
    ],
)
def test_shapes_that_do_not_fit(path, capsys, words, message):
    assert main(["info", path, *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(message)


def test_a_model_that_cannot_be_typed_still_has_a_head(path, capsys):
    made = model("float[2] x", "float16[3] y", "y = Cast<to=10>(x)")
    with open(path, "wb") as file:
        file.write(made.SerializeToString())
    assert main(["info", path]) == 0
    capsys.readouterr()
    assert main(["info", path, "--shapes"]) == 2
    assert "output 'y' is declared float16[3], but is float16[2]" in capsys.readouterr().err


def test_lines_are_text_of_one_line(path):
    assert all("\n" not in line for line in describe(path, shapes={}))
