"""Checks of Ctrl-C and of other signals. The first finds no kernel compiled."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from concurrency import SIZE, check, launches, load, together

from minirt.dtypes import BY_NAME
from models import session as make_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_random = random.Random(0)


def _interrupt(job: Callable[[], object], latest: float) -> bool:
    """Whether ``job`` was interrupted, at some moment of the next ``latest`` seconds."""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, _random.uniform(1e-5, latest))
        job()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    return False


def check_interrupted_imports_and_compilations() -> None:
    """Each time another kernel; after the first, Numba is there."""
    interrupted, one = 0, np.ones(1, "f4")
    for name in ("float16", "double", "bfloat16", "float8e4m3fn", "float8e5m2", "int4"):
        body = f"y = Cast<to={BY_NAME[name].code}>(x)"
        session = make_session("float[N] x", f"{name}[N] y", body)
        interrupted += _interrupt(partial(session.run, [one]), 0.3)
        assert session.run([one])[0] == 1
    assert interrupted > 0
    together([lambda: check(load())] * 2)  # in other threads: no lock is left behind
    check(load())


def check_an_interrupt_takes_effect_at_the_next_step() -> None:
    steps = 100
    names = ["x", *(f"v{i}" for i in range(1, steps)), "y"]
    codes = [10, 1, 16, 1] * (steps // 4)
    body = " ".join(f"{names[i + 1]} = Cast<to={codes[i]}>({names[i]})" for i in range(steps))
    session = make_session("float[N] x", "float[N] y", body)
    x = np.arange(1 << 20, dtype="f4") % 256

    with launches() as seen:

        def sends() -> int:
            while len(seen) < 20:
                time.sleep(1e-4)
            os.kill(os.getpid(), signal.SIGINT)
            return len(seen)

        with ThreadPoolExecutor(1) as other, suppress(KeyboardInterrupt):
            sent = other.submit(sends)
            for _ in range(1000):
                session.run([x])
        assert len(seen) - sent.result() <= 1, (sent.result(), len(seen))
    with launches() as seen:
        assert (session.run([x])[0] == x).all()
    assert len(seen) == steps


def check_interrupts_at_any_moment() -> None:
    session, interrupted = load(), 0
    for i in range(200):
        interrupted += _interrupt(partial(check, session, SIZE - i % 7, times=50), 3e-3)
        if i % 20 == 0:
            check(session)
            session = load()
    assert interrupted > 100, interrupted
    with launches() as seen:
        together([lambda: check(session, times=5)] * 2)
    assert len(seen) == 30


@contextmanager
def _alarms(handler: Callable[..., object], every: float) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, every, every)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check_signal_handlers_may_run_sessions() -> None:
    session, inner, handled = load(), threading.Lock(), []
    check(session)

    def handler(*_: object) -> None:
        if inner.acquire(blocking=False):
            try:
                check(session, SIZE - len(handled))
                handled.append(1)
            finally:
                inner.release()

    with _alarms(handler, 1e-3):
        while len(handled) < 100:
            check(session)


def check_system_calls_that_are_interrupted() -> None:
    """Threads that wait are woken by each signal."""
    session = load()
    with _alarms(lambda *_: None, 1e-4):
        together([lambda: check(session, times=50)] * 4)
        check(session, times=50)


if not hasattr(signal, "setitimer"):
    for name in [name for name in globals() if name.startswith("check_")]:
        del globals()[name]
