"""One row of an operator's table of tests.

Each family has a module ``cases_<family>.py`` with ``CASES: list[Case]``;
:mod:`test_operators` runs every row in many ways, so that a row is all that has to be written::

    CASES = [
        Case("Add", (x, y), lambda A, B: A + B, elementwise=True),
        Case("Softmax", (x,), softmax, attributes={"axis": 1}, opset=11, ulp=2),
        Case("Gather", (x, bad), raises=(ExecutionError, "index 7")),
    ]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from minirt.ops.registry import NEWEST_OPSETS
from minirt.types import Type

__all__ = ["Case"]


@dataclass(frozen=True, eq=False)
class Case:
    """A node, what goes in, and what must come out.

    ``inputs`` are values as callers hold them: arrays of NumPy and ml_dtypes types, lists for
    sequences, dicts for maps, ``minirt.SparseTensor``; None for an omitted operand.
    ``types`` gives, by position, the types that values do not tell: of an empty list, or of an
    optional, for which None is then a value.

    ``expected`` is the output, or a tuple of outputs with None for an omitted one in between;
    or a function of the inputs, with ``attributes`` as keywords, that returns it. It comes
    from the specification, exact arithmetic or an independent implementation. Every bit is
    compared, but any NaN equals any NaN; floats may be ``ulp`` codes away, and those that
    ONNX's definition of the operator by others gives, ``body_ulp``, by default as many.
    ``no_body`` is the reason why that definition, though there is one, is not compared.

    ``raises`` stands in place of ``expected``: the class of the error and a part of its text.

    ``attributes`` may hold arrays, which become tensors, and any ONNX message. ``opset`` is
    the version of ``domain`` that the model imports, by default the newest. ``outputs`` is how
    many the node has, by default as many as ``expected``.

    An ``elementwise`` row stands also for 0-d, empty and long inputs, which are made of its
    own; ``expected`` is then a function.
    """

    op: str
    inputs: tuple[Any, ...]
    expected: Any = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    opset: int = 0
    ulp: int = 0
    outputs: int | None = None
    domain: str = ""
    id: str = ""
    raises: tuple[type[Exception], str] | None = None
    types: Mapping[int, Type] = field(default_factory=dict)
    elementwise: bool = False
    body_ulp: int | None = None
    no_body: str = ""

    def __post_init__(self) -> None:
        if (self.expected is None) == (self.raises is None):
            raise ValueError(f"{self.op}: a case has either `expected` or `raises`")
        if self.elementwise and not isinstance(self.expected, Callable):
            raise ValueError(f"{self.op}: an elementwise case needs a function as `expected`")
        object.__setattr__(self, "opset", self.opset or NEWEST_OPSETS[self.domain])

    def results(self) -> tuple[Any, ...]:
        """What the outputs must be."""
        return self._results

    @cached_property
    def _results(self) -> tuple[Any, ...]:
        expected = self.expected
        if isinstance(expected, Callable):
            expected = expected(*self.inputs, **self.attributes)
        return expected if isinstance(expected, tuple) else (expected,)
