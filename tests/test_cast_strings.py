"""Casts between strings and every numeric type, in every mode, against exact arithmetic."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import exact
import numpy as np
import pytest
from cast_data import MODES, NUMERIC, Mode, boundaries, codes, from_storage, to_storage

from minirt import kernels
from minirt.dtypes import BY_NAME

#: Enough for the exact decimal of any midpoint of float64 and a digit far behind it.
PRECISION = 1200


@cache
def numbers(dst: str) -> list[Fraction]:
    """Magnitudes at which the result changes: the ends, and some of those between."""
    if dst == "double":
        at = np.random.default_rng(4).integers(0, exact.FLOATS[dst].largest, 150).tolist()
        at += [0, 1, (1 << 52) - 1, 1 << 52, exact.FLOATS[dst].largest - 1]
        pairs = [[exact.decode(code + k, dst).magnitude for k in (0, 1)] for code in at]
        ends = [Fraction(2**1024), Fraction(2**1024 - 2**970)]
        return [*ends, *(n for low, high in pairs for n in (low, (low + high) / 2))]
    found = boundaries(dst)
    drawn = np.random.default_rng(5).permutation(found.size)[:300]
    return [Fraction(float(n)) for n in {*found[:40], *found[-40:], *found[drawn]}]


@cache
def texts(dst: str) -> list[str]:
    """Decimals exactly at, just above and just below what the destination breaks at."""
    made = ["nan", "-nan", "inf", "-inf", "0", "-0", "-1e-9999", "1e-9999", "1e9999", "-1e9999"]
    with localcontext() as context:
        context.prec = PRECISION
        for i, number in enumerate(numbers(dst)):
            at = Decimal(number.numerator) / Decimal(number.denominator)
            little = Decimal(1).scaleb(at.adjusted() - PRECISION + 5)
            for near in (at, at + little, at - little):
                value = -near if i % 3 == 0 else near
                made.append(f"{value:f}" if -60 < at.adjusted() < 60 else f"{value:e}")
    return made


@pytest.mark.parametrize("mode", [m for m in MODES if m.dst != "string"], ids=str)
def test_from_string(mode: Mode) -> None:
    source = np.array(texts(mode.dst), object)
    out = np.empty(source.size, BY_NAME[mode.dst].storage)
    options = {"saturate": mode.saturate, "round_mode": mode.round_mode}
    run = kernels.convert(BY_NAME["string"], BY_NAME[mode.dst], source.size, **options)
    run(source, out)
    right = [exact.cast(text, "string", *mode) for text in source]
    wrong = [
        f"{text[:60]!r} ({len(text)} digits): expected {r:#x}, got {code:#x}"
        for text, r, code in zip(source, right, from_storage(out).tolist(), strict=True)
        if r != code
    ]
    assert not wrong, f"{len(wrong)} of {source.size} differ, first {wrong[0]}"


@pytest.mark.parametrize("src", NUMERIC)
def test_to_string(src: str) -> None:
    source = codes(src, "float16")
    if source.size > 2000:
        kept = np.random.default_rng(6).choice(source, 2000, replace=False)
        source = np.concatenate([source[:99], source[-99:], kept])
    check_text(src, source)


@pytest.mark.slow
@pytest.mark.parametrize("src", [name for name in NUMERIC if exact.bits_of(name) == 16])
def test_every_code_to_string(src: str) -> None:
    check_text(src, codes(src, "string"))


def check_text(src: str, source: np.ndarray) -> None:
    out = np.empty(source.size, object)
    options = {"saturate": True, "round_mode": "up"}
    run = kernels.convert(BY_NAME[src], BY_NAME["string"], source.size, **options)
    run(to_storage(source, src), out)
    wrong = [
        f"{code:#x}: expected {right!r}, got {text!r}"
        for code, text in zip(source.tolist(), out.tolist(), strict=True)
        if text != (right := exact.cast(code, src, "string"))
    ]
    assert not wrong, f"{src}->string: {len(wrong)} of {source.size} differ, first {wrong[0]}"
