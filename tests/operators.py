"""Operators that exist for the length of one test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from minirt.ops import registry


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers, also in place of what is there, is gone after it."""
    registry.operators()  # so that no family registers itself meanwhile
    for table in ("_OPERATORS", "_UPGRADES"):
        copy = {key: dict(steps) for key, steps in getattr(registry, table).items()}
        monkeypatch.setattr(registry, table, copy)
    registry.find.cache_clear()
    yield
    registry.find.cache_clear()


@pytest.fixture
def bare(temporary: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the operators are there without which no function body runs, and what a test adds."""
    for table in ("_OPERATORS", "_UPGRADES"):
        steps = getattr(registry, table)
        few = {key: steps[key] for key in steps if key[1] in _FEW}
        monkeypatch.setattr(registry, table, few)
    registry.find.cache_clear()


_FEW = ("Cast", "CastLike", "Constant", "Identity")
