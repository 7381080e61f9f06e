"""``minirt run``: what it reads, shows and writes."""

from __future__ import annotations

import json
import shlex

import numpy as np
import onnx
import pytest
from conformance_data import cast_model, node_model
from onnx import TensorProto, helper, numpy_helper

from minirt.cli import main
from minirt.cli.results import show_value, value_to_json, write_result
from minirt.cli.values import read_feeds
from minirt.dtypes import BY_NAME
from minirt.errors import InputError
from minirt.feeds import ValueInfo
from minirt.types import Dim, SequenceType, TensorType


def info(name, dtype="float", shape=None, **options):
    return ValueInfo(name, TensorType(BY_NAME[dtype], shape), **options)


def literal(text, dtype):
    return read_feeds([f"x={text}"], [info("x", dtype)])["x"]


@pytest.fixture
def model(tmp_path, monkeypatch):
    """y = Cast(x) and z = Cast(w), written to model.onnx in the current directory."""
    nodes = [
        helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["w"], ["a/z"], to=TensorProto.FLOAT8E4M3FN),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.INT32, ["N"]),
            helper.make_tensor_value_info("w", TensorProto.DOUBLE, [2, 2]),
        ],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"]),
            helper.make_tensor_value_info("a/z", TensorProto.FLOAT8E4M3FN, [2, 2]),
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.onnx").write_bytes(made.SerializeToString())
    return tmp_path


def run(capsys, *argv):
    code = main(["run", "model.onnx", *argv])
    return (code, *capsys.readouterr())


def test_results_are_shown(model, capsys):
    assert run(capsys, "-i", "x=[1, -2]", "-i", "w=[[0.1, 1e3], [-0.0, nan]]") == (
        0,
        "y: float[2]\n"
        "  [ 1. -2.]\n"
        "a/z: float8e4m3fn[2,2]\n"
        "  [[ 1.015625e-01  4.480000e+02]\n"
        "   [-0.000000e+00           nan]]\n",
        "",
    )


def test_results_as_json(model, capsys):
    code, out, err = run(capsys, "-i", "x=[3]", "-i", "w=[[0.1, 1e3], [-0.0, nan]]", "--json")
    assert (code, err) == (0, "")
    z = {"type": "float8e4m3fn", "shape": [2, 2], "values": [[0.1015625, 448.0], [-0.0, "NaN"]]}
    assert json.loads(out, parse_constant=pytest.fail) == {
        "outputs": [
            {"name": "y", "value": {"type": "float", "shape": [1], "values": [3.0]}},
            {"name": "a/z", "value": z},
        ]
    }


def test_results_as_files_that_are_inputs_again(model, capsys):
    np.savez("in.npz", x=np.int32([5]), w=np.array([[1.0, 2], [3, np.inf]]))
    assert run(capsys, "-i", "in.npz", "-o", "out/deep") == (
        0,
        "y -> out/deep/y.npy\na/z -> out/deep/a_z.pb\n",
        "",
    )
    np.testing.assert_array_equal(np.load("out/deep/y.npy"), np.float32([5]))
    tensor = onnx.load_tensor("out/deep/a_z.pb")
    assert (tensor.data_type, tensor.name) == (TensorProto.FLOAT8E4M3FN, "a/z")
    assert tensor.raw_data == bytes([0x38, 0x40, 0x44, 0x7E])
    # Both are read back by a model that takes them.
    (model / "model.onnx").write_bytes(cast_model("FLOAT", "INT8", 1).SerializeToString())
    assert run(capsys, "-i", "out/deep/y.npy") == (0, "y: int8[1]\n  [5]\n", "")
    back = node_model("Cast", [("x", TensorProto.FLOAT8E4M3FN, [2, 2])], [("y", 10, [2, 2])], to=10)
    (model / "model.onnx").write_bytes(back.SerializeToString())
    assert run(capsys, "-i", "out/deep/a_z.pb")[1] == (
        "y: float16[2,2]\n  [[  1.   2.]\n   [  3. 448.]]\n"
    )


def test_what_is_missing_comes_with_a_command(model, capsys):
    code, out, err = run(capsys)
    assert (code, out) == (2, "")
    assert err == (
        "minirt: missing inputs 'x' (int32[N]), 'w' (double[2,2]); for example: "
        "minirt run model.onnx -i 'x=[0]' -i 'w=[[1.0, 1.0], [1.0, 1.0]]'\n"
    )
    program, *words = shlex.split(err.partition("for example: ")[2])
    assert program == "minirt"
    assert main(words) == 0
    capsys.readouterr()
    _, _, err = run(capsys, "-i", "x=[7]")
    assert err == (
        "minirt: missing input 'w' (double[2,2]); for example: "
        "minirt run model.onnx -i 'x=[7]' -i 'w=[[1.0, 1.0], [1.0, 1.0]]'\n"
    )


