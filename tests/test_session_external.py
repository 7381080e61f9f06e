"""Models in more than one file, and more than protobuf can hold, through the public functions."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import GraphProto, ModelProto, TensorProto

import minirt
from models import model

W = np.array([0.5, -1.5], "f4")


def weights_at(location: str = "w.bin", **entries: int) -> ModelProto:
    """y = Cast(w) beside v = Identity(x); w is stored in a file."""
    made = model(
        "float[N] x", "float16[2] y, float[N] v", "y = Cast<to=10>(w) v = Identity(x)",
        initializers="float[2] w = {0, 0}",
    )  # fmt: skip
    tensor = made.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "w.bin").write_bytes(W.tobytes())
    onnx.save(weights_at(), tmp_path / "m.onnx")
    return tmp_path


X = np.zeros(3, "f4")


def results(session: minirt.Session) -> list[float]:
    return session.run([X])["y"].tolist()


# Where the data is


def test_beside_the_model(folder: Path) -> None:
    assert results(minirt.load(folder / "m.onnx")) == W.tolist()
    assert minirt.run(folder / "m.onnx", [X])["y"].tolist() == W.tolist()
    assert "%w: float[2] = [0.5, -1.5]" in str(minirt.infer(folder / "m.onnx"))
    with open(folder / "m.onnx", "rb") as file:
        assert results(minirt.load(file)) == W.tolist()


FORMS = {"proto": weights_at, "bytes": lambda: weights_at().SerializeToString()}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_base_dir(folder: Path, form) -> None:
    for where in (folder, str(folder)):
        assert results(minirt.load(form(), base_dir=where)) == W.tolist()
        assert minirt.run(form(), [X], base_dir=where)["y"].tolist() == W.tolist()
        assert "%w: float[2] = [0.5, -1.5]" in str(minirt.infer(form(), base_dir=where))


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_buffers(form) -> None:
    external = {"w.bin": W.tobytes()}
    assert results(minirt.load(form(), external=external)) == W.tolist()
    assert minirt.run(form(), [X], external=external)["y"].tolist() == W.tolist()
    assert "%w: float[2] = [0.5, -1.5]" in str(minirt.infer(form(), external=external))


def test_base_dir_and_buffers_go_before_the_folder(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "w.bin").write_bytes((W * 2).tobytes())
    path = folder / "m.onnx"
    assert results(minirt.load(path, base_dir=other)) == (W * 2).tolist()
    assert results(minirt.load(path, external={"w.bin": W * 4})) == (W * 4).tolist()


@pytest.mark.parametrize(
    "call", [minirt.load, minirt.infer, lambda m, **o: minirt.run(m, [X], **o)]
)
def test_nowhere(call) -> None:
    with pytest.raises(minirt.InputError, match=r"pass base_dir= or external=\{location: bytes\}$"):
        call(weights_at())
    with pytest.raises(minirt.ParseError, match="but there is no file"):
        call(weights_at(), base_dir="no/such/folder")
    with pytest.raises(minirt.InputError, match=r"^base_dir=5 is no path$"):
        call(weights_at(), base_dir=5)
    with pytest.raises(minirt.InputError, match=r"^external= maps locations to buffers; it is no "):
        call(weights_at(), external=[b"w"])


def test_links(folder: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "w.bin").symlink_to(folder / "w.bin")
    for call in (minirt.load, minirt.infer, lambda m, **o: minirt.run(m, [X], **o)):
        with pytest.raises(minirt.ParseError, match="pass follow_symlinks=True"):
            call(weights_at(), base_dir=inner)
        call(weights_at(), base_dir=inner, follow_symlinks=True)


# What happens to it meanwhile


@pytest.mark.parametrize("change", ["truncate", "write", "touch"])
@pytest.mark.parametrize("has_run", [False, True])
def test_a_file_that_is_written_to(folder: Path, change: str, has_run: bool) -> None:
    """To read what is gone would end the process, and what is new would be another model."""
    session = minirt.load(folder / "m.onnx")
    if has_run:
        session.run([X])
    if change == "truncate":
        os.truncate(folder / "w.bin", 0)
    elif change == "write":
        (folder / "w.bin").write_bytes(bytes(8))
        os.utime(folder / "w.bin", ns=(1, 1))  # however coarse the clock of the file system is
    else:
        os.utime(folder / "w.bin", ns=(1, 1))
    for call in (session.run, session.profile):
        with pytest.raises(
            minirt.ParseError, match=r"w\.bin' has changed since the model was load"
        ):
            call([X])


@pytest.mark.parametrize("change", ["remove", "replace"])
def test_a_file_that_is_no_longer_there(folder: Path, change: str) -> None:
    session = minirt.load(folder / "m.onnx")
    if change == "replace":
        (folder / "new").write_bytes(bytes(8))
        (folder / "new").replace(folder / "w.bin")
    else:
        (folder / "w.bin").unlink()
    assert results(session) == W.tolist()


def test_results_share_no_memory_with_it(folder: Path) -> None:
    session = minirt.load(folder / "m.onnx")
    (w,) = session.run([X], ["w"])
    w[:] = 7
    assert results(session) == W.tolist()
    assert np.fromfile(folder / "w.bin", "f4").tolist() == W.tolist()


# Size


# Where the system tells; what getrusage knows begins with the peak of the parent.
MEMORY = """
try:
    with open("/proc/self/status") as file:
        status = dict(line.split(":", 1) for line in file)
    peak, now = (int(status[key].split()[0]) << 10 for key in ("VmHWM", "VmRSS"))
