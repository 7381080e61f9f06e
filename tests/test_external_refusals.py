"""External data that is refused: out of the folder, out of the file, no file at all."""

import os
import socket

import pytest
from external_data import external, make_folder, read
from onnx import TensorProto

from minirt.data.external import ExternalData
from minirt.data.tensors import from_proto
from minirt.errors import ParseError

POSIX = os.name == "posix"


@pytest.fixture
def folder(tmp_path):
    return make_folder(tmp_path)


FAULTS = [
    (external(dims=[13]), "is stored in 'w.bin' at bytes 0 to 52, but that has only 48"),
    (external(offset=40), "is stored in 'w.bin' at bytes 40 to 52, but that has only 48"),
    (external(offset=10**18), f"is stored in 'w.bin' at bytes {10**18} to {10**18 + 12}, "
     "but that has only 48"),
    (external(dims=[2**40]), f"is stored in 'w.bin' at bytes 0 to {2**42}, but that has only 48"),
    (external(length=20), "declares float[3], 12 bytes, but its external data has 20"),
    (external(length=48), "declares float[3], 12 bytes, but its external data has 48"),
    (
        external(dims=[5], data_type=TensorProto.INT4, length=5),
        "declares int4[5], 3 bytes, but its external data has 5",
    ),
    (external(None), "is stored externally, but external_data has no 'location'"),
    (external(""), "is stored externally, but external_data has no 'location'"),
    (external("a\0b"), "is stored in 'a\\x00b', which is no file name"),
    (external(offset=-1), "has external_data offset '-1', which is no size in bytes"),
    (external(offset="1e3"), "has external_data offset '1e3', which is no size in bytes"),
    (external(offset=""), "has external_data offset '', which is no size in bytes"),
    (external(length=" 12"), "has external_data length ' 12', which is no size in bytes"),
    (external(length="+12"), "has external_data length '+12', which is no size in bytes"),
    (external(length="1_2"), "has external_data length '1_2', which is no size in bytes"),
    (external(length="١٢"), "has external_data length '١٢', which is no size in bytes"),
    (
        external(length="1" * 20),
        f"has external_data length '{'1' * 20}', which is no size in bytes",
    ),
    (
        external("../secret.bin"),
        "is stored in '../secret.bin'; '..' is not allowed there",
    ),
    (
        external("data/../../secret.bin"),
        "is stored in 'data/../../secret.bin'; '..' is not allowed there",
    ),
    (
        external("..\\secret.bin"),
        "is stored in '..\\\\secret.bin'; '..' is not allowed there",
    ),
    *(
        (
            external(path),
            f"is stored in {path!r}, an absolute path; it must be relative to the model",
        )
        for path in ("/etc/passwd", "//host/x", "\\x", "\\\\host\\x", "C:\\x", "C:/x", "C:x")
    ),
    (external("data"), "is stored in 'data', which is a directory"),
    (external("."), "is stored in '.', which is a directory"),
]  # fmt: skip


@pytest.mark.parametrize(("tensor", "message"), FAULTS)
def test_refusals(folder, tensor, message):
    with pytest.raises(ParseError) as caught:
        read(tensor, folder, follow_symlinks=True)
    assert str(caught.value) == f"tensor 'w' {message}"


def test_a_missing_file(folder):
    with pytest.raises(ParseError) as caught:
        read(external("gone.bin"), folder)
    path = os.path.realpath(folder / "gone.bin")
    assert str(caught.value) == (
        f"tensor 'w' is stored in 'gone.bin', but there is no file {path!r}"
    )


def test_a_file_that_cannot_be_read(folder):
    with pytest.raises(ParseError, match=r"'w\.bin/x', which cannot be read: .*") as caught:
        read(external("w.bin/x"), folder)
    assert "\n" not in str(caught.value)


def test_names_that_are_too_long(folder):
    with pytest.raises(ParseError, match="which cannot be read: "):
        read(external("x" * 300), folder)
    # Looking for links in a path of a megabyte would take hours.
    with pytest.raises(ParseError) as caught:
        read(external("a/" * 500_000), folder)
    assert str(caught.value) == (
        "tensor 'w' is stored in a file whose name has 1000000 characters; "
        "at most 4096 are possible"
    )


def test_a_name_that_the_file_system_cannot_have(folder, monkeypatch):
    # So it is with LC_ALL=C and Python's UTF-8 mode off.
    monkeypatch.setattr(os.path, "realpath", lambda path: str(path).encode("ascii").decode())
    with pytest.raises(ParseError) as caught:
        read(external("\xe9.bin"), folder)
    assert str(caught.value) == (
        "tensor 'w' is stored in '\xe9.bin', a name that files cannot have here"
    )


