"""Numba loops over flat buffers, one name a job.

Importing this package compiles nothing and does not import numba: a name is resolved
when a thunk first asks for it.
"""

from __future__ import annotations

import importlib
from typing import Any

from ..jit.jobs import undisturbed

#: Which module has which name.
_HOMES = {
    "convert": "cast",
    "convert_from_packed": "packed",
    "convert_to_packed": "packed",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = undisturbed(lambda: importlib.import_module(f"{__name__}.{_HOMES[name]}"))
    value = getattr(module, name)
    globals()[name] = value
    return value
