"""Beginnings and ends of processes: first runs that forks meet, one processor, ways to leave."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from concurrency import warm
from jit_process import start_python

pytestmark = pytest.mark.slow

RUNS = """
import atexit, os, sys, threading, time
from concurrency import check, in_child, launches, load, wait_for
from minirt.jit import launcher
launcher.PAYS = 0
session = load()
check(session, times=20)  # workers have been started, and are idle now
"""

ENDS = {
    "of the script": "",
    "by os._exit": "os._exit(0)",
    "by sys.exit": "sys.exit()",
    "by sys.exit in a thread": "threading.Thread(target=sys.exit).start()",
    "while a thread runs": "threading.Thread(target=check, args=(session, 9999, 0, 200)).start()",
    "while daemons run": """
def for_ever():
    while True:
        check(session)
for _ in range(4):
    threading.Thread(target=for_ever, daemon=True).start()
time.sleep(0.1)
""",
    "with runs at exit": """
@atexit.register
def last():
    check(session)
    check(load(), 1000)
    os.write(1, b"ran")
""",
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, str]]:
    """Code, output and errors of a process for each way to end."""
    kernels = warm(tmp_path_factory)
    assert _end(_start(RUNS, kernels)) == (0, "", "")  # for the others: compiled
    begun = {how: _start(RUNS + script, kernels) for how, script in ENDS.items()}
    return {how: _end(process) for how, process in begun.items()}


@pytest.mark.parametrize("how", ENDS)
def test_a_process_ends(ended: dict[str, tuple[int, str, str]], how: str) -> None:
    assert ended[how] == (0, "ran" if "exit" in how and "runs" in how else "", "")


FIRST_RUN = """
import os, sys, threading, time
from models import session
import numpy as np

session = session("float[N] x", "float16[N] y", "y = Cast<to=10>(x)")
assert "numba" not in sys.modules

def run():
    assert session.run([np.float32([1, 2])])[0].tolist() == [1, 2]

first = threading.Thread(target=run)
first.start()
children = []
for _ in range(8):
    time.sleep(0.05)
    children.append(os.fork())
    if not children[-1]:
        run()
        os._exit(0)
first.join()
run()
print([os.waitpid(child, 0)[1] for child in children])
"""

ONE_PROCESSOR = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for name in ("MINIRT_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.pop(name, None)
from concurrency import check, launches, load
from minirt.jit import launcher
launcher.PAYS = 0
with launches() as seen:
    check(load(), times=3)
    check(load(threads=64), times=3)
print(seen)
"""

if hasattr(os, "fork"):

    def test_forks_while_another_thread_runs_for_the_first_time(tmp_path: Path) -> None:
        """It imports Numba: a child must not find that half done."""
        assert _end(_start(FIRST_RUN, tmp_path)) == (0, f"{[0] * 8}\n", "")


if hasattr(os, "sched_setaffinity"):

    def test_one_processor(tmp_path_factory: pytest.TempPathFactory) -> None:
        assert _end(_start(ONE_PROCESSOR, warm(tmp_path_factory))) == (0, "[]\n", "")


def _start(script: str, kernels: Path):
    return start_python(
        script,
        kernels,
        preamble="",
        PYTHONPATH=str(Path(__file__).parent),
        MINIRT_NUM_THREADS="3",
        NUMBA_NUM_THREADS="4",
    )


def _end(process) -> tuple[int, str, str]:
    try:
        written, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    return process.returncode, written, errors
