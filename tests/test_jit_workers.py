"""The threads that run kernels in blocks: how many, which, and what if there are none."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable

import numba
import numpy as np
import pytest

from minirt.jit import kernel, launcher, workers
from minirt.jit.workers import Workers

U8 = np.dtype("u8")
this_thread = numba.types.ExternalFunction("pthread_self", numba.types.uint64())


@kernel
def sign(dst):
    """Who made each element."""
    me = this_thread()
    for i in range(dst.size):
        dst[i] = me


@pytest.fixture(autouse=True)
def crew(monkeypatch: pytest.MonkeyPatch) -> Workers:
    """New workers, three at most, for however little work."""
    monkeypatch.setattr(launcher, "PAYS", 0)
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 4)
    monkeypatch.setattr(workers, "_workers", None)
    return workers.workers()


def signatures(threads: int, size: int = 1 << 20) -> set[int]:
    dst = np.zeros(size, U8)
    sign.bind(U8, size=dst.size, threads=threads)(dst)
    return set(dst[:: launcher.ALIGNMENT].tolist())


def together(job: Callable[[], object], times: int) -> None:
    others = [threading.Thread(target=job) for _ in range(times)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join()


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_no_more_threads_than_asked_for_take_part(crew: Workers, threads: int) -> None:
    most = max(len(signatures(threads)) for _ in range(20))
    assert most <= threads
    assert crew._started == threads - 1


def several_take_part() -> bool:
    """On a busy machine not each time."""
    return any(len(signatures(2, size=8 << 20)) == 2 for _ in range(200))


def test_several_threads_take_part() -> None:
    assert several_take_part()


def test_workers_are_kept_and_shared(crew: Workers) -> None:
    signatures(4)
    kept = list(crew._addresses)
    together(lambda: signatures(4), 8)
    assert list(crew._addresses) == kept
    assert all(kept) and crew._started == 3


def test_launches_at_once_have_more_workers_than_one_alone(crew: Workers) -> None:
    signatures(2)
    assert crew._started == 1
    together(lambda: [signatures(2) for _ in range(200)], 4)
    assert 1 < crew._started <= 3


if hasattr(os, "sched_setaffinity"):

    def test_a_worker_leaves_the_processor_of_the_thread_that_launches(crew: Workers) -> None:
        """Linux may wake it there each time, while another processor is idle."""
        assert several_take_part()  # the thread has begun
        thread = workers._Worker.from_address(crew._addresses[0]).thread
        allowed = os.sched_getaffinity(0)
        here = min(allowed)
        os.sched_setaffinity(thread, {here})
        run, dst = sign.bind(U8, size=1 << 20, threads=2), np.zeros(1 << 20, U8)
        deadline = time.monotonic() + 60
        while os.sched_getaffinity(thread) == {here} and time.monotonic() < deadline:
            os.sched_setaffinity(0, {here})  # be there,
            os.sched_setaffinity(0, allowed)  # though free to be elsewhere
            run(dst)
        assert os.sched_getaffinity(thread) == (allowed - {here} or {here})


def test_systems_that_do_not_tell_where_a_thread_is(monkeypatch, crew: Workers) -> None:
    def refuse(_: object) -> None:
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(ctypes, "CDLL", refuse)
        code = workers._compile()
    parted: list[int] = []
    monkeypatch.setattr(crew, "_code", code)
    monkeypatch.setattr(crew, "_part", parted.append)
    assert several_take_part()
    assert parted == []


def test_one_processor_needs_no_workers(monkeypatch, crew: Workers) -> None:
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 1)
    alone = Workers()
    table = (ctypes.c_uint64 * 1)(4)
    _notes.clear()
    alone.run(ctypes.cast(_noted, ctypes.c_void_p).value, table)
    assert (alone._started, _notes) == (0, [(4, 0)])


_notes: list[tuple[int, int]] = []


@ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint64), ctypes.c_uint64)
def _noted(table, thread) -> None:
    _notes.append((table[0], thread))


def test_each_thread_has_a_number_of_its_own(crew: Workers) -> None:
    numbers, all_here = [], threading.Barrier(4)

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64)
    def note(_: int, number: int) -> None:
        numbers.append((number, threading.current_thread() is threading.main_thread()))
        all_here.wait(60)

    crew.run(ctypes.cast(note, ctypes.c_void_p).value, (ctypes.c_uint64 * 1)(4))
    assert sorted(numbers) == [(0, True), (1, False), (2, False), (3, False)]


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
def test_without_more_threads_one_does_it_all(monkeypatch, crew: Workers, error) -> None:
    asked = []

    def refuse(*arguments: object) -> None:
        asked.append(arguments)
        raise error

    monkeypatch.setattr(workers, "start_new_thread", refuse)
    for _ in range(5):
        assert len(signatures(4)) == 1
    assert len(asked) == 1  # not for ever


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RecursionError()])
def test_what_is_raised_while_a_worker_starts_passes(monkeypatch, crew: Workers, error) -> None:
    def refuse(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(workers, "start_new_thread", refuse)
        with pytest.raises(type(error)):
            signatures(4)
    assert signatures(4)
    assert crew._started == 3


@pytest.mark.parametrize("name", ["PyMem_RawCalloc", "PyThread_allocate_lock"])
def test_no_memory_for_a_worker(monkeypatch, crew: Workers, name: str) -> None:
    python = workers._python

    def none_of(result, asked: str, *arguments):
        return (lambda *_: None) if asked == name else python(result, asked, *arguments)

    monkeypatch.setattr(workers, "_python", none_of)
    assert len(signatures(3)) == 1
    assert crew._most == 0


def test_launches_of_many_threads_stay_apart() -> None:
    """Each makes all of its own elements, however many threads are about."""

    def launches(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(300):
            size = int(random.integers(1, 20_000))
            dst = np.zeros(size + 1, U8)
            sign.bind(U8, size=size, threads=int(random.integers(1, 5)))(dst[:size])
            if not dst[:size].all() or dst[size]:
                wrong.append(seed)

    wrong: list[int] = []
    seeds = iter(range(6))
    together(lambda: launches(next(seeds)), 6)
    assert not wrong


if hasattr(os, "fork"):

    def test_a_forked_child_has_workers_of_its_own(crew: Workers) -> None:
        signatures(2)
        child = os.fork()
        if child == 0:
            os._exit(several_take_part())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
