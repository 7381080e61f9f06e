"""Forks and other new processes: each runs sessions, inherited, sent or its own, and ends well."""

from __future__ import annotations

import concurrency_processes
import pytest
from concurrency import names_of, run_checks, warm

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return run_checks(concurrency_processes, warm(tmp_path_factory))


@pytest.mark.parametrize("name", names_of(concurrency_processes))
def test_processes(outcomes: dict[str, str], name: str) -> None:
    assert outcomes[name] == "ok", outcomes[name]


def test_nothing_is_said_about_it(outcomes: dict[str, str]) -> None:
    assert (outcomes["end"], outcomes["stderr"]) == ("exit 0", "")
