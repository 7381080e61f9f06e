"""Functions of one number as Numba types.

A :class:`Scalar` is a function written once for float32 and float64. As a kernel argument it
*is* a type, like a codec, so one kernel body serves every function and is compiled, and
cached, once for each::

    dst[i] = call(function, src[i], a, b)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.extending import (
    NativeValue,
    models,
    overload,
    register_jitable,
    register_model,
    typeof_impl,
    unbox,
)

__all__ = ["Scalar", "call"]

_REAL = {types.float32: np.float32, types.float64: np.float64}


class Scalar:
    """A function of a float32 or float64 ``x``, which may have up to two parameters.

    It is declared by a function that makes it for one of the types, ``np.float32`` or
    ``np.float64``: constants must be of that type, as any other would widen ``x``. Scalars
    that it uses are made for the same type::

        @Scalar
        def softsign(real):
            one = real(1)
            return lambda x: x / (one + abs(x))
    """

    def __init__(self, make: Callable[[type], Callable[..., Any]]) -> None:
        # Else LLVM leaves calls in loops, which then are not vectorised.
        inline = register_jitable(forceinline=True)
        self._make = cache(lambda real: inline(make(real)))
        self.__module__, self.__qualname__ = make.__module__, make.__qualname__
        self.__doc__ = make.__doc__

    @property
    def name(self) -> str:
        """Module and qualified name."""
        return f"{self.__module__}.{self.__qualname__}"

    def __call__(self, real: type) -> Callable[..., Any]:
        """The function for this type, to be called in kernels."""
        return self._make(real)

    def __reduce__(self) -> str:
        return self.__qualname__  # compiled code is saved with its types, and they name this

    def __repr__(self) -> str:
        return f"<scalar {self.name}>"


class ScalarType(types.Opaque):
    """The Numba type of one function."""

    def __init__(self, scalar: Scalar) -> None:
        self.scalar = scalar
        super().__init__(f"Scalar({scalar.name})")


@typeof_impl.register(Scalar)
def _typeof_scalar(value, context):
    return ScalarType(value)


register_model(ScalarType)(models.OpaqueModel)


@unbox(ScalarType)
def _unbox_scalar(typ, value, context):
    return NativeValue(context.context.get_dummy_value())


def call(function, x, a, b):
    """``function(x)`` with as many of the parameters ``a`` and ``b`` as it has; in kernels only."""
    raise NotImplementedError("call is for kernels")


@overload(call)
def _call(function, x, a, b):
    if not isinstance(function, ScalarType) or x not in _REAL:
        return None
    inner = function.scalar(_REAL[x])
    return (
        lambda function, x, a, b: inner(x),
        lambda function, x, a, b: inner(x, a),
        lambda function, x, a, b: inner(x, a, b),
    )[len(inspect.signature(inner).parameters) - 1]
