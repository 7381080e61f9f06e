"""What running test cases gave."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .cases import Case
    from .compare import Comparison

__all__ = ["CaseResult", "OutputResult", "Report", "Status"]

#: "xfailed" is a case that failed as it was expected to: :mod:`minirt.conformance.expected`.
Status = Literal["passed", "failed", "skipped", "xfailed"]


@dataclass(frozen=True)
class OutputResult:
    """How one output of one data set compares with what is expected."""

    data_set: str
    name: str
    comparison: Comparison

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "data_set": self.data_set,
            "name": self.name,
            "count": self.comparison.count,
            "differ": self.comparison.differ,
            "max_ulp": self.comparison.max_ulp,
            "reason": self.comparison.problem,
        }


@dataclass(frozen=True)
class CaseResult:
    """The outcome of one case.

    ``reason`` is one line: the first fault of a failed case, or why one was skipped; ""
    for one that passed. ``missing`` names the operators that minirt lacks, if that is it.
    ``seconds`` counts loading, compiling, running and comparing.
    """

    case: Case
    status: Status
    seconds: float
    outputs: tuple[OutputResult, ...] = ()
    reason: str = ""
    missing: tuple[str, ...] = ()

    @property
    def bit_exact(self) -> bool:
        """Whether the case passed with every element's bits as expected (NaN as any NaN)."""
        return self.status == "passed" and not any(o.comparison.differ for o in self.outputs)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "name": self.case.name,
            "path": str(self.case.path),
            "status": self.status,
            "bit_exact": self.bit_exact,
            "seconds": round(self.seconds, 6),
            "reason": self.reason,
            "missing": list(self.missing),
            "outputs": [output.to_json() for output in self.outputs],
        }


@dataclass(frozen=True)
class Report:
    """The outcome of many cases, in the order in which they ran."""

    results: tuple[CaseResult, ...]
    ulp: int | None = None

    @property
    def passed(self) -> list[CaseResult]:
        """The cases whose every output was within its tolerance."""
        return self._with("passed")

    @property
    def failed(self) -> list[CaseResult]:
        """The cases that gave a wrong result or an error."""
        return self._with("failed")

    @property
    def skipped(self) -> list[CaseResult]:
        """The cases that say nothing about the runtime, each with the reason."""
        return self._with("skipped")

    @property
    def xfailed(self) -> list[CaseResult]:
        """The cases that failed as they were expected to."""
        return self._with("xfailed")

    @property
    def bit_exact(self) -> list[CaseResult]:
        """The passed cases whose bits are all as expected."""
        return [result for result in self.results if result.bit_exact]

    @property
    def seconds(self) -> float:
        """The time that all cases took."""
        return sum(result.seconds for result in self.results)

    def summary(self) -> tuple[str, str]:
        """The closing lines: how exact the passed cases are, and how many passed."""
        passed, exact = len(self.passed), len(self.bit_exact)
        expected = f", {len(self.xfailed)} failed as expected" if self.xfailed else ""
        return (
            f"{exact} of {passed} passed bit-exactly, {passed - exact} within the tolerance",
            f"{passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped{expected}",
        )

    def to_json(self) -> dict[str, Any]:
        """As plain data: versions, totals, and every case."""
        packages = ("minirt", "onnx", "numpy", "numba", "ml_dtypes")
        return {
            "versions": {"python": platform.python_version()}
            | {package: _version(package) for package in packages},
            "machine": platform.platform(),
            "ulp": self.ulp,
            "totals": {
                "passed": len(self.passed),
                "failed": len(self.failed),
                "skipped": len(self.skipped),
                "xfailed": len(self.xfailed),
                "bit_exact": len(self.bit_exact),
                "seconds": round(self.seconds, 3),
            },
            "cases": [result.to_json() for result in self.results],
        }

    def _with(self, status: Status) -> list[CaseResult]:
        return [result for result in self.results if result.status == status]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
