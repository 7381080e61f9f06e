"""Names of a package that are imported when they are first asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

__all__ = ["lazy"]


def lazy(
    namespace: dict[str, Any],
    homes: Mapping[str, str],
    load: Callable[[str], ModuleType] = importlib.import_module,
) -> Callable[[str], Any]:
    """A ``__getattr__`` for the package with these ``globals()``.

    ``homes`` says which submodule, by its name relative to the package, has which name;
    ``load`` imports one.
    """
    package = namespace["__name__"]

    def __getattr__(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(load(f"{package}.{homes[name]}"), name)
        namespace[name] = value
        return value

    return __getattr__
