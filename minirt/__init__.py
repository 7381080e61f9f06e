"""A small, exact, fast ONNX runtime in Python.

::

    outputs = minirt.run("model.onnx", {"x": x})        # a tuple that also takes names
    session = minirt.load("model.onnx")                 # once, then session.run(...)
    graph = minirt.infer("model.onnx")                  # every value's type and shape
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .containers import load_value, save_value
    from .errors import (
        ExecutionError,
        InputError,
        MinirtError,
        ModelError,
        ParseError,
        SchemaError,
        ShapeError,
        UnsupportedError,
    )
    from .infer import infer
    from .outputs import Outputs
    from .session import Session, load, run
    from .sparse import SparseTensor

    __version__: str

__all__ = [
    "ExecutionError",
    "InputError",
    "MinirtError",
    "ModelError",
    "Outputs",
    "ParseError",
    "SchemaError",
    "Session",
    "ShapeError",
    "SparseTensor",
    "UnsupportedError",
    "__version__",
    "infer",
    "load",
    "load_value",
    "run",
    "save_value",
]

#: Which module has which name. Each is imported when the name is first asked for, so that
#: `import minirt` costs next to nothing.
_HOMES = {
    "ExecutionError": "errors",
    "InputError": "errors",
    "MinirtError": "errors",
    "ModelError": "errors",
    "Outputs": "outputs",
    "ParseError": "errors",
    "SchemaError": "errors",
    "Session": "session",
    "ShapeError": "errors",
    "SparseTensor": "sparse",
    "UnsupportedError": "errors",
    "infer": "infer",
    "load": "session",
    "load_value": "containers",
    "run": "session",
    "save_value": "containers",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = _version()
    elif name in _HOMES:
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version(__name__)
    except metadata.PackageNotFoundError:
        return "0+unknown"  # run from a checkout that is not installed


class _Package(ModuleType):
    """Keeps functions that share their name with a submodule, ``load`` and ``infer``.

    Importing a submodule sets it as an attribute of its package, over a name that is
    there or yet to be resolved.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