except FileNotFoundError:
    peak = now = 0
print(json.dumps(found | {"peak": peak, "now": now}))
"""


def in_a_process(code: str, *arguments: object) -> dict[str, Any]:
    """``found`` at the end of ``code`` in a fresh Python, with the bytes that it has and had."""
    script = f"import json, sys\n{textwrap.dedent(code)}\n{MEMORY}"
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


NOTHING = "import minirt, numpy, onnx, numba\nfound = {}"
SIZE = 5 << 29  # 2.5 GiB, of one byte each


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Two tensors in a file of 2.5 GiB that takes no room on the disk."""
    made = model(
        "float[N] x", "float[N] v, float16[2] y", "v = Identity(x) y = Cast<to=10>(w)",
        initializers=f"int8[{SIZE}] big = {{}}, float[2] w = {{}}",
    )  # fmt: skip
    for tensor, offset in zip(made.graph.initializer, (0, SIZE - 8), strict=True):
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in {"location": "w.bin", "offset": offset}.items():
            tensor.external_data.add(key=key, value=str(value))
    onnx.save(made, tmp_path / "m.onnx")
    with open(tmp_path / "w.bin", "wb") as file:
        file.truncate(SIZE)
        file.seek(SIZE - 8)
        file.write(W.tobytes())
    assert (tmp_path / "w.bin").stat().st_blocks * 512 < 1 << 20
    return tmp_path / "m.onnx"


def test_more_than_2_gib_are_mapped_not_read(large: Path) -> None:
    usual = in_a_process(NOTHING)["peak"]
    found = in_a_process(
        """
        import minirt, numpy
        session = minirt.load(sys.argv[1])
        x = numpy.ones(3, "f4")
        results = session.run([x])
        graph = minirt.infer(sys.argv[1], {"x": [3]})
        (big,) = (array for value, array in graph.initializers.items() if value.name == "big")
        found = {
            "y": results["y"].tolist(),
            "v": results["v"].tolist(),
            "big": [big.size, int(big[0]), big[-8:].view("f4").tolist()],
            "text": str(graph),
        }
        """,
        large,
    )
    assert found["y"] == W.tolist()
    assert found["v"] == [1, 1, 1]
    assert found["big"] == [SIZE, 0, W.tolist()]
    assert f"const %big: int8[{SIZE}]\n" in found["text"]
    assert found["peak"] - usual < 256 << 20


INLINE = 192 << 20


def test_a_tensor_in_the_model_is_copied_once(tmp_path: Path) -> None:
    """At the peak there is the message beside the file or beside the array, which stays."""
    made = model("", f"uint8[{INLINE}] w", "", initializers="uint8[1] w = {0}")
    tensor = made.graph.initializer[0]
    tensor.ClearField("int32_data")
    tensor.dims[0], tensor.raw_data = INLINE, bytes(INLINE)
    onnx.save(made, tmp_path / "m.onnx")
    usual = in_a_process(NOTHING)["peak"]
    for call in ("minirt.load", "minirt.infer"):
        code = f"{NOTHING}\nkept = {call}(sys.argv[1])"
        found = in_a_process(code, tmp_path / "m.onnx")
        if usual:
            assert 0.9 * INLINE < found["now"] - usual < 1.5 * INLINE
            assert 1.9 * INLINE < found["peak"] - usual < 2.5 * INLINE


@pytest.mark.parametrize("call", [minirt.load, minirt.infer, lambda m: minirt.run(m, [X])])
def test_a_message_is_not_serialized(call, monkeypatch: pytest.MonkeyPatch) -> None:
    """One in memory may be larger than any that could be."""

    def refuse(self: object, *_: object, **__: object) -> None:
        raise AssertionError(f"a {type(self).__name__} was serialized or copied")

    made = model(
        "float[N] x", "float16[N] y", "c = Constant<value = float[2] {1, 2}>() y = Cast<to=10>(x)",
        initializers="float[2] w = {0, 0}",
    )  # fmt: skip
    for message in (ModelProto, GraphProto, TensorProto):
        for method in ("SerializeToString", "SerializePartialToString", "ByteSize", "CopyFrom",
                       "MergeFrom", "__deepcopy__"):  # fmt: skip
            monkeypatch.setattr(message, method, refuse)
    with pytest.raises(AssertionError, match="a ModelProto was serialized"):
        made.SerializeToString()
    call(made)
