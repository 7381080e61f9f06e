"""Every row of the tables of operators, in the forms in which a node can occur.

The tables are :mod:`cases_*`; :class:`cases.Case` says what a row is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_models import COPIES, Form, build, derived, register_copy, spread, type_of
from case_tables import TABLES, WRITTEN, contents, tensors
from cases import Case
from operators import temporary  # noqa: F401

import minirt
from minirt.conformance import Tolerance, compare
from minirt.dtypes import BY_NAME, find
from minirt.errors import MinirtError
from minirt.ops import registry
from minirt.ops.functions import find_function
from minirt.ops.schemas import find_schema, versions
from minirt.types import Dim, OptionalType, TensorType, Type, merge

HERE = Path(__file__).parent


def _rows() -> Iterator[Any]:
    """Every case and what is derived of it, with ids such as ``math-Add-7 broadcast``."""
    for family, cases in TABLES.items():
        for number, case in enumerate(cases):
            for each in (case, *derived(case)):
                title = f"{family}-{case.op}-{case.opset}-{number} {each.id}".strip()
                yield pytest.param(each, id=title)


ROWS = list(_rows())
RIGHT = [row for row in ROWS if row.values[0].raises is None]
WRONG = [row for row in ROWS if row.values[0].raises is not None]


def public(value: Any) -> Any:
    """As a run gives it: an array where an oracle gives a scalar, text as objects."""
    if isinstance(value, list):
        return [public(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        return array.astype(object) if find(array.dtype) is BY_NAME["string"] else array
    return value


def check(expected: tuple[Any, ...], actual: Any, ulp: int) -> None:
    """Fail where results differ, with the first element that does."""
    wanted = [public(value) for value in expected if value is not None]
    result = compare(wanted, list(actual), Tolerance(ulp=ulp), name="y")
    assert result.passed, result.problem


def run(case: Case, form: Form = Form(), ulp: int | None = None) -> None:  # noqa: B008
    """Run a case in a form, check what comes out, and that inputs are as before.

    The second time memory is full of what the first time left, and inputs are views with gaps.
    """
    model, feeds = build(case, form)
    session = minirt.load(model)
    kept = tuple(feeds.values()) if form.kept else ()
    expected = case.results()[: case.outputs]
    before = {name: x.copy() if isinstance(x, np.ndarray) else x for name, x in feeds.items()}
    for fed in (feeds, {name: spread(x) for name, x in feeds.items()}):
        outputs = tuple(session.run(fed))
        count = len(outputs) - len(kept)
        check(expected, outputs[:count], case.ulp if ulp is None else ulp)
        check(kept, [output for output in outputs[count:] if output is not None], 0)
    check(tuple(before.values()), [x for x in feeds.values() if x is not None], 0)


# Right results


@pytest.mark.parametrize("case", RIGHT)
def test_inputs(case):
    """Inputs of the model, in one block of memory and in others, which are not written to."""
    run(case)


@pytest.mark.parametrize("case", [r for r in RIGHT if tensors(r.values[0])])
def test_constants(case):
    """Initializers: all tensors, or those alone on which the types of outputs depend."""
    for positions in {tensors(case), contents(case)} - {frozenset()}:
        run(case, Form(constant=positions))


@pytest.fixture(scope="module")
def copies() -> Iterator[None]:
    """The operator that copies, for as long as these tests run."""
    register_copy()
    yield
    for key in [key for key in registry._OPERATORS if key[0] == COPIES]:
        del registry._OPERATORS[key]
    registry.find.cache_clear()


@pytest.mark.usefixtures("copies")
@pytest.mark.parametrize("case", RIGHT)
def test_values_inside_of_a_graph(case):
    """Operands and outputs lie in the plan's own memory; an output may take an operand's place."""
    run(case, Form(inner=True))
    run(case, Form(kept=True))


# Types


@pytest.mark.parametrize("case", RIGHT)
def test_inferred_types(case):
    """What is said of the outputs without a run is true of them."""
    results = [public(value) for value in case.results()[: case.outputs] if value is not None]
    for shapes in ("sizes", "names", "none"):
        graph = minirt.infer(build(case, Form(shapes=shapes))[0])
        for value, result in zip(graph.outputs, results, strict=True):
            check_type(value.type, result, case)
    graph = minirt.infer(build(case, Form(constant=tensors(case)))[0])
    for value, result in zip(graph.outputs, results, strict=True):
        check_type(value.type, result, case)
        # All contents are known, so sizes are, but for those that only a kernel knows.
        assert not isinstance(value.type, TensorType) or value.type.shape is not None


def check_type(inferred: Type | None, result: Any, case: Case) -> None:
    """Fail where an inferred type, of which dimensions are named after inputs', is not true."""
    if isinstance(inferred, OptionalType):
        inferred = inferred.element
    if inferred is None or (isinstance(result, list | dict) and not result):
        return
    actual = type_of(result)
    assert merge(inferred, actual), f"inferred {inferred}, but it is {actual}"
    shapes = (getattr(t, "shape", None) or () for t in (inferred, actual))
    for dim, size in zip(*shapes, strict=False):
        if isinstance(dim, Dim) and dim.name:
            position, axis = map(int, dim.name.split("_"))
            assert size == np.shape(case.inputs[position])[axis], f"{inferred} is {actual}"


