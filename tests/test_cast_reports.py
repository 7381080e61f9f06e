"""Casts that public runtimes got wrong and their users reported: a model a case."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import exact
import pytest
from cast_models import run_chain
from cast_points import element

CASES = json.loads((Path(__file__).parent / "data" / "cast_reports.json").read_text())


def case_id(case: dict[str, Any]) -> str:
    options = ",".join(f"{name}={value}" for name, value in options_of(case).items())
    return f"{case['report']}:{'->'.join(case['types'])}" + (f"[{options}]" if options else "")


def options_of(case: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in case.items() if k not in ("report", "types", "in", "out")}


def elements(values: list[int | float | str], name: str) -> list[int | str]:
    return [element(str(value), name) for value in values]


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_report(case: dict[str, Any]) -> None:
    types, source = case["types"], elements(case["in"], case["types"][0])
    assert run_chain(types, source, **options_of(case)) == elements(case["out"], types[-1])


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_oracle_agrees(case: dict[str, Any]) -> None:
    types = case["types"]
    options = {k: v for k, v in options_of(case).items() if k in ("saturate", "round_mode")}
    got = elements(case["in"], types[0])
    for src, dst in pairwise(types):
        got = [exact.cast(each, src, dst, **options) for each in got]
    assert got == elements(case["out"], types[-1])
