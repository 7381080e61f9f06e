"""Sources for the cast tests: all codes of the small types, and for the wide ones the
neighbourhood of everything that a destination can round to or break at.

Arrays of codes are uint64 bit patterns, as in :mod:`exact_arrays`.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import exact_arrays
import numpy as np
from exact import E8M0, FLOATS, NAMES, bits_of

from minirt.dtypes import BY_NAME

__all__ = [
    "MODES",
    "NUMERIC",
    "PAIRS",
    "Mode",
    "assert_codes",
    "boundaries",
    "codes",
    "from_storage",
    "pair_id",
    "to_storage",
]

_U = np.uint64
#: Enough that every offset meets every exponent; the rest get the nearest offsets only.
_COARSE = 1000


class Mode(NamedTuple):
    """A destination and how it rounds."""

    dst: str
    saturate: bool = True
    round_mode: str = "up"

    def __str__(self) -> str:
        options = [] if self.saturate else ["saturate=0"]
        if self.round_mode != "up":
            options.append(f"round_mode={self.round_mode}")
        return self.dst + (f"[{','.join(options)}]" if options else "")


def _modes(dst: str) -> list[Mode]:
    if dst == E8M0:
        return [Mode(dst, s, r) for s in (True, False) for r in ("up", "down", "nearest")]
    return [Mode(dst), Mode(dst, False)] if dst.startswith("float8") else [Mode(dst)]


NUMERIC = tuple(name for name in NAMES if name != "string")
#: Every destination in every mode that means something.
MODES = tuple(mode for dst in NAMES for mode in _modes(dst))
#: Every numeric conversion there is a kernel for.
PAIRS = tuple((src, mode) for src in NUMERIC for mode in MODES if mode.dst not in (src, "string"))


def pair_id(value: object) -> str:
    """The test id of an element of ``PAIRS``: ``float16->float8e4m3fn[saturate=0]``."""
    return f"{value[0]}->{value[1]}" if isinstance(value, tuple) else str(value)


def to_storage(codes: np.ndarray, name: str) -> np.ndarray:
    """Codes as the buffer a kernel reads."""
    storage = BY_NAME[name].storage
    return codes.astype(f"u{storage.itemsize}").view(storage)


def from_storage(buffer: np.ndarray) -> np.ndarray:
    """What a kernel wrote, as codes."""
    return buffer.view(f"u{buffer.itemsize}").astype(_U)


def assert_codes(
    actual: np.ndarray, expected: np.ndarray, source: np.ndarray, src: str, mode: Mode
) -> None:
    """Fail with the first element whose code differs."""
    different = np.flatnonzero(actual != expected)
    if different.size:
        i = different[0]
        bits = f"source {int(source[i]):#0{2 + -(-bits_of(src) // 4)}x}"
        digits = 2 + -(-bits_of(mode.dst) // 4)
        raise AssertionError(
            f"{src}->{mode}: {different.size} of {actual.size} differ, first at [{i}]: {bits}, "
            f"expected {int(expected[i]):#0{digits}x}, got {int(actual[i]):#0{digits}x}"
        )


# ------------------------------------------------------------------ boundaries


@cache
def boundaries(dst: str) -> np.ndarray:
    """Magnitudes, as float64, at which a conversion to ``dst`` changes or could go wrong.

    All values of a float of at most 16 bits, the midpoints between them, and the
    power of two or the step after the last, with its midpoint. Of float32 and float64 a
    sample of the fractions in every binade. For integers the halves, and the powers of two.
    """
    if dst in ("float", "double"):
        return _sampled_boundaries(dst)
    if dst == E8M0:
        values = np.ldexp(1.0, np.arange(-129, 130))
    elif dst in FLOATS:
        magnitudes = np.arange(FLOATS[dst].largest + 1, dtype=_U)
        numbers = exact_arrays.decode(magnitudes, dst)
        values = np.ldexp(numbers.size.astype(float), numbers.exponent.astype(int))
        values = np.append(values, 2 * values[-1] - values[-2])
    else:
        powers = np.ldexp(1.0, np.arange(68))
        around = powers[:, None] + [-1.5, -1, -0.5, 0, 0.5, 1, 1.5]
        return np.unique(np.abs(np.append(around, np.arange(0, 1300, 0.5))))
    return np.sort(np.append(values, (values[1:] + values[:-1]) / 2))


def _sampled_boundaries(dst: str) -> np.ndarray:
    f = FLOATS[dst]
    last = (1 << f.man) - 1
    sixth = last // 3
    special = [0, 1, 2, 3, sixth, 2 * sixth, last // 2, last // 2 + 1, last - 1, last]
    drawn = np.random.default_rng(20).integers(0, last, 6).tolist()
    field = np.arange((f.largest >> f.man) + 1, dtype=_U) << _U(f.man)
    magnitudes = field[:, None] | np.array(special + drawn, _U)
    if dst == "double":
        return magnitudes.view(float).ravel()
    numbers = exact_arrays.decode(magnitudes.ravel(), dst)
    whole = numbers.size.astype(float)
    return np.ldexp(np.append(whole, whole + 0.5), np.tile(numbers.exponent, 2).astype(int))


# --------------------------------------------------------------------- sources


def codes(src: str, dst: str) -> np.ndarray:
    """Codes of ``src`` that try a conversion to ``dst``: all of them up to 16 bits."""
    return _codes(src, dst if dst in FLOATS or dst == E8M0 else "integer")


@cache
def _codes(src: str, dst: str) -> np.ndarray:
    bits = bits_of(src)
    if bits <= 16:
        return np.arange(2 if src == "bool" else 1 << bits, dtype=_U)
    magnitudes = _float_magnitudes(src, dst) if src in FLOATS else _integer_sizes(bits, dst)
    random = np.random.default_rng(bits).integers(0, 1 << 64, 4000, _U) >> _U(64 - bits)
    sign = _U(1 << (bits - 1))
    negated = magnitudes ^ sign if src in FLOATS else -magnitudes & _U((1 << bits) - 1)
    return _distinct(magnitudes, negated, random)


def _float_magnitudes(src: str, dst: str) -> np.ndarray:
    f = FLOATS[src]
    infinity = f.over
    with np.errstate(over="ignore"):
        centres = from_storage(boundaries(dst).astype(f"f{f.bits // 8}"))
    near = _offset(centres, f.man)
    field = np.arange(infinity >> f.man, dtype=_U) << _U(f.man)
    ends = (field[:, None] + np.array([0, 1, (1 << f.man) - 1], _U)).ravel()
    fractions = [1 << k for k in range(f.man)] + [3 << (f.man - 2), (1 << f.man) - 1]
    nans = infinity + np.array([0, *fractions, (1 << f.man) // 3], _U)
    return np.concatenate([near[near <= infinity], ends, nans])


def _integer_sizes(bits: int, dst: str) -> np.ndarray:
    centres = np.floor(boundaries(dst))
    sizes = [centres[centres < 2.0**bits].astype(_U), _U(1) << np.arange(bits, dtype=_U)]
    if dst == "double":
        sizes.append(_float64_midpoints(bits))
    return _offset(np.concatenate(sizes), bits) & _U((1 << bits) - 1)


def _float64_midpoints(bits: int) -> np.ndarray:
    """Integers of more than 53 bits halfway between two float64, which no float64 is."""
    fractions = np.array([0, 1, 2, (1 << 52) - 2, (1 << 52) - 1], _U) | _U(1 << 52)
    shifts = np.arange(1, bits - 52, dtype=_U)[:, None]
    return ((fractions << shifts) + (_U(1) << (shifts - _U(1)))).ravel()


def _offset(centres: np.ndarray, bits: int) -> np.ndarray:
    """The codes at and next to ``centres``; for some of them at every power of two's distance."""
    coarse = centres[:: -(-centres.size // _COARSE)]
    distance = _U(1) << np.arange(1, bits, dtype=_U)[:, None]
    one = _U(1)
    parts = [centres, centres - one, centres + one, coarse - distance, coarse + distance]
    parts += [centres - one - one, centres + one + one]
    return _distinct(*parts)


def _distinct(*parts: np.ndarray) -> np.ndarray:
    """What np.unique gives, ten times as fast on codes that are mostly distinct."""
    together = np.sort(np.concatenate([part.ravel() for part in parts]))
    return together[np.append(True, together[1:] != together[:-1])]