# Definitions by other operators


def has_body(case: Case) -> bool:
    """Whether a node has a kernel, and a definition that must give the same."""
    return (
        not case.no_body
        and registry.find(case.domain, case.op, case.opset) is not None
        and find_function(case.domain, case.op, case.opset) is not None
    )


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize("case", [r for r in RIGHT if has_body(r.values[0])])
def test_definition_by_other_operators(case):
    del registry._OPERATORS[case.domain, case.op]
    registry.find.cache_clear()
    run(case, ulp=case.ulp if case.body_ulp is None else case.body_ulp)


# Errors


def check_refused(case: Case, form: Form) -> None:
    """Fail unless loading or running raises what the case says."""
    model, feeds = build(case, form)
    kind, text = case.raises
    with pytest.raises(kind) as error:
        minirt.load(model).run(feeds)
    assert isinstance(error.value, MinirtError)
    assert text in str(error.value)


@pytest.mark.parametrize("case", WRONG)
def test_errors(case):
    check_refused(case, Form())
    check_refused(case, Form(constant=tensors(case)))


def test_errors_in_a_process_of_their_own():
    """No access to memory that is not there: such a process would not come to its end."""
    command = [sys.executable, __file__]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["checked", str(len(WRONG))]


def _check_all_errors() -> None:
    for row in WRONG:
        check_refused(row.values[0], Form())
    sys.stdout.write(f"checked {len(WRONG)}\n")


# Completeness


def covered() -> set[tuple[str, str, int]]:
    """The versions of operators that rows run."""
    schemas = (find_schema(case.domain, case.op, case.opset) for case in WRITTEN)
    return {(s.domain, s.name, s.since) for s in schemas if s}


def required() -> set[tuple[str, str, int]]:
    """The versions of operators that minirt has."""
    return {
        (operator.domain, operator.name, version)
        for operator in registry.operators()
        for version in versions(operator.domain, operator.name)
        if not getattr(find_schema(operator.domain, operator.name, version), "deprecated", True)
        and registry.find(operator.domain, operator.name, version)
    }


def test_every_version_of_every_operator_has_a_row():
    missing = sorted(f"{domain or 'ai.onnx'} {n}-{v}" for domain, n, v in required() - covered())
    assert missing == []


def test_every_operator_with_a_row_is_registered_rewritten_or_defined():
    unknown = {
        case.op
        for case in WRITTEN
        if registry.find(case.domain, case.op, case.opset) is None
        and not registry.upgrades(case.domain, case.op, case.opset)
        and find_function(case.domain, case.op, case.opset) is None
    }
    assert unknown == set()


if __name__ == "__main__":
    os.environ["MINIRT_CHECK"] = "1"
    _check_all_errors()
