"""Operators that address elements by indices, on tensors and indices of many shapes.

Where an index is not there, so that the loop of the specification fails, they must refuse it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from case_elements import elements
from case_models import build
from cases import Case
from cases_gather import gather, gather_elements, gather_nd
from cases_scatter import scatter_elements, scatter_nd, tensor_scatter
from cases_select import compress, non_zero, one_hot, unique

import minirt
from minirt.conformance import Tolerance, compare
from minirt.errors import ExecutionError

NUMBERS = (np.float32, np.uint8, np.int64)
DTYPES = (*NUMBERS, np.float16, np.complex128, object)
REDUCTIONS = ("none", "add", "mul", "max", "min")
ROUNDS = 25


class Draw:
    """Random shapes, tensors and indices, the same for a seed in every run."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)

    def number(self, low: int, high: int) -> int:
        """Any from ``low`` to ``high``."""
        return int(self.chance.integers(low, high + 1))

    def one_of(self, *choices: Any) -> Any:
        return choices[self.number(0, len(choices) - 1)]

    def shape(self, least: int = 0, most: int = 3) -> list[int]:
        return [
            self.number(1, 4) * self.one_of(1, 1, 1, 1, 1, 0)
            for _ in range(self.number(least, most))
        ]

    def tensor(self, dtypes: Any = DTYPES, least: int = 1) -> tuple[np.ndarray, int]:
        """A tensor and one of its axes, counted from either end."""
        shape = self.shape(least, 4)
        return elements(self.one_of(*dtypes), *shape), self.number(-len(shape), len(shape) - 1)

    def indices(self, size: int, shape: Any, dtype: Any = np.int64) -> np.ndarray:
        """Indices of one of ``size`` entries; now and then of more than there are."""
        reach = max(size + self.one_of(0, 0, 0, 0, 0, 1), 1)
        return np.asarray(self.chance.integers(-reach, reach, shape), dtype)

    def tuples(self, data: np.ndarray, first: int, rows: list[int], depth: int) -> np.ndarray:
        """Tuples of indices along ``depth`` axes of ``data``, from the ``first`` on."""
        parts = [self.indices(data.shape[first + i], rows) for i in range(depth)]
        return np.stack(parts, axis=-1) if parts else np.empty((*rows, 0), np.int64)

    def within(self, data: np.ndarray, axis: int) -> list[int]:
        """A shape that is nowhere longer than ``data``, but along ``axis``."""
        shape = [self.number(min(size, 1), size) for size in data.shape]
        shape[axis] = self.number(0, 4)
        return shape


def others(like: np.ndarray, shape: Any) -> np.ndarray:
    """Elements of the same type, in another order."""
    return elements(like.dtype, *shape).reshape(-1)[::-1].reshape(shape)


def check(op: str, inputs: tuple[Any, ...], oracle: Any, **attributes: Any) -> None:
    """Hold a run against ``oracle``, which raises IndexError for what must be refused."""
    try:
        expected = oracle(*inputs, **attributes)
    except IndexError:
        expected = None
    refused = (ExecutionError, "") if expected is None else None
    model, feeds = build(Case(op, inputs, expected, attributes, raises=refused))
    session = minirt.load(model)
    if expected is None:
        with pytest.raises(ExecutionError, match=r"is not in|names nothing|to choose from"):
            session.run(feeds)
        return
    wanted = list(expected) if isinstance(expected, tuple) else [expected]
    result = compare(wanted, list(session.run(feeds)), Tolerance(ulp=0), name="y")
    assert result.passed, (result.problem, inputs, attributes)


def gather_checked(data, indices, *, axis):
    """As the specification says, an index is wrong even if nothing is gathered with it."""
    np.arange(data.shape[axis])[indices]
    return gather(data, indices, axis=axis)


def draw_gather(draw: Draw) -> None:
    x, axis = draw.tensor()
    i = draw.indices(x.shape[axis], draw.shape(), draw.one_of(np.int32, np.int64))
    check("Gather", (x, i), gather_checked, axis=axis)


def draw_gather_elements(draw: Draw) -> None:
    x, axis = draw.tensor()
    i = draw.indices(x.shape[axis], draw.within(x, axis), draw.one_of(np.int32, np.int64))
    check("GatherElements", (x, i), gather_elements, axis=axis)


def draw_gather_nd(draw: Draw) -> None:
    x, _ = draw.tensor()
    batch = draw.number(0, x.ndim - 1)
    rows = [*x.shape[:batch], *draw.shape(0, 2)]
    i = draw.tuples(x, batch, rows, draw.number(1, x.ndim - batch))
    check("GatherND", (x, i), gather_nd, batch_dims=batch)


def draw_scatter_elements(draw: Draw) -> None:
    reduction = draw.one_of(*REDUCTIONS)
    x, axis = draw.tensor(DTYPES if reduction == "none" else NUMBERS)
    shape = draw.within(x, axis)
    inputs = (x, draw.indices(x.shape[axis], shape), others(x, shape))
    check("ScatterElements", inputs, scatter_elements, axis=axis, reduction=reduction)


def draw_scatter_nd(draw: Draw) -> None:
    reduction = draw.one_of(*REDUCTIONS)
    x, _ = draw.tensor(DTYPES if reduction == "none" else NUMBERS)
    rows, depth = draw.shape(0, 2), draw.number(0, x.ndim)
    inputs = (x, draw.tuples(x, 0, rows, depth), others(x, (*rows, *x.shape[depth:])))
    check("ScatterND", inputs, scatter_nd, reduction=reduction)


def draw_tensor_scatter(draw: Draw) -> None:
    x, _ = draw.tensor(least=2)
    axis = draw.number(1, x.ndim - 1)
    shape = list(x.shape)
    shape[axis] = draw.number(0, x.shape[axis])
    starts = draw.one_of(None, draw.indices(9, x.shape[:1]), draw.indices(9, x.shape[:1]))
    inputs = (x, others(x, shape), starts)
    check("TensorScatter", inputs, tensor_scatter, axis=axis, mode="circular")


def draw_one_hot(draw: Draw) -> None:
    depth, shape = draw.number(0, 4), draw.shape()
    i = draw.indices(depth + 2, shape, draw.one_of(*NUMBERS, np.int8, np.float16))
    values = elements(draw.one_of(*DTYPES), 3)[1:]
    axis = draw.number(-len(shape) - 1, len(shape))
    check("OneHot", (i, np.int64(depth), values), one_hot, axis=axis)


def draw_compress(draw: Draw) -> None:
    x, axis = draw.tensor()
    condition = draw.chance.random(draw.number(0, x.shape[axis] + 1)) < 0.6
    check("Compress", (x, condition), compress, axis=axis)


def draw_non_zero(draw: Draw) -> None:
    check("NonZero", (elements(draw.one_of(*DTYPES), *draw.shape(0, 4)),), non_zero)


def draw_unique(draw: Draw) -> None:
    x, axis = draw.tensor()
    x = elements(x.dtype, 3)[np.asarray(draw.chance.integers(0, 3, x.shape))]
    attributes = draw.one_of({}, {"axis": axis})
    check("Unique", (x,), unique, sorted=draw.number(0, 1), **attributes)


DRAWS = [value for name, value in list(globals().items()) if name.startswith("draw_")]


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("draw", DRAWS, ids=lambda draw: draw.__name__.removeprefix("draw_"))
def test_any_shape(draw, seed):
    draw(Draw(seed))
