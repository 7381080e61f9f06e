"""Counts the kernel specialisations that a run of the tests compiled, and says so at its end."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import pytest

_kernels: Counter[str] = Counter()


def _counted() -> dict[str, int]:
    """Of this process; nothing where no test needed a compiler."""
    jit = sys.modules.get("minirt.jit.compiler")
    return jit.statistics()._asdict() if jit else {}


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send a worker's count to the process that started it; take over one's own."""
    worker: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if worker is None:
        _kernels.update(_counted())
    else:
        worker["kernels"] = _counted()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the count of an xdist worker that has finished."""
    _kernels.update(getattr(node, "workeroutput", {}).get("kernels", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(
        f"kernel specialisations: {_kernels['compiled']} compiled, {_kernels['loaded']} from cache"
    )
