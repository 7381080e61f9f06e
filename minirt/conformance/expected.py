"""Cases that are known to fail, with the reason: a text file, a line a case.

::

    # what stands after a number sign is for people
    test_basic_conv_with_padding  not built yet: Conv

A case that fails as its line says is no failure of a run; one that passes, or fails for
another reason, is. So the file always says what is true. :func:`cause` makes a reason.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..data.files import read_file
from ..errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from .results import CaseResult

__all__ = ["cause", "expect", "read_expected", "write_expected"]

#: How the two kinds of reasons begin.
NOT_BUILT, WRONG = "not built yet: ", "wrong: "


def cause(result: CaseResult) -> str:
    """Why a case failed, as its line in the file says it, "" if it did not.

    ``"not built yet: Conv, MaxPool"`` names the operators that minirt lacks, anything else
    is ``"wrong: y[3]: expected 1.5, got 1.25 ..."``.
    """
    if result.missing:
        return NOT_BUILT + ", ".join(dict.fromkeys(result.missing))
    return WRONG + result.reason if result.status == "failed" else ""


def expect(result: CaseResult, expected: Mapping[str, str]) -> CaseResult:
    """``result`` in the light of what is expected: failed as it should, or passed against it.

    Of what is "wrong" people write in the file what they know; it need not be the same text.
    """
    reason, found = expected.get(result.case.name), cause(result)
    if reason is None or result.status == "skipped":
        return result
    if found == reason or (found.startswith(WRONG) and reason.startswith(WRONG)):
        return replace(result, status="xfailed")
    what = found or "it passed"
    return replace(result, status="failed", reason=f"expected to fail ({reason}), but {what}")


def read_expected(path: Path, names: Iterable[str] = ()) -> dict[str, str]:
    """The reasons in a file, by the names of cases.

    Raises InputError for a line that has no reason, for a case that stands there twice,
    and, where ``names`` of all cases are given, for one that is none of them.
    """
    expected: dict[str, str] = {}
    known = set(names)
    text = read_file(path, path.name, regular=True).decode(errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        name, _, reason = line.strip().partition(" ")
        if not name or name.startswith("#"):
            continue
        reason = reason.strip()
        where = f"{path.name}, line {number}: {name!r}"
        if not reason.startswith((NOT_BUILT, WRONG)):
            raise InputError(f"{where} needs a reason, {NOT_BUILT!r}... or {WRONG!r}...")
        if name in expected:
            raise InputError(f"{where} stands there twice")
        if known and name not in known:
            raise InputError(f"{where} is none of the {len(known)} cases")
        expected[name] = reason
    return expected


def write_expected(path: Path, results: Iterable[CaseResult], heading: str = "") -> None:
    """Write the cases that failed, by name, after ``heading``, lines that begin with ``#``."""
    lines = sorted(f"{result.case.name}  {cause(result)}" for result in results if cause(result))
    path.write_text("".join(f"{line}\n" for line in (*heading.splitlines(), *lines)), "utf-8")
