"""Checks of forks and of other new processes. The first forks before anything has run."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import sys
import threading
from concurrent.futures import ProcessPoolExecutor

from concurrency import SIZE, check, in_child, launches, load, together, wait_for

import minirt
from minirt.jit import launcher

SESSION = load()


def check_fork_before_use() -> None:
    wait_for(in_child(lambda: check(SESSION)))
    wait_for(in_child(lambda: check(load())))
    check(SESSION)


def check_fork_after_use() -> None:
    check(SESSION)

    def child() -> None:
        check(SESSION)  # planned by the parent
        check(SESSION, SIZE - 1000)
        check(load())
        wait_for(in_child(lambda: check(SESSION)))

    for _ in range(3):
        wait_for(in_child(child))
        check(SESSION)


def check_fork_while_others_run() -> None:
    """From the main thread."""
    over = threading.Event()

    def busy() -> None:
        while not over.is_set():
            check(SESSION)
            check(load(), SIZE - 1000)

    running = [threading.Thread(target=busy) for _ in range(3)]
    for thread in running:
        thread.start()
    try:
        for _ in range(10):
            wait_for(in_child(lambda: check(SESSION)))
    finally:
        over.set()
        for thread in running:
            thread.join()


def check_fork_from_other_threads() -> None:
    together([lambda: wait_for(in_child(lambda: check(SESSION)))] * 4)
    check(SESSION)


def check_twenty_children_at_once() -> None:
    def child() -> None:
        check(SESSION, times=3)
        together([lambda: check(SESSION, SIZE - 1000)] * 3)

    children = [in_child(child) for _ in range(20)]
    check(SESSION, times=20)
    wait_for(*children)


def check_children_that_end_as_programs_do() -> None:
    """A child destroys what it inherited, and leaves by way of Python's own end."""
    global SESSION

    def child() -> None:
        global SESSION
        SESSION = None  # type: ignore[assignment]
        gc.collect()

    wait_for(in_child(child, leave=sys.exit))
    wait_for(in_child(lambda: check(SESSION), leave=sys.exit))
    wait_for(in_child(lambda: None, leave=sys.exit))
    SESSION = load()
    check(SESSION)


def work(session: minirt.Session, start: int) -> int:
    """In a process of some pool: what it was sent, and a session of its own."""
    launcher.PAYS = 0
    with launches() as seen:
        check(session, start=start)
        check(load(), start=start)
    assert seen == [3] * 6, seen
    return start


def check_processes_of_multiprocessing() -> None:
    for method in multiprocessing.get_all_start_methods():
        with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
            assert list(pool.map(work, [SESSION] * 6, range(6))) == [*range(6)]
        check(SESSION)


def check_pickles_of_sessions_in_use() -> None:
    dumped: list[bytes] = []
    together(
        [lambda: check(SESSION, times=20)] * 3
        + [lambda: dumped.extend(pickle.dumps(SESSION) for _ in range(20))]
    )
    assert len(set(dumped)) == 1
    check(pickle.loads(dumped[0]))


if not hasattr(os, "fork"):
    for name in [name for name in globals() if "fork" in name or "children" in name]:
        del globals()[name]
