"""Counts the kernel specialisations that a run of the tests compiled, and says so at its end.

Interrupts are as in the foreground, here and in what tests start: shells have programs in the
background ignore them.
"""

from __future__ import annotations

import signal
import sys
from collections import Counter
from typing import Any

import pytest

signal.signal(signal.SIGINT, signal.default_int_handler)

_kernels: Counter[str] = Counter()
_casts: set[str] = set()


def _counted() -> dict[str, int]:
    """Of this process; nothing where no test needed a compiler."""
    jit = sys.modules.get("minirt.jit.compiler")
    return jit.statistics()._asdict() if jit else {}


def _cast_kernels() -> list[str]:
    """The specialisations of cast kernels that this process has, however it came by them."""
    casts = vars(sys.modules.get("minirt.kernels.cast", sys))
    made = {n: getattr(kernel, "_codes", {}) for n, kernel in casts.items()}
    return [f"{name}{signature}" for name, results in made.items() for signature in results]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send a worker's count to the process that started it; take over one's own."""
    worker: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if worker is None:
        _kernels.update(_counted())
        _casts.update(_cast_kernels())
    else:
        worker["kernels"], worker["casts"] = _counted(), _cast_kernels()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add the count of an xdist worker that has finished."""
    output = getattr(node, "workeroutput", {})
    _kernels.update(output.get("kernels", {}))
    _casts.update(output.get("casts", []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(
        f"kernel specialisations: {_kernels['compiled']} compiled, {_kernels['loaded']} from "
        f"cache; {len(_casts)} different ones are casts"
    )
