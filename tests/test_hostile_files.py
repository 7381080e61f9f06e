"""Files from elsewhere, on each way by which they come in: models, test directories, commands."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import onnx
import pytest
from conformance_data import cast_model, write_case
from external_data import external

import minirt
from minirt.cli import main
from minirt.conformance import find_cases, run_case
from minirt.data.files import read_file

X = np.array([0.5, 1, 2], np.float32)

HAS_FIFOS = hasattr(os, "mkfifo")


# External data out of the folder

ESCAPES = {
    "{root}/secret.bin": "an absolute path; it must be relative to the model",
    "C:\\secret.bin": "an absolute path; it must be relative to the model",
    "//host/share/secret.bin": "an absolute path; it must be relative to the model",
    "../secret.bin": "'..' is not allowed there",
    "sub/../../secret.bin": "'..' is not allowed there",
    "link.bin": "a link out of the model's folder",
    "outside/secret.bin": "a link out of the model's folder",
    "loop": "which is no regular file",
    "sub": "which is a directory",
    **({"fifo": "which is a FIFO"} if HAS_FIFOS else {}),
    "none.bin": "but there is no file",
    "short.bin": "at bytes 0 to 12, but that has only 4",
}


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """A folder with what a location could name, beside a file that is none of its business."""
    (tmp_path / "secret.bin").write_bytes(b"\0\0\x80?" * 3)
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "short.bin").write_bytes(b"1234")
    (folder / "link.bin").symlink_to("../secret.bin")
    (folder / "outside").symlink_to("..")
    (folder / "loop").symlink_to("loop")
    if HAS_FIFOS:
        os.mkfifo(folder / "fifo")
    return folder


def by_model(folder: Path, tensor: onnx.TensorProto) -> str:
    graph = onnx.GraphProto(initializer=[tensor], output=[onnx.ValueInfoProto(name="w")])
    opsets = [onnx.OperatorSetIdProto(version=21)]
    proto = onnx.ModelProto(ir_version=10, opset_import=opsets, graph=graph)
    (folder / "m.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(minirt.ParseError) as caught:
        minirt.load(folder / "m.onnx")
    return str(caught.value)


def by_command(folder: Path, tensor: onnx.TensorProto, capsys: pytest.CaptureFixture[str]) -> str:
    """As a .pb file that ``minirt run`` is given."""
    (folder / "m.onnx").write_bytes(cast_model("FLOAT", "DOUBLE", 3).SerializeToString())
    (folder / "x.pb").write_bytes(tensor.SerializeToString())
    assert main(["run", str(folder / "m.onnx"), "-i", f"x={folder / 'x.pb'}"]) == 2
    return capsys.readouterr().err


def by_test_directory(folder: Path, tensor: onnx.TensorProto) -> str:
    """As a .pb file of a data set, whose folder is the one that counts."""
    case = write_case(folder.parent / "case", cast_model("FLOAT", "DOUBLE", 3), {"input_0": tensor})
    for path in folder.iterdir():
        path.rename(case / "test_data_set_0" / path.name)
    (case / "secret.bin").write_bytes((folder.parent / "secret.bin").read_bytes())
    return run_case(find_cases([case])[0]).reason


@pytest.mark.parametrize(("location", "message"), ESCAPES.items(), ids=range(len(ESCAPES)))
@pytest.mark.parametrize("way", [by_model, by_command, by_test_directory])
def test_external_data_stays_in_the_folder(inside, location, message, way, capsys):
    tensor = external(location.format(root=inside.parent))
    arguments = (capsys,) if way is by_command else ()
    assert message in way(inside, tensor, *arguments)


if hasattr(os, "O_NOFOLLOW"):

    def test_a_link_in_the_place_of_the_checked_file(inside, monkeypatch):
        """It is not followed when the file changes after the check."""
        regular = os.stat(inside / "short.bin")
        monkeypatch.setattr(os.path, "realpath", os.path.abspath)
        monkeypatch.setattr(os, "stat", lambda *_, **__: regular)
        assert "which cannot be read" in by_model(inside, external("link.bin"))


def test_a_hub_cache(tmp_path, capsys):
    """Models are links to blobs, and so is their data: the folder is that of the links."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshots/1").mkdir(parents=True)
    folder = tmp_path / "snapshots/1"
    proto = cast_model("FLOAT", "FLOAT16", 3)
    proto.graph.ClearField("input")
    tensor = external("model.onnx_data")
    tensor.name = "x"
    proto.graph.initializer.append(tensor)
    contents = {"model.onnx": proto.SerializeToString(), "model.onnx_data": X.tobytes()}
    for number, (name, data) in enumerate(contents.items()):
        (tmp_path / f"blobs/{number}").write_bytes(data)
        (folder / name).symlink_to(f"../../blobs/{number}")
    with pytest.raises(minirt.ParseError, match="pass follow_symlinks=True if you trust"):
        minirt.load(folder / "model.onnx")
    session = minirt.load(folder / "model.onnx", follow_symlinks=True)
    assert session.run({})["y"].tolist() == X.tolist()
    for command in ("run", "info"):
        assert main([command, str(folder / "model.onnx")]) == 2
        assert main([command, str(folder / "model.onnx"), "--follow-symlinks"]) == 0
    capsys.readouterr()


