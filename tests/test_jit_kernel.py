"""Kernels: what may be bound, what comes out, what the compiled code looks like."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest
from numba import njit, types

from minirt.dtypes import BY_NAME
from minirt.errors import ExecutionError
from minirt.jit import Codec, Kernel, decode, encode, helper, kernel, lanes, statistics

F4, F8, I4 = np.dtype("f4"), np.dtype("f8"), np.dtype("i4")


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIRT_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("MINIRT_CHECK", raising=False)


def scale(src, dst, factor, offset):
    """dst[i] = src[i] * factor + offset."""
    for i in range(src.size):
        dst[i] = src[i] * factor + offset


def code_of(kernel: Kernel) -> str:
    """The optimised LLVM code of a kernel's only specialisation, without its wrappers."""
    ((_, _, result),) = kernel._codes.values()
    text = result.library.get_llvm_str()
    name = re.escape(result.fndesc.llvm_func_name)
    found = re.search(rf'^define [^\n]*@"?{name}"?\(.*?^}}', text, re.M | re.S)
    assert found, "the kernel's function is not in the module"
    return found[0]


def test_a_kernel_runs_over_the_arrays_of_the_call() -> None:
    run = kernel(scale).bind(F4, F8, 2, 0.5, size=3)
    dst = np.zeros(3)
    assert run(np.array([1, 2, 3], F4), dst) is None
    assert dst.tolist() == [2.5, 4.5, 6.5]


def test_arguments_may_be_bound_in_any_place() -> None:
    @kernel
    def mixed(a, src, b, dst, table):
        for i in range(src.size):
            dst[i] = table[src[i]] * a + b

    table = np.array([10, 20, 30], I4)
    dst = np.zeros(3, I4)
    mixed.bind(3, I4, np.int8(-1), I4, table, size=3)(np.array([2, 0, 1], I4), dst)
    assert dst.tolist() == [89, 29, 59]


def test_a_codec_is_bound() -> None:
    @kernel
    def narrow(src, dst, to):
        for i in range(src.size):
            dst[i] = encode(to, src[i])

    dst = np.zeros(3, "u1")
    narrow.bind(F4, np.dtype("u1"), Codec(BY_NAME["float8e4m3fn"]), size=3)(
        np.array([1, -2, 448], F4), dst
    )
    assert dst.tolist() == [0x38, 0xC0, 0x7E]


def test_a_specialisation_is_compiled_once() -> None:
    k = kernel(scale)
    before = statistics().compiled
    for number in (1, 2, 3):
        k.bind(F4, F4, number, 0, size=number)
    assert statistics().compiled == before + 1
    k.bind(F4, F8, 1, 0, size=1)
    assert statistics().compiled == before + 2


def test_making_a_kernel_compiles_nothing() -> None:
    before = statistics()
    kernel(scale)
    assert statistics() == before


def test_a_kernel_says_what_it_is() -> None:
    k = kernel(whole=("src",), cost=2)(scale)
    assert repr(k) == "<kernel test_jit_kernel.scale>"
    assert (k.__name__, k.__doc__) == ("scale", scale.__doc__)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((F4, F4, 1), "<kernel test_jit_kernel.scale> takes 4 arguments, not 3"),
        ((F4, F4, 1, None), "offset is None: neither a dtype, an array, a number nor a codec"),
        ((F4, F4, "2", 0), "factor is '2': neither"),
        ((F4, F4, np.float32, 0), "factor is <class 'numpy.float32'>: neither"),
        ((F4, F4, 1j, 0), "factor is 1j: neither"),
    ],
)
def test_what_cannot_be_bound(arguments: tuple, message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        kernel(scale).bind(*arguments, size=1)


def test_a_parameter_that_is_not_there_cannot_be_whole() -> None:
    with pytest.raises(TypeError, match="no parameter table"):
        kernel(whole=("table",))(scale)


def test_a_kernel_returns_nothing() -> None:
    @kernel
    def total(src):
        return src.sum()

    with pytest.raises(TypeError, match="returns float64, not None"):
        total.bind(F8, size=1)


@helper
def larger(a, b):
    return max(b, a)


@helper
def apply_to_all(function, src, dst):
    for i in range(src.size):
        dst[i] = function(dst[i], src[i])


def test_a_kernel_passes_no_functions() -> None:
    """Its code would hold addresses of this process, and could not be kept on disk."""

    @kernel
    def passes(src, dst):
        apply_to_all(larger, src, dst)

    with pytest.raises(TypeError, match="refers to objects of this process"):
        passes.bind(F8, F8, size=1)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((2, 2), F4), "needs one-dimensional float32"),
        (np.zeros(4, F4)[::2], "needs one-dimensional float32"),
        (np.zeros(3, F4), "src of <kernel test_jit_kernel.scale> has 3 items, needs 2"),
    ],
)
def test_a_bound_array_must_fit(table: np.ndarray, message: str) -> None:
    with pytest.raises(ExecutionError, match=message):
        kernel(scale).bind(table, F4, 1, 0, size=2)
    if table.ndim == 1 and table.flags.c_contiguous:
        kernel(whole=("src",))(scale).bind(table, F4, 1, 0, size=2)


def test_what_a_kernel_raises_is_raised() -> None:
    @kernel
    def refuse(src):
        if src[0] > 2:
            raise ValueError("too large")

    run = refuse.bind(F4, size=1)
    run(np.ones(1, F4))
    with pytest.raises(ValueError, match="too large"):
        run(np.full(1, 3, F4))


