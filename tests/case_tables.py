"""All tables of cases, and which of their inputs are what."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
from cases import Case

from minirt.ops import registry
from minirt.ops.schemas import find_schema

__all__ = ["TABLES", "WRITTEN", "contents", "tensors"]

#: The cases of each family, of the module ``cases_<family>``.
TABLES: dict[str, list[Case]] = {
    path.stem.removeprefix("cases_"): importlib.import_module(path.stem).CASES
    for path in sorted(Path(__file__).parent.glob("cases_*.py"))
}

WRITTEN = [case for cases in TABLES.values() for case in cases]


def tensors(case: Case) -> frozenset[int]:
    """The positions of inputs that may be initializers."""
    return frozenset(
        i
        for i, x in enumerate(case.inputs)
        if isinstance(x, np.ndarray | np.generic) and i not in case.types
    )


def contents(case: Case) -> frozenset[int]:
    """The positions of tensors on whose contents types depend."""
    operator = registry.find(case.domain, case.op, case.opset)
    schema = find_schema(case.domain, case.op, case.opset)
    if operator is None or schema is None:
        return frozenset()
    names = [p.name for p in schema.inputs]
    return frozenset(i for i in tensors(case) if names[min(i, len(names) - 1)] in operator.contents)
