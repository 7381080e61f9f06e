"""Writes what the repository says of itself: ``python tests/update.py``, after operators came.

The expected failures of ONNX's suite, ``tests/conformance/xfail.txt``, the number of cases that
pass, in README.md, and which operator takes which types, TYPES.md. Tests fail where these are not
what is true.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from minirt.conformance import Report, run_suite
from minirt.conformance.expected import read_expected, write_expected

__all__ = ["HEADING", "ROOT", "XFAIL", "stated_count", "suite_text", "update"]

ROOT = Path(__file__).parent.parent
XFAIL = ROOT / "tests/conformance/xfail.txt"

HEADING = """\
# The cases of ONNX's suite that minirt does not pass, and why: nothing else may fail, and
# all of these must. Written by `python tests/update.py`, read by `minirt test onnx --xfail`.
"""

#: Where the README says how many cases pass.
_COUNT = re.compile(r"\*\*(\d+) of (\d+)\*\* cases")


def stated_count(readme: str) -> tuple[int, int]:
    """The number of cases that pass, and of all, that the README states."""
    (found,) = _COUNT.findall(readme)
    return int(found[0]), int(found[1])


def suite_text(readme: str, passed: int, total: int) -> str:
    """The README with other numbers."""
    return _COUNT.sub(f"**{passed} of {total}** cases", readme)


def update(report: Report) -> None:
    """Write down what a run of the suite gave."""
    write_expected(XFAIL, report.results, HEADING)
    readme = ROOT / "README.md"
    text = suite_text(readme.read_text("utf-8"), len(report.passed), len(report.results))
    readme.write_text(text, "utf-8")


def main() -> None:
    """Write all of it; print the cases that are wrong, which no file may hold for long."""
    from type_matrix import OPERATORS, PAGE, page, rows

    update(run_suite())
    PAGE.write_text(page(row for schema in OPERATORS.values() for row in rows(schema)), "utf-8")
    wrong = [f"{n}  {why}" for n, why in read_expected(XFAIL).items() if why.startswith("wrong")]
    sys.stdout.write("".join(f"{line}\n" for line in wrong))


if __name__ == "__main__":
    main()
