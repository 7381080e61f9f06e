"""Threads that compile and launch at once, and forks before, during and after."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from jit_process import run_python

pytestmark = pytest.mark.slow

COMMON = """
from minirt.jit import launcher
launcher.PAYS = 0

@kernel(whole=("table",))
def look_up(src, dst, table, add):
    for i in range(src.size):
        dst[i] = table[src[i]] + add

table = np.arange(256, dtype="i4") * 3
src = np.random.default_rng(0).integers(0, 256, 200_000).astype("u1")

def check(add, times=20):
    run = look_up.bind(src.dtype, table.dtype, table, add, size=src.size, threads=4)
    dst = np.zeros(src.size, "i4")
    for _ in range(times):
        dst[:] = 0
        run(src, dst)
        assert (dst == src.astype("i4") * 3 + int(add)).all()

def together(jobs):
    failures = []
    def guarded(job):
        try:
            job()
        except BaseException as error:
            failures.append(error)
    running = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not failures, failures

def in_child(job):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            job()
            code = 0
        finally:
            os._exit(code)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0, f"the child ended with {status}"
            return
        time.sleep(0.01)
    os.kill(child, 9)
    raise AssertionError("the child hangs")

def end():
    print("done", statistics().compiled)
"""


@pytest.fixture
def run(tmp_path: Path):
    def run(script: str) -> str:
        return run_python(
            COMMON + script + "\nend()",
            tmp_path,
            NUMBA_NUM_THREADS="4",
        )

    return run


def test_eight_threads_race_to_compile_one_kernel(run) -> None:
    script = """
start = threading.Barrier(8)
def job():
    start.wait()
    check(1)
together([job] * 8)
"""
    assert run(script) == "done 1\n"


def test_eight_threads_compile_and_launch_different_kernels(run) -> None:
    script = """
adds = [np.dtype(code).type(5) for code in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")]
together([lambda add=add: check(add) for add in adds])
"""
    assert run(script) == "done 8\n"


def test_threads_that_launch_share_the_workers(run) -> None:
    script = """
together([lambda: check(1, times=200)] * 4)
assert len(os.listdir("/proc/self/task")) < 12 if os.path.exists("/proc/self/task") else True
"""
    assert run(script) == "done 1\n"


def test_failures_in_several_threads_stay_apart(run) -> None:
    script = """
@kernel
def refuse(src, limit):
    for i in range(src.size):
        if src[i] > limit:
            raise ValueError("over the limit")

def job(value):
    run = refuse.bind(np.dtype("i8"), 5, size=50_000, threads=4)
    src = np.zeros(50_000, "i8")
    src[40_000] = value
    for _ in range(50):
        try:
            run(src)
            assert value == 5
        except ValueError as error:
            assert value == 6 and str(error) == "over the limit"

together([lambda value=value: job(value) for value in (5, 6, 5, 6)])
"""
    assert run(script) == "done 1\n"


if hasattr(os, "fork"):

    def test_fork_before_the_first_launch(run) -> None:
        assert run("in_child(lambda: check(1)); check(1)") == "done 0\n"  # the child's, loaded

    def test_fork_after_a_launch(run) -> None:
        script = """
check(1)
def child():
    check(1)
    check(np.int8(2))  # compiled there
    in_child(lambda: check(1))
for _ in range(3):
    in_child(child)
    check(1)
"""
        assert run(script) == "done 1\n"

    def test_fork_from_a_thread_that_is_not_the_main_one(run) -> None:
        script = """
check(1)
together([lambda: in_child(lambda: check(1))] * 2)
check(1)
"""
        assert run(script) == "done 1\n"

    def test_fork_while_other_threads_launch(run) -> None:
        script = """
check(1)
over = threading.Event()
def busy():
    while not over.is_set():
        check(1, times=5)
def forks():
    try:
        for _ in range(8):
            in_child(lambda: check(1))
    finally:
        over.set()
together([busy, busy, forks])
check(1)
"""
        assert run(script) == "done 1\n"

    def test_fork_while_another_thread_compiles(run) -> None:
        script = """
codes = [np.dtype(code).type(2) for code in ("i1", "u1", "i2", "u2", "i4", "u4")]
def compiles():
    for add in codes:
        check(add, times=1)
def forks():
    for add in codes:
        in_child(lambda: check(add, times=1))
together([compiles, forks])
check(codes[0])
"""
        assert run(script).startswith("done ")
