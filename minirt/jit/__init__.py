"""From Python functions to compiled kernels: the only package that knows Numba's extension API.

Importing it imports nothing: a name is resolved when it is first asked for, so that the
parts that need no compiler (:mod:`minirt.jit.cache`) work without one.
"""

from __future__ import annotations

import importlib
from typing import Any

from .jobs import undisturbed

#: Which module has which name.
_HOMES = {
    "Codec": "codecs",
    "Kernel": "compiler",
    "Packed": "compiler",
    "cache_clear": "cache",
    "cache_info": "cache",
    "decode": "decoding",
    "encode": "encoding",
    "has_half": "target",
    "helper": "compiler",
    "kernel": "compiler",
    "recode": "recoding",
    "statistics": "compiler",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = undisturbed(lambda: importlib.import_module(f"{__name__}.{_HOMES[name]}"))
    value = getattr(module, name)
    globals()[name] = value
    return value