def test_tensors_that_share_the_bytes_of_a_file_have_a_bound(folder, monkeypatch):
    monkeypatch.setattr("minirt.data.external._ALWAYS_SHARED", 12)
    for options in ({"folder": folder}, {"buffers": {"w.bin": bytes(48)}}):
        data = ExternalData(**options)
        for _ in range((16 * 48 + 12) // 12):
            from_proto(external(), external=data)
        with pytest.raises(ParseError) as caught:
            from_proto(external("./w.bin" if "folder" in options else "w.bin"), external=data)
        assert str(caught.value).endswith(
            "w.bin', whose 48 bytes are shared by too many tensors: together they have 792"
        )


def test_two_entries_of_one_key():
    tensor = external()
    tensor.external_data.add(key="location", value="v.bin")
    with pytest.raises(ParseError) as caught:
        from_proto(tensor)
    assert str(caught.value) == "tensor 'w' has two external_data entries 'location'"


def test_entries_that_are_not_utf8(folder):
    tensor = external(None)
    tensor.external_data.add(key="location").MergeFromString(b"\x12\x02\xff\xfe")
    with pytest.raises(ParseError) as caught:
        read(tensor, folder)
    assert str(caught.value) == "tensor 'w' is stored in b'\\xff\\xfe', which is no file name"
    tensor = external()
    tensor.external_data.add(key="offset").MergeFromString(b"\x12\x02\xff\xfe")
    with pytest.raises(ParseError) as caught:
        read(tensor, folder)
    assert str(caught.value) == (
        "tensor 'w' has external_data offset b'\\xff\\xfe', which is no size in bytes"
    )


# Links and special files.


def link(path, target, directory=False):
    os.symlink(target, path, target_is_directory=directory)


@pytest.mark.parametrize("location", ["link.bin", "chain.bin", "out/secret.bin"])
def test_links_out_of_the_folder(folder, location):
    link(folder / "link.bin", folder.parent / "secret.bin")
    link(folder / "chain.bin", "link.bin")
    link(folder / "out", folder.parent, directory=True)
    with pytest.raises(ParseError) as caught:
        read(external(location), folder)
    target = os.path.realpath(folder.parent / "secret.bin")
    assert str(caught.value) == (
        f"tensor 'w' is stored in {location!r}, a link out of the model's folder, to {target!r}; "
        "pass follow_symlinks=True if you trust the model"
    )
    assert read(external(location), folder, follow_symlinks=True).tolist() == [0, 0, 0]


def test_links_within_the_folder_and_to_it(folder):
    link(folder / "link.bin", "data/v.bin")
    link(folder / "again", "data", directory=True)
    link(folder.parent / "alias", folder, directory=True)
    for base in (folder, folder.parent / "alias"):
        assert read(external("link.bin"), base).tolist() == [11, 10, 9]
        assert read(external("again/v.bin"), base).tolist() == [11, 10, 9]


def test_a_sibling_folder_with_a_longer_name_is_outside(folder):
    sibling = folder.parent / "model-2"
    sibling.mkdir()
    (sibling / "w.bin").write_bytes(bytes(48))
    link(folder / "link.bin", sibling / "w.bin")
    with pytest.raises(ParseError, match="a link out of the model's folder"):
        read(external("link.bin"), folder)


def test_links_in_a_circle(folder):
    link(folder / "a.bin", "b.bin")
    link(folder / "b.bin", "a.bin")
    with pytest.raises(ParseError, match=r"^tensor 'w' is stored in 'a\.bin', which "):
        read(external("a.bin"), folder)


def make_fifo(path):
    os.mkfifo(path)


def make_device(path):
    link(path, "/dev/zero")


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path))  # the name of a socket has at most 107 bytes


SPECIAL = [(make_fifo, "a FIFO"), (make_device, "a device"), (make_socket, "a socket")]


@pytest.mark.parametrize(("make", "kind"), SPECIAL if POSIX else [])
def test_special_files(folder, monkeypatch, make, kind):
    monkeypatch.chdir(folder)
    make(folder / "special")
    with pytest.raises(ParseError) as caught:
        read(external("special"), folder, follow_symlinks=True)
    assert str(caught.value) == f"tensor 'w' is stored in 'special', which is {kind}"


@pytest.mark.parametrize("make", [make_fifo] if POSIX else [])
def test_a_special_file_in_the_place_of_the_checked_one(folder, monkeypatch, make):
    """The open neither hangs nor is believed when the file changes after the check."""
    regular = os.stat(folder / "w.bin")
    make(folder / "special")
    monkeypatch.setattr(os, "stat", lambda *_, **__: regular)
    with pytest.raises(ParseError, match="which is a FIFO"):
        read(external("special"), folder)
