"""ONNX test directories: where they are, and what is in them.

A case is a directory of any name with a model (``model.onnx``, or the only
``*.onnx``) and data sets ``test_data_set_<k>``, each with ``input_<i>.pb`` and
``output_<j>.pb``. A ``data.json`` beside the model may set ``rtol`` and ``atol``.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.files import read_file
from ..errors import InputError, ParseError
from .compare import DEFAULT, Tolerance
from .keywords import parse_keywords

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Case", "find_cases", "select_cases"]

_DATA_SET = "test_data_set_"


@dataclass(frozen=True)
class Case:
    """One test directory.

    ``name`` is the path below the directory that was searched, or the directory's own
    name. ``problem`` says why it cannot be run, "" if it can.
    """

    name: str
    path: Path
    model: Path | None
    data_sets: tuple[Path, ...]
    problem: str = ""

    def tolerance(self, ulp: int | None = None) -> Tolerance:
        """The case's own rtol and atol, else ONNX's. Raises ParseError for a bad data.json."""
        path = self.path / "data.json"
        try:
            data = json.loads(read_file(path, "data.json", regular=True))
        except FileNotFoundError:
            data = {}
        except ParseError:
            raise
        except (OSError, ValueError, RecursionError) as error:
            raise ParseError(f"data.json: {error}") from None
        if not isinstance(data, dict):
            raise ParseError("data.json: not an object")
        rtol, atol = data.get("rtol", DEFAULT.rtol), data.get("atol", DEFAULT.atol)
        for name, value in (("rtol", rtol), ("atol", atol)):
            if type(value) not in (int, float) or not 0 <= value <= sys.float_info.max:
                raise ParseError(f"data.json: {name}={value!r} is no tolerance")
        return Tolerance(rtol, atol, ulp)


def find_cases(paths: Sequence[str | os.PathLike[str]]) -> list[Case]:
    """Every case in and below ``paths``, each directory once, by name within a path.

    A directory with a model but no data set is among them, with its ``problem``.
    Raises InputError for a path that is no directory and if nothing can be tested.
    """
    cases: dict[str, Case] = {}
    for path in paths:
        for case in _search(Path(path)):
            cases.setdefault(os.path.realpath(case.path), case)
    if not any(case.data_sets for case in cases.values()):
        where = ", ".join(str(path) for path in paths)
        raise InputError(
            f"no ONNX test case in {where}: a case is a directory with a model.onnx and "
            f"directories {_DATA_SET}<k> that hold input_<i>.pb and output_<j>.pb"
        )
    return list(cases.values())


def select_cases(cases: Iterable[Case], keyword: str) -> list[Case]:
    """The cases whose name fits the ``-k`` expression. Raises InputError if none does."""
    matches = parse_keywords(keyword)
    cases = list(cases)
    selected = [case for case in cases if matches(case.name)]
    if not selected:
        raise InputError(f"-k {keyword!r} fits none of the {len(cases)} cases")
    return selected


def _search(root: Path) -> Iterator[Case]:
    if not root.is_dir():
        problem = "is a file; give the directory that holds it" if root.exists() else "not found"
        raise InputError(f"{root}: {problem}")
    seen: set[tuple[int, int]] = set()
    pending = [root]  # os.walk recurses before Python 3.12, and folders nest thousands deep
    while pending:
        folder = pending.pop()
        try:
            status = os.stat(folder)
            folders, files = _entries(folder)
        except OSError:  # as os.walk does with what it may not look into
            continue
        # Links may lead back up: each real directory is walked once.
        if (place := (status.st_dev, status.st_ino)) in seen:
            continue
        seen.add(place)
        if case := _case(root, folder, folders, files):
            yield case
        pending += [folder / f for f in reversed(folders) if not f.startswith(_DATA_SET)]


def _entries(folder: Path) -> tuple[list[str], list[str]]:
    """The names of folders in ``folder``, and of everything else."""
    folders: list[str] = []
    files: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            # Not entry.is_dir(), which raises for links in a circle.
            (folders if os.path.isdir(entry.path) else files).append(entry.name)
    return sorted(folders, key=_natural), files


def _case(root: Path, path: Path, folders: list[str], files: list[str]) -> Case | None:
    data_sets = tuple(path / name for name in folders if name.startswith(_DATA_SET))
    models = [name for name in sorted(files) if name.endswith(".onnx")]
    if not data_sets and not models:
        return None
    name = path.relative_to(root).as_posix()
    name = (path.name or path.resolve().name) if name == "." else name
    model, problem = None, ""
    if "model.onnx" in models or len(models) == 1:
        model = path / ("model.onnx" if "model.onnx" in models else models[0])
        if not model.is_file():
            problem = f"{model.name} is no regular file"
    elif models:
        problem = f"{len(models)} .onnx files and no model.onnx"
    else:
        problem = f"no .onnx file beside {data_sets[0].name}"
    if not data_sets:
        problem = f"no {_DATA_SET}<k> directory beside {models[0]}"
    return Case(name, path, model, data_sets, problem)


def _natural(name: str) -> tuple[str | int, ...]:
    """Sorts test_data_set_10 after test_data_set_9."""
    parts = re.split(r"(\d+)", name)
    return tuple(int(part) if i % 2 else part for i, part in enumerate(parts))