# What is no regular file


def minirt_test(folder: Path) -> subprocess.CompletedProcess[str]:
    """The command, in a process that would hang alone."""
    command = [sys.executable, "-m", "minirt", "test", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("model.onnx", "model.onnx is no regular file"),
        ("data.json", "ParseError: data.json is no regular file"),
        ("test_data_set_0/input_0.pb", "test_data_set_0/input_0.pb is no regular file"),
        ("test_data_set_0/output_0.pb", "test_data_set_0/output_0.pb is no regular file"),
    ],
)
@pytest.mark.parametrize("target", ["/dev/zero", *["fifo"] * HAS_FIFOS])
def test_test_directories_with_pipes_and_devices(tmp_path, name, message, target):
    case = write_case(tmp_path / "case", cast_model("FLOAT", "INT8", 3), {"input_0": X})
    (case / name).unlink(missing_ok=True)
    if target == "fifo":
        os.mkfifo(case / name)
    else:
        (case / name).symlink_to(target)
    done = minirt_test(tmp_path)
    assert done.stdout.startswith(f"FAILED case: {message}\n")
    assert (done.returncode, done.stderr) == (1, "")


def test_folders_that_nest_deeper_than_python_recurses(tmp_path):
    inner = tmp_path
    for _ in range(1200):
        inner /= "a"
        inner.mkdir()
    write_case(inner / "case", cast_model("FLOAT", "INT8", 3), {"input_0": X})
    try:
        assert [case.name.count("/") for case in find_cases([tmp_path])] == [1200]
    finally:
        shutil.rmtree(inner / "case")
        while inner != tmp_path:  # nor can pytest remove what is so deep
            inner.rmdir()
            inner = inner.parent


if HAS_FIFOS:

    def test_a_pipe_that_the_caller_names(tmp_path):
        """As a shell makes it for <(command); pipes and devices end at what protobuf holds."""
        pipe, proto = tmp_path / "pipe", cast_model("FLOAT", "INT8", 3)
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=[proto.SerializeToString()])
        writer.start()
        assert minirt.load(pipe).run([X])["y"].tolist() == [0, 1, 2]
        writer.join()

    def test_a_pipe_that_does_not_end_in_time(tmp_path, monkeypatch):
        monkeypatch.setattr("minirt.data.files.PROTOBUF_LIMIT", 1 << 25)
        os.mkfifo(tmp_path / "pipe")

        def write() -> None:
            with contextlib.suppress(BrokenPipeError):
                (tmp_path / "pipe").write_bytes(bytes(1 << 27))

        writer = threading.Thread(target=write)
        writer.start()
        with pytest.raises(minirt.ParseError, match="but a protobuf message holds at most 335544"):
            read_file(tmp_path / "pipe", "it")
        writer.join()


# Other files


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, io.BytesIO])
def test_more_bytes_than_a_message_can_have(monkeypatch, wrap):
    monkeypatch.setattr("minirt.data.files.PROTOBUF_LIMIT", 10)
    data = cast_model("FLOAT", "INT8", 3).SerializeToString()
    for read in (minirt.load, minirt.infer):
        with pytest.raises(minirt.ParseError, match=f"^the model has {len(data)} bytes, but a pr"):
            read(wrap(data))


@pytest.mark.parametrize("operator", [b"Cast", b"\xff\xfeXX"])
def test_cases_that_fail_are_looked_up_by_whatever_names(tmp_path, operator):
    """Among those known to be wrong, by their operators and the files of their outputs."""
    data = {"input_0": X, "output_0": X.astype(np.int8) + np.int8(1)}
    case = write_case(tmp_path / "case", cast_model("FLOAT", "INT8", 3), data)
    model = case / "model.onnx"
    model.write_bytes(model.read_bytes().replace(b"Cast", operator))
    if os.name == "posix":  # elsewhere, names of files are text
        (case / "test_data_set_0" / os.fsdecode(b"output_\xff.pb")).write_bytes(b"")
    result = run_case(find_cases([case])[0])
    assert result.status == "failed"
    assert result.reason.isprintable()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"rtol": 1e400}', "rtol=inf is no tolerance"),
        (f'{{"atol": {10**400}}}', f"atol={10**400} is no tolerance"),
        (f'{{"atol": {"9" * 5000}}}', "Exceeds the limit (4300 digits)"),
        ('{"rtol": NaN}', "rtol=nan is no tolerance"),
        ('{"rtol": true}', "rtol=True is no tolerance"),
        ("[" * 100_000, "recursion"),
        ("\xff", "Expecting value"),
    ],
    ids=["inf", "large", "digits", "nan", "bool", "deep", "text"],
)
def test_tolerances(tmp_path, text, message):
    case = write_case(tmp_path / "case", cast_model("FLOAT", "INT8", 3), {"input_0": X})
    (case / "data.json").write_text(text)
    reason = run_case(find_cases([case])[0]).reason
    assert reason.startswith("ParseError: data.json: ")
    assert message in reason


