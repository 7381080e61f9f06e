"""Run test cases through minirt and compare what comes out."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from ..errors import MinirtError, ModelError, UnsupportedError
from ..model.load import load_graph
from ..ops import registry
from ..session import Session
from ..types import TensorType
from .cases import find_cases, select_cases
from .compare import compare, compare_draws
from .data import DataError, read_values
from .results import CaseResult, OutputResult, Report, Status
from .suite import suite_directory
from .superseded import find_superseded

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from ..graph import Graph, Value
    from .cases import Case
    from .compare import Tolerance
    from .suite import Progress

__all__ = ["run_case", "run_cases", "run_directories", "run_suite"]

#: How many codes results may be off where the data is rounded at each step.
_STEPS = 2


def run_directories(
    paths: Sequence[str | os.PathLike[str]],
    *,
    keyword: str = "",
    ulp: int | None = None,
    on_result: Callable[[CaseResult], None] | None = None,
) -> Report:
    """Run the ONNX test directories in and below ``paths``.

    ``keyword`` selects by name (``"cast and not string"``), ``ulp`` replaces the
    tolerances of all float types, ``on_result`` is called after each case. Raises
    InputError if there is no case to run; faults of a case are in its result.
    """
    return _report(select_cases(find_cases(paths), keyword), ulp, on_result)


def run_suite(
    *,
    keyword: str = "",
    ulp: int | None = None,
    on_result: Callable[[CaseResult], None] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Run the suite that the installed onnx generates, as :func:`run_directories` does.

    ``progress`` is called with (done, total) while the suite is generated for the cache.
    """
    return _report(select_cases(find_cases([suite_directory(progress)]), keyword), ulp, on_result)


def run_cases(cases: Iterable[Case], *, ulp: int | None = None) -> Iterator[CaseResult]:
    """Run one case after the other."""
    for case in cases:
        yield run_case(case, ulp=ulp)


def run_case(case: Case, *, ulp: int | None = None) -> CaseResult:
    """Run every data set of one case. Raises nothing: what goes wrong is in the result."""
    start = perf_counter()
    outputs: list[OutputResult] = []
    status: Status = "passed"
    fault = _attempt(case, ulp, outputs)
    reason = fault.reason
    if reason:
        status = "failed" if case.data_sets else "skipped"
    if fault.suspect and (excuse := _excuse(case, fault.suspect, ulp)):
        status, reason = "skipped", excuse
    return CaseResult(case, status, perf_counter() - start, tuple(outputs), reason, fault.missing)


class _Fault(NamedTuple):
    """What is wrong with a case, "" if nothing.

    ``suspect`` is what may be to blame instead of minirt, the "data" or the "model", ``missing``
    which operators minirt lacks.
    """

    reason: str
    suspect: str = ""
    missing: tuple[str, ...] = ()


def _attempt(case: Case, ulp: int | None, outputs: list[OutputResult]) -> _Fault:
    if case.problem or case.model is None:
        return _Fault(case.problem)
    try:
        tolerance = case.tolerance(ulp)
        graph = _load(case.model)
        session, draws = Session(graph), _draws(graph)
        for data_set in case.data_sets:
            outputs += _run_data_set(session, data_set, tolerance, draws)
    except DataError as error:
        return _Fault(str(error), "data")
    except (MinirtError, OSError) as error:
        missing = error.operators if isinstance(error, UnsupportedError) else ()
        suspect = "model" if isinstance(error, ModelError) else ""
        return _Fault(f"{type(error).__name__}: {error}", suspect, missing)
    except Exception as error:  # whatever it is, it fails this case and none of those that follow
        return _Fault(f"internal error: {type(error).__name__}: {error}")
    wrong = next((output for output in outputs if not output.comparison.passed), None)
    if wrong is None:
        return _Fault("")
    several = len(case.data_sets) > 1
    where = f"{wrong.data_set}: " if several else ""
    return _Fault(where + wrong.comparison.problem, "data")


def _load(model: Path) -> Graph:
    """A graph that takes inputs of any shape where only their type is used.

    ONNX 1.12 to 1.14 store another shape than they declare for CastLike's second input.
    """
    graph = load_graph(model)
    needed = set(_needed(graph))
    for value in graph.inputs:
        if value not in needed and isinstance(value.type, TensorType):
            value.type = TensorType(value.type.dtype)
    return graph


def _needed(graph: Graph) -> Iterator[Value | None]:
    """The values whose contents are used: all but unused ones and operands of a type alone."""
    for inner in graph.graphs():
        yield from inner.outputs
        for node in inner.nodes:
            operator = registry.find(node.domain, node.op_type, node.opset)
            names = operator.operands if operator else ()
            type_only = operator.type_only if operator else frozenset()
            for i, value in enumerate(node.inputs):
                if not (i < len(names) and names[i] in type_only):
                    yield value


def _draws(graph: Graph) -> bool:
    """Whether chance has a say in what a graph computes."""
    operators = (
        registry.find(node.domain, node.op_type, node.opset)
        for inner in graph.graphs()
        for node in inner.nodes
    )
    return any(operator and not operator.deterministic for operator in operators)


def _run_data_set(
    session: Session, data_set: Path, tolerance: Tolerance, draws: bool
) -> Iterator[OutputResult]:
    inputs = read_values(data_set, "input", session.inputs)
    expected = read_values(data_set, "output", session.outputs)
    results = session.run(inputs).items()
    for wanted, (name, actual) in zip(expected, results, strict=True):
        comparison = compare(wanted, actual, tolerance, name=name)
        if not comparison.passed and draws:
            comparison = compare_draws(wanted, actual, name=name)
        yield OutputResult(data_set.name, name, comparison)


def _excuse(case: Case, suspect: str, ulp: int | None) -> str:
    """Why a case that failed on its data or model is not held against minirt, "" if it is."""
    known = find_superseded(case)
    if known is None or (known.kind == "model") != (suspect == "model"):
        return ""
    if known.kind == "bits" and (ulp is None or run_case(case).status != "passed"):
        return ""
    if known.kind == "steps" and (ulp == _STEPS or run_case(case, ulp=_STEPS).status != "passed"):
        return ""
    return f"{known.reason} (as in {known.cases[0]})"


def _report(
    cases: list[Case], ulp: int | None, on_result: Callable[[CaseResult], None] | None
) -> Report:
    results = []
    for result in run_cases(cases, ulp=ulp):
        results.append(result)
        if on_result:
            on_result(result)
    return Report(tuple(results), ulp)
