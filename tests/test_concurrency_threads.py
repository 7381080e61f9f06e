"""Many threads in one process: right results."""

from __future__ import annotations

import concurrency_threads
import pytest
from concurrency import names_of, run_checks

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return run_checks(concurrency_threads, tmp_path_factory.mktemp("cold"))


@pytest.mark.parametrize("name", names_of(concurrency_threads))
def test_threads(outcomes: dict[str, str], name: str) -> None:
    assert outcomes[name] == "ok", outcomes[name]


def test_nothing_is_said_about_it(outcomes: dict[str, str]) -> None:
    assert (outcomes["end"], outcomes["stderr"]) == ("exit 0", "")
