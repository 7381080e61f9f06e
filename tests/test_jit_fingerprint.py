"""What compiled code depends on: everything that changes it, and nothing else."""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Callable

import numpy as np
import pytest
from numba import njit

from minirt import kernels
from minirt.jit import Kernel
from minirt.jit.fingerprint import fingerprint


def made_by(source: str, **names: object) -> str | None:
    """The fingerprint of ``f`` as ``source`` defines it, with these globals."""
    space = {"__name__": __name__, "np": np, "math": math, "njit": njit, **names}
    exec(source, space)
    function = space["f"]
    assert isinstance(function, Callable)
    return fingerprint(function)


SOURCE = "def f(a):\n    for i in range(a.size):\n        a[i] = a[i] * 2 + math.sqrt(LIMIT)\n"


def test_equal_code_has_an_equal_fingerprint_wherever_it_stands() -> None:
    moved = "\n\n# a comment\n" + SOURCE
    assert made_by(SOURCE, LIMIT=3) == made_by(moved, LIMIT=3, other=object()) is not None


def test_running_it_in_python_changes_nothing() -> None:
    space: dict = {"math": math, "LIMIT": 3, "__name__": __name__}
    exec(SOURCE, space)
    before = fingerprint(space["f"])
    for _ in range(50):  # enough for the interpreter to specialise its bytecode
        space["f"](np.ones(20))
    assert fingerprint(space["f"]) == before


@pytest.mark.parametrize(
    ("source", "limit"),
    [
        (SOURCE, 4),
        (SOURCE, 3.0),
        (SOURCE, np.float32(3)),
        (SOURCE, (3,)),
        (SOURCE.replace("* 2", "* 3"), 3),
        (SOURCE.replace("* 2", "- 2"), 3),
        (SOURCE.replace("sqrt", "exp"), 3),
        (SOURCE.replace("f(a)", "f(a, b=1)"), 3),
        (SOURCE.replace("a[i] * 2", "sum([x * 2 for x in a])"), 3),
        (SOURCE.replace("math", "np"), 3),
    ],
)
def test_other_code_has_another(source: str, limit: object) -> None:
    assert made_by(source, LIMIT=limit) != made_by(SOURCE, LIMIT=3)


def test_code_inside_of_code_counts() -> None:
    source = "def f(a):\n    a[0] = sum([x * {} for x in a])\n"
    assert made_by(source.format(2)) != made_by(source.format(3))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.arange(3), np.arange(4)),
        (np.arange(3), np.arange(3.0)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (0.0, -0.0),
        (1, True),
        ("1", 1),
        (frozenset({"a", "b"}), frozenset({"a", "c"})),
        (np.float32, np.float64),
        (np.dtype("i4"), np.dtype("u4")),
        (math.sin, math.cos),
    ],
)
def test_values_are_told_apart(one: object, other: object) -> None:
    source = "def f(a):\n    a[0] = VALUE\n"
    assert made_by(source, VALUE=one) == made_by(source, VALUE=one) is not None
    assert made_by(source, VALUE=one) != made_by(source, VALUE=other)


def family(helper: Callable, **options: object) -> Callable:
    helper = njit(helper, **options)

    def f(a):
        a[0] = helper(a[0])

    return f


def test_closed_over_functions_count_by_what_they_do() -> None:
    one = fingerprint(family(lambda x: 2 * x))
    assert one == fingerprint(family(lambda x: 2 * x)) is not None
    assert one != fingerprint(family(lambda x: 3 * x))
    assert one != fingerprint(family(lambda x: 2 * x, fastmath=True))


def test_functions_that_call_each_other_end() -> None:
    @njit
    def steps(x):
        return 0 if x <= 1 else steps(x / 2) + 1

    assert fingerprint(steps.py_func) is not None


@pytest.mark.parametrize("value", [object(), [1], {1: 2}, lambda x: x, pytest, Callable])
def test_what_may_change_unseen_is_not_told(value: object) -> None:
    assert made_by("def f(a):\n    a[0] = VALUE\n", VALUE=value) is None


def every_kernel() -> list[Kernel]:
    names = [module.name for module in pkgutil.iter_modules(kernels.__path__)]
    modules = [importlib.import_module(f"{kernels.__name__}.{name}") for name in names]
    return [value for module in modules for value in vars(module).values() if type(value) is Kernel]


def test_every_kernel_of_minirt_is_cached() -> None:
    found = every_kernel()
    assert found
    assert [kernel for kernel in found if kernel._fingerprint is None] == []
