"""Ctrl-C and other signals: they take effect soon, and nothing is broken afterwards."""

from __future__ import annotations

import concurrency_signals
import pytest
from concurrency import names_of, run_checks

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return run_checks(concurrency_signals, tmp_path_factory.mktemp("cold"))


@pytest.mark.parametrize("name", names_of(concurrency_signals))
def test_signals(outcomes: dict[str, str], name: str) -> None:
    assert outcomes[name] == "ok", outcomes[name]


def test_nothing_is_said_about_it(outcomes: dict[str, str]) -> None:
    assert (outcomes["end"], outcomes["stderr"]) == ("exit 0", "")
