"""Kernels: one loop, compiled once for each combination of argument types."""

from __future__ import annotations

import inspect
import json
import logging
import os
import pickle
import secrets
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import llvmlite
import numba
import numpy as np
from llvmlite.binding import ffi as llvm
from numba import types
from numba.core import serialize
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.np.numpy_support import from_dtype

from ..errors import ExecutionError
from .cache import Store, stamp
from .codecs import Codec
from .fingerprint import fingerprint
from .jobs import hold_over_forks, undisturbed
from .launcher import Launch, Slot, share
from .scalars import Scalar
from .target import cpu

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Run = Callable[..., None]
    Result = Any  # a CompileResult, whose fields Numba declares at run time

__all__ = ["Kernel", "Packed", "Statistics", "helper", "kernel", "statistics"]

_log = logging.getLogger("minirt.jit")

with suppress(OSError):
    stamp()  # now, while the sources are still those that were imported

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "nogil": True}

#: Compiles a function that only kernels call: without a way in from Python, in half the time.
helper: Any = numba.njit(**_OPTIONS | {"no_cpython_wrapper": True})

#: Settings of Numba that change the code it makes.
_SETTINGS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE")


class Statistics(NamedTuple):
    """Specialisations that this process compiled, and that it loaded from the cache."""

    compiled: int
    loaded: int


_count = {"compiled": 0, "loaded": 0}


def statistics() -> Statistics:
    """How many specialisations of kernels this process has made so far."""
    return Statistics(**_count)


@dataclass(frozen=True)
class Packed:
    """At :meth:`Kernel.bind`: an array of bytes in which an element takes ``bits`` (2, 4, 6)."""

    bits: int


class _Code(NamedTuple):
    """One specialisation: how it is called from Python, and from native code."""

    entry: Callable[..., Any]
    address: int
    result: Result


