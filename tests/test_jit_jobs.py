"""Jobs that neither signals nor forks meet half done."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from minirt.jit import jobs
from minirt.jit.jobs import hold_over_forks, undisturbed


def test_a_job_returns_and_raises() -> None:
    def refuse() -> None:
        raise ValueError("no")

    assert undisturbed(lambda: 7) == 7
    with pytest.raises(ValueError, match=r"^no$"):
        undisturbed(refuse)


def test_jobs_inside_of_jobs_stay_in_their_thread() -> None:
    """Which may hold locks that another would wait for."""
    ident = threading.get_ident
    outer, inner = undisturbed(lambda: (ident(), undisturbed(ident)))
    assert outer == inner != ident()
    assert undisturbed(ident) != ident()


def test_without_more_threads_a_job_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse)
    assert undisturbed(threading.get_ident) == threading.get_ident()


def test_a_job_has_a_stack_of_its_own() -> None:
    def depth() -> int:
        try:
            return 1 + depth()
        except RecursionError:
            return 0

    def descend(levels: int) -> int:
        return descend(levels - 1) if levels else undisturbed(depth)

    assert descend(500) > depth() - 100


if hasattr(signal, "pthread_kill"):

    def test_an_interruption_leaves_the_job_alone() -> None:
        go, ended = threading.Event(), threading.Event()

        def job() -> None:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            go.wait(30)
            ended.set()

        with pytest.raises(KeyboardInterrupt):
            undisturbed(job)
            pytest.fail("was not interrupted")
        assert not ended.is_set()
        go.set()
        assert ended.wait(30)


if hasattr(os, "fork"):

    def test_a_fork_waits_for_the_end_of_jobs_and_jobs_for_that_of_a_fork() -> None:
        events, begun = [], threading.Event()

        def job() -> None:
            begun.set()
            time.sleep(0.1)
            events.append("job")

        runs = threading.Thread(target=undisturbed, args=(job,))
        runs.start()
        assert begun.wait(30)
        child = os.fork()
        if child == 0:
            # Nothing is left under way: another fork does not wait, a job begins.
            code = undisturbed(lambda: len(events))
            grandchild = os.fork()
            if grandchild == 0:
                os._exit(undisturbed(lambda: 1))
            os._exit(code + os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
        events.append("fork")
        runs.join()
        assert events == ["job", "fork"]
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2

    def test_locks_are_held_over_forks(monkeypatch: pytest.MonkeyPatch) -> None:
        events: list[str] = []
        monkeypatch.setattr(jobs, "_locks", [])
        for name in "ab":
            hold_over_forks(partial(events.append, f"+{name}"), partial(events.append, f"-{name}"))
        child = os.fork()
        if child == 0:
            os._exit(len(events))
        assert events == ["+a", "+b", "-b", "-a"]
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