def test_division_by_zero_is_infinite() -> None:
    @kernel
    def divide(a, b, dst):
        for i in range(a.size):
            dst[i] = a[i] / b[i]

    dst = np.zeros(2)
    divide.bind(F8, F8, F8, size=2)(np.array([1.0, -1.0]), np.zeros(2), dst)
    assert dst.tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((np.zeros(4, F4),), "takes 2 arrays, not 1"),
        ((np.zeros(4, F4), [0] * 4), "dst of <kernel .*> is list, not an array"),
        (
            (np.zeros(4, F8), np.zeros(4, F4)),
            "src of .* is float64 of shape .4,.; needs .* float32",
        ),
        ((np.zeros((2, 2), F4), np.zeros(4, F4)), "src of .* of shape .2, 2.; needs one-dim"),
        ((np.zeros(4, F4), np.zeros(8, F4)[::2]), "dst of .*, not contiguous; needs one-dim"),
        ((np.zeros(4, F4), np.zeros(3, F4)), "dst of .* has 3 items, needs 4"),
        ((np.zeros(4, F4), np.zeros(4, F4).astype(">f4")), "dst of .* is >f4"),
    ],
)
def test_checks_when_asked_for(monkeypatch, arrays: tuple, message: str) -> None:
    monkeypatch.setenv("MINIRT_CHECK", "1")
    run = kernel(scale).bind(F4, F4, 1, 0, size=4)
    with pytest.raises(ExecutionError, match=message):
        run(*arrays)
    run(np.zeros(4, F4), np.zeros(4, F4))


def test_checks_take_an_array_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIRT_CHECK", "1")
    src, dst = np.ones(2, F4), np.zeros(2, F4)
    src.flags.writeable = False
    kernel(scale).bind(F4, F4, 1, 0, size=2)(src, dst)
    assert dst.tolist() == [1, 1]


@pytest.mark.parametrize("value", ["", "0"])
def test_no_checks_unless_asked_for(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("MINIRT_CHECK", value)
    dst = np.zeros(5, F4)
    kernel(scale).bind(F4, F4, 2, 0, size=4)(np.ones(3, F4), dst)  # would be refused
    assert dst.tolist() == [2, 2, 2, 0, 0]


def test_the_interpreter_runs_while_a_kernel_does() -> None:
    """Two kernels that wait for each other, which they can only if neither keeps the GIL."""

    @kernel
    def meet(flags, spin, mine):
        other = 1 - mine
        flags[mine] = 1
        for i in range(1 << 33):  # some seconds
            spin[i & 1] = i  # may be the memory of flags, so that those are read again
            if flags[other] == 1:
                flags[mine + 2] = 1
                return

    flags = np.zeros(4, "i8")
    run = [meet.bind(flags.dtype, flags.dtype, mine, size=4) for mine in (0, 1)]
    spins = np.zeros((2, 2), "i8")
    others = threading.Thread(target=run[0], args=(flags, spins[0]))
    others.start()
    run[1](flags, spins[1])
    others.join()
    assert flags.tolist() == [1, 1, 1, 1]


def test_loops_vectorise() -> None:
    k = kernel(scale)
    k.bind(F4, F4, np.float32(2), np.float32(1), size=1)
    assert re.search(r"fmul <\d+ x float>", code_of(k))


def test_int32_stays_int32() -> None:
    """Numba makes int32 op int32 an int64: half the lanes, and shifts that see wrong bits."""

    @kernel
    def mix(src, dst):
        for i in range(src.size):
            x = lanes.add(src[i], src[i])
            dst[i] = lanes.ashr(lanes.shl(x, np.int32(3)), np.int32(2))

    def wrap(x: int) -> int:
        return (x + 2**31) % 2**32 - 2**31

    src = np.array([0, 1, -1, 2**31 - 1, -(2**31), 123456789, -987654321], I4)
    dst = np.zeros_like(src)
    mix.bind(I4, I4, size=src.size)(src, dst)
    assert dst.tolist() == [wrap(wrap(2 * x) << 3) >> 2 for x in src.tolist()]
    assert re.search(r"add .*<\d+ x i32>|shl .*<\d+ x i32>", code_of(mix))
    assert not re.search(r"<\d+ x i64> (?!.*getelementptr)", code_of(mix))


@pytest.mark.parametrize("source", ["double", "int32", "int64", "uint64"])
def test_half_is_never_made_from_double(source: str) -> None:
    """LLVM aborts the process on it."""

    @kernel
    def narrow(src, dst, from_, to):
        for i in range(src.size):
            dst[i] = encode(to, decode(from_, src[i]))

    from_, to = BY_NAME[source], BY_NAME["float16"]
    narrow.bind(from_.storage, to.storage, Codec(from_), Codec(to), size=1)
    assert not re.search(r"fptrunc[^\n]*double[^\n]*half", code_of(narrow))


def test_a_jitted_helper_may_be_closed_over() -> None:
    def family(name: str, helper) -> Kernel:
        @kernel
        def apply(src, dst):
            for i in range(src.size):
                dst[i] = helper(src[i])

        return apply

    twice, thrice = (family("f", njit(f)) for f in (lambda x: 2 * x, lambda x: 3 * x))
    dst = np.zeros(2)
    for member, expected in ((twice, [2, 4]), (thrice, [3, 6]), (twice, [2, 4])):
        member.bind(F8, F8, size=2)(np.array([1.0, 2.0]), dst)
        assert dst.tolist() == expected


def test_arrays_are_typed_as_numba_types_them() -> None:
    k = kernel(scale)
    k.bind(F4, np.dtype("?"), np.uint8(1), True, size=1)
    (signature,) = k._codes
    assert signature == (
        types.Array(types.float32, 1, "C"),
        types.Array(types.boolean, 1, "C"),
        types.uint8,
        types.boolean,
    )
