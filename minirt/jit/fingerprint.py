"""What the compiled code of a function depends on, as a digest.

The stamp of the cache covers minirt's own kernels, but not what a function closes over,
nor kernels defined elsewhere. Numba's key hashes closed-over functions by an identity
that differs in every process, so such kernels never hit its cache; and it looks at no
function that a kernel calls, so edited ones leave stale code behind.
"""

from __future__ import annotations

import hashlib
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["fingerprint"]

#: Packages whose code is known by their version or, minirt's own, by the stamp.
_KNOWN = frozenset({"builtins", "math", "minirt", "numba", "numpy"})
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), np.generic, np.dtype)


class _Unknown(Exception):
    """A function depends on something that may change unseen."""


def fingerprint(function: Callable[..., Any]) -> str | None:
    """A digest of the function and of all that it refers to; None if that cannot be told.

    Equal in every process for equal code, wherever the source is, and if there is none.
    """
    digest = hashlib.sha256()
    try:
        for part in _function(function, set()):
            digest.update(part.encode() + b"\0")
    except _Unknown:
        return None
    return digest.hexdigest()


def _function(function: Any, seen: set[int]) -> Iterator[str]:
    if id(function) in seen:
        return
    seen.add(id(function))
    yield function.__module__ or ""
    code = function.__code__
    yield from _code(code, seen)
    yield from _value(function.__defaults__, seen)
    for cell in function.__closure__ or ():
        yield from _value(cell.cell_contents, seen)
    for name in sorted(_names(code)):
        if name in function.__globals__:
            yield name
            yield from _value(function.__globals__[name], seen)


def _names(code: CodeType) -> set[str]:
    """Every name that the code, or code inside it, looks up outside of itself."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _code(code: CodeType, seen: set[int]) -> Iterator[str]:
    # Neither file nor line: code that has only moved is the same.
    yield f"{code.co_qualname} {code.co_code.hex()} {code.co_flags} {code.co_argcount}"
    yield f"{code.co_names} {code.co_varnames} {code.co_freevars} {code.co_cellvars}"
    for constant in code.co_consts:
        yield from _value(constant, seen)


def _value(value: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(value, _PLAIN):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, tuple):
        yield f"tuple {len(value)}"
        for item in value:
            yield from _value(item, seen)
    elif isinstance(value, frozenset):
        yield f"frozenset {sorted(map(repr, value))}"
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        yield f"array {value.dtype.str} {value.shape} {value.tobytes().hex()}"
    elif isinstance(value, CodeType):
        yield from _code(value, seen)
    elif isinstance(value, Dispatcher):
        yield f"compiled {sorted(value.targetoptions.items())}"
        yield from _function(value.py_func, seen)
    else:
        yield _name(value)


def _name(value: Any) -> str:
    """What only its name is needed of, since it belongs to a known package."""
    if isinstance(value, types.Type):
        return f"type {value}"
    home, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, ModuleType):
        home = name = value.__name__
    if not home or not name or home.partition(".")[0] not in _KNOWN:
        raise _Unknown
    if home.startswith("minirt") and getattr(value, "__closure__", None):
        raise _Unknown  # one of several with this name
    return f"{home} {name}"
