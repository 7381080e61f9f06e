"""The runner of ONNX test cases: directories on disk, and the suite of the installed onnx.

::

    from minirt import conformance

    report = conformance.run_directories(["tests/data/test_cc"], keyword="cast and not string")
    for result in report.failed:
        ...  # result.case.name, result.reason, result.outputs

``minirt test`` on the command line does the same. To make a data set of one's own::

    session = minirt.load("case/model.onnx")
    folder = "case/test_data_set_0"
    conformance.write_values(folder, "input", session.inputs, [x])
    conformance.write_values(folder, "output", session.outputs, session.run([x]))
"""

from __future__ import annotations

from .cases import Case, find_cases, select_cases
from .compare import Comparison, Tolerance, compare
from .data import read_values, write_values
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
    "read_values",
    "run_case",
    "run_cases",
    "run_directories",
    "run_suite",
    "select_cases",
    "suite_directory",
    "write_values",
]
