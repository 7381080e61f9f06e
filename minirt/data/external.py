"""Tensor data outside the model file.

https://onnx.ai/onnx/repo-docs/ExternalData.html. A file is mapped, not read: a tensor
is a view of the mapping, and its pages come from disk when a kernel first touches them.

A model comes from strangers, so a location must stay in the model's folder, symbolic
links resolved, and name a regular file. Links may lead out of it (hub caches keep their
files behind such links) only when ``follow_symlinks`` allows that.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import InputError, ParseError

if TYPE_CHECKING:
    from onnx import TensorProto

    Buffer = bytes | bytearray | memoryview | mmap.mmap | np.ndarray

__all__ = ["ExternalData", "Location"]

_SPECIAL_FILES = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}

# O_NONBLOCK: a FIFO put in the file's place after the check must not hang the open.
_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
)


#: The longest path that Linux takes; to look for links takes time by the square of the length.
_LONGEST_PATH = 4096

#: Tensors may share bytes of a file, up to so many times its size and so much more: each may
#: need a copy, and a few bytes of the model are enough to name all of a file once more.
_MOST_SHARED, _ALWAYS_SHARED = 16, 64 << 20


class Location(NamedTuple):
    """Where the payload of one tensor is: ``external_data``, checked.

    ``path`` is relative to the model's folder; ``offset`` and ``length`` are in bytes;
    ``checksum`` is the SHA1 of the whole file, in hex. ``length`` None means as many
    bytes as the tensor needs, ``checksum`` "" that there is none.
    """

    path: str
    offset: int
    length: int | None
    checksum: str

    @classmethod
    def of(cls, tensor: TensorProto, where: str) -> Location:
        """The location that ``tensor`` gives; ParseError if it is not a valid one.

        Keys that ONNX does not define are ignored.
        """
        entries: dict[str, str] = {}
        for entry in tensor.external_data:
            if entry.key in entries:
                raise ParseError(f"{where} has two external_data entries {entry.key!r}")
            entries[entry.key] = entry.value
        path = entries.get("location", "")
        if not path:
            raise ParseError(f"{where} is stored externally, but external_data has no 'location'")
        if isinstance(path, bytes) or "\0" in path:
            raise ParseError(f"{where} is stored in {path!r}, which is no file name")
        if len(path) > _LONGEST_PATH:
            raise ParseError(
                f"{where} is stored in a file whose name has {len(path)} characters; "
                f"at most {_LONGEST_PATH} are possible"
            )
        return cls(
            path,
            _size(entries, "offset", where) or 0,
            _size(entries, "length", where),
            str(entries.get("checksum", "")).lower(),
        )


def _size(entries: dict[str, str], key: str, where: str) -> int | None:
    text = entries.get(key)
    if text is None:
        return None
    # Nineteen digits hold every file size; int() itself takes signs, blanks and underscores.
    if not isinstance(text, str) or not re.fullmatch("[0-9]{1,19}", text):
        raise ParseError(f"{where} has external_data {key} {text!r}, which is no size in bytes")
    return int(text)


@dataclass(eq=False)
class _Source:
    """A file or buffer: its bytes, and what the file looked like when it was mapped.

    ``checksums`` are those found right, ``read`` counts the bytes of tensors so far.
    """

    data: np.ndarray
    state: tuple[int, ...] = ()
    checksums: set[str] = field(default_factory=set)
    read: int = 0


class ExternalData:
    """The bytes of tensors that one model keeps outside its own file.

    ``folder`` is the model's; ``buffers`` maps locations, as the model writes them, to
    contents that stand in for files (their memory is shared, so leave it unchanged).
    With neither, every :meth:`read` raises an InputError that says what to pass.
    ``follow_symlinks`` allows links that lead out of the folder.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        buffers: Mapping[str, Buffer] | None = None,
        follow_symlinks: bool = False,
    ) -> None:
        self.folder = None if folder is None else _real(folder)
        self.follow_symlinks = follow_symlinks
        if not isinstance(buffers, Mapping | None):
            raise InputError(
                f"external= maps locations to buffers; it is no {type(buffers).__name__}"
            )
        self._buffers = {
            path: _Source(_bytes_of(buffer, path)) for path, buffer in (buffers or {}).items()
        }
        self._sources: dict[str, _Source] = {}

    def __reduce__(self) -> tuple[type[ExternalData], tuple[()]]:
        # A copy of a tensor is an array of its own, so nothing is mapped where it goes.
        return ExternalData, ()

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are mapped, links resolved."""
        return tuple(self._sources)

    def read(self, location: Location, size: int, where: str) -> np.ndarray:
        """The ``size`` bytes of a payload as a read-only, 1-D uint8 array, without a copy.

        A file is opened, mapped and, if ``location`` has a checksum, verified when its
        first tensor is read; at every later one it must not have changed. ``where``
        begins the message of an error: ParseError for a location that is refused, a file
        that cannot be read or is too short; InputError if there is nowhere to look.
        """
        where = f"{where} is stored in {location.path!r}"
        source = self._source(location.path, where)
        if location.checksum:
            _verify(location, source, where)
        start, end = location.offset, location.offset + size
        if end > source.data.size:
            raise ParseError(
                f"{where} at bytes {start} to {end}, but that has only {source.data.size}"
            )
        source.read += size
        if source.read > _MOST_SHARED * source.data.size + _ALWAYS_SHARED:
            raise ParseError(
                f"{where}, whose {source.data.size} bytes are shared by too many tensors: "
                f"together they have {source.read}"
            )
        return source.data[start:end]

    def check_unchanged(self) -> None:
        """Raise ParseError if a mapped file was written to since it was mapped.

        Its tensors would be others, and to read where a file became shorter ends the
        process. Removed or replaced by another, the file that is mapped stays as it was.
        Takes about a microsecond a file.
        """
        for path, source in self._sources.items():
            state = _state_of(path)
            if state != source.state and state[-1:] == source.state[-1:]:
                raise ParseError(f"{path!r} has changed since the model was loaded")

    def _source(self, path: str, where: str) -> _Source:
        if path in self._buffers:
            return self._buffers[path]
        file = self._resolve(path, where)
        known = self._sources.get(file)
        if known is None:
            known = self._sources[file] = _map(file, where)
        elif _state_of(file) != known.state:
            raise ParseError(f"{where}, which has changed since the model was loaded")
        return known

    def _resolve(self, path: str, where: str) -> str:
        """The real path of the file at location ``path``."""
        # By the rules of both systems: a model is no safer for being elsewhere.
        if path[0] in "/\\" or PureWindowsPath(path).drive:
            raise ParseError(f"{where}, an absolute path; it must be relative to the model")
        if ".." in re.split(r"[/\\]", path):
            raise ParseError(f"{where}; '..' is not allowed there")
        if self.folder is None:
            hint = "load the model from a path, or pass base_dir= or external={location: bytes}"
            if self._buffers:
                hint = f"external= has {', '.join(map(repr, list(self._buffers)[:5]))}"
            raise InputError(f"{where}, outside of the model: {hint}")
        try:
            file = os.path.realpath(self.folder / path)
        except UnicodeEncodeError:
            raise ParseError(f"{where}, a name that files cannot have here") from None
        if not self.follow_symlinks and not Path(file).is_relative_to(self.folder):
            raise ParseError(
                f"{where}, a link out of the model's folder, to {file!r}; "
                "pass follow_symlinks=True if you trust the model"
            )
        return file


def _real(folder: str | os.PathLike[str]) -> Path:
    try:
        return Path(os.path.realpath(folder))
    except (TypeError, ValueError):
        raise InputError(f"base_dir={folder!r} is no path") from None


def _verify(location: Location, source: _Source, where: str) -> None:
    if location.checksum in source.checksums:
        return
    digest = hashlib.sha1(source.data.data, usedforsecurity=False).hexdigest()
    if digest != location.checksum:
        raise ParseError(
            f"{where} with checksum {location.checksum!r}, but the SHA1 of that is {digest!r}"
        )
    source.checksums.add(digest)


def _bytes_of(buffer: Buffer, path: str) -> np.ndarray:
    try:
        data = np.frombuffer(buffer, np.uint8)
    except (TypeError, ValueError, BufferError):
        raise InputError(
            f"external[{path!r}] must be a contiguous buffer of bytes, not {type(buffer).__name__}"
        ) from None
    data.flags.writeable = False
    return data


def _map(file: str, where: str) -> _Source:
    """Map the regular file ``file``, whose path has no links."""
    try:
        # Before the open as well: to open a device can have effects.
        _require_regular(os.stat(file, follow_symlinks=False), where)
        descriptor = os.open(file, _OPEN_FLAGS)
        try:
            status = os.fstat(descriptor)
            _require_regular(status, where)
            data = _mapped(descriptor, status.st_size)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise ParseError(f"{where}, but there is no file {file!r}") from None
    except OSError as error:
        raise ParseError(f"{where}, which cannot be read: {error}") from None
    return _Source(data, _state(status))


def _mapped(descriptor: int, size: int) -> np.ndarray:
    if not size:  # nothing cannot be mapped
        return np.empty(0, np.uint8)
    try:
        return np.frombuffer(mmap.mmap(descriptor, size, access=mmap.ACCESS_READ), np.uint8)
    except ValueError as error:  # the file became shorter a moment ago
        raise OSError(str(error)) from None


def _require_regular(status: os.stat_result, where: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _SPECIAL_FILES.get(stat.S_IFMT(status.st_mode), "no regular file")
        raise ParseError(f"{where}, which is {kind}")


def _state_of(file: str) -> tuple[int, ...]:
    """What changes when a file does, last what makes it another file; empty if it is gone."""
    try:
        return _state(os.stat(file))
    except OSError:
        return ()


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_size, status.st_mtime_ns, status.st_ino
