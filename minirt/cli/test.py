"""``minirt test``: run directories of ONNX test cases."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, printable

if TYPE_CHECKING:
    from ..conformance import CaseResult

__all__ = ["StatusLine", "add_test"]

_HELP = """\
Run ONNX test cases and compare every output with what is expected.

PATH is a test directory (model.onnx beside test_data_set_0/input_0.pb and
output_0.pb, ...) or any directory above such ones. The word onnx stands for
the suite that the installed onnx package generates, which is kept in the cache;
a directory of that name is ./onnx.

Types, shapes, integers, bools and strings must be exactly as expected. Floats
must be within the case's tolerance (rtol 0.001 and atol 1e-7 unless a data.json
says otherwise), bfloat16 at most one unit in the last place off, narrower
floats equal in value. Cases whose data a later ONNX release corrected are
skipped, with the reason.

--xfail names a file of cases that are known to fail, a line a case: its name
and "not built yet: Conv" or "wrong: why". They fail as expected; one that
passes, or fails for another reason, is a failure.

exit code: 0 all passed, 1 a case failed, 2 there was nothing to run
"""

_EXAMPLES = """\
examples:
  minirt test tests/data/test_cc
  minirt test onnx -k "cast and not string" --ulp 0
  minirt test onnx --json report.json
"""


def add_test(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command to a parser's ``commands``."""
    parser = commands.add_parser(
        "test",
        parents=[common],
        help="run ONNX test cases",
        description=_HELP,
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help='a directory of test cases, or "onnx"'
    )
    parser.add_argument(
        "-k",
        dest="keyword",
        metavar="EXPR",
        default="",
        help="only cases whose name has these words, joined by and, or, not and parentheses",
    )
    parser.add_argument(
        "--ulp",
        metavar="N",
        type=_natural,
        help="instead of tolerances, allow floats of every type to be N representable values "
        "off; 0 asks for the same bits (any NaN equals any NaN)",
    )
    parser.add_argument(
        "--json", metavar="FILE", type=Path, help="write every result, with versions, to FILE"
    )
    parser.add_argument(
        "--xfail", metavar="FILE", type=Path, help="the cases that are known to fail, with reasons"
    )
    parser.set_defaults(command=_run)


def _natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return number


def _run(args: argparse.Namespace) -> int:
    from ..conformance import Report, find_cases, run_cases, select_cases, suite_directory
    from ..conformance.expected import expect, read_expected

    if args.json and not args.json.absolute().parent.is_dir():
        raise InputError(f"--json {args.json}: there is no directory {args.json.parent}")
    status = StatusLine()
    paths = [suite_directory(status.generating) if p == "onnx" else p for p in args.paths]
    found = find_cases(paths)
    expected = read_expected(args.xfail, (case.name for case in found)) if args.xfail else {}
    cases = select_cases(found, args.keyword)
    results: list[CaseResult] = []
    for result in run_cases(cases, ulp=args.ulp):
        result = expect(result, expected)
        results.append(result)
        if result.status in ("failed", "skipped"):
            status.clear()
            print(printable(f"{result.status.upper()} {result.case.name}: {result.reason}"))
        status.show(f"{len(results)}/{len(cases)} {result.case.name}")
    status.clear()
    report = Report(tuple(results), args.ulp)
    if args.json:
        args.json.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    print("\n".join(report.summary()))
    return 1 if report.failed else 0


class StatusLine:
    """The last line of a terminal, rewritten as work proceeds; nothing where there is none."""

    def __init__(self) -> None:
        self._stream = sys.stderr if sys.stderr.isatty() else None
        self._shown = False

    def show(self, text: str) -> None:
        """Replace the line."""
        if self._stream:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r{printable(text)[:width]}\x1b[K")
            self._stream.flush()
            self._shown = True

    def generating(self, done: int, total: int) -> None:
        """Say how much of the suite is there."""
        self.show(f"generating the suite of the installed onnx: {100 * done // total} %")

    def clear(self) -> None:
        """Take the line away, before other output."""
        if self._stream and self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False
