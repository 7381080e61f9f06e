"""Values on the command line, read from text and files."""

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

from ..data.containers import value_from_proto
from ..data.external import ExternalData
from ..data.files import read_file
from ..dtypes import Kind
from ..errors import InputError, MinirtError, did_you_mean
from ..types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type
from .results import fits_npy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..feeds import ValueInfo

__all__ = ["missing_inputs", "read_feeds"]

#: Up to this many elements an input is written out in an example.
_EXAMPLE_SIZE = 8

#: A number that is none in JSON, or text in quotes, where the same words mean themselves.
_WORD = re.compile(
    r"""(?ix) "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | \b(?: (?P<nan>nan) | inf(?:inity)? )\b"""
)


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
        # Warnings are about files of Python 2. NumPy leaves open what it opened and cannot read.
        with warnings.catch_warnings(action="ignore"), open(path, "rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            with loaded:
                arrays = {name: loaded[name] for name in loaded.files}
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
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
    if isinstance(type_, OptionalType):
        if text in ("null", "None"):
            return None
        type_ = type_.element or type_
    if isinstance(type_, SparseTensorType):
        raise InputError(f"the input is {type_}; give it as a .pb file")
    is_text = isinstance(type_, TensorType) and type_.dtype.kind is Kind.STRING
    value = _parse(text if is_text else _WORD.sub(_json_word, text))
    if is_text:
        return value if isinstance(value, (str, list, tuple)) else text
    if value is None or not (
        isinstance(type_, TensorType) or isinstance(value, (list, tuple, dict))
    ):
        what = "number, list of numbers or" if isinstance(type_, TensorType) else "list, dict or"
        raise InputError(f"{text!r} is no {what} .npy, .npz or .pb file; expected {type_}")
    return value


def _json_word(match: re.Match[str]) -> str:
    if match[0][0] in "\"'":
        return match[0]
    return "NaN" if match["nan"] else "Infinity"


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
    if isinstance(type_, SequenceType | MapType) and type_.element:
        inner = _example(type_.element)
        if inner.endswith((".npy", ".pb")):
            return "value.pb"
        if isinstance(type_, SequenceType):
            return f"[{inner}]"
        return f"{{{'0' if type_.key.is_integer else json.dumps('key')}: {inner}}}"
    if not isinstance(type_, TensorType):
        return "value.pb"
    shape = [dim if isinstance(dim, int) else 1 for dim in type_.shape or ()]
    if math.prod(dim or 1 for dim in shape) > _EXAMPLE_SIZE:  # [2**40,0] has many lists
        return "array.npy" if fits_npy(type_.dtype) else "tensor.pb"
    element: Any = "text" if type_.dtype.kind is Kind.STRING else 0
    element = 1.0 if type_.dtype.is_float else element
    return json.dumps(np.full(shape, element, object).tolist())
