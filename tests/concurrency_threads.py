"""Checks of many threads in one process. The first finds no kernel compiled."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from concurrency import PAYS, SIZE, check, launches, load, together

from minirt import MinirtError, Session
from minirt.jit import launcher, statistics
from minirt.jit.threads import available
from models import session as make_session

if TYPE_CHECKING:
    from collections.abc import Callable


def check_first_calls_race_to_compile() -> None:
    session = load()
    together([lambda: check(session, times=3)] * 8)
    compiled, loaded = statistics()
    assert (compiled, loaded) == (3, 0), (compiled, loaded)
    assert len(session._executors._kept) == 1


def check_same_shape_in_eight_threads() -> None:
    session = load()
    with launches() as seen:
        together([lambda: check(session, times=50)] * 8)
    assert len(seen) == 8 * 50 * 3 and set(seen) == {3}, seen


def check_different_shapes_in_eight_threads() -> None:
    session = load()

    def work(first: int) -> None:
        for i in range(first, first + 400, 8):
            check(session, SIZE - 1001 * (i % 29), start=i)

    together([lambda first=first: work(first) for first in range(8)])


def check_many_sessions() -> None:
    """Made, run, copied, pickled and dropped in threads of their own."""

    def work() -> None:
        for _ in range(10):
            session = load()
            check(session)
            check(pickle.loads(pickle.dumps(session)))

    together([work] * 8)


def check_sessions_are_collected_while_others_run() -> None:
    session, over = load(), threading.Event()

    def drops() -> None:
        while not over.is_set():
            cycle: list[object] = [load()]
            check(cycle[0], 5000)  # type: ignore[arg-type]
            cycle.append(cycle)
            del cycle
            gc.collect()

    def runs() -> None:
        try:
            check(session, times=60)
        finally:
            over.set()

    together([runs, drops, drops])


def check_executors() -> None:
    session = load()
    with ThreadPoolExecutor(8) as executor:
        list(executor.map(lambda i: check(session, start=i), range(400)))


def check_asyncio() -> None:
    session = load()

    async def work() -> None:
        await asyncio.gather(*(asyncio.to_thread(check, session, start=i) for i in range(200)))

    asyncio.run(work())


def check_tracing() -> None:
    """Debuggers, coverage and profilers see every line of Python."""
    session, events = load(), []

    def trace(frame, event, argument):
        events.append(event)
        return trace

    for install in (sys.settrace, sys.setprofile):
        for everywhere in (threading.settrace, threading.setprofile):
            everywhere(trace)
            install(trace)
            try:
                together([lambda: check(session)] * 2)
                check(session)
                check(session, SIZE - len(events) % 1000)  # planned meanwhile
            finally:
                install(None)
                everywhere(None)
    assert events


def check_little_stack() -> None:
    """A run that has too little stack left is an error, and the next is none."""
    session, outcomes = load(), []
    check(session)

    def descend() -> None:
        try:
            descend()
        finally:
            # On the way back, from no room at all to enough for a new plan.
            if outcomes[-1:] != ["ran"]:
                try:
                    check(session, SIZE - len(outcomes))
                    outcomes.append("ran")
                except (RecursionError, MinirtError):
                    outcomes.append("stopped")

    with suppress(RecursionError):
        descend()
    assert outcomes[0] == "stopped" and outcomes[-1] == "ran", outcomes
    check(session)
    check(load())


def check_threads_give_equal_bits() -> None:
    """Every pattern of bits, odd sizes, and codecs of each kind."""
    patterns = np.random.default_rng(1).integers(0, 2**32, 100_003, "u4").view("f4")
    types = "float8e4m3fn[N] a, float8e8m0[N] b, int4[N] c, bfloat16[N] d, double[N] e, bool[N] f"
    body = " ".join(
        f"{name} = Cast<to={code}>(x)"
        for name, code in zip("abcdef", (17, 24, 22, 16, 11, 9), strict=True)
    )
    graph = make_session("float[N] x", types, body)._graph
    results = []
    for threads in (1, 2, 3, 4):
        with launches() as seen:
            outputs = Session(graph, threads=threads).run([patterns])
        assert seen == [threads] * 6 * (threads > 1), (threads, seen)
        results.append([output.tobytes() for output in outputs])
    assert all(result == results[0] for result in results)


def check_number_of_threads() -> None:
    """The argument, then the variable, then the processors; never more than Numba has."""
    processors = min(available(), 4)
    for argument, variable, expected in [
        (1, "2", 1), (2, "1", 2), (64, "1", 4), (None, "1", 1), (None, "2", 2), (None, "64", 4),
        (None, "", processors),
    ]:  # fmt: skip
        os.environ["MINIRT_NUM_THREADS"] = variable
        try:
            with launches() as seen:
                check(load(argument))
        finally:
            os.environ["MINIRT_NUM_THREADS"] = "3"
        assert seen == [expected] * 3 * (expected > 1), (argument, variable, seen)


def check_what_pays_is_shared_out() -> None:
    """With the threshold as it is."""
    session, pays = load(), launcher.PAYS
    large = np.ones(8 << 20, "f4")
    launcher.PAYS = PAYS
    try:
        with launches() as seen:
            y, z = session.run([large])
            assert (y == 1).all() and (z == 1).all()
            assert len(seen) == 3
            check(session, 1000)
            assert len(seen) == 3
    finally:
        launcher.PAYS = pays


def check_the_gil_is_released() -> None:
    """A thread counts while a long cast runs, on one thread, so that a processor is left."""
    graph = make_session("float[N] x", "float16[N] y", "y = Cast<to=10>(x)")._graph
    session, large = Session(graph, threads=1), np.zeros(64 << 20, "f4")
    session.run([large])
    count, over = [0], threading.Event()

    def counts() -> None:
        while not over.is_set():
            count[0] += 1

    def counted(job: Callable[[], object]) -> int:
        before = count[0]
        job()
        return count[0] - before

    counter = threading.Thread(target=counts)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # else a thread that waits for the GIL sleeps too long to be told
    counter.start()
    try:
        during = meanwhile = 0
        for _ in range(5):
            began = time.perf_counter()
            during += counted(lambda: session.run([large]))
            lasted = time.perf_counter() - began
            meanwhile += counted(partial(time.sleep, lasted))
        assert during > meanwhile / 4, (during, meanwhile)
    finally:
        over.set()
        counter.join()
        sys.setswitchinterval(interval)
