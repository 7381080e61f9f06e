"""Rows for operators on single elements: every type that a schema allows, and every version.

Oracles compute in float64, or with Python's integers, and round once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from cases import Case
from onnx import defs

from minirt.dtypes import BY_NAME, Kind, find
from minirt.ops.schemas import find_schema, versions

__all__ = ["allowed", "floats", "in_float64", "integers", "pairs", "rows", "samples", "spaced"]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

Oracle = Callable[..., Any]


def allowed(op: str, opset: int, position: int = 0) -> list[np.dtype]:
    """The types of an operand that the schema allows, as NumPy has them."""
    schema = defs.get_schema(op, opset, "")
    parameter = schema.inputs[min(position, len(schema.inputs) - 1)]
    names = sorted(t[7:-1] for t in parameter.types)
    return [np.dtype(object) if n == "string" else np.dtype(BY_NAME[n].public) for n in names]


# Oracles


def in_float64(function: Oracle) -> Oracle:
    """``function`` over float64, or over Python's integers; the result is of the first type."""

    def oracle(*operands: Any, **attributes: Any) -> Any:
        dtype = operands[0].dtype
        attributes = {k: v for k, v in attributes.items() if k != "consumed_inputs"}
        if find(dtype).is_float:
            wide = [x.astype(np.float64) for x in operands]
            with np.errstate(all="ignore"):
                return np.asarray(function(*wide, **attributes)).astype(dtype)
        wide = [np.asarray(x, object) for x in operands]
        return wrapped(np.asarray(function(*wide, **attributes)), dtype)

    return oracle


def wrapped(numbers: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Python's integers, cut to the bits that ``dtype`` has."""
    bits = dtype.itemsize * 8
    codes = [int(n) & (1 << bits) - 1 for n in numbers.reshape(-1)]
    return np.array(codes, f"u{bits // 8}").view(dtype).reshape(numbers.shape)


# Inputs


def floats(dtype: np.dtype) -> np.ndarray:
    """Ordinary numbers, and all that is special."""
    limits = ml_dtypes.finfo(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, float(limits.max), -float(limits.max)]
    special += [float(limits.tiny), -float(limits.tiny), float(limits.smallest_subnormal)]
    return np.array(special + spaced(30).tolist()).astype(dtype)


def spaced(count: int, limit: float = 9.0) -> np.ndarray:
    """Numbers from ``-limit`` to ``limit``, none of them 0, in no order."""
    rng = np.random.default_rng(count)
    return rng.permutation(np.linspace(-limit, limit, count) + 1 / 64)


def integers(dtype: np.dtype) -> np.ndarray:
    """Small ones, the limits, and some between."""
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    chosen = [0, 1, 2, 3, 5, 7, 11, high, high - 1, high // 3, low, low + 1, -1, -2, -3, -7]
    return np.array(sorted({n for n in chosen if low <= n <= high}), dtype)


def samples(dtype: np.dtype) -> np.ndarray:
    """Elements of any type, in one dimension."""
    known = find(dtype)
    if known.kind is Kind.STRING:
        return np.array(["", "a", "ä", "a b", "a"], object)
    if known.kind is Kind.BOOL:
        return np.array([True, False, True])
    if known.kind is Kind.COMPLEX:
        return np.array([0, 1j, -2.5, complex(np.nan, np.inf)], dtype)
    return floats(dtype) if known.is_float else integers(dtype)


def pairs(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Every sample with every sample, by broadcasting."""
    x = samples(dtype)
    return x[:, None], x[::-1].copy()


# Rows


def rows(
    op: str,
    oracle: Oracle,
    inputs: Callable[[np.dtype], Sequence[np.ndarray]] = pairs,
    *,
    ulp: int = 0,
    narrow_ulp: int | None = None,
    oldest: int = 1,
    elementwise: bool = False,
    **options: Any,
) -> Iterator[Case]:
    """A row for every type at the newest version, and one for each version from ``oldest`` on.

    ``narrow_ulp`` stands for ``ulp`` where elements have 16 bits. Of what is ``elementwise`` the
    first type of each version is tried in all shapes.
    """
    *old, newest = (v for v in versions("", op) if v >= oldest)
    for index, dtype in enumerate(allowed(op, newest)):
        known = find(dtype)
        tolerance = ulp if known.is_float else 0
        if known.is_float and known.bits == 16 and narrow_ulp is not None:
            tolerance = narrow_ulp
        every_shape = elementwise and not index
        yield Case(
            op, tuple(inputs(dtype)), oracle, ulp=tolerance, elementwise=every_shape, **options
        )
    for opset in old:
        dtype = allowed(op, opset)[0]
        dtype = np.dtype(np.float32) if np.dtype(np.float32) in allowed(op, opset) else dtype
        x = tuple(inputs(dtype))
        attributes = dict(options.get("attributes", {}))
        schema = find_schema("", op, opset)
        if "consumed_inputs" in schema.attributes:
            attributes["consumed_inputs"] = [0] * len(x)
        other = {k: v for k, v in options.items() if k != "attributes"}
        yield Case(
            op, x, oracle, attributes, opset=opset, ulp=ulp, elementwise=elementwise, **other
        )
