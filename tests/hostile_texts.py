"""Names, texts and depth that ask for much with little."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

import numpy as np
from hostile_process import case, infer, load
from onnx import ModelProto, TensorProto
from protos import model, node, value

import minirt
from minirt.cli import main
from minirt.cli.info import describe
from minirt.errors import did_you_mean
from minirt.model.load import read_graph

# Names and texts


@case
def many_names_that_are_near() -> object:
    names = [f"{'x' * 40}{i:07}{'x' * 40}" for i in range(300_000)]
    return len(did_you_mean("x" * 86 + "y", names)) < 200


@case
def names_that_are_long() -> object:
    """To compare two of them takes minutes."""
    long = "ab" * 200_000
    declared = [value(f"{long}{i}", 1, [1]) for i in range(3)]
    return _error_of(model([node("Identity", f"{long}x", "y")], declared, ["y"]))


@case
def many_operators_that_no_one_knows() -> object:
    names = [f"Conf{i}" for i in range(5000)]
    proto = model([node(name, "x", f"y{name}") for name in names], ["x"], ["yConf0"])
    lines = list(map(str, _describe(proto)))
    return f"{len(lines)} lines, infer {infer(proto)}, load {_error_of(proto)}"


def _error_of(proto: ModelProto) -> str:
    try:
        return repr(load(proto))
    except minirt.MinirtError as error:
        return f"{type(error).__name__} of {len(str(error)) // 1000} thousand characters"


def _describe(proto: ModelProto) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.onnx"
        path.write_bytes(proto.SerializeToString())
        return list(describe(str(path)))


@case
def one_long_name_in_a_table() -> object:
    infos = [value("n" * 1_000_000, 1, [1]), *(value(f"i{i}", 1, [1]) for i in range(20_000))]
    lines = _describe(model([], infos, ["i0"]))
    return f"{len(lines)} lines of at most {max(map(len, lines))} characters"


@case
def one_long_name_in_many_lines() -> object:
    """Of a value, of a dimension, and in an attribute."""
    long = "n" * 50_000
    nodes = [node("Cast", long, f"y{i}", to=10) for i in range(2000)]
    return infer(model(nodes, [value(long, 1, [long])], ["y0"]))


@case
def lists_without_elements() -> object:
    """[2**40,0] has no element, but if it were written out, a list for each row."""
    empty = TensorProto(name="w", data_type=1, dims=[2**40, 0])
    proto = model(
        [node("Constant", "", "k", value=empty), node("Identity", "w", "y")],
        [value("x", 1, [2**40, 0])],
        ["k", "y"],
        initializer=[empty],
    )
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "m.onnx")
        Path(path).write_bytes(proto.SerializeToString())
        np.save(Path(folder) / "x.npy", np.empty((2**40, 0), np.float32))
        fed = ["-i", f"x={folder}/x.npy"]
        codes = [_command("run", path), _command("run", path, *fed, "--json")]
        codes += [_command("run", path, *fed), _command("info", path)]
    return f"{infer(proto)}, commands {codes}"


def _command(*words: str) -> int | str:
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        code = main(words)
    return errors.getvalue() if "internal error" in errors.getvalue() else code


@case
def a_result_that_is_never_summarised() -> object:
    """NumPy leaves out the middle of long dimensions alone."""
    tensor = TensorProto(name="w", data_type=2, dims=[6] * 9, raw_data=bytes(6**9))
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
        path = Path(folder) / "m.onnx"
        path.write_bytes(model([], [], ["w"], initializer=[tensor]).SerializeToString())
        code = main(["run", str(path)])
    return f"{code}, {len(out.getvalue()) // 1000} thousand characters"


# Depth


@case
def deep_types() -> object:
    proto = model([], ["x"], ["x"])
    inner = proto.graph.input[0].type
    for _ in range(5000):
        inner = inner.sequence_type.elem_type
    inner.tensor_type.elem_type = 1
    return minirt.load(proto)


def _nested_bytes(depth: int) -> bytes:
    """A graph in a node in a graph …, written by hand: protobuf's writer would not."""
    data = b"\x12\x01g"
    for _ in range(depth):
        attribute = b"\x0a\x01b" + _field(6, data) + b"\xa0\x01\x05"
        data = b"\x12\x01g" + _field(1, b"\x22\x02If" + _field(5, attribute))
    return b"\x08\x0a" + _field(7, data) + _field(8, b"\x10\x15")


def _field(number: int, data: bytes) -> bytes:
    size, length = len(data), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + data


@case
def deep_graphs() -> object:
    """As deep as protobuf reads, and deeper."""
    depths = []
    for depth in (10, 30, 31, 40, 3000):
        try:
            depths.append(len(list(read_graph(_nested_bytes(depth)).graphs())))
        except minirt.MinirtError as error:
            depths.append(type(error).__name__)
    return depths
