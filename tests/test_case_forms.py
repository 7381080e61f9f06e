"""The tests of operators find what they are there for: each form fails an operator of its own."""

from __future__ import annotations

import numpy as np
import pytest
from case_models import Form, build, derived, register_copy, spread
from cases import Case
from operators import temporary  # noqa: F401
from test_operators import check_refused, run
from test_operators import test_inferred_types as check_inference

from minirt.errors import ExecutionError, ShapeError
from minirt.kernels.arrays import Shaped
from minirt.ops.registry import op
from minirt.types import Dim

X = np.float32([[1, -2, 3], [4, 5, -6]])
CASE = Case("Twice", (X,), lambda x: x + x, opset=1, domain="test", elementwise=True)

pytestmark = pytest.mark.usefixtures("temporary")


def twice(function, type_of=lambda x: x.without_value()):
    """Register an operator that ``function(x, y)`` computes."""

    @op("Twice", domain="test")
    def twice_(x):
        return type_of(x), lambda: Shaped(function)

    register_copy()


def double(x, y):
    np.add(x, x, out=y)


FORMS = [
    Form(),
    Form(constant=frozenset([0])),
    Form(inner=True),
    Form(kept=True),
]


@pytest.mark.parametrize("form", FORMS)
def test_a_right_operator_passes_in_every_form(form):
    twice(double)
    for case in (CASE, *derived(CASE)):
        run(case, form)
        check_inference(case)


@pytest.mark.parametrize("form", FORMS)
def test_a_wrong_result_is_found_in_every_form(form):
    twice(lambda x, y: np.nextafter(x + x, np.float32(np.inf), out=y))
    with pytest.raises(AssertionError, match=r"expected 2\.0 .*, got 2\.0000002"):
        run(CASE, form)
    run(Case("Twice", (X,), X + X, opset=1, domain="test", ulp=1), form)


def test_memory_that_is_not_written_is_found():
    def all_but_one(x, y):
        y.reshape(-1)[1:] = (x + x).reshape(-1)[1:]

    twice(all_but_one)
    with pytest.raises(AssertionError, match=r"y\[0\]\[0,0\]: expected 2\.0 .*got .*0xa5a5a5a5"):
        run(CASE, Form(inner=True))


def test_an_operand_that_is_written_to_is_found():
    def spoil(x, y):
        double(x, y)
        x[...] = 0

    twice(spoil)
    run(CASE, Form(inner=True))
    with pytest.raises(AssertionError, match=r"expected 1\.0 .*, got 0\.0"):
        run(CASE, Form(kept=True))


@pytest.mark.parametrize(
    ("wrong", "shown"),
    [
        (lambda x: x.with_shape(*x.shape[::-1]) if x.shape else x, "float"),
        (lambda x: x.with_shape(*map(Dim, ("0_1", "0_0"))) if x.shape else x, "0_1"),
    ],
    ids=["sizes", "names"],
)
def test_a_wrong_type_is_found(wrong, shown):
    twice(double, wrong)
    with pytest.raises(AssertionError, match=shown):
        check_inference(CASE)


def test_errors_are_held_to_class_and_text():
    def refuse(x, y):
        raise ExecutionError("index 7 is none of 6")

    twice(refuse)
    bad = {"opset": 1, "domain": "test"}
    check_refused(Case("Twice", (X,), raises=(ExecutionError, "index 7"), **bad), Form())
    with pytest.raises(AssertionError):
        check_refused(Case("Twice", (X,), raises=(ExecutionError, "index 8"), **bad), Form())
    with pytest.raises(ExecutionError):
        check_refused(Case("Twice", (X,), raises=(ShapeError, "index 7"), **bad), Form())


def test_cases_say_one_thing():
    with pytest.raises(ValueError, match="either `expected` or `raises`"):
        Case("Abs", (X,))
    with pytest.raises(ValueError, match="either `expected` or `raises`"):
        Case("Abs", (X,), X, raises=(ShapeError, ""))
    with pytest.raises(ValueError, match="needs a function"):
        Case("Abs", (X,), X, elementwise=True)


def test_derived_cases_have_no_elements_and_one_and_many():
    shapes = [case.inputs[0].shape for case in derived(CASE)]
    assert shapes == [(), (2, 0, 3), (3001,)]
    mixed = Case("Add", (X, X[0], np.float32(1)), lambda *x: x[0], elementwise=True)
    assert [[x.shape for x in case.inputs] for case in derived(mixed)] == [
        [(), (), ()],
        [(2, 0, 3), (2, 0, 3), ()],
    ]


def test_spread_arrays_are_no_block_of_memory():
    for array in (X, X[0], np.array(["a", "b"], object)):
        view = spread(array)
        assert not view.flags.c_contiguous and not view.flags.f_contiguous
        assert view.tolist() == array.tolist()


def test_models_have_the_forms_that_they_say():
    case = Case("Add", (X, X), X + X)
    model, feeds = build(case, Form(constant=frozenset([1])))
    assert list(feeds) == [i.name for i in model.graph.input] == ["x0"]
    assert [i.name for i in model.graph.initializer] == ["x1"]
    model, feeds = build(case, Form(kept=True))
    assert list(feeds) == ["x0_fed", "x1_fed"]
    assert [o.name for o in model.graph.output] == ["y0", "k0", "k1"]
