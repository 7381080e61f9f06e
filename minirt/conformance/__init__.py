"""The runner of ONNX test cases: directories on disk, and the suite of the installed onnx.

::

    from minirt import conformance

    report = conformance.run_directories(["tests/data/test_cc"], keyword="cast and not string")
    for result in report.failed:
        ...  # result.case.name, result.reason, result.outputs

``minirt test`` on the command line does the same.
"""

from __future__ import annotations

from .cases import Case, find_cases, select_cases
from .compare import Comparison, Tolerance, compare
from .results import CaseResult, OutputResult, Report
from .runner import run_case, run_cases, run_directories, run_suite
from .suite import suite_directory

__all__ = [
    "Case",
    "CaseResult",
    "Comparison",
    "OutputResult",
    "Report",
    "Tolerance",
    "compare",
    "find_cases",
    "run_case",
    "run_cases",
    "run_directories",
    "run_suite",
    "select_cases",
    "suite_directory",
]
