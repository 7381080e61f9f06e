"""What is timed: buffers of representative elements, and the results that are right.

Right is what the exact arithmetic of the tests says: ONNX Runtime and ml_dtypes round some
conversions twice, so no peer could be the judge of all pairs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from minirt.data.packing import pack
from minirt.dtypes import BY_NAME, DType

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import exact
import exact_arrays

__all__ = ["Workload", "aligned", "as_storage", "exact", "typical"]

#: Elements before the buffer repeats itself: no multiple of any block, but of every packed group.
_TILE = 65476


@dataclass(frozen=True)
class Workload:
    """Elements of ``src`` to be converted to ``dst``, as storage; peers share the buffers."""

    src: DType
    dst: DType
    source: np.ndarray
    result: np.ndarray
    expected: np.ndarray  # codes of the first elements, after which they repeat

    @classmethod
    def make(cls, src: str, dst: str, elements: int) -> Workload:
        from_, to = BY_NAME[src], BY_NAME[dst]
        codes = typical(from_, to)
        source = aligned(elements, from_.storage)
        _repeat(as_storage(codes, from_), source)
        expected = _unsigned(as_storage(exact_arrays.cast(codes, src, dst), to))
        return cls(from_, to, source, aligned(elements, to.storage), expected)

    @property
    def moved(self) -> int:
        """Bytes read and written."""
        return self.source.nbytes + self.result.nbytes

    def wrong(self) -> float:
        """The share of elements in ``result`` that are not what they should be."""
        tile, result = self.expected, _unsigned(self.result)
        whole = result.size // tile.size * tile.size
        rest = result.size - whole
        differs = np.count_nonzero(result[:whole].reshape(-1, tile.size) != tile)
        return float(differs + np.count_nonzero(result[whole:] != tile[:rest])) / result.size

    def packed_wrong(self, packed: np.ndarray) -> float:
        """The same for the packed bytes of the first elements."""
        expected = pack(self.expected[: self.result.size], self.dst)
        return float(np.count_nonzero(packed[: expected.size] != expected)) / expected.size


def aligned(elements: int, dtype: np.dtype, boundary: int = 64) -> np.ndarray:
    """A buffer of zeros that begins on a cache line, its pages mapped."""
    memory = np.empty(elements * dtype.itemsize + boundary, np.uint8)
    memory.fill(0)
    start = -memory.ctypes.data % boundary
    return memory[start : start + elements * dtype.itemsize].view(dtype)


def typical(src: DType, dst: DType) -> np.ndarray:
    """Normally distributed numbers that fit both types, but for 2-bit ones, as codes of ``src``."""
    random = np.random.default_rng(0)
    largest = min(float(src.largest), float(dst.largest), 1e5)
    numbers = random.standard_normal(_TILE) * max(largest / 8, 0.6)
    if dst.name == "bool" or src.name == "bool":
        numbers[::2] = 0
    if src.smallest >= 0 or (dst.smallest >= 0 and dst.is_float):
        numbers = abs(numbers)
    doubles = numbers.view(np.uint64)
    return exact_arrays.cast(doubles, "double", src.name)


def as_storage(codes: np.ndarray, dtype: DType) -> np.ndarray:
    """Codes as kernels take them."""
    return codes.astype(f"u{dtype.storage.itemsize}").view(dtype.storage)


def _unsigned(elements: np.ndarray) -> np.ndarray:
    """The bits: a NaN equals itself."""
    return elements.view(f"u{elements.itemsize}")


def _repeat(tile: np.ndarray, buffer: np.ndarray) -> None:
    for start in range(0, buffer.size, tile.size):
        part = buffer[start : start + tile.size]
        part[:] = tile[: part.size]
