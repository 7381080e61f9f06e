"""The ways of converting that depend on size, place and processor: the same values each."""

from __future__ import annotations

from pathlib import Path

import exact_arrays
import numpy as np
import pytest
from cast_data import from_storage, to_storage
from jit_process import run_python

from minirt.dtypes import BY_NAME
from minirt.jit import launcher, permute, threads
from minirt.jit.streams import BLOCK
from minirt.kernels import cast

#: Results of 1, 2, 4 and 8 bytes, and one that is a copy.
STREAMED = [
    ("int16", "uint16"),
    ("float", "float8e4m3fn"),
    ("float", "float16"),
    ("bfloat16", "float"),
    ("int32", "double"),
]
BYTE = np.dtype("u1")


def codes(src: str, count: int) -> np.ndarray:
    random = np.random.default_rng(3).standard_normal(count) * 100
    return exact_arrays.cast(random.view(np.uint64), "double", src)


def memory(size: int, dtype: np.dtype, offset: int) -> tuple[np.ndarray, np.ndarray]:
    """An array that begins ``offset`` bytes after a cache line, and all bytes around it."""
    around = np.full(size * dtype.itemsize + 4 * 64, 0xA5, np.uint8)
    start = -around.ctypes.data % 64 + 64 + offset
    return around[start : start + size * dtype.itemsize].view(dtype), around


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every result goes past the caches, however small."""
    monkeypatch.setattr(cast, "_STREAMED", 0)


def check(src: str, dst: str, size: int, offset: int = 0) -> None:
    source = codes(src, size)
    right = exact_arrays.cast(source, src, dst)
    out, around = memory(size, BY_NAME[dst].storage, offset)
    run = cast.convert(BY_NAME[src], BY_NAME[dst], size, saturate=True, round_mode="up")
    run(to_storage(source, src), out)
    assert np.array_equal(from_storage(out), right), f"{size} elements, {offset} bytes off a line"
    out.view(np.uint8)[:] = 0xA5
    assert np.all(around == 0xA5), f"{size} elements: wrote beyond the end"


@pytest.mark.usefixtures("streams")
@pytest.mark.parametrize(("src", "dst"), STREAMED)
def test_streamed_results_of_any_size_at_any_place(src: str, dst: str) -> None:
    item = BY_NAME[dst].storage.itemsize
    block = BLOCK // item
    sizes = (0, 1, 63, block - 1, block, block + 1, 2 * block, 3 * block + 17)
    for size in sizes:
        for offset in (0, item, 3 * item, 64 - item):
            check(src, dst, size, offset)


@pytest.mark.usefixtures("streams")
def test_a_result_whose_elements_begin_no_cache_line_is_not_streamed() -> None:
    check("float", "float16", 5000, offset=1)


@pytest.mark.usefixtures("streams")
@pytest.mark.parametrize(("src", "dst"), STREAMED)
def test_streams_of_two_threads(monkeypatch: pytest.MonkeyPatch, src: str, dst: str) -> None:
    monkeypatch.setattr(launcher, "PAYS", 0)
    with threads.at_most(2):
        check(src, dst, 100_003, offset=BY_NAME[dst].storage.itemsize)


def test_large_results_are_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = []
    for name in ("cast", "cast_streamed"):
        kernel = getattr(cast, name)
        monkeypatch.setattr(kernel, "bind", lambda *a, name=name, **k: bound.append(name))
    for size in (1 << 20, 1 << 24):
        cast.convert(BY_NAME["float"], BY_NAME["double"], size, saturate=True, round_mode="up")
    assert bound == ["cast", "cast_streamed"]


def look_up(entry: int) -> None:
    """All bytes, in every place of a line and of what is left over, from a table of noise."""
    random = np.random.default_rng(entry)
    planes = random.integers(0, 256, 256 * entry, np.uint8)
    table = np.ascontiguousarray(planes.reshape(entry, 256).T).view(f"u{entry}").reshape(-1)
    source = random.permutation(np.resize(np.arange(256, dtype=np.uint8), 1000))
    for size in (0, 1, 63, 64, 65, 191, 1000):
        run = cast.look_up_lines.bind(BYTE, table.dtype, table, planes, size=size)
        out, around = memory(size, table.dtype, entry)
        run(source[:size], out)
        assert np.array_equal(out, table[source[:size]]), f"{entry} bytes, {size} elements"
        out.view(np.uint8)[:] = 0xA5
        assert np.all(around == 0xA5), f"{size} elements: wrote beyond the end"


def test_many_look_ups_at_once() -> None:
    assert permute.widest_entry() in (0, 1, 2)
    for entry in range(1, permute.widest_entry() + 1):
        look_up(entry)


def test_many_look_ups_at_once_with_half_the_registers(tmp_path: Path) -> None:
    """Where this processor has the widest instructions, and so never runs the others."""
    script = f"""
    import sys
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    import test_kernels_cast
    from minirt.jit.permute import widest_entry
    test_kernels_cast.test_many_look_ups_at_once()
    print(widest_entry())
    """
    older = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}
    has_older = permute.widest_entry() > 0
    written = run_python(script, tmp_path, **(older if has_older else {}))
    assert int(written) == has_older