def test_a_kernel_that_refuses_its_data(model, capsys):
    (model / "model.onnx").write_bytes(cast_model("STRING", "FLOAT", 2).SerializeToString())
    code, out, err = run(capsys, "-i", '["1", "one"]')
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("minirt: ExecutionError: Cast (node 0): ")
    assert "'one'" in err


# Arguments


def test_names_and_positions():
    two = [info("x", "int32"), info("b=c", "int32"), info("d", "int32", has_default=True)]
    assert read_feeds(["x=1", "b=c=2"], two) == {"x": 1, "b=c": 2}
    prefixes = [info("b", "string"), info("b=c", "string")]
    assert read_feeds(["b=c=2", "b=d"], prefixes) == {"b=c": "2", "b": "d"}
    assert read_feeds(["3"], [info("x", "int32"), info("d", "int32", has_default=True)]) == {"x": 3}
    assert read_feeds(["3"], [info("d", "int32", has_default=True)]) == {"d": 3}
    assert read_feeds(["[1, 2]"], [info("x", "int32")]) == {"x": [1, 2]}
    assert read_feeds(['["a=b"]'], [info("x", "string")]) == {"x": ["a=b"]}
    assert read_feeds([], two) == {}


ARGUMENT_ERRORS = [
    (["imagse=1"], "-i imagse=1: no input is named 'imagse'; did you mean 'images'?"),
    (["zz=1"], "-i zz=1: no input is named 'zz'; there are images, scale"),
    (["1"], "-i 1: the model has 2 inputs (images, scale); write -i NAME=VALUE"),
    (["scale=1", "scale=2"], "-i scale=2: input 'scale' is fed twice"),
    (["scale=a.npy"], "-i scale=a.npy: a.npy: No such file or directory"),
    (["scale=a.pb"], "-i scale=a.pb: No such file or directory"),
    (["a.npz"], "a.npz: No such file or directory"),
    (
        ["scale=one"],
        "-i scale=one: 'one' is no number, list of numbers or .npy, .npz or .pb file; "
        "expected float[N]",
    ),
    (["scale=[1,"], "-i scale=[1,: '[1,' is no number, "),
    (["scale=-1e999999999"], "-i scale=-1e999999999: -1e999999999 is beyond every float"),
]


