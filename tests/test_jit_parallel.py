"""Kernels in blocks on several threads: the same bits as on one, and every failure seen."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from minirt.dtypes import BY_NAME
from minirt.errors import ExecutionError
from minirt.jit import Codec, Packed, decode, encode, kernel, launcher
from minirt.jit.launcher import ALIGNMENT, Launch, Slot

F4, I8, U1 = np.dtype("f4"), np.dtype("i8"), np.dtype("u1")
SIZES = [*range(1, 71), 511, 512, 513, 4 * ALIGNMENT, 100_003, 300_000]


@pytest.fixture(autouse=True)
def always_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several threads for however little work."""
    monkeypatch.setattr(launcher, "PAYS", 0)
    monkeypatch.setattr(launcher, "resolve", lambda threads: threads or 4)


@kernel
def cast(src, dst, from_, to):
    for i in range(src.size):
        dst[i] = encode(to, decode(from_, src[i]))


@kernel(whole=("table", "bias"))
def every_kind(a, table, x, dst, bias, narrow, flag, wide):
    for i in range(a.size):
        dst[i] = table[a[i]] * x + bias[bias.size - 1] + narrow
        if flag:
            dst[i] -= wide - np.uint64(1 << 63)


@pytest.mark.parametrize("to", ["float16", "float8e4m3fn", "int4", "double"])
def test_blocks_give_the_bits_of_one_call(monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    dtype = BY_NAME[to]
    source = np.random.default_rng(1).integers(0, 2**32, max(SIZES), "u4").view(F4)
    for size in SIZES:
        arguments = (F4, dtype.storage, Codec(BY_NAME["float"]), Codec(dtype))
        serial, shared = np.zeros((2, size), dtype.storage)
        cast.bind(*arguments, size=size, threads=1)(source[:size], serial)
        for threads in (2, 3, 4):
            shared[:] = 0
            cast.bind(*arguments, size=size, threads=threads)(source[:size], shared)
            assert shared.tobytes() == serial.tobytes(), (size, threads)


def test_memory_that_may_not_be_written_to() -> None:
    source, result = np.arange(100_000, dtype=F4), np.zeros(100_000, F4)
    source.flags.writeable = False
    arguments = (F4, F4, Codec(BY_NAME["float"]), Codec(BY_NAME["float"]))
    cast.bind(*arguments, size=source.size, threads=2)(source, result)
    assert (result == source).all()


@pytest.mark.parametrize("size", [1, 512, 5000])
def test_every_kind_of_argument_reaches_the_blocks(size: int) -> None:
    table = np.arange(256, dtype=I8) * 10
    bound = (np.float64(2.0), I8, np.array([7, 5], I8), np.int8(-3), True, np.uint64((1 << 63) + 4))
    a = np.random.default_rng(2).integers(0, 256, size).astype(U1)
    dst = np.zeros(size, I8)
    run = every_kind.bind(U1, I8, *bound, size=size, threads=4)
    run(a, table, dst)
    assert dst.tolist() == [20 * x + 5 - 3 - 4 for x in a.tolist()]


@pytest.mark.parametrize("size", [10 * ALIGNMENT + 1, 1000 * ALIGNMENT + 7])
def test_blocks_are_aligned_and_together_the_whole(size: int) -> None:
    @kernel
    def sizes(dst):
        dst[0] = dst.size

    dst = np.zeros(size, I8)
    sizes.bind(I8, size=size, threads=4)(dst)
    (starts,) = dst.nonzero()
    assert len(starts) > 1
    assert not (starts % ALIGNMENT).any()
    assert starts.tolist() == [0, *np.cumsum(dst[starts])[:-1].tolist()]
    assert dst.sum() == size


@pytest.mark.parametrize("thread", range(3))
def test_each_thread_begins_with_its_own_share(monkeypatch, thread: int) -> None:
    """Its processor has that in its caches. Here one thread makes all, share after share."""

    class Alone:
        def run(self, function: int, table: ctypes.Array) -> None:
            kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)
            kind(function)(ctypes.addressof(table), thread)

    @kernel(whole=("count",))
    def number(dst, count):
        count[0] += 1
        for i in range(dst.size):
            dst[i] = count[0]

    monkeypatch.setattr(launcher, "workers", Alone)
    dst, count = np.zeros(6 * ALIGNMENT - 1, I8), np.zeros(1, I8)
    number.bind(I8, I8, size=dst.size, threads=3)(dst, count)
    made = [(thread * 2 + i) % 6 for i in range(6)]  # two blocks in each share
    assert np.argsort(dst[::ALIGNMENT]).tolist() == made
    assert (dst == dst[::ALIGNMENT].repeat(ALIGNMENT)[: dst.size]).all()


