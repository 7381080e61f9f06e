"""Model files: what holds a ModelProto, and from there to a checked graph."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, TYPE_CHECKING

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from onnx import ModelProto, TensorProto

from ..data.external import ExternalData
from ..data.files import check_size, read_file
from ..errors import InputError, ParseError, UnsupportedError
from ..passes.check import check
from ..passes.expand import expand
from ..passes.missing import require_operators
from ..passes.upgrade import upgrade
from .build import NEWEST_IR, build

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..data.external import Buffer
    from ..graph import Graph

    #: A path, the bytes of a file, a file opened for reading bytes, or a ModelProto.
    Model = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes] | ModelProto

__all__ = ["load_graph", "read_graph", "read_model"]


def load_graph(
    model: Model,
    *,
    follow_symlinks: bool = False,
    base_dir: str | os.PathLike[str] | None = None,
    external: Mapping[str, Buffer] | None = None,
    always_expand: bool = False,
) -> Graph:
    """The graph of ``model``, checked against ONNX's schemas and brought to their newest form.

    Operators that minirt does not have are replaced by ONNX's own definitions of them;
    ``always_expand`` does so with all that have one.

    ``base_dir`` is the folder of external data, by default that of the file;
    ``external`` has contents for files there, by their location in the model.
    ``follow_symlinks`` allows links that lead out of the folder.

    Raises ModelError for a model that is wrong, UnsupportedError with all operators that
    minirt does not have, and OSError for a file that cannot be read.
    """
    graph = read_graph(model, follow_symlinks=follow_symlinks, base_dir=base_dir, external=external)
    check(graph)
    upgrade(graph)
    expand(graph, always=always_expand)
    require_operators(graph)
    return graph


def read_graph(
    model: Model,
    *,
    follow_symlinks: bool = False,
    base_dir: str | os.PathLike[str] | None = None,
    external: Mapping[str, Buffer] | None = None,
) -> Graph:
    """The graph of ``model`` as the file has it: whether its operators exist is left open.

    Arguments and errors are those of :func:`load_graph`.
    """
    try:
        proto, folder = read_model(model)
        data = ExternalData(
            folder if base_dir is None else base_dir,
            buffers=external,
            follow_symlinks=follow_symlinks,
        )
        graph = build(proto, data)
    except MemoryError:
        raise UnsupportedError("the model takes more memory than there is") from None
    graph.mapped = data if data.files else None
    return graph


def read_model(model: Model) -> tuple[ModelProto, Path | None]:
    """The ModelProto in ``model`` (which is itself one, perhaps), and the folder it is in.

    Raises ParseError for bytes that are not one, InputError for something else and
    OSError for a file that cannot be read.
    """
    if isinstance(model, ModelProto):
        proto, folder, what = model, None, "the ModelProto"
    else:
        data, folder, what = _read(model)
        proto = _parse(data, what)
    if not proto.HasField("graph"):
        raise ParseError(f"{what} has no graph, so it is no model")
    return proto, folder


def _read(model: object) -> tuple[bytes, Path | None, str]:
    """The bytes of a model, its folder, and a name for messages."""
    if isinstance(model, bytes | bytearray | memoryview):
        return bytes(model), None, "the model"
    if isinstance(model, str | os.PathLike):
        return _read_file(Path(os.fsdecode(model)))
    if not hasattr(model, "read"):
        raise InputError(
            "a model is a path, bytes, a binary file or an onnx.ModelProto, "
            f"not of type {type(model).__name__}"
        )
    data, name = model.read(), getattr(model, "name", None)
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputError(
            f"reading {model!r} gave {type(data).__name__}, not bytes; open the file in mode 'rb'"
        )
    if not isinstance(name, str):
        return bytes(data), None, "the model"
    return bytes(data), Path(name).parent, repr(name)


def _read_file(path: Path) -> tuple[bytes, Path, str]:
    name = repr(str(path))
    if "\0" in str(path):
        raise InputError(f"{name} is no path")
    return read_file(path, name), path.parent, name


def _parse(data: bytes, what: str) -> ModelProto:
    if not data:
        raise ParseError(f"{what} is empty")
    check_size(len(data), what)
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
    except (DecodeError, UnicodeDecodeError):  # the latter from protobuf without C
        guess = _guess(data) or "it is cut off or damaged"
        raise ParseError(f"{what} is not an ONNX model; {guess}") from None
    unknown = UnknownFieldSet(proto)
    # A later version of the format may have more fields, and is refused for its version.
    if len(unknown) and proto.ir_version <= NEWEST_IR:
        guess = _guess(data) or f"a model has no field {unknown[0].field_number}"
        raise ParseError(f"{what} is not an ONNX model; {guess}")
    return proto


#: What people have instead of a model: how it begins, from which byte on, and what it is.
_LOOKALIKES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"version https://git-lfs", "a Git LFS pointer: fetch the file with `git lfs pull`"),
    (0, b"<!", "a web page, perhaps an error page"),
    (0, b"<html", "a web page, perhaps an error page"),
    (0, b"<?xml", "XML"),
    (0, b"{", "JSON"),
    (0, b"PK\x03\x04", "a zip archive, perhaps a PyTorch checkpoint"),
    (0, b"\x1f\x8b", "gzip data: decompress it first"),
    (0, b"\x80", "a Python pickle, perhaps a PyTorch checkpoint"),
    (0, b"\x89HDF", "HDF5, perhaps a Keras model"),
    (4, b"ORTM", "ONNX Runtime's own format, made from an .onnx file that is needed instead"),
    (4, b"TFL3", "a TensorFlow Lite model"),
    (0, b"<", "ONNX in its text syntax, which onnx.parser reads"),
    (0, b"ir_version", "ONNX as protobuf text, which google.protobuf.text_format reads"),
)


def _guess(data: bytes) -> str:
    """What ``data``, which is no model, looks like; "" if like nothing known."""
    text = data.lstrip(b" \t\r\n\xef\xbb\xbf")
    for offset, magic, meaning in _LOOKALIKES:
        if (data if offset else text).startswith(magic, offset):
            return f"it looks like {meaning}"
    if _is_tensor(data):
        return "it looks like a tensor, such as the input of a model"
    line = text[:40].split(b"\n")[0].strip()
    is_text = line.isascii() and line.decode().isprintable()
    return f"it looks like text: {line.decode()!r}" if is_text else ""


def _is_tensor(data: bytes) -> bool:
    tensor = TensorProto()
    try:
        tensor.ParseFromString(data)
    except (DecodeError, UnicodeDecodeError):  # the latter from protobuf without C
        return False
    return tensor.data_type > 0 and not len(UnknownFieldSet(tensor))
