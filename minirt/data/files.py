"""Reading files that hold one protobuf message."""

from __future__ import annotations

import os
import reprlib
import stat
from pathlib import Path

from ..errors import InputError, ParseError

__all__ = ["PROTOBUF_LIMIT", "as_path", "check_size", "read_file"]

#: The most bytes that a protobuf message can have.
PROTOBUF_LIMIT = 2**31 - 1

_CHUNK = 1 << 24


def as_path(path: object) -> Path:
    """``path``, which a caller passes. Raises InputError for what is none."""
    if not isinstance(path, str | os.PathLike) or "\0" in os.fsdecode(path):
        raise InputError(f"{reprlib.repr(path)} is no path")
    return Path(os.fsdecode(path))


def read_file(path: Path, what: str, *, regular: bool = False) -> bytes:
    """The contents of the file ``path``, which is called ``what`` in messages.

    It may be a pipe, which never ends perhaps. Whoever did not name it, but found it in a
    folder from elsewhere, asks for a ``regular`` file: to open a device can have effects,
    and a pipe may wait for ever.

    Raises ParseError for more than a protobuf message can hold, before it is read where
    the file system knows that, and for a file that is not regular; OSError for one that
    cannot be read.
    """
    if regular and not stat.S_ISREG(os.stat(path).st_mode):
        raise ParseError(f"{what} is no regular file")
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        check_size(status.st_size, what)
        if stat.S_ISREG(status.st_mode) and status.st_size:
            return file.read()
        chunks, size = [], 0
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            check_size(size, what)
            chunks.append(chunk)
    return b"".join(chunks)


def check_size(size: int, what: str) -> None:
    """Raise ParseError if ``what`` has more bytes than a protobuf message can hold."""
    if size > PROTOBUF_LIMIT:
        raise ParseError(
            f"{what} has {size} bytes, but a protobuf message holds at most {PROTOBUF_LIMIT}; "
            "a larger model keeps its tensors in files beside it (external data)"
        )
