"""The suite that the installed onnx generates, kept as test directories in the cache."""

from __future__ import annotations

import atexit
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ExecutionError, InputError
from ..jit.cache import CacheInfo, root

if TYPE_CHECKING:
    from collections.abc import Callable

    #: Called with the work done and the work there is, now and then.
    Progress = Callable[[int, int], None]

__all__ = ["suite_directory", "suites_clear", "suites_info"]

_log = logging.getLogger("minirt.conformance")
_INDEX = "suite.json"
_FORMAT = 1  # to be raised when generate.py writes something else


def suite_directory(progress: Progress | None = None) -> Path:
    """The directory with a test directory for each case of the installed onnx.

    Generates it if it is not in the cache, which takes some seconds. Raises
    ExecutionError if onnx cannot generate its suite.
    """
    parent = _writable_parent()
    target = parent / f"onnx-{version('onnx')}-numpy-{version('numpy')}-{_FORMAT}"
    if _is_complete(target):
        return target
    scratch = Path(tempfile.mkdtemp(prefix=".", dir=parent))
    try:
        _generate(scratch, progress)
        _publish(scratch, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def suites_info() -> CacheInfo:
    """Where generated suites are, how many there are, and their bytes."""
    path = _suites()
    files = (file for file in path.rglob("*") if file.is_file())
    return CacheInfo(path, len(list(path.glob("*/"))), sum(file.stat().st_size for file in files))


def suites_clear() -> CacheInfo:
    """Remove every generated suite; returns what was removed."""
    removed = suites_info()
    if removed.path.exists():
        shutil.rmtree(removed.path)
    return removed


def _suites() -> Path:
    return root() / "suites"


def _writable_parent() -> Path:
    try:
        parent = _suites()
        # The kernel cache does not trust a directory that others can write to.
        for folder in (parent.parent, parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(parent, os.W_OK):
            return parent
        reason = f"{parent} is not writable"
    except (OSError, InputError) as error:
        reason = str(error)
    _log.warning("the suite is generated for this run only: %s", reason)
    temporary = tempfile.mkdtemp(prefix="minirt-suite-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    return Path(temporary)


def _is_complete(target: Path) -> bool:
    try:
        names = json.loads((target / _INDEX).read_bytes())["cases"]
        return set(names) <= set(os.listdir(target))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _publish(scratch: Path, target: Path) -> None:
    """Put a finished suite in its place, whole or not at all."""
    names = sorted(os.listdir(scratch))
    (scratch / _INDEX).write_text(json.dumps({"cases": names}), encoding="utf-8")
    if target.exists() and not _is_complete(target):
        shutil.rmtree(target)
    try:
        scratch.rename(target)
    except OSError:
        # Another process was faster; what it wrote is the same.
        if not _is_complete(target):
            raise


def _generate(scratch: Path, progress: Progress | None) -> None:
    command = [sys.executable, "-W", "ignore", "-m", f"{__package__}.generate", str(scratch)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, env=environment, text=True
        ) as process,
    ):
        try:
            for line in process.stdout or ():
                if progress:
                    done, total = map(int, line.split())
                    progress(done, total)
        except BaseException:
            process.kill()
            raise
        if process.wait():
            errors.seek(0)
            lines = errors.read().decode(errors="replace").split("\n")
            reason = next((line for line in reversed(lines) if line.strip()), "no message")
            raise ExecutionError(f"onnx {version('onnx')} cannot generate its suite: {reason}")