@pytest.mark.parametrize(("arguments", "message"), ARGUMENT_ERRORS)
def test_argument_errors(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    inputs = [info("images"), info("scale", shape=(Dim("N"),))]
    with pytest.raises(InputError) as caught:
        read_feeds(arguments, inputs)
    assert str(caught.value).startswith(message)


def test_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a, b = np.float32([1, 2]), np.int8([3])
    np.save("a.npy", a)
    np.savez("both.npz", x=a, y=b)
    np.savez("one.npz", b)
    (tmp_path / "c.PB").write_bytes(numpy_helper.from_array(a).SerializeToString())
    x, y = info("x"), info("y", "int8")
    for arguments, expected in [
        (["x=a.npy"], {"x": a}),
        (["both.npz"], {"x": a, "y": b}),
        (["x=both.npz", "y=one.npz"], {"x": a, "y": b}),
        (["x=c.PB"], {"x": a}),
    ]:
        feeds = read_feeds(arguments, [x, y])
        assert feeds.keys() == expected.keys()
        for name, array in expected.items():
            assert feeds[name].dtype == array.dtype
            np.testing.assert_array_equal(feeds[name], array)
    with pytest.raises(InputError, match=r"it has the arrays x, y, none is 'z'"):
        read_feeds(["z=both.npz"], [info("z"), x])


def test_files_that_are_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.npy").write_bytes(b"no")
    (tmp_path / "a.npz").write_bytes(b"no")
    (tmp_path / "a.pb").write_bytes(b"\xff")
    np.save("pickled.npy", np.array([{}], object), allow_pickle=True)
    np.save("half.npy", np.zeros(2, BY_NAME["bfloat16"].public))
    for text, message in [
        ("a.npy", "a.npy is no file of plain NumPy arrays"),
        ("a.npz", "a.npz is no file of plain NumPy arrays"),
        ("a.pb", "a.pb is no TensorProto"),
        ("pickled.npy", "pickled.npy is no file of plain NumPy arrays"),
        ("half.npy", "NumPy's format cannot say that an array is bfloat16; use a .pb file"),
    ]:
        with pytest.raises(InputError) as caught:
            read_feeds([f"x={text}"], [info("x", "bfloat16")])
        assert str(caught.value).startswith(f"-i x={text}: {message}")


# Literals


@pytest.mark.parametrize(
    ("text", "dtype", "value"),
    [
        ("1", "int8", 1),
        ("-1", "int64", -1),
        ("18446744073709551615", "uint64", 2**64 - 1),
        ("[1, [2]]", "int8", [1, [2]]),
        ("(1, 2)", "int8", (1, 2)),
        ("true", "bool", True),
        ("[True, False]", "bool", [True, False]),
        ("1.5", "int8", 1.5),
        ("text", "string", "text"),
        ("1.5", "string", "1.5"),
        ("true", "string", "true"),
        ('"1.5"', "string", "1.5"),
        ("['a', 'nan']", "string", ["a", "nan"]),
        ("", "string", ""),
        ("[]", "float", []),
        ("inf", "float", float("inf")),
        ("[-Infinity, -inf, INF]", "float", [float("-inf")] * 2 + [float("inf")]),
    ],
)
def test_literals(text, dtype, value):
    assert literal(text, dtype) == value


def test_literals_that_are_nan():
    assert all(np.isnan(literal("[nan, NaN]", "float")))


def test_a_number_becomes_the_nearest_value(tmp_path, capsys):
    """Python's float, rounded as NumPy rounds it."""
    path = tmp_path / "half.onnx"
    path.write_bytes(cast_model("FLOAT16", "DOUBLE", 3).SerializeToString())
    assert main(["run", str(path), "-i", "x=[0.1, -1e-9, 65519.0]", "--json"]) == 0
    (output,) = json.loads(capsys.readouterr().out)["outputs"]
    assert output["value"]["values"] == np.array([0.1, -1e-9, 65519]).astype("f2").tolist()


# Results


def test_long_results_are_cut():
    lines = show_value("y", np.arange(1000.0).reshape(10, 100))
    assert lines[0] == "y: double[10,100]"
    assert len(lines) < 10
    assert "..." in "".join(lines)


def test_all_kinds_of_results():
    half = np.array([1.5], BY_NAME["bfloat16"].public)
    assert show_value("s", [half, np.array(["a", "b"], object)]) == [
        "s: sequence of 2",
        "s[0]: bfloat16[1]",
        "  [1.5]",
        "s[1]: string[2]",
        "  ['a' 'b']",
    ]
    assert show_value("m", {"k": np.array(3)}) == [
        "m: map of 1",
        "m['k']: int64[]",
        "  3",
    ]
    assert show_value("o", None) == ["o: None"]


@pytest.mark.parametrize(
    ("array", "values"),
    [
        (np.float32([0.1, np.inf, -np.inf]), [0.1, "Infinity", "-Infinity"]),
        (np.float16([0.1, 65504]), [0.1, 65500.0]),
        (np.array([0.1]), [0.1]),
        (np.array(True), True),
        (np.uint64([2**64 - 1]), [2**64 - 1]),
        (np.array([-1], BY_NAME["int4"].public), [-1]),
        (np.array([0.5], BY_NAME["float6e2m3"].public), [0.5]),
        (np.array(["é"], object), ["é"]),
        (np.complex64([1 - 2j]), [[1.0, -2.0]]),
        (np.zeros((0, 2), np.float32), []),
    ],
)
def test_values_as_json(array, values):
    data = json.loads(json.dumps(value_to_json(array), allow_nan=False))
    assert data["values"] == values
    assert data["shape"] == list(array.shape)


def test_sequences_maps_and_nothing_as_json():
    one = {"type": "int8", "shape": [1], "values": [1]}
    assert value_to_json([np.int8([1])]) == [one]
    assert value_to_json({3: np.int8([1])}) == {"3": one}
    assert value_to_json(None) is None


def test_file_names(tmp_path):
    taken = set()
    names = ["a/b", "a_b", "A:B", "..", "", "é.y"]
    bytes_ = TensorType(BY_NAME["int8"])
    paths = [write_result(tmp_path, name, np.int8([1]), bytes_, taken) for name in names]
    assert [p.name for p in paths] == [
        "a_b.npy",
        "a_b_2.npy",
        "A_B_3.npy",
        "output.npy",
        "output_2.npy",
        "é.y.npy",
    ]
    assert all(p.parent == tmp_path and p.exists() for p in paths)
    string = TensorType(BY_NAME["string"])
    text = write_result(tmp_path, "text", np.array(["x"], object), string, taken)
    assert (text.suffix, onnx.load_tensor(text).string_data[:]) == (".pb", [b"x"])
    items = write_result(tmp_path, "items", [np.int8([1])], SequenceType(bytes_), taken)
    sequence = onnx.SequenceProto.FromString(items.read_bytes())
    assert [t.dims[:] for t in sequence.tensor_values] == [[1]]
