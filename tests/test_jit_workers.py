"""The threads that run kernels in blocks: how many, which, and what if there are none."""

from __future__ import annotations

import ctypes
import threading

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


def signatures(threads: int) -> set[int]:
    dst = np.zeros(1 << 20, U8)
    sign.bind(U8, size=dst.size, threads=threads)(dst)
    return set(dst[:: launcher.ALIGNMENT].tolist())


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_no_more_threads_than_asked_for_take_part(crew: Workers, threads: int) -> None:
    most = max(len(signatures(threads)) for _ in range(20))
    assert most <= threads
    assert crew._started == threads - 1


def test_several_threads_take_part() -> None:
    """On a busy machine not each time."""
    assert any(len(signatures(2)) == 2 for _ in range(2000))


def test_workers_are_kept_and_shared(crew: Workers) -> None:
    signatures(4)
    idle = set(crew._idle)
    others = [threading.Thread(target=signatures, args=(4,)) for _ in range(8)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join()
    assert set(crew._idle) == idle
    assert len(crew._idle) == crew._started == 3


def test_one_processor_needs_no_workers(monkeypatch, crew: Workers) -> None:
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 1)
    alone = Workers()
    table = (ctypes.c_uint64 * 1)(4)
    alone.run(ctypes.cast(_noted, ctypes.c_void_p).value, table)
    assert (alone._started, _notes) == (0, [4])


_notes: list[int] = []


@ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint64))
def _noted(table) -> None:
    _notes.append(table[0])


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
def test_without_more_threads_one_does_it_all(monkeypatch, crew: Workers, error) -> None:
    asked = []

    def refuse(*arguments: object) -> None:
        asked.append(arguments)
        raise error

    monkeypatch.setattr(workers, "start_new_thread", refuse)
    for _ in range(5):
        assert len(signatures(4)) == 1
    assert len(asked) == 3  # not for ever


def test_an_interrupted_launch_gives_its_workers_back(monkeypatch, crew: Workers) -> None:
    signatures(2)

    def interrupt() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "_start", interrupt)
    with pytest.raises(KeyboardInterrupt):
        signatures(4)
    assert len(crew._idle) == 1


@pytest.mark.parametrize("name", ["PyMem_RawCalloc", "PyThread_allocate_lock"])
def test_no_memory_for_a_worker(monkeypatch, name: str) -> None:
    python = workers._python

    def none_of(result, asked: str, *arguments):
        return (lambda *_: None) if asked == name else python(result, asked, *arguments)

    monkeypatch.setattr(workers, "_python", none_of)
    assert len(signatures(3)) == 1


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
    others = [threading.Thread(target=launches, args=(seed,)) for seed in range(6)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join()
    assert not wrong
