"""The benchmark: it checks before it times, and says what it found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
QUICK = ["--sizes", "64K", "--threads", "1", "--rounds", "2", "--peers", "copy,numpy"]


def run(*arguments: str, expected: int = 0) -> str:
    """What a Python in the source tree writes."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == expected, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_casts_are_checked_and_timed(tmp_path: Path) -> None:
    file = tmp_path / "cast.json"
    pairs = ["--pairs", "float->int8,float8e4m3fn->float"]
    written = run("-m", "bench", "cast", *QUICK, *pairs, "--json", str(file))
    assert "float->int8 " in written
    record = json.loads(file.read_text())
    assert {one["pair"] for one in record["measurements"]} == {"float->int8", "float8e4m3fn->float"}
    for one in record["measurements"]:
        assert set(one["contenders"]) == {"minirt", "copy", "numpy"}
        assert one["contenders"]["minirt"]["wrong"] == 0
        assert all(times["seconds"] > 0 for times in one["contenders"].values())
    assert record["machine"]["processor"]
    assert record["versions"]["numba"]


def test_all_pairs_are_in_the_table() -> None:
    script = """
    from bench.comparisons import COMPARISONS
    print(len({pair for comparison in COMPARISONS for pair in comparison.pairs}))
    """
    # Of 26 types to each other one, and a whole run of a model.
    assert run("-c", textwrap.dedent(script)) == f"{26 * 25 + 1}\n"


def test_a_wrong_result_is_told_and_fails() -> None:
    script = f"""
from bench import peers, main
convert = peers.kernels.convert
def wrong(*a, **k):
    run = convert(*a, **k)
    def spoilt(source, result):
        run(source, result)
        result[-1] += 1
    return spoilt
peers.kernels.convert = wrong
raise SystemExit(main(["cast", *{QUICK!r}, "--pairs", "float->int8"]))
"""
    assert "WRONG" in run("-c", script, expected=1)


def test_a_wrong_argument_is_told() -> None:
    run("-m", "bench", "cast", "--peers", "nobody", expected=2)
