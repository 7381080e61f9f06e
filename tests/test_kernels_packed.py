"""Casts from and to packed elements: exact values, the bits where ``raw_data`` has them."""

from __future__ import annotations

import exact_arrays
import numpy as np
import pytest
from cast_data import from_storage, to_storage

from minirt import kernels
from minirt.dtypes import BY_NAME, TABLE
from minirt.jit import launcher, threads

PACKED = [dtype.name for dtype in TABLE if dtype.is_packed]
SIZES = (*range(10), 2047, 2048, 2049, 5003)

packed_type = pytest.mark.parametrize("name", PACKED)


def pack(codes: np.ndarray, bits: int) -> bytes:
    """The elements as one number, the first in its lowest bits."""
    digits = "".join(f"{code:0{bits}b}" for code in reversed(codes.tolist()))
    return int(digits or "0", 2).to_bytes(-(-codes.size * bits // 8), "little")


def guarded(size: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """An array, and what comes after it."""
    memory = np.full((size + 8) * dtype.itemsize, 0xA5, np.uint8)
    return memory[: size * dtype.itemsize].view(dtype), memory[size * dtype.itemsize :]


def check_from(name: str, size: int) -> None:
    dtype, result = BY_NAME[name], BY_NAME["float"]
    codes = np.random.default_rng(size).integers(0, 1 << dtype.bits, size, np.uint64)
    data = np.frombuffer(pack(codes, dtype.bits), np.uint8)
    out, after = guarded(size, result.storage)
    convert = kernels.convert_from_packed(dtype, result, size, saturate=True, round_mode="up")
    convert(data, out)
    assert np.array_equal(from_storage(out), exact_arrays.cast(codes, name, "float")), size
    assert np.all(after == 0xA5), size


def check_to(name: str, size: int) -> None:
    dtype = BY_NAME[name]
    numbers = np.random.default_rng(size).standard_normal(size).astype(np.float32) * 4
    source = from_storage(numbers)
    right = pack(exact_arrays.cast(source, "float", name), dtype.bits)
    out, after = guarded(len(right), np.dtype(np.uint8))
    convert = kernels.convert_to_packed(
        BY_NAME["float"], dtype, size, saturate=True, round_mode="up"
    )
    convert(to_storage(source, "float"), out)
    assert out.tobytes() == right, size
    assert np.all(after == 0xA5), size


@packed_type
def test_from_packed(name: str) -> None:
    for size in SIZES:
        check_from(name, size)


@packed_type
def test_to_packed(name: str) -> None:
    for size in SIZES:
        check_to(name, size)


@packed_type
def test_packed_in_two_threads(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(launcher, "PAYS", 0)
    with threads.at_most(2):
        check_from(name, 70_001)
        check_to(name, 70_001)
