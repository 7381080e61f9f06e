"""Cases that are known to fail: the file, and what a run makes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conformance_data import cast_model, write_case
from protos import model, node

from minirt.cli import main
from minirt.conformance import Case, CaseResult, run_directories
from minirt.conformance.expected import cause, expect, read_expected, write_expected
from minirt.errors import InputError

CASE = Case("test_a", Path("test_a"), None, ())
PASSED = CaseResult(CASE, "passed", 0.0)
MISSING = CaseResult(CASE, "failed", 0.0, reason="UnsupportedError: ...", missing=("Conv", "Elu"))
WRONG = CaseResult(CASE, "failed", 0.0, reason="y[0]: expected 1, got 2")
SKIPPED = CaseResult(CASE, "skipped", 0.0, reason="superseded")


def test_causes():
    assert cause(PASSED) == cause(SKIPPED) == ""
    assert cause(MISSING) == "not built yet: Conv, Elu"
    assert cause(replace(MISSING, missing=("Conv", "Elu", "Conv"))) == "not built yet: Conv, Elu"
    assert cause(WRONG) == "wrong: y[0]: expected 1, got 2"


@pytest.mark.parametrize(
    ("result", "reason", "status", "text"),
    [
        (MISSING, "not built yet: Conv, Elu", "xfailed", MISSING.reason),
        (WRONG, "wrong: the sign of zero", "xfailed", WRONG.reason),
        (SKIPPED, "not built yet: Conv", "skipped", SKIPPED.reason),
        (
            PASSED,
            "not built yet: Conv",
            "failed",
            "expected to fail (not built yet: Conv), but it passed",
        ),
        (
            MISSING,
            "not built yet: Conv",
            "failed",
            "expected to fail (not built yet: Conv), but not built yet: Conv, Elu",
        ),
        (
            WRONG,
            "not built yet: Conv",
            "failed",
            "expected to fail (not built yet: Conv), but wrong: y[0]: expected 1, got 2",
        ),
        (
            MISSING,
            "wrong: it was always so",
            "failed",
            "expected to fail (wrong: it was always so), but not built yet: Conv, Elu",
        ),
    ],
)
def test_what_is_expected(result, reason, status, text):
    judged = expect(result, {"test_a": reason})
    assert (judged.status, judged.reason) == (status, text)
    assert expect(result, {"test_b": reason}) is result


def test_a_file_is_read_as_it_is_written(tmp_path):
    path = tmp_path / "xfail.txt"
    results = [replace(WRONG, case=replace(CASE, name="test_z")), MISSING, PASSED, SKIPPED]
    write_expected(path, results, "# cases\n")
    assert path.read_text() == (
        "# cases\ntest_a  not built yet: Conv, Elu\ntest_z  wrong: y[0]: expected 1, got 2\n"
    )
    assert read_expected(path, ["test_a", "test_b", "test_z"]) == {
        "test_a": "not built yet: Conv, Elu",
        "test_z": "wrong: y[0]: expected 1, got 2",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("test_a\n", "needs a reason, 'not built yet: '... or 'wrong: '..."),
        ("test_a  because\n", "needs a reason, 'not built yet: '... or 'wrong: '..."),
        ("test_a  wrong: x\n\ntest_a  wrong: y", "stands there twice"),
        ("# more\ntest_x  wrong: x", "is none of the 1 cases"),
    ],
)
def test_lines_that_say_nothing(tmp_path, text, message):
    path = tmp_path / "xfail.txt"
    path.write_text(text)
    count, name = len(text.splitlines()), text.splitlines()[-1].split()[0]
    with pytest.raises(InputError) as error:
        read_expected(path, ["test_a"])
    assert str(error.value) == f"xfail.txt, line {count}: {name!r} {message}"


def test_the_command(tmp_path, capsys):
    x = np.float32([1.5])
    cases, path = tmp_path / "cases", tmp_path / "xfail.txt"
    write_case(cases / "good", cast_model("FLOAT", "INT32", 1), {"input_0": x, "output_0": x})
    write_case(
        cases / "twisted",
        model([node("Twist", "x", "y", domain="my")], ["x"], ["y"], opsets={"": 21, "my": 1}),
        {"input_0": x, "output_0": x},
    )
    (failed, twisted) = run_directories([cases]).results
    assert (failed.status, twisted.missing) == ("failed", ("my.Twist",))
    path.write_text("good  wrong: the case\ntwisted  not built yet: my.Twist\n")
    assert main(["test", str(cases), "--xfail", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "0 passed, 0 failed, 0 skipped, 2 failed as expected"
    ]
    path.write_text("twisted  not built yet: my.Turn\n")
    assert main(["test", str(cases), "--xfail", str(path)]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[1] == (
        "FAILED twisted: expected to fail (not built yet: my.Turn), but not built yet: my.Twist"
    )
    assert shown[-1] == "0 passed, 2 failed, 0 skipped"