class Kernel:
    """A function over one-dimensional, C-contiguous arrays, compiled when it is first bound.

    Where several threads share the work, arrays are cut into blocks, except those named
    in ``whole``: element i of one array may depend only on element i of others, on whole
    arrays and on numbers. ``cost`` is the work for a byte, 1 where it is as good as a copy.
    """

    def __init__(
        self, function: Callable[..., None], whole: Sequence[str] = (), cost: float = 1.0
    ) -> None:
        self.function, self.whole, self.cost = function, frozenset(whole), cost
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.parameters = tuple(inspect.signature(function).parameters)
        if unknown := self.whole.difference(self.parameters):
            raise TypeError(f"{self} has no parameter {', '.join(sorted(unknown))}")
        self._dispatcher = numba.njit(**_OPTIONS)(function)
        self._codes: dict[tuple[types.Type, ...], _Code] = {}

    @property
    def name(self) -> str:
        """Module and qualified name."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    def bind(
        self, *arguments: Any, size: int, threads: int | None = None, cost: float | None = None
    ) -> Run:
        """Compile for these arguments and return ``run(*arrays)``.

        There is one argument for each parameter. A NumPy dtype, or :class:`Packed`, stands
        for an array that ``run`` is given, in order; anything else (a codec, a scalar, a
        number, an array such as a table) is bound now. Arrays have ``size`` elements, unless
        they are whole; a bound one that has not is an ExecutionError. At most ``threads`` threads
        run, by default as :func:`minirt.jit.threads.resolve` says, and only one where more
        do not pay: that depends on ``cost``, by default the kernel's own.

        ``run`` raises what the kernel raises. It checks nothing where one thread runs,
        unless ``MINIRT_CHECK=1`` was set at this call: then, and where several do, arrays
        that do not fit are an ExecutionError.
        """
        if len(arguments) != len(self.parameters):
            raise TypeError(f"{self} takes {len(self.parameters)} arguments, not {len(arguments)}")
        slots = []
        for name, argument in zip(self.parameters, arguments, strict=True):
            slots.append(slot := _slot(name, argument, name in self.whole))
            if isinstance(argument, np.ndarray):
                items = slot.items(size) if slot.bits else None
                _check(f"{name} of {self}", argument, slot.dtype, items)
        code = self._specialise(tuple(slot.type for slot in slots))
        run = serial = _close(code.entry, arguments)
        threads = share(slots, size, self.cost if cost is None else cost, threads)
        if threads > 1:
            run = _shared(self, Launch(code.address, slots, arguments, size, threads), serial)
        if threads > 1 or os.environ.get("MINIRT_CHECK", "0") not in ("", "0"):
            run = _checked(self, slots, arguments, size, run)
        return run

    def _specialise(self, signature: tuple[types.Type, ...]) -> _Code:
        """The compiled code for these types: of this process, from the cache, or made now."""
        code = self._codes.get(signature)
        return undisturbed(lambda: self._make_once(signature)) if code is None else code

    def _make_once(self, signature: tuple[types.Type, ...]) -> _Code:
        with global_compiler_lock:
            code = self._codes.get(signature)
            if code is None:
                result = self._make(signature)
                address = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
                code = self._codes[signature] = _Code(result.entry_point, address, result)
            return code

    def _make(self, signature: tuple[types.Type, ...]) -> Result:
        key = self._key(signature)
        if key is not None:
            loaded = _load(self.name, key)
            if loaded is not None:
                return loaded
        _renumber()
        self._dispatcher.compile(signature)
        result: Result = self._dispatcher.overloads[signature]
        if result.signature.return_type is not types.none:
            raise TypeError(f"{self} returns {result.signature.return_type}, not None")
        _count["compiled"] += 1
        _log.debug("compiled %s%s", self.name, signature)
        if result.library.has_dynamic_globals:
            # Such code cannot be kept on disk, and every process would compile it again.
            raise TypeError(f"{self} refers to objects of this process, as to functions it passes")
        if key is not None:
            _store().save(self.name, key, serialize.dumps(result._reduce()))
        return result

    def _key(self, signature: tuple[types.Type, ...]) -> str | None:
        """All that the code depends on, None where that cannot be told."""
        if self._fingerprint is None or inspect.getmodule(self.function) is None:
            return None  # in the second case Numba could not load what it saved
        description = {
            "kernel": self.name,
            "code": self._fingerprint,
            "signature": [str(argument) for argument in signature],
            "options": self._dispatcher.targetoptions,
            "settings": {name: getattr(numba.config, name, None) for name in _SETTINGS},
            "target": cpu(),
            "python": sys.implementation.cache_tag,
            "packages": [m.__version__ for m in (numba, llvmlite, np)],
        }
        return json.dumps(description, sort_keys=True)

    @cached_property
    def _fingerprint(self) -> str | None:
        return fingerprint(self.function)


@overload
def kernel(function: Callable[..., None]) -> Kernel: ...
@overload
def kernel(
    *, whole: Sequence[str] = ..., cost: float = ...
) -> Callable[[Callable[..., None]], Kernel]: ...
def kernel(
    function: Callable[..., None] | None = None, *, whole: Sequence[str] = (), cost: float = 1.0
) -> Kernel | Callable[[Callable[..., None]], Kernel]:
    """Make a :class:`Kernel` of a function: ``@kernel`` or ``@kernel(whole=("table",))``."""
    if function is None:
        return lambda function: Kernel(function, whole, cost)
    return Kernel(function, whole, cost)


def _slot(name: str, argument: Any, whole: bool) -> Slot:
    """The type that the kernel is compiled for, and how a block of the argument is found."""
    if isinstance(argument, np.ndarray):
        argument = argument.dtype
    if isinstance(argument, np.dtype | Packed | Codec | Scalar):
        return _known_slot(argument, whole)
    kind = numba.typeof(argument)
    if not isinstance(kind, types.Integer | types.Float | types.Boolean):
        raise TypeError(f"{name} is {argument!r}: neither a dtype, an array, a number nor a codec")
    return Slot(kind)


@cache
def _known_slot(kind: np.dtype | Packed | Codec | Scalar, whole: bool) -> Slot:
    if isinstance(kind, Packed):
        return Slot(types.Array(types.uint8, 1, "C"), kind.bits)
    if isinstance(kind, Codec | Scalar):
        return Slot(numba.typeof(kind))
    return Slot(types.Array(from_dtype(kind), 1, "C"), None if whole else kind.itemsize * 8)


def _is_given(argument: Any) -> bool:
    """Whether a call gives the array for this argument of ``bind``."""
    return isinstance(argument, np.dtype | Packed)


def _close(entry: Callable[..., Any], arguments: Sequence[Any]) -> Run:
    """``entry`` with all but the given arrays filled in."""
    return _closer(tuple(map(_is_given, arguments)))(entry, *arguments)


@cache
def _closer(given: tuple[bool, ...]) -> Callable[..., Run]:
    """Makes such functions, for arguments of which these are given.

    From source, because passing ``*arrays`` on would cost half as much as the whole call.
    """
    names = [f"a{i}" for i in range(len(given))]
    call = f"entry({', '.join(names)})"
    parameters = ", ".join(name for name, is_given in zip(names, given, strict=True) if is_given)
    closer: Callable[..., Run] = eval(
        f"lambda entry, {', '.join(names)}: lambda {parameters}: {call}"
    )
    return closer


def _shared(kernel: Kernel, launch: Launch, serial: Run) -> Run:
    """Run in blocks; if one fails, run again in this thread, which raises what it raised."""

    def run(*arrays: np.ndarray) -> None:
        if not launch(*arrays):
            serial(*arrays)
            raise ExecutionError(f"{kernel} failed in one of several threads")

    return run


def _checked(
    kernel: Kernel, slots: Sequence[Slot], arguments: Sequence[Any], size: int, run: Run
) -> Run:
    """Look at the arrays first: compiled code takes their memory as it is told to."""
    expected = [
        (f"{name} of {kernel}", slot.dtype, slot.items(size) if slot.bits else None)
        for name, slot, argument in zip(kernel.parameters, slots, arguments, strict=True)
        if _is_given(argument)
    ]

    def checked(*arrays: np.ndarray) -> None:
        if len(arrays) != len(expected):
            raise ExecutionError(f"{kernel} takes {len(expected)} arrays, not {len(arrays)}")
        for (name, dtype, items), array in zip(expected, arrays, strict=True):
            _check(name, array, dtype, items)
        run(*arrays)

    return checked


def _check(name: str, array: Any, dtype: np.dtype, items: int | None) -> None:
    if not isinstance(array, np.ndarray):
        raise ExecutionError(f"{name} is {type(array).__name__}, not an array")
    if not _fits(array.dtype, dtype) or array.ndim != 1 or not array.flags.c_contiguous:
        order = "" if array.flags.c_contiguous else ", not contiguous"
        raise ExecutionError(
            f"{name} is {array.dtype} of shape {array.shape}{order}; needs one-dimensional {dtype}"
        )
    if items is not None and array.size != items:
        raise ExecutionError(f"{name} has {array.size} items, needs {items}")


def _fits(given: np.dtype, needed: np.dtype) -> bool:
    """Whether items are what is needed: unsigned integers stand for any bits of their size."""
    return given == needed or (
        given.kind in "iuf" and given.isnative and needed == f"u{given.itemsize}"
    )


def _renumber() -> None:
    """Give the functions compiled from now on symbols that no other process gives.

    Numba counts functions from 1 in every process and puts the count into symbols. Two
    functions of one name and signature, such as the closures of one factory, can so have
    the same symbol in two cache entries, and whichever is loaded second runs the first.
    """
    FunctionIdentity._unique_ids = count(secrets.randbits(48))


def _store() -> Store:
    return _store_at(os.environ.get("MINIRT_CACHE_DIR"))


@cache
def _store_at(chosen: str | None) -> Store:
    triple, name, features = cpu()
    return Store(f"{name}-{sha256(f'{triple} {features}'.encode()).hexdigest()[:8]}")


def _load(name: str, key: str) -> Result | None:
    payload = _store().load(name, key)
    if payload is None:
        return None
    context = cpu_target.target_context
    context.refresh()
    try:
        result = CompileResult._rebuild(context, *pickle.loads(payload))
    except Exception as error:
        # The bytes are those that were written, so this is Numba's or the kernel's module's
        # doing; whatever it is, there is a way that works.
        _log.info("kernel cache: %s is compiled again: %r", name, error)
        return None
    _count["loaded"] += 1
    return result


def _hold() -> None:
    global_compiler_lock.acquire()
    llvm.lib._lock.__enter__()


def _release() -> None:
    llvm.lib._lock.__exit__(None, None, None)
    global_compiler_lock.release()


hold_over_forks(_hold, _release)  # the user's code compiles as well