def npy(shape: str, data: bytes = b"") -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


def npz(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("claim.npy", npy("(1099511627776,)", b"1234")),
        ("claim.npz", npz("x.npy", npy("(1099511627776,)", b"1234"))),
        ("overflow.npy", npy("(4611686018427387904, 4611686018427387904)")),
        ("negative.npy", npy("(-1,)")),
        ("short.npy", npy("(3,)", b"1234")),
        ("header.npy", npy("(" * 30)),
        ("empty.npy", b""),
        ("empty.npz", npz("x.npy", b"")),
        ("text.npz", npz("x", b"text")),
        ("damaged.npz", npz("x.npy", npy("(3,)", b"\0" * 12))[:60] + b"\xff" * 40),
        ("cut.npz", npz("x.npy", npy("(3,)", b"\0" * 12))[:-30]),
        ("pickle.npy", b"\x80\x04."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_numpy_files(tmp_path, capsys, name, data):
    (tmp_path / name).write_bytes(data)
    model = tmp_path / "m.onnx"
    model.write_bytes(cast_model("FLOAT", "INT8", 3).SerializeToString())
    for argument in (f"x={tmp_path / name}", str(tmp_path / name)):
        assert main(["run", str(model), "-i", argument]) == 2
        error = capsys.readouterr().err
        assert error.startswith("minirt: ")
        assert "internal error" not in error


# Too little memory


def test_too_little_memory(monkeypatch):
    proto = cast_model("FLOAT", "INT8", 3)
    session = minirt.load(proto)
    for place in ("minirt.session.make_plan", "minirt.model.load.build"):
        monkeypatch.setattr(place, Mock(side_effect=MemoryError))
    with pytest.raises(minirt.ExecutionError, match=r"^the run takes more memory than there is$"):
        session.run([X])
    for read in (minirt.load, minirt.infer):
        with pytest.raises(minirt.UnsupportedError, match=r"^the model takes more memory than th"):
            read(proto)


def test_too_little_memory_for_a_dense_tensor(monkeypatch):
    sparse = minirt.SparseTensor(X, np.arange(3), (2**20,))
    monkeypatch.setattr(np, "zeros", Mock(side_effect=MemoryError))
    with pytest.raises(minirt.UnsupportedError) as caught:
        sparse.dense()
    message = "a sparse tensor of shape [1048576] takes 4194304 bytes when dense; memory has less"
    assert str(caught.value) == message


# Names that a terminal would take for commands


def test_nothing_is_printed_that_a_terminal_takes_for_a_command(tmp_path, capsys):
    escape = "\x1b[2J\x9b\u202e\n"
    proto = cast_model("FLOAT", "INT8", 3)
    graph = proto.graph
    proto.producer_name = graph.name = graph.input[0].name = graph.node[0].input[0] = escape
    graph.output[0].name = graph.node[0].output[0] = f"y{escape}"
    graph.node[0].doc_string = graph.doc_string = graph.node[0].name = escape
    proto.metadata_props.add(key=escape, value=escape)
    case = write_case(tmp_path / "c\x1b[2J", proto, {"input_0": X, "output_0": X})
    path = str(case / "model.onnx")
    argument = f"{escape}={case / 'test_data_set_0/input_0.pb'}"
    for command in (
        ["info", path], ["run", path, "-i", argument], ["run", path, "-i", "no=1"],
        ["run", path, "-i", argument, "-o", str(tmp_path / "out")], ["run", path],
        ["run", path, "-i", argument, "--json"], ["test", str(tmp_path)], ["run", f"no{escape}"],
    ):  # fmt: skip
        main(command)
        printed = "".join(capsys.readouterr())
        assert printed
        for line in printed.split("\n"):
            assert line.isprintable(), line
    session = minirt.load(path)
    for text in (repr(session), repr(session.inputs[0]), *str(minirt.infer(path)).split("\n")):
        assert text.isprintable(), text
