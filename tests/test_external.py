"""External data: what is read of it, from where, without a copy."""

import gc
import hashlib
import mmap
import os
import pickle
import tracemalloc

import numpy as np
import onnx
import pytest
from external_data import NUMBERS, external, make_folder, read
from onnx import TensorProto, helper, numpy_helper

from minirt.data.external import ExternalData, Location
from minirt.data.tensors import from_proto, to_proto
from minirt.dtypes import BY_NAME, TABLE, Kind
from minirt.errors import InputError, ParseError, printable

SHA1 = hashlib.sha1


@pytest.fixture
def folder(tmp_path):
    return make_folder(tmp_path)


def root_of(array):
    """What owns the memory behind a view."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


# What is read.


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (external(), [0, 1, 2]),
        (external(dims=[12]), NUMBERS),
        (external(length=12), [0, 1, 2]),
        (external(offset=8, length=12), [2, 3, 4]),
        (external(offset=36), [9, 10, 11]),
        (external(offset=0, length=0, dims=[0, 3]), np.empty((0, 3))),
        (external(offset=48, dims=[0]), []),
        (external(dims=[]), 0),
        (external(dims=[2, 3]), [[0, 1, 2], [3, 4, 5]]),
        (external("data/v.bin"), [11, 10, 9]),
        (external("./data//./v.bin"), [11, 10, 9]),
        (external(basepath="/elsewhere", comment="ignored"), [0, 1, 2]),
    ],
)
def test_offset_and_length(folder, tensor, expected):
    array = read(tensor, folder)
    assert array.dtype == np.float32
    assert np.array_equal(array, expected)
    assert array.shape == tuple(tensor.dims)


@pytest.mark.parametrize("dtype", [d for d in TABLE if d.kind is not Kind.STRING], ids=repr)
def test_every_type_is_as_in_raw_data(tmp_path, dtype):
    raw = bytes(range(3, 3 + dtype.packed_size(5)))
    (tmp_path / "w.bin").write_bytes(b"\xff" * 7 + raw + b"\xff" * 9)
    inside = TensorProto(data_type=dtype.code, dims=[5], raw_data=raw)
    for entries in ({"offset": 7}, {"offset": 7, "length": len(raw)}):
        array = read(external(dims=[5], data_type=dtype.code, **entries), tmp_path)
        assert array.dtype == dtype.storage
        assert array.tobytes() == from_proto(inside).tobytes()


def test_as_onnx_saves_it(tmp_path):
    arrays = {"a": NUMBERS, "b": NUMBERS.reshape(3, 4).astype(np.int64), "c": NUMBERS[:1] > 0}
    graph = helper.make_graph(
        [], "g", [], [], [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    )
    options = {"save_as_external_data": True, "size_threshold": 0}
    onnx.save_model(helper.make_model(graph), tmp_path / "m.onnx", location="m.data", **options)
    saved = onnx.load_model(tmp_path / "m.onnx", load_external_data=False).graph.initializer
    data = ExternalData(tmp_path)
    assert [i.data_location for i in saved] == [TensorProto.EXTERNAL] * 3
    for initializer in saved:
        assert np.array_equal(from_proto(initializer, external=data), arrays[initializer.name])


# Memory.


def test_a_tensor_is_a_read_only_view_of_the_file(folder):
    array = read(external(offset=8), folder)
    assert isinstance(root_of(array), mmap.mmap)
    assert not array.flags.writeable


def test_a_tensor_at_an_odd_offset_is_an_aligned_copy(tmp_path):
    (tmp_path / "w.bin").write_bytes(b"x" + NUMBERS.tobytes())
    array = read(external(offset=1), tmp_path)
    assert array.flags.aligned
    assert array.tolist() == [0, 1, 2]


def test_a_file_is_mapped_once(folder):
    data = ExternalData(folder)
    first, second = (from_proto(external(offset=o), external=data) for o in (0, 12))
    assert root_of(first) is root_of(second)


def test_tensors_outlive_what_read_them(folder):
    array = read(external(), folder)
    gc.collect()
    assert array.tolist() == [0, 1, 2]


def test_a_file_over_2_gib_costs_no_memory(tmp_path):
    size = 3 << 30
    with open(tmp_path / "w.bin", "wb") as file:
        file.truncate(size)
        file.seek(size - 4)
        file.write(np.float32(7).tobytes())
    tracemalloc.start()
    try:
        array = read(external(dims=[size // 4]), tmp_path)
        assert (array[0], array[-1]) == (0, 7)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


# Buffers instead of files.


@pytest.mark.parametrize(
    "kind", [bytes, bytearray, memoryview, lambda b: np.frombuffer(b, np.float64)]
)
def test_buffers_stand_in_for_files(kind):
    buffer = kind(NUMBERS.tobytes())
    data = ExternalData(buffers={"../any/w.bin": buffer})
    array = from_proto(external("../any/w.bin", offset=4), external=data)
    assert array.tolist() == [1, 2, 3]
    assert not array.flags.writeable


def test_a_buffer_cannot_be_written_through_what_is_read():
    buffer = bytearray(8)
    location = Location("w.bin", 0, None, "")
    data = ExternalData(buffers={"w.bin": buffer}).read(location, 8, "tensor")
    assert np.shares_memory(data, np.frombuffer(buffer, np.uint8))
    assert not data.flags.writeable


def test_a_buffer_goes_before_a_file(folder):
    buffers = {"w.bin": NUMBERS[5:]}
    assert read(external(), folder, buffers=buffers).tolist() == [5, 6, 7]
    assert read(external("data/v.bin"), folder, buffers=buffers).tolist() == [11, 10, 9]


@pytest.mark.parametrize("buffer", ["text", 5, None, NUMBERS[::2]])
def test_what_is_no_buffer(buffer):
    with pytest.raises(InputError) as caught:
        ExternalData(buffers={"w.bin": buffer})
    assert str(caught.value) == (
        f"external['w.bin'] must be a contiguous buffer of bytes, not {type(buffer).__name__}"
    )


@pytest.mark.parametrize("buffers", ["w.bin", [b"w"], 5])
def test_what_is_no_mapping_of_buffers(buffers):
    with pytest.raises(InputError) as caught:
        ExternalData(buffers=buffers)
    name = type(buffers).__name__
    assert str(caught.value) == f"external= maps locations to buffers; it is no {name}"


@pytest.mark.parametrize("folder", [5, [], "a\0b"])
def test_what_is_no_folder(folder):
    with pytest.raises(InputError) as caught:
        ExternalData(folder)
    assert str(caught.value) == printable(f"base_dir={folder!r} is no path")


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (None, "load the model from a path, or pass base_dir= or external={location: bytes}"),
        (
            ExternalData(),
            "load the model from a path, or pass base_dir= or external={location: bytes}",
        ),
        (ExternalData(buffers={"W.bin": b"", "v.bin": b""}), "external= has 'W.bin', 'v.bin'"),
    ],
)
def test_nowhere_to_look(data, hint):
    with pytest.raises(InputError) as caught:
        from_proto(external(), external=data)
    assert str(caught.value) == f"tensor 'w' is stored in 'w.bin', outside of the model: {hint}"


# Changes and checksums.


def test_a_file_that_changes_between_tensors(folder):
    data = ExternalData(folder)
    from_proto(external(), external=data)
    os.utime(folder / "w.bin", ns=(1, 1))
    with pytest.raises(ParseError) as caught:
        from_proto(external(offset=12), external=data)
    assert str(caught.value) == (
        "tensor 'w' is stored in 'w.bin', which has changed since the model was loaded"
    )


@pytest.mark.parametrize("change", ["truncate", "write", "touch"])
def test_a_file_that_is_written_to_after_loading(folder, change):
    path = folder / "w.bin"
    data = ExternalData(folder)
    array = from_proto(external(), external=data)
    data.check_unchanged()
    if change == "truncate":
        os.truncate(path, 0)
    elif change == "touch":
        os.utime(path, ns=(1, 1))
    else:
        path.write_bytes(bytes(48))
    with pytest.raises(ParseError) as caught:
        data.check_unchanged()
    path = os.path.realpath(path)
    assert str(caught.value) == f"{path!r} has changed since the model was loaded"
    assert array.shape == (3,)


@pytest.mark.parametrize("change", ["remove", "replace"])
def test_a_file_that_is_no_longer_in_its_place_stays_as_it_was(folder, change):
    data = ExternalData(folder)
    array = from_proto(external(), external=data)
    if change == "replace":
        (folder / "other").write_bytes(bytes(48))
        (folder / "other").replace(folder / "w.bin")
    else:
        (folder / "w.bin").unlink()
    data.check_unchanged()
    assert array.tolist() == [0, 1, 2]
    with pytest.raises(ParseError, match=r"which has changed since|but there is no file"):
        from_proto(external(offset=12), external=data)


def test_what_is_mapped(folder):
    data = ExternalData(folder, buffers={"b.bin": NUMBERS})
    from_proto(external("b.bin"), external=data)
    assert data.files == ()
    for location in ("w.bin", "data/v.bin", "w.bin"):
        from_proto(external(location), external=data)
    assert data.files == tuple(os.path.realpath(folder / f) for f in ("w.bin", "data/v.bin"))
    assert pickle.loads(pickle.dumps(data)).files == ()


def test_a_file_that_shrinks_while_it_is_opened(folder, monkeypatch):
    real = os.fstat
    monkeypatch.setattr(os, "fstat", lambda fd: Grown(real(fd)))
    with pytest.raises(ParseError, match="which cannot be read: mmap length is greater"):
        read(external(), folder)


class Grown:
    """A file status that claims more bytes than there are."""

    def __init__(self, status):
        self.st_mode, self.st_size = status.st_mode, status.st_size + 1


def test_checksums(folder, monkeypatch):
    digest = hashlib.sha1(NUMBERS.tobytes()).hexdigest()
    hashed = []
    monkeypatch.setattr(
        "minirt.data.external.hashlib.sha1", lambda b, **_: hashed.append(1) or SHA1(b)
    )
    data = ExternalData(folder)
    for text, path in ((digest, "w.bin"), (digest.upper(), "w.bin"), (digest, "./w.bin")):
        assert from_proto(external(path, checksum=text), external=data).tolist() == [0, 1, 2]
    assert len(hashed) == 1  # once a file, however its name is written
    wrong = external(checksum="0" * 40)
    for options in ({"folder": folder}, {"buffers": {"w.bin": NUMBERS}}):
        with pytest.raises(ParseError) as caught:
            from_proto(wrong, external=ExternalData(**options))
        assert str(caught.value) == (
            f"tensor 'w' is stored in 'w.bin' with checksum '{'0' * 40}', "
            f"but the SHA1 of that is '{digest}'"
        )


def test_an_empty_file(tmp_path):
    (tmp_path / "w.bin").touch()
    assert read(external(dims=[0]), tmp_path).shape == (0,)
    with pytest.raises(ParseError, match="at bytes 0 to 12, but that has only 0"):
        read(external(), tmp_path)


def test_written_and_read_through_a_file(tmp_path):
    array = NUMBERS.reshape(3, 4)
    (tmp_path / "w.bin").write_bytes(to_proto(array, BY_NAME["float"]).raw_data)
    assert np.array_equal(read(external(dims=[3, 4]), tmp_path), array)
