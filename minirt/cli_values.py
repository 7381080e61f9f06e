"""Values on the command line: read from text and files, shown, and written back.

What NumPy's own formats hold faithfully goes to ``.npy``; everything else (ml_dtypes'
types, strings, sequences) to ``.pb``, the protobuf message that ONNX itself uses.
"""

from __future__ import annotations

import ast
import json
import math
import re
import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .containers import value_from_proto, value_to_proto
from .dtypes import DType, Kind, find
from .errors import InputError, MinirtError, did_you_mean, printable
from .external import ExternalData
from .files import read_file
from .types import TensorType, Type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .feeds import ValueInfo

__all__ = ["missing_inputs", "read_feeds", "save_value", "show_value", "value_to_json"]

#: Up to this many elements an input is written out in an example.
_EXAMPLE_SIZE = 8

#: A result is shown with so many elements at each end of a dimension, if so many in all.
_EDGE, _MOST_SHOWN = 3, 2000


# In


def read_feeds(arguments: Sequence[str], inputs: Sequence[ValueInfo]) -> dict[str, Any]:
    """What ``-i`` arguments feed, by input name.

    ``NAME=VALUE``, ``FILE.npz`` (an array a name), or ``VALUE`` alone where there is one
    input. VALUE is a ``.npy``, ``.npz`` or ``.pb`` file, or a number, text or nested list
    that has the declared type. Raises InputError that names the argument.
    """
    feeds: dict[str, Any] = {}
    for argument in arguments:
        for name, value in _read_argument(argument, inputs).items():
            if name in feeds:
                raise InputError(f"-i {argument}: input {name!r} is fed twice")
            feeds[name] = value
    return feeds


def _read_argument(argument: str, inputs: Sequence[ValueInfo]) -> dict[str, Any]:
    # Names may contain "=", so the longest one that fits is meant.
    for info in sorted(inputs, key=lambda info: -len(info.name)):
        if argument.startswith(f"{info.name}="):
            return {info.name: _read_value(argument[len(info.name) + 1 :], info, argument)}
    names = [info.name for info in inputs]
    if match := re.match(r"""([^\s"'(\[{]+)=""", argument):
        hint = did_you_mean(match[1], names) or f"; there are {', '.join(names) or 'none'}"
        raise InputError(f"-i {argument}: no input is named {match[1]!r}{hint}")
    if argument.lower().endswith(".npz"):
        return dict(_load_numpy(argument))
    required = [info for info in inputs if not info.has_default] or list(inputs)
    if len(required) != 1:
        raise InputError(
            f"-i {argument}: the model has {len(inputs)} inputs ({', '.join(names)}); "
            "write -i NAME=VALUE"
        )
    return {required[0].name: _read_value(argument, required[0], argument)}


def _read_value(text: str, info: ValueInfo, argument: str) -> Any:
    suffix = Path(text).suffix.lower()
    try:
        if suffix == ".pb":
            data, external = read_file(Path(text), text), ExternalData(Path(text).parent)
            return value_from_proto(data, info.type, where=text, external=external)
        if suffix == ".npy":
            return _typed(_load_numpy(text), info.type)
        if suffix == ".npz":
            arrays = _load_numpy(text)
            if info.name not in arrays and len(arrays) != 1:
                raise InputError(f"it has the arrays {', '.join(arrays)}, none is {info.name!r}")
            return _typed(arrays.get(info.name, next(iter(arrays.values()))), info.type)
        return _parse_literal(text, info.type)
    except OSError as error:
        raise InputError(f"-i {argument}: {error.strerror or error}") from None
    except MinirtError as error:
        raise InputError(f"-i {argument}: {error}") from None


