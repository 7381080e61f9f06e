"""Results on the command line: shown to a person, as JSON, and written to files."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.containers import save_value
from ..data.sparse import SparseTensor
from ..dtypes import DType, Kind, find
from ..errors import printable
from ..types import TensorType

if TYPE_CHECKING:
    from pathlib import Path

    from ..types import Type

__all__ = ["fits_npy", "show_value", "value_to_json", "write_result"]

#: A result is shown with so many elements at each end of a dimension, if so many in all.
_EDGE, _MOST_SHOWN = 3, 2000


def show_value(name: str, value: Any) -> list[str]:
    """A result as lines for a person: name, type and shape, then values, the middle left out."""
    name = printable(name)
    if isinstance(value, np.ndarray):
        dtype = find(value.dtype)
        shown = f"{name}: {TensorType(dtype, value.shape) if dtype else value.dtype}"
        if dtype and dtype.is_float and dtype.public.isbuiltin != 1:
            value = np.asarray(value, np.float64)  # ml_dtypes prints six digits of a number
        if math.prod(min(dim, 2 * _EDGE) for dim in value.shape) > _MOST_SHOWN:
            value = value.reshape(-1)  # of [6,6,6,6,6,6] NumPy would leave out nothing
        with np.printoptions(threshold=100, edgeitems=_EDGE, floatmode="unique", linewidth=100):
            return [shown, *(f"  {line}" for line in str(value).split("\n"))]
    if isinstance(value, SparseTensor):
        places = value.indices.tolist()
        lines = [f"{name}: sparse tensor of shape {list(value.shape)}, values at {places}"]
        return lines + show_value(f"{name}.values", value.values)
    if isinstance(value, (list, dict)):
        kind = "sequence" if isinstance(value, list) else "map"
        items = enumerate(value) if isinstance(value, list) else value.items()
        lines = [f"{name}: {kind} of {len(value)}"]
        return lines + [
            line for key, item in items for line in show_value(f"{name}[{key!r}]", item)
        ]
    return [f"{name}: {value!r}"]


def value_to_json(value: Any) -> Any:
    """A result as plain data that strict JSON can hold.

    A tensor is its type, shape and nested values; NaN and the infinities are the strings
    "NaN", "Infinity" and "-Infinity", a complex number is the pair of its parts. Numbers
    have the fewest digits that give the same value of the element type. A sparse tensor
    has indices besides.
    """
    if isinstance(value, np.ndarray):
        elements = np.empty(value.shape, object)
        elements.reshape(-1)[:] = [_element_to_json(element) for element in value.reshape(-1)]
        dtype = find(value.dtype)
        # Without elements there may still be 2**40 lists, of none.
        values = elements.tolist() if value.size else []
        return {"type": str(dtype), "shape": list(value.shape), "values": values}
    if isinstance(value, SparseTensor):
        values = value_to_json(value.values)["values"]
        shape, indices = list(value.shape), value.indices.tolist()
        kind = f"sparse({find(value.values.dtype)})"
        return {"type": kind, "shape": shape, "indices": indices, "values": values}
    if isinstance(value, list):
        return [value_to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): value_to_json(item) for key, item in value.items()}
    return value


def _element_to_json(element: Any) -> Any:
    if isinstance(element, (str, np.bool_)):
        return element if isinstance(element, str) else bool(element)
    if isinstance(element, np.complexfloating):
        return [_element_to_json(element.real), _element_to_json(element.imag)]
    dtype = find(element.dtype)
    if dtype is None or not dtype.is_float:
        return int(element)
    number = float(str(element) if dtype.public.isbuiltin == 1 else element)
    if math.isnan(number):
        return "NaN"
    return number if math.isfinite(number) else f"{'-' * (number < 0)}Infinity"


def write_result(folder: Path, name: str, value: Any, type_: Type, taken: set[str]) -> Path:
    """Write a result into ``folder`` under a file name made from ``name``, which it returns.

    What NumPy's own format holds faithfully goes to ``.npy``; everything else (ml_dtypes'
    types, strings, sequences) to ``.pb``, the message of ONNX that ``type_`` calls for.
    ``taken`` are the stems in use; the new one is added.
    """
    stem = base = re.sub(r"[^\w.\-]", "_", name).lstrip(".")[:150] or "output"
    count = 1
    while stem.lower() in taken:
        count += 1
        stem = f"{base}_{count}"
    taken.add(stem.lower())
    dtype = find(value.dtype) if isinstance(value, np.ndarray) else None
    if dtype is not None and fits_npy(dtype):
        path = folder / f"{stem}.npy"
        np.save(path, value, allow_pickle=False)
    else:
        path = folder / f"{stem}.pb"
        save_value(value, path, type_, name)
    return path


def fits_npy(dtype: DType) -> bool:
    """Whether NumPy's file format can say what the elements are."""
    return dtype.public.isbuiltin == 1 and dtype.kind is not Kind.STRING
