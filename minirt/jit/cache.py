"""The kernel cache on disk: one file a compiled specialisation.

Numba's own cache keeps all specialisations of a function in files numbered by one
shared index, and two processes that start cold write different code under the same
number. Here a file is named by a digest of everything that its code depends on, holds
that description in full, and appears whole (written aside, then renamed) or not at all.
There is no index, so there is nothing that two processes could disagree about.

A cache is a convenience: whatever is wrong with it costs a compilation and at most one
warning in the log ``minirt.jit``. It is no Python warning, since under ``-W error`` that
would make a full disk fail a run.

This module needs no Numba, so ``minirt cache`` works without one.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError
from ..version import __version__

__all__ = ["LIMIT", "CacheInfo", "Store", "cache_clear", "cache_info", "root", "stamp"]

#: Bytes of all entries together; above it the longest unused are removed.
LIMIT = 256 << 20

_log = logging.getLogger("minirt.jit")
_MAGIC = b"minirt kernel 1\n"
_DIGEST_SIZE = hashlib.sha256().digest_size
_ENTRIES, _TEMPORARIES = "*/*/*.kernel", "*/*/*.tmp"
_WRITABLE_BY_OTHERS = 0o022
_ABANDONED = 3600.0  # seconds after which nobody is still writing a temporary file


class CacheInfo(NamedTuple):
    """Where the cache is, and how many files with how many bytes are in it."""

    path: Path
    files: int
    bytes: int


def cache_info() -> CacheInfo:
    """The size of the cache: all versions and processors. InputError where there is no place."""
    path = root()
    sizes = [size for _, size, _ in _entries(path)]
    return CacheInfo(path, len(sizes), sum(sizes))


def cache_clear() -> CacheInfo:
    """Remove every entry, and nothing else in that directory; returns what was removed."""
    path = root()
    sizes = [size for _, size, file in _entries(path) if _remove(file)]
    for temporary in path.glob(_TEMPORARIES):
        _remove(temporary)
    for folder in [*path.glob("*/*/"), *path.glob("*/")]:
        with suppress(OSError):  # not empty: not ours, or in use again
            folder.rmdir()
    return CacheInfo(path, len(sizes), sum(sizes))


def root() -> Path:
    """The cache directory: ``MINIRT_CACHE_DIR``, else the platform's place for user caches.

    InputError if the user has no home directory.
    """
    chosen = os.environ.get("MINIRT_CACHE_DIR")
    try:
        return Path(chosen).expanduser().absolute() if chosen else _user_cache()
    except RuntimeError as error:
        raise InputError(f"no cache directory: {error}; set MINIRT_CACHE_DIR") from None


def _user_cache() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "minirt" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "minirt"
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache") / "minirt"


@cache
def stamp() -> str:
    """A digest of the sources that compiled code is made from; OSError where there are none.

    Numba looks only at the file of the function itself: an edited helper in another
    module would leave its callers stale.
    """
    package = resources.files(__package__.partition(".")[0])
    sources = {"dtypes.py": package / "dtypes.py"}
    for folder in ("jit", "kernels"):
        for file in (package / folder).iterdir():
            if file.name.endswith(".py"):
                sources[f"{folder}/{file.name}"] = file
    digest = hashlib.sha256()
    for name in sorted(sources):
        text = sources[name].read_bytes()
        digest.update(f"{name} {len(text)} ".encode() + text)
    return digest.hexdigest()


class Store:
    """The entries of one version of minirt, one stamp and one processor.

    ``processor`` is a short name that tells targets apart. Nothing here raises: what
    cannot be read is a miss, what cannot be written is left out.
    """

    def __init__(self, processor: str) -> None:
        self._readable = self._writable = False
        self._unchecked = LIMIT  # bytes written since the limit was last looked at
        try:
            self._root = root()
            version = f"{__version__}-{stamp()}"
            folder = self._root / version[:-48]  # enough of the stamp
            self._folders = (self._root, folder, folder / _plain(processor))
            self._context = f"{version} {processor} "
            self._claim()
            self._readable = self._writable = True
        except (OSError, InputError) as error:
            _log.warning("kernels are compiled without a cache: %s", error)

    def load(self, name: str, key: str) -> bytes | None:
        """The payload saved under ``key``, None if there is none or it is damaged."""
        if not self._readable:
            return None
        path = self._path(name, key)
        try:
            payload = _unwrap(path.read_bytes(), self._context + key)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            _log.info("kernel cache: %s is compiled again: %s", path.name, error)
            return None
        with suppress(OSError):
            os.utime(path)  # the least recently used goes first
        return payload

    def save(self, name: str, key: str, payload: bytes) -> None:
        """Keep ``payload`` under ``key``, in place of what is there."""
        if not self._writable:
            return
        try:
            self._claim()
            _write(self._path(name, key), _wrap(payload, self._context + key))
            self._trim(len(payload))
        except OSError as error:
            self._writable = False
            _log.warning("kernels are compiled without being cached: %s", error)

    def _path(self, name: str, key: str) -> Path:
        digest = hashlib.sha256(key.encode()).hexdigest()
        return self._folders[-1] / f"{_plain(name)}-{digest[:32]}.kernel"

    def _claim(self) -> None:
        """Make the directories; OSError if one of them is open to others.

        Entries are pickles: whoever can write one runs code as whoever loads it.
        """
        for folder in self._folders:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not hasattr(os, "geteuid"):
                continue  # Windows: a profile's access list keeps others out
            status = folder.stat()
            if status.st_uid != os.geteuid():
                raise PermissionError(f"{folder} belongs to another user")
            if status.st_mode & _WRITABLE_BY_OTHERS:
                raise PermissionError(f"{folder} can be written by others; chmod go-w it")

    def _trim(self, written: int) -> None:
        """Now and then, remove the oldest entries until a quarter of the limit is free."""
        self._unchecked += written
        if self._unchecked < LIMIT // 16:
            return
        self._unchecked = 0
        entries = sorted(_entries(self._root))
        total = sum(size for _, size, _ in entries)
        target = LIMIT // 4 * 3 if total > LIMIT else total
        for _, size, file in entries:
            if total <= target:
                break
            total -= size
            _remove(file)
        for temporary in self._root.glob(_TEMPORARIES):
            with suppress(OSError):
                if time.time() - temporary.stat().st_mtime > _ABANDONED:
                    temporary.unlink()


def _plain(name: str) -> str:
    """``name`` as a part of a path on any file system."""
    return re.sub(r"[^\w.-]", "_", name)[-80:]


def _entries(path: Path) -> list[tuple[float, int, Path]]:
    """Time of last use, bytes and path of every entry."""
    entries = []
    for file in path.glob(_ENTRIES):
        with suppress(OSError):  # another process has just removed it
            status = file.stat()
            entries.append((status.st_mtime, status.st_size, file))
    return entries


def _remove(file: Path) -> bool:
    try:
        file.unlink()
    except OSError:
        return False
    return True


def _wrap(payload: bytes, key: str) -> bytes:
    """An entry: magic, digest of the rest, length of the key, key, payload."""
    described = key.encode()
    body = len(described).to_bytes(8, "little") + described + payload
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unwrap(entry: bytes, key: str) -> bytes:
    """The payload of an entry; ValueError if it is damaged or for another key.

    The digest is looked at before anything is unpickled: damage must not become code.
    """
    head = len(_MAGIC) + _DIGEST_SIZE
    digest, body = entry[len(_MAGIC) : head], entry[head:]
    if not entry.startswith(_MAGIC) or hashlib.sha256(body).digest() != digest:
        raise ValueError(f"its {len(entry)} bytes are damaged")
    end = 8 + int.from_bytes(body[:8], "little")
    if body[8:end] != key.encode():
        raise ValueError("it holds another kernel")
    return body[end:]


def _write(path: Path, entry: bytes) -> None:
    """Make ``path`` appear whole, under a name that no other writer uses before that."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(entry)
        os.replace(temporary, path)
    except OSError as error:
        _remove(Path(temporary))
        # Windows keeps a file that another process reads: it holds the same entry.
        if not (isinstance(error, PermissionError) and path.exists()):
            raise
