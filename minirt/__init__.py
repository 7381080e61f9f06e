"""A small, exact, fast ONNX runtime in Python.

::

    outputs = minirt.run("model.onnx", {"x": x})        # a tuple that also takes names
    session = minirt.load("model.onnx")                 # once, then session.run(...)
    graph = minirt.infer("model.onnx")                  # every value's type and shape
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import lazy

if TYPE_CHECKING:
    from .data.containers import load_value, save_value
    from .data.sparse import SparseTensor
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
    from .model.infer import infer
    from .outputs import Outputs
    from .session import Session, load, run
    from .version import __version__

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
    "__version__": "version",
    "ExecutionError": "errors",
    "InputError": "errors",
    "MinirtError": "errors",
    "ModelError": "errors",
    "Outputs": "outputs",
    "ParseError": "errors",
    "SchemaError": "errors",
    "Session": "session",
    "ShapeError": "errors",
    "SparseTensor": "data.sparse",
    "UnsupportedError": "errors",
    "infer": "model.infer",
    "load": "session",
    "load_value": "data.containers",
    "run": "session",
    "save_value": "data.containers",
}

__getattr__ = lazy(globals(), _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
