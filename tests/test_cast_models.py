"""Cast and CastLike between all 26 x 26 types, in every mode, through whole models."""

from __future__ import annotations

import exact
import numpy as np
import pytest
from cast_data import MODES, codes
from cast_models import Element, cast_node, elements_of, make_model, public, run_model

pytestmark = pytest.mark.slow

TEXTS = [
    "0", "-0", "1", "-1", "+2.5", "-2.5", "0.5", "1.5e0", "127.9", "-129", "300.7", "448", "464.01",
    "61440", "65520", "2147483647.5", "-5e9", "18446744073709551615", "1e20", "1e-45", "-1e-300",
    "3.4028235677973366e38", "1e999", "inf", "-Infinity", "nan", "-NaN", "240", "248",
    "16777217", "9007199254740993", " 7 ", "1.0039062500009094947017729282379150390625",
]  # fmt: skip


def elements(src: str) -> list[Element]:
    """Sources from all over the type: some for each destination."""
    if src == "string":
        return TEXTS
    draw = np.random.default_rng(8)
    tried = [codes(src, dst) for dst in ("integer", "float16", "float8e4m3fn", exact.E8M0)]
    return np.concatenate([draw.choice(some, min(some.size, 40)) for some in tried]).tolist()


@pytest.mark.parametrize("op", ["Cast", "CastLike"])
@pytest.mark.parametrize("src", exact.NAMES)
def test_every_pair_in_every_mode(src: str, op: str) -> None:
    source = elements(src)
    nodes = [
        cast_node(
            "x", str(mode), mode.dst, op, saturate=int(mode.saturate), round_mode=mode.round_mode
        )
        for mode in MODES
    ]
    model = make_model(nodes, src, {str(mode): mode.dst for mode in MODES})
    outputs = run_model(model, public(source, src))
    wrong = []
    for mode in MODES:
        right = [exact.cast(element, src, *mode) for element in source]
        got = elements_of(outputs[str(mode)], mode.dst)
        wrong += [
            f"{src}->{mode}: {x!r} is {r!r}, not {y!r}"
            for x, r, y in zip(source, right, got, strict=True)
            if r != y
        ]
    assert not wrong, f"{len(wrong)} differ, first {wrong[0]}"
