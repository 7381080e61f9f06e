"""A session, its inputs and its results, for checks that run in processes of their own.

A module ``concurrency_<topic>.py`` has functions ``check_...``; its tests run all of them in one
process (:func:`run_checks`), and then look at what became of each.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from jit_process import start_python

import minirt
from minirt.jit import launcher
from minirt.jit.workers import workers
from models import session as make_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pytest

    Job = Callable[[], object]

__all__ = [
    "PAYS", "SIZE", "check", "in_child", "launches", "load", "main", "names_of", "run_checks",
    "together", "wait_for", "warm",
]  # fmt: skip

#: Elements that are shared out with room to spare.
SIZE = 200_000
#: A value in the arena, a table, halves; as casts of other libraries give them.
BODY = "a = Cast<to=17>(x) y = Cast<to=1>(a) z = Cast<to=10>(x)"
_X = np.random.default_rng(0).uniform(-400, 400, 2 * SIZE).astype("f4")
_Y = _X.astype(ml_dtypes.float8_e4m3fn).astype("f4")
_Z = _X.astype("f2")
_DEADLINE = 60.0  # seconds in which a process must have ended


#: The threshold for several threads, as it is; checks share out everything.
PAYS = launcher.PAYS


def names_of(checks: ModuleType) -> list[str]:
    """The checks of a module, in order."""
    return [name for name in vars(checks) if name.startswith("check_")]


def run_checks(checks: ModuleType, cache: Path, **environment: str) -> dict[str, str]:
    """What became of each check, "ok" or an error, of the process, and what it complained of."""
    process = start_python(
        "import concurrency; concurrency.main()",
        cache,
        checks.__name__,
        preamble="",
        PYTHONPATH=str(Path(__file__).parent),
        MINIRT_NUM_THREADS="3",
        NUMBA_NUM_THREADS="4",
        **environment,
    )
    try:
        written, errors = process.communicate(timeout=5 * _DEADLINE)
        end = f"exit {process.returncode}"
    except BaseException:
        process.kill()
        written, errors = process.communicate()
        end = "no end"
    lost = dict.fromkeys(names_of(checks), f"not reached: {end}: {errors[-4000:]}")
    return lost | dict(map(json.loads, written.splitlines())) | {"end": end, "stderr": errors}


def warm(factory: pytest.TempPathFactory) -> Path:
    """A directory of kernels for those that need not compile their own."""
    place = factory.getbasetemp() / "kernels"
    place.mkdir(exist_ok=True)
    return place


def main() -> None:
    """Run the checks of a module, each after the other, and write what becomes of them."""
    launcher.PAYS = 0
    # Shells start what runs in the background deaf to Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    checks = importlib.import_module(sys.argv[1])
    for name in names_of(checks):
        outcome = "ok"
        try:
            getattr(checks, name)()
        except Exception:
            outcome = traceback.format_exc()
        sys.stdout.write(json.dumps([name, outcome]) + "\n")
        sys.stdout.flush()


def load(threads: int | None = None) -> minirt.Session:
    """A session that casts ``float[N] x`` to y by way of float8e4m3fn, and to float16 z."""
    session = make_session("float[N] x", "float[N] y, float16[N] z", BODY)
    return minirt.Session(session._graph, threads=threads)


def check(session: minirt.Session, size: int = SIZE, start: int = 0, times: int = 1) -> None:
    """Run on ``size`` elements and compare all bits."""
    part = slice(start, start + size)
    for _ in range(times):
        y, z = session.run([_X[part]])
        assert y.tobytes() == _Y[part].tobytes(), f"y of {size} from {start} on"
        assert z.tobytes() == _Z[part].tobytes(), f"z of {size} from {start} on"


def together(jobs: Sequence[Job], daemon: bool = False) -> None:
    """Run each job in a thread of its own, all from one moment on."""
    start, failures = threading.Barrier(len(jobs)), []

    def guarded(job: Job) -> None:
        try:
            start.wait(_DEADLINE)
            job()
        except BaseException:
            failures.append(traceback.format_exc())

    running = [threading.Thread(target=guarded, args=(job,), daemon=daemon) for job in jobs]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(_DEADLINE)
        assert not thread.is_alive(), "a thread hangs"
    assert not failures, "\n".join(failures)


def in_child(job: Job, leave: Callable[[int], Any] = os._exit) -> int:
    """Run ``job`` in a forked child, which then leaves with 0; the child's number."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            job()
            code = 0
        except Exception:
            traceback.print_exc()
        leave(code)
    return child


def wait_for(*children: int) -> None:
    """Wait until these children have ended well."""
    deadline = time.monotonic() + _DEADLINE
    for child in children:
        done, status = os.waitpid(child, os.WNOHANG)
        while not done and time.monotonic() < deadline:
            time.sleep(0.005)
            done, status = os.waitpid(child, os.WNOHANG)
        if not done:
            os.kill(child, 9)
            os.waitpid(child, 0)
        assert done and status == 0, f"a child ended with {status}" if done else "a child hangs"


@contextmanager
def launches() -> Iterator[list[int]]:
    """The numbers of threads that are asked for meanwhile, one a launch."""
    crew: Any = workers()
    seen: list[int] = []
    run = crew.run

    def counted(function: int, table: Any) -> None:
        seen.append(table[0])
        run(function, table)

    crew.run = counted
    try:
        yield seen
    finally:
        del crew.run