def _load_numpy(path: str) -> Any:
    """The array in a .npy file, or all of a .npz file by name."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about files of Python 2
            loaded = np.load(path, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            with loaded:
                arrays = {name: loaded[name] for name in loaded.files}
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except MemoryError:
        raise InputError(f"{path} takes more memory than there is") from None
    except Exception as error:  # NumPy, zipfile and zlib have many for files that are damaged
        raise InputError(f"{path} is no file of plain NumPy arrays: {error}") from None
    return {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}


def _typed(array: np.ndarray, type_: Type) -> np.ndarray:
    """``array``, unless NumPy forgot what it was when it was written."""
    if array.dtype.kind == "V" and isinstance(type_, TensorType):
        raise InputError(
            f"NumPy's format cannot say that an array is {type_.dtype}; use a .pb file "
            "(onnx.numpy_helper.from_array)"
        )
    return array


def _parse_literal(text: str, type_: Type) -> Any:
    if not isinstance(type_, TensorType):
        raise InputError(f"the input is {type_}; give it as a .pb file")
    if type_.dtype.kind is Kind.STRING:
        value = _parse(text)
        return value if isinstance(value, (str, list, tuple)) else text
    value = _parse(re.sub(r"(?i)\b(?:(nan)|inf(?:inity)?)\b", _json_constant, text))
    if value is None:
        raise InputError(
            f"{text!r} is no number, list of numbers or .npy, .npz or .pb file; expected {type_}"
        )
    return value


def _json_constant(match: re.Match[str]) -> str:
    return "NaN" if match[1] else "Infinity"


def _parse(text: str) -> Any:
    """JSON, or Python's notation; None if it is neither."""
    try:
        return json.loads(text, parse_float=_finite)
    except InputError:
        raise
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _finite(text: str) -> float:
    """``float``, which turns what is beyond its range into an infinity without a word."""
    number = float(text)
    if math.isinf(number):
        raise InputError(f"{text} is beyond every float")
    return number


def missing_inputs(
    model: str, arguments: Sequence[str], feeds: dict[str, Any], inputs: Sequence[ValueInfo]
) -> str:
    """What is not fed though it must be, with a command that feeds it; "" if nothing is."""
    missing = [info for info in inputs if not info.optional and info.name not in feeds]
    if not missing:
        return ""
    command = ["minirt", "run", model]
    for argument in [*arguments, *(f"{info.name}={_example(info.type)}" for info in missing)]:
        command += ["-i", argument]
    wanted = ", ".join(f"{info.name!r} ({info.type})" for info in missing)
    plural = "s" if len(missing) > 1 else ""
    return f"missing input{plural} {wanted}; for example: {shlex.join(command)}"


def _example(type_: Type) -> str:
    """A value of this type as an argument: zeros if they are few, else a file."""
    if not isinstance(type_, TensorType):
        return "value.pb"
    shape = [dim if isinstance(dim, int) else 1 for dim in type_.shape or ()]
    if math.prod(dim or 1 for dim in shape) > _EXAMPLE_SIZE:  # [2**40,0] has many lists
        return "array.npy" if _fits_npy(type_.dtype) else "tensor.pb"
    element: Any = "text" if type_.dtype.kind is Kind.STRING else 0
    element = 1.0 if type_.dtype.is_float else element
    return json.dumps(np.full(shape, element, object).tolist())


# Out


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
    have the fewest digits that give the same value of the element type.
    """
    if isinstance(value, np.ndarray):
        elements = np.empty(value.shape, object)
        elements.reshape(-1)[:] = [_element_to_json(element) for element in value.reshape(-1)]
        dtype = find(value.dtype)
        # Without elements there may still be 2**40 lists, of none.
        values = elements.tolist() if value.size else []
        return {"type": str(dtype), "shape": list(value.shape), "values": values}
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


def save_value(folder: Path, name: str, value: Any, taken: set[str]) -> Path:
    """Write a result into ``folder`` under a file name made from ``name``, which it returns.

    ``taken`` are the stems in use; the new one is added.
    """
    stem = base = re.sub(r"[^\w.\-]", "_", name).lstrip(".")[:150] or "output"
    count = 1
    while stem.lower() in taken:
        count += 1
        stem = f"{base}_{count}"
    taken.add(stem.lower())
    dtype = find(value.dtype) if isinstance(value, np.ndarray) else None
    if dtype is not None and _fits_npy(dtype):
        path = folder / f"{stem}.npy"
        np.save(path, value, allow_pickle=False)
    else:
        path = folder / f"{stem}.pb"
        path.write_bytes(value_to_proto(value, name=name).SerializeToString())
    return path


def _fits_npy(dtype: DType) -> bool:
    """Whether NumPy's file format can say what the elements are."""
    return dtype.public.isbuiltin == 1 and dtype.kind is not Kind.STRING
