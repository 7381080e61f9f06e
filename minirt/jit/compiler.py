"""Kernels: one loop body, compiled once for each combination of argument types."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba import types
from numba.np.numpy_support import from_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., None]

__all__ = ["Kernel", "kernel"]


class Kernel:
    """A function over one-dimensional, C-contiguous arrays, compiled when it is first bound.

    Arrays are cut into blocks when several threads share the work, those named in
    ``whole`` are not: element i of one array may depend only on element i of the others
    and on whole arrays and scalars.
    """

    def __init__(self, function: Callable[..., None], whole: tuple[str, ...] = ()) -> None:
        self.function = function
        self.whole = whole
        self.parameters = tuple(inspect.signature(function).parameters)
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self._dispatcher = numba.njit(error_model="numpy", nogil=True)(function)

    def __repr__(self) -> str:
        return f"<kernel {self.function.__module__}.{self.function.__qualname__}>"

    def bind(self, *arguments: Any, size: int) -> Run:
        """Compile for these arguments and return ``run(*arrays)``.

        There is one argument for each parameter of the kernel. A NumPy dtype stands for
        an array of that type that ``run`` gets, in order; anything else (a codec, a
        number, an array such as a table) is bound now. ``size`` is the number of elements.
        """
        signature = tuple(map(_type_of, arguments))
        self._dispatcher.compile(signature)
        entry = self._dispatcher.overloads[signature].entry_point
        return _close(entry, arguments)


def kernel(
    function: Callable[..., None] | None = None, *, whole: tuple[str, ...] = ()
) -> Any:
    """Make a :class:`Kernel` of a module-level function: ``@kernel`` or ``@kernel(whole=...)``."""
    if function is None:
        return lambda function: Kernel(function, whole)
    return Kernel(function, whole)


def _type_of(argument: Any) -> types.Type:
    """The Numba type that the kernel is compiled for."""
    if isinstance(argument, np.dtype | np.ndarray):
        dtype = argument if isinstance(argument, np.dtype) else argument.dtype
        return types.Array(from_dtype(dtype), 1, "C")
    return numba.typeof(argument)


def _close(entry: Callable[..., Any], arguments: tuple[Any, ...]) -> Run:
    """``entry`` with all but the arrays filled in.

    The source is generated because passing on ``*arrays`` costs half as much as a call.
    """
    names = [f"a{i}" for i in range(len(arguments))]
    given = [n for n, a in zip(names, arguments, strict=True) if isinstance(a, np.dtype)]
    bound = {n: a for n, a in zip(names, arguments, strict=True) if n not in given}
    source = f"lambda {', '.join(given)}: entry({', '.join(names)})"
    return eval(source, {"entry": entry, **bound})
