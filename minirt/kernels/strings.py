"""Cast from and to string, a block of elements at a time.

Between the Python strings and the compiled loops stands one buffer of ASCII bytes, the
texts of a block with a separator after each: joining and splitting it is what Python does
fastest.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .. import kernels
from ..dtypes import BY_NAME, DType, Kind
from ..errors import ExecutionError
from . import decimals, shortest, texts
from .powers import powers_of_ten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Run = Callable[[np.ndarray, np.ndarray], None]

__all__ = ["from_string", "to_string"]

#: Elements a block: their bytes and columns stay in the second-level cache.
_BLOCK = 8192
_DOUBLE = BY_NAME["double"]
_COLUMNS = (np.dtype("u8"), np.dtype("i8"), np.dtype("u1"))
_BYTES, _COUNTS = np.dtype("u1"), np.dtype("i8")


# ---- to string


def to_string(src: DType) -> Run:
    """A ``run(src_buffer, dst_buffer)`` that writes numbers as text.

    ``src_buffer`` is flat storage of any castable type but string, ``dst_buffer`` an object
    array of that size, filled with ``str``. Integers are decimal, bools "1" and "0". Floats
    have the fewest digits that read back as the same value of ``src`` (types narrower than
    16 bits: of float64), of these the nearest to the value, laid out as ``repr(float)`` does
    but without a trailing ".0"; "NaN", "INF" and "-INF".
    """
    if src.bits <= 16:
        return _look_up(src)
    return _write(src)


def _look_up(src: DType) -> Run:
    mask, unsigned = src.code_mask, np.dtype(f"u{src.storage.itemsize}")

    def run(src_buffer: np.ndarray, dst_buffer: np.ndarray) -> None:
        # Masked codes are in range: "clip" only saves the copy that "raise" would keep.
        _table(src).take(src_buffer.view(unsigned) & mask, out=dst_buffer, mode="clip")

    return run


@cache
def _table(src: DType) -> np.ndarray:
    """The text of every code of a type of at most 16 bits."""
    table = np.empty(1 << src.bits, object)
    if src.bits == 16:
        codes = np.arange(table.size, dtype="u2")
        _write(src)(codes.view(src.storage), table)
    else:
        table[:] = [_text(src, code) for code in range(table.size)]
    return table


def _text(src: DType, code: int) -> str:
    """The text of one element of fewer than 16 bits."""
    value = src.value_of(code)
    if not src.is_float:
        return str(value)
    if isinstance(value, str):
        return {"nan": "NaN", "inf": "INF", "-inf": "-INF"}[value]
    negative_zero = value == 0 and code != 0
    return ("-" if negative_zero else "") + repr(float(value)).removesuffix(".0")


def _write(src: DType) -> Run:
    """The run for integers and IEEE floats of 16 bits and more, through columns."""
    split, stored = _columns_of(src)
    # Integers have at most 20 digits and never an exponent.
    widest = 16 if src.is_float else 20
    write = texts.write.bind(*_COLUMNS, widest, _BYTES, _COUNTS, size=1)

    def run(src_buffer: np.ndarray, dst_buffer: np.ndarray) -> None:
        room = min(src_buffer.size, _BLOCK)
        columns, end = _columns(room), np.empty(1, _COUNTS)
        text = np.empty(room * texts.LONGEST, _BYTES)
        for block in _blocks(src_buffer.size):
            elements = src_buffer[block].view(stored)
            used = [column[: elements.size] for column in columns]
            split(elements, *used)
            write(*used, text, end)
            joined = str(text[: end[0] - 1].data, "ascii")
            dst_buffer[block] = joined.split(texts.SEPARATOR)

    return run


def _columns_of(src: DType) -> tuple[Callable[..., None], np.dtype]:
    """The kernel that makes columns of ``src`` elements, and the type that it takes them as."""
    if src.float is None:
        return shortest.integer_columns.bind(src.storage, *_COLUMNS, size=1), src.storage
    codes = np.dtype(f"u{src.storage.itemsize}")
    kernel = shortest.float_columns.bind(
        codes, src.float.man, src.float.exp, powers_of_ten(), *_COLUMNS, size=1
    )
    return kernel, codes


def _columns(size: int) -> list[np.ndarray]:
    return [np.empty(size, dtype) for dtype in _COLUMNS]


def _blocks(size: int) -> list[slice]:
    return [slice(start, min(start + _BLOCK, size)) for start in range(0, size, _BLOCK)]


# ---- from string


def from_string(dst: DType, saturate: bool, round_mode: str) -> Run:
    """A ``run(src_buffer, dst_buffer)`` that reads texts as numbers.

    ``src_buffer`` is a flat object array of ``str`` (or UTF-8 ``bytes``), ``dst_buffer``
    storage of any castable type but string. A text is a decimal number with an optional
    exponent, or inf, infinity or nan in any case; an optional sign; ASCII blanks around.
    It stands for the exact decimal number, which is converted once, as a float would be.

    ExecutionError names the first element that is no number by its index; ``dst_buffer``
    is then undefined.
    """
    finish = _finish(dst, saturate, round_mode)
    scan = texts.scan.bind(_BYTES, *_COLUMNS, _COUNTS, size=1)

    def run(src_buffer: np.ndarray, dst_buffer: np.ndarray) -> None:
        end = np.empty(2, _COUNTS)
        for block in _blocks(src_buffer.size):
            elements, joined = _join(src_buffer[block].tolist(), block.start)
            columns = _columns(len(elements))
            scan(joined, *columns, end)
            if end[0] < len(elements) or end[1] < joined.size:
                raise _refuse(elements, int(end[0]), block.start)
            finish(elements, columns, dst_buffer[block])

    return run


def _join(elements: list[str], start: int) -> tuple[list[str], np.ndarray]:
    """``elements`` with every element a ``str``, and their UTF-8 bytes, a separator after each."""
    try:
        joined = texts.SEPARATOR.join([*elements, ""])
    except TypeError:
        return _join([_str(element, start + i) for i, element in enumerate(elements)], start)
    # What cannot be encoded is no number, and neither is what replaces it.
    return elements, np.frombuffer(joined.encode("utf-8", "replace"), _BYTES)


def _str(element: object, index: int) -> str:
    if isinstance(element, str):
        return element
    if isinstance(element, bytes):
        return element.decode("utf-8", "replace")
    raise ExecutionError(f"element {index} is no string but a {type(element).__name__}")


def _refuse(elements: Sequence[str], read: int, start: int) -> ExecutionError:
    """The error for the first text that is no number, ``read`` if none before has a separator."""
    separated = (i for i, element in enumerate(elements) if texts.SEPARATOR in element)
    bad = min(read, next(separated, read))
    text = elements[bad]
    shown = repr(text) if len(text) <= 60 else f"{text[:40]!r}... ({len(text)} characters)"
    return ExecutionError(
        f"element {start + bad} is no number: {shown}; a decimal number, inf or nan can be cast"
    )


def _finish(dst: DType, saturate: bool, round_mode: str) -> Callable[..., None]:
    """``finish(elements, columns, dst_buffer)``: from what the scanner read to ``dst``."""
    if dst.kind is Kind.BOOL:
        nonzero = decimals.nonzero.bind(*_COLUMNS, dst.storage, size=1)
        return lambda elements, columns, dst_buffer: nonzero(*columns, dst_buffer)
    if dst.is_integer:
        return _finish_integer(dst)
    return _finish_float(dst, saturate, round_mode)


def _finish_integer(dst: DType) -> Callable[..., None]:
    unsigned = np.dtype(f"u{dst.storage.itemsize}")
    limits = np.array(_limits(dst), "u8")
    to_nearest, mask = dst.bits < 8, np.uint64(dst.code_mask)
    truncate = decimals.truncate.bind(*_COLUMNS, unsigned, limits, to_nearest, mask, size=1)
    return lambda elements, columns, dst_buffer: truncate(*columns, dst_buffer.view(unsigned))


def _limits(dst: DType) -> tuple[int, int, int, int]:
    """Largest integer, size of the smallest, what becomes of larger ones, of the others."""
    if dst.name == "uint64":
        return (1 << 64) - 1, 1 << 63, 0, 1 << 63
    bits = 64 if dst.bits == 64 or dst.name == "uint32" else 32
    outside = 1 << (bits - 1) if bits == dst.bits else 0
    return (1 << (bits - 1)) - 1, 1 << (bits - 1), outside, outside


def _finish_float(dst: DType, saturate: bool, round_mode: str) -> Callable[..., None]:
    to_double = _finish_double(to_nearest=dst is _DOUBLE)
    if dst is _DOUBLE:
        return to_double

    @lru_cache(maxsize=4)  # the size of a block, and that of the last block
    def convert(size: int) -> Run:
        run: Run = kernels.convert(_DOUBLE, dst, size, saturate=saturate, round_mode=round_mode)
        return run

    convert(_BLOCK)

    def to_narrower(
        elements: Sequence[str], columns: list[np.ndarray], dst_buffer: np.ndarray
    ) -> None:
        doubles = np.empty(len(elements), _DOUBLE.storage)
        to_double(elements, columns, doubles)
        convert(doubles.size)(doubles, dst_buffer)

    return to_narrower


def _finish_double(to_nearest: bool) -> Callable[..., None]:
    """To float64, rounded to nearest or to odd."""
    scale = decimals.scale.bind(*_COLUMNS, powers_of_ten(), size=1)
    assemble = decimals.assemble.bind(*_COLUMNS, to_nearest, np.dtype("u8"), size=1)

    def to_double(
        elements: Sequence[str], columns: list[np.ndarray], dst_buffer: np.ndarray
    ) -> None:
        digits, exponents, kinds = columns
        scale(*columns)
        for i in np.flatnonzero(kinds & texts.KIND == texts.UNDECIDED).tolist():
            exact = decimals.significand(elements[i], int(digits[i]), int(exponents[i]))
            digits[i], exponents[i] = exact
        assemble(*columns, dst_buffer.view("u8"))

    return to_double
