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
