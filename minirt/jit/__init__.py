"""From Python functions to compiled kernels: the only package that knows Numba's extension API.

Importing it imports nothing: a name is resolved when it is first asked for, so that the
parts that need no compiler (:mod:`minirt.jit.cache`) work without one.
"""

from __future__ import annotations

from ..lazy import lazy
from .jobs import import_undisturbed

#: Which module has which name.
_HOMES = {
    "Codec": "codecs",
    "Kernel": "compiler",
    "Packed": "compiler",
    "Scalar": "scalars",
    "cache_clear": "cache",
    "cache_info": "cache",
    "call": "scalars",
    "decode": "decoding",
    "encode": "encoding",
    "has_half": "target",
    "helper": "compiler",
    "kernel": "compiler",
    "recode": "recoding",
    "statistics": "compiler",
}

__all__ = sorted(_HOMES)

__getattr__ = lazy(globals(), _HOMES, import_undisturbed)
