"""Products of floats: the same bits on any number of threads, and BLAS as it was afterwards."""

from __future__ import annotations

import multiprocessing
import threading
from contextlib import nullcontext

import numpy as np
import pytest

from minirt.jit.threads import at_most
from minirt.kernels import blas

SHAPES = [
    ((300, 600), (600, 300)),
    ((70, 900), (900, 600)),
    ((3, 5), (5, 2)),
    ((2000,), (2000, 20)),
    ((20, 2000), (2000,)),
    ((9000,), (9000,)),
    ((9, 4, 80, 100), (100, 90)),
    ((9, 1, 80, 100), (1, 4, 100, 90)),
    ((1, 40, 80, 100), (3, 1, 100, 90)),
    ((40, 80, 100), (2, 40, 100, 90)),
    ((700, 40, 40), (700, 40, 40)),
    ((0, 5), (5, 3)),
    ((3, 0), (0, 4)),
]
OF_SHAPES = pytest.mark.parametrize("shapes", SHAPES, ids=str)


@pytest.fixture(autouse=True)
def processors(monkeypatch):
    """As many threads as are asked for, whatever the machine has."""
    monkeypatch.setattr("minirt.jit.threads.numba_threads", lambda: 8)


def multiply(a, b, threads):
    y = np.full(result_shape(a, b), np.nan, a.dtype)
    with at_most(threads):
        run = blas.multiply_floats()
    run(a, b, y)
    return y


def result_shape(a, b):
    left = a.shape[:-1] if a.ndim > 1 else ()
    right = b.shape[-1:] if b.ndim > 1 else ()
    return (*np.broadcast_shapes(left[:-1], b.shape[:-2]), *left[-1:], *right)


@OF_SHAPES
def test_whole_numbers_are_exact(shapes):
    a, b = ((np.arange(np.prod(s)) * 7 % 17 - 8).reshape(s) for s in shapes)
    for dtype in (np.float32, np.float64):
        assert np.array_equal(multiply(a.astype(dtype), b.astype(dtype), 3), a @ b)


@OF_SHAPES
def test_bits_do_not_depend_on_threads(shapes):
    random = np.random.default_rng(7)
    a, b = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
    first = multiply(a, b, 1).tobytes()
    assert all(multiply(a, b, threads).tobytes() == first for threads in (2, 3, 8))
    control = blas._control()
    if control is not None:
        before = control._get()
        for theirs in (1, 2, before):
            control._put(theirs)
            assert multiply(a, b, 2).tobytes() == first
            assert control._get() == theirs


@OF_SHAPES
def test_parts_cover_the_result_once(shapes):
    a, b = (np.zeros(shape, np.float32) for shape in shapes)
    y = np.zeros(result_shape(a, b), np.float32)
    parts = list(blas._parts(a, b, y))
    for left, right, part in parts:
        assert part.shape == np.matmul(left, right).shape
        part += 1
    assert (y == 1).all()
    assert (len(parts) > 1) == (y.size * a.shape[-1] >= 1 << 24)


def test_blas_has_its_threads_again_when_all_have_left():
    control = blas._Alone(lambda: state[-1], lambda count: state.append(count))
    state = [4]
    with control:
        with control:
            assert state == [4, 1]
        assert state == [4, 1]
    assert state == [4, 1, 4]
    with pytest.raises(KeyError), control:
        raise KeyError
    assert state[-1] == 4


def test_a_blas_that_has_one_thread_is_let_alone():
    with blas._Alone(lambda: 1, pytest.fail):
        pass


def test_without_a_blas_that_can_be_told(monkeypatch):
    monkeypatch.setattr(blas, "_control", lambda: None)
    assert isinstance(blas.alone(), nullcontext)
    assert multiply(np.eye(3), np.eye(3), 2).tolist() == np.eye(3).tolist()


def test_many_threads_at_once():
    a, b = np.full((300, 600), 2.0), np.full((600, 300), 3.0)
    failures = []

    def work():
        for _ in range(5):
            if not (multiply(a, b, 2) == 3600).all():
                failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_an_error_in_one_part_is_raised():
    y = np.zeros((2, 2))
    good, bad = (np.eye(2), np.eye(2), y), (np.eye(2), np.eye(3), y)
    with pytest.raises(ValueError, match="matmul"):
        blas._share([good] * 5 + [bad] + [good] * 5, 3)


def _child():
    assert (multiply(np.full((300, 600), 2.0), np.full((600, 300), 3.0), 2) == 3600).all()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    _child()
    if "fork" in multiprocessing.get_all_start_methods():
        with blas.alone():
            process = multiprocessing.get_context("fork").Process(target=_child)
            process.start()
        process.join(120)
        assert process.exitcode == 0
