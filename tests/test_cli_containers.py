"""Values on the command line that are no tensors, and models in more than one file."""

from __future__ import annotations

import json
import os
import shlex

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import OptionalProto, SequenceProto, TensorProto, numpy_helper

import minirt
from minirt.cli import main
from minirt.cli.results import show_value, value_to_json, write_result
from minirt.cli.values import read_feeds
from minirt.conformance import Tolerance, compare
from minirt.data.sparse import SparseTensor
from models import model

A = np.float32([1.5, -2])
SPARSE = SparseTensor(A, np.array([[0, 1], [1, 2]]), (2, 3))


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Runs ``minirt run`` on a model whose outputs are its inputs: (code, output, errors)."""
    monkeypatch.chdir(tmp_path)

    def run(kinds, *argv):
        (tmp_path / "m.onnx").write_bytes(model(kinds, kinds, "").SerializeToString())
        code = main(["run", "m.onnx", *argv])
        return (code, *capsys.readouterr())

    return run


def feed(kind, text):
    inputs = minirt.load(model(f"{kind} x", f"{kind} x", "")).inputs
    return read_feeds([f"x={text}"], inputs)["x"]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("seq(float[])", "[1, [2, 3]]", [1, [2, 3]]),
        ("seq(float[])", "[-inf, 1.5]", [float("-inf"), 1.5]),
        ("seq(float[])", "[]", []),
        ("seq(string[])", '["nan", ["inf"]]', ["nan", ["inf"]]),
        ("seq(string[])", "['nan', 'it\\'s -inf']", ["nan", "it's -inf"]),
        ("seq(seq(int4[]))", "[[1], []]", [[1], []]),
        ("map(string, float[])", '{"inf": Inf, "a\\" nan": 1}', {"inf": float("inf"), 'a" nan': 1}),
        ("map(int64, float[])", "{-1: [2.5]}", {-1: [2.5]}),
        ("optional(float[])", "null", None),
        ("optional(float[])", "None", None),
        ("optional(float[])", "[1, 2]", [1, 2]),
        ("optional(string[])", "free text", "free text"),
        ("optional(string[])", "null", None),
        ("optional(seq(float[]))", "[1, 2]", [1, 2]),
        ("optional(seq(float[]))", "null", None),
    ],
)
def test_literals(kind, text, value):
    assert feed(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("seq(float[])", "1", "'1' is no list, dict or .npy, .npz or .pb file; "
         "expected seq(float[...])"),
        ("seq(string[])", "text", "'text' is no list, dict or .npy, .npz or .pb file; "),
        ("seq(float[])", "null", "'null' is no list, dict or "),
        ("seq(float[])", "[1e999]", "1e999 is beyond every float"),
        ("optional(float[])", "[1", "'[1' is no number, list of numbers or .npy, "),
        ("sparse_tensor(float[2])", "[1]",
         "the input is sparse(float[2]); give it as a .pb file"),
        ("optional(sparse_tensor(float[2]))", "[1]",
         "the input is sparse(float[2]); give it as a .pb file"),
    ],
)  # fmt: skip
def test_literals_that_are_none(kind, text, message):
    with pytest.raises(minirt.InputError) as caught:
        feed(kind, text)
    assert str(caught.value).startswith(f"-i x={text}: {message}")


def test_literals_are_held_against_the_type(command):
    assert command("seq(int8[]) s", "-i", "s=[1, [2, 300]]")[2] == (
        "minirt: input 's'[1]: element [1]: 300 is not exactly representable as int8\n"
    )
    assert command("map(int64, float[]) m", "-i", 'm={"1": 2}')[2] == (
        "minirt: input 'm': the key '1' is no int64\n"
    )


def test_results_are_shown(command):
    code, out, err = command(
        "seq(float[]) s, optional(int8[]) o, map(string, bool[]) m", "-i", "s=[1.5, [2]]", "-i",
        'm={"k": true}',
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert out == (
        "s: sequence of 2\ns[0]: float[]\n  1.5\ns[1]: float[1]\n  [2.]\n"
        "o: None\n"
        "m: map of 1\nm['k']: bool[]\n  True\n"
    )


def test_what_is_missing_comes_with_a_command(command):
    code, out, err = command(
        "seq(float[N]) s, map(int64, int8[]) m, optional(float[]) o, seq(map(string, string[])) q, "
        "seq(float[99]) large"
    )
    assert (code, out) == (2, "")
    program, run, path, *words = shlex.split(err.partition("for example: ")[2])
    assert (program, run, path) == ("minirt", "run", "m.onnx")
    assert words[1::2] == ["s=[[1.0]]", "m={0: 0}", 'q=[{"key": "text"}]', "large=value.pb"]
    assert main(["run", path, *words[:-2], "-i", "large=[]"]) == 0


FILES = [
    ("seq(float[])", [A, A[:1]]),
    ("seq(float[])", []),
    ("seq(int4[])", [np.array([-8, 7, 1], ml_dtypes.int4)]),
    ("optional(seq(float[]))", None),
    ("optional(seq(string[]))", [np.array(["é"], object)]),
    ("map(string, float[])", {"k": A}),
    ("map(int64, seq(float[]))", {1: [A], -1: []}),
    ("sparse_tensor(float[2,3])", SPARSE),
    ("optional(float[])", None),
]


@pytest.mark.parametrize(("kind", "value"), FILES, ids=lambda v: v if isinstance(v, str) else "")
def test_results_as_files_that_are_inputs_again(command, tmp_path, kind, value):
    info = minirt.load(model(f"{kind} x", f"{kind} x", "")).inputs[0]
    minirt.save_value(value, tmp_path / "in.pb", info.type)
    assert command(f"{kind} x", "-i", "x=in.pb", "-o", "out") == (0, "x -> out/x.pb\n", "")
    assert command(f"{kind} x", "-i", "out/x.pb", "-o", "again")[0] == 0
    again = minirt.load_value(tmp_path / "again" / "x.pb", info.type)
    assert compare(value, again, Tolerance(ulp=0)).passed


def test_files_are_as_onnx_reads_them(command, tmp_path):
    (tmp_path / "s.pb").write_bytes(numpy_helper.from_list([A, A]).SerializeToString())
    kinds = "seq(float[]) s, optional(seq(float[])) o"
    assert command(kinds, "-i", "s=s.pb", "-o", "out")[0] == 0
    sequence = SequenceProto.FromString((tmp_path / "out" / "s.pb").read_bytes())
    assert sequence.name == "s"
    assert [a.tolist() for a in numpy_helper.to_list(sequence)] == [A.tolist()] * 2
    absent = OptionalProto.FromString((tmp_path / "out" / "o.pb").read_bytes())
    assert (absent.elem_type, absent.name) == (OptionalProto.SEQUENCE, "o")


def test_sparse_tensors_are_shown(tmp_path):
    assert show_value("p", SPARSE) == [
        "p: sparse tensor of shape [2, 3], values at [[0, 1], [1, 2]]",
        "p.values: float[2]",
        "  [ 1.5 -2. ]",
    ]
    assert json.loads(json.dumps(value_to_json([SPARSE]), allow_nan=False)) == [
        {"type": "sparse(float)", "shape": [2, 3], "indices": [[0, 1], [1, 2]],
         "values": [1.5, -2.0]}
    ]  # fmt: skip
    path = write_result(tmp_path, "p", SPARSE, None, set())
    assert onnx.SparseTensorProto.FromString(path.read_bytes()).dims[:] == [2, 3]


# External data


@pytest.fixture
def split(tmp_path, monkeypatch):
    """A model in here/, whose weights are elsewhere/w.bin."""
    made = model("", "float16[2] y", "y = Cast<to=10>(w)", initializers="float[2] w = {0, 0}")
    weights = made.graph.initializer[0]
    weights.ClearField("float_data")
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="w.bin")
    for folder in ("here", "elsewhere"):
        (tmp_path / folder).mkdir()
    onnx.save(made, tmp_path / "here" / "m.onnx")
    (tmp_path / "elsewhere" / "w.bin").write_bytes(A.tobytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("words", [["run"], ["info"], ["info", "--shapes"]], ids=" ".join)
def test_where_external_data_is(split, capsys, words):
    assert main([*words, "here/m.onnx"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "stored in 'w.bin', but there is no file" in err
    assert main([*words, "here/m.onnx", "--base-dir", "elsewhere"]) == 0
    assert ("[ 1.5 -2. ]" in capsys.readouterr().out) == (words == ["run"])


@pytest.mark.parametrize("words", [["run"], ["info"], ["info", "--shapes"]], ids=" ".join)
def test_links_out_of_the_folder(split, capsys, words):
    (split / "here" / "w.bin").symlink_to(split / "elsewhere" / "w.bin")
    assert main([*words, "here/m.onnx"]) == 2
    assert "a link out of the model's folder" in capsys.readouterr().err
    assert main([*words, "here/m.onnx", "--follow-symlinks"]) == 0


def test_the_base_directory_of_a_pipe(split, capsys):
    """It can be read only once, and is in no folder."""
    reader, writer = os.pipe()
    with open(writer, "wb") as file:
        file.write((split / "here" / "m.onnx").read_bytes())
    path = f"/dev/fd/{reader}"
    assert main(["info", path, "--shapes", "--base-dir", "elsewhere"]) == 0
    assert "const %w: float[2] = [1.5, -2.0]" in capsys.readouterr().out
    os.close(reader)
