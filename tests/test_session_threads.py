"""One session, many threads, many shapes: equal results, bounded memory."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import minirt
from minirt.runtime import executor
from models import session

#: Two values in the arena, a string in a buffer of its own, a view, a constant.
BODY = (
    "a = Cast<to=11>(x) b = Cast<to=10>(a) c = Identity(b) y = Cast<to=6>(c)"
    " s = Cast<to=8>(b) z = Cast<to=1>(s) k = Constant<value_floats=[1.0]>()"
)


@pytest.fixture
def mixed() -> minirt.Session:
    return session("float[N] x", "int32[N] y, float[N] z, float[1] k", BODY)


def feed(index: int) -> np.ndarray:
    return np.arange(index % 7 + 1, dtype="f4") + index


def right(index: int, results: minirt.Outputs) -> bool:
    x = feed(index).tolist()
    return [r.tolist() for r in results] == [x, x, [1.0]]


def test_eight_threads_with_different_shapes(mixed: minirt.Session) -> None:
    start = threading.Barrier(8)

    def work(first: int) -> bool:
        start.wait(30)
        indices = range(first, first + 400, 8)
        return all(right(i, mixed.run([feed(i)])) for i in indices)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_eight_threads_that_plan_the_same_first(mixed: minirt.Session) -> None:
    start = threading.Barrier(8)

    def work(_: int) -> bool:
        start.wait(30)
        return right(3, mixed.run([feed(3)]))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    assert len(mixed._executors._kept) == 1


def test_a_wrong_call_in_one_thread_disturbs_no_other(mixed: minirt.Session) -> None:
    def work(index: int) -> bool:
        if index % 3 == 0:
            with pytest.raises(minirt.InputError):
                mixed.run([np.zeros(3, "f8")])
            return True
        return right(index, mixed.run([feed(index)]))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(200)))


def test_a_thousand_shapes_stay_in_bounds(mixed: minirt.Session) -> None:
    def run(sizes: range) -> None:
        for size in sizes:
            y, _, _ = mixed.run([np.ones(size, "f4")])
            assert y.shape == (size,)

    def objects() -> int:
        gc.collect()
        return len(gc.get_objects())

    run(range(1, 200))
    early = objects()
    run(range(200, 1200))
    assert len(mixed._executors._kept) == executor._KEPT
    assert len(mixed._executors._frames._idle) <= executor._IDLE_FRAMES
    assert objects() - early < 1000


def test_shapes_that_come_back_are_planned_once(
    mixed: minirt.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minirt import session as module

    planned = []
    plan = module.make_plan
    monkeypatch.setattr(module, "make_plan", lambda *a: planned.append(1) or plan(*a))
    for _ in range(5):
        for size in range(10):
            mixed.run({"x": np.ones(size, "f4")})
            mixed.run([np.ones(size, ">f4")], ["y"])
    assert len(planned) == 20


def test_results_outlive_their_session(mixed: minirt.Session) -> None:
    results = mixed.run([feed(5)])
    del mixed
    gc.collect()
    assert right(5, results)