@pytest.mark.parametrize("size", [1, 2, 7, ALIGNMENT, 4 * ALIGNMENT + 3, 50_001])
def test_packed_elements_advance_by_their_bits(size: int) -> None:
    @kernel
    def pack(src, dst):
        for i in range(src.size // 2):
            dst[i] = src[2 * i] | src[2 * i + 1] << 4
        if src.size % 2:
            dst[src.size // 2] = src[src.size - 1]

    codes = np.random.default_rng(3).integers(0, 16, size).astype(U1)
    dst = np.zeros(-(-size // 2), U1)
    pack.bind(U1, Packed(4), size=size, threads=4)(codes, dst)
    even, odd = codes[::2], np.append(codes[1::2], U1.type(0))
    assert dst.tolist() == (even | odd[: even.size] << 4).tolist()


@pytest.mark.parametrize("bits", [2, 4, 6, 8, 32, 64])
def test_blocks_of_any_width_begin_on_a_cache_line(bits: int) -> None:
    assert ALIGNMENT * bits % (64 * 8) == 0
    assert ALIGNMENT % 4 == 0  # the largest pack group


@kernel
def refuse(src, dst, limit):
    for i in range(src.size):
        if src[i] > limit:
            raise OverflowError("over the limit")
        dst[i] = src[i] + 1


@pytest.mark.parametrize("position", [0, 5000, 99_999])
def test_what_a_block_raises_is_raised(position: int) -> None:
    src, dst = np.zeros((2, 100_000), I8)
    run = refuse.bind(I8, I8, 5, size=src.size, threads=4)
    run(src, dst)
    src[position] = 6
    with pytest.raises(OverflowError, match="over the limit"):
        run(src, dst)
    src[position] = 0
    run(src, dst)  # the failure is of that call alone


def test_a_failure_that_does_not_come_again_is_still_one() -> None:
    @kernel
    def refuse_once(a):
        if a[0] == 0:
            a[0] = 1
            raise ValueError("the first time")

    with pytest.raises(ExecutionError, match=r"refuse_once> failed in one of several threads"):
        refuse_once.bind(I8, size=1, threads=4)(np.zeros(1, I8))


@pytest.mark.parametrize(
    ("src", "dst"),
    [
        (np.zeros(999, F4), np.zeros(1000, F4)),
        (np.zeros(1000, F4), np.zeros(999, F4)),
        (np.zeros(1000, "f8"), np.zeros(1000, F4)),
        (np.zeros(2000, F4)[::2], np.zeros(1000, F4)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(src: np.ndarray, dst: np.ndarray) -> None:
    float_ = Codec(BY_NAME["float"])
    run = cast.bind(F4, F4, float_, float_, size=1000, threads=4)
    with pytest.raises(ExecutionError, match=r"of <kernel test_jit_parallel.cast>"):
        run(src, dst)


def test_a_layout_is_compiled_once() -> None:
    slots = [Slot(every_kind_type, 32) for every_kind_type in map(array_of, ("f4", "i4", "u4"))]
    made = {Launch(1, [slot], [None], 10, 2)._trampoline for slot in slots}
    assert len(made) == 1


def array_of(dtype: str):
    from numba import from_dtype, types

    return types.Array(from_dtype(np.dtype(dtype)), 1, "C")


@pytest.mark.parametrize(
    ("size", "cost", "expected"),
    [(1 << 20, 1, 4), ((1 << 20) - 1, 1, 1), (1 << 18, 4, 4), ((1 << 18) - 1, 4, 1), (0, 9, 1)],
)
def test_threads_from_where_they_pay(monkeypatch, size: int, cost: float, expected: int) -> None:
    monkeypatch.setattr(launcher, "PAYS", 6 << 20)
    slots = [Slot(array_of("f4"), 32), Slot(array_of("u2"), 16), Slot(array_of("f8"))]
    assert launcher.share(slots, size, cost, None) == expected
