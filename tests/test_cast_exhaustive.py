"""Every numeric conversion kernel, code by code, against exact arithmetic.

Sources of at most 16 bits are tried with every code. Wider ones are tried around every
boundary of the destination (:func:`cast_data.codes`).
"""

from __future__ import annotations

import exact
import exact_arrays
import numpy as np
import pytest
from cast_data import PAIRS, Mode, assert_codes, codes, from_storage, pair_id, to_storage

from minirt import kernels
from minirt.dtypes import BY_NAME
from minirt.jit import launcher

pytestmark = pytest.mark.slow

every_pair = pytest.mark.parametrize("pair", PAIRS, ids=pair_id)


def bind(src: str, mode: Mode, size: int):
    """The kernel for ``size`` elements."""
    dst, saturate, round_mode = mode
    return kernels.convert(
        BY_NAME[src], BY_NAME[dst], size, saturate=saturate, round_mode=round_mode
    )


def run(src: str, mode: Mode, source: np.ndarray) -> np.ndarray:
    """The codes that the kernel makes of ``source``."""
    out = np.empty(source.size, BY_NAME[mode.dst].storage)
    bind(src, mode, source.size)(to_storage(source, src), out)
    return from_storage(out)


def expected(src: str, mode: Mode, source: np.ndarray) -> np.ndarray:
    """What the oracle makes of ``source``; the slow one where there are few codes."""
    if exact.bits_of(src) > 8:
        return exact_arrays.cast(source, src, *mode)
    return np.array([exact.cast(int(code), src, *mode) for code in source], np.uint64)


@every_pair
def test_values(pair: tuple[str, Mode]) -> None:
    src, mode = pair
    source = codes(src, mode.dst)
    assert_codes(run(src, mode, source), expected(src, mode, source), source, src, mode)


@every_pair
def test_position_in_the_array_does_not_matter(pair: tuple[str, Mode]) -> None:
    """Every length to 70, at odd offsets: vector loops and their tails, and no byte beyond."""
    src, mode = pair
    source = np.resize(interesting(src, mode), 80)
    buffer, right = to_storage(source, src), to_storage(expected(src, mode, source), mode.dst)
    untouched = np.full(90 * right.itemsize, 0xA5, np.uint8).view(right.dtype)
    for size in range(71):
        start, at = size % 7, (5 * size + 1) % 8
        out, wanted = untouched.copy(), untouched.copy()
        wanted[at : at + size] = right[start : start + size]
        bind(src, mode, size)(buffer[start : start + size], out[at : at + size])
        if out.tobytes() != wanted.tobytes():
            here = slice(start, start + size)
            got = from_storage(out[at : at + size])
            assert_codes(got, from_storage(right[here]), source[here], src, mode)
            raise AssertionError(f"{src}->{mode}: wrote beyond the end of {size} elements")


@every_pair
def test_threads_give_the_same_bits(
    pair: tuple[str, Mode], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many blocks and a part of one, however few elements threads are worth their while for."""
    src, mode = pair
    monkeypatch.setattr(launcher, "PAYS", 0)
    monkeypatch.setenv("MINIRT_NUM_THREADS", "4")
    few = interesting(src, mode, 9973)
    source, right = to_storage(few, src), to_storage(expected(src, mode, few), mode.dst)
    source, right = np.resize(source, 70_001), np.resize(right, 70_001)
    out = np.empty_like(right)
    bind(src, mode, right.size)(source, out)
    if out.tobytes() != right.tobytes():
        assert_codes(*map(from_storage, (out, right, source)), src, mode)


def interesting(src: str, mode: Mode, count: int = 67) -> np.ndarray:
    """At most ``count`` codes of ``src``, from all over, in no order."""
    source = codes(src, mode.dst)
    order = np.random.default_rng(7).permutation(source.size)
    return source[order[:count]]
