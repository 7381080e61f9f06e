"""What a run returns: a tuple in output order that also takes names."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Outputs", "labeller"]


class Outputs(tuple[Any, ...]):
    """The results of one run: ``y, z = outputs``, ``outputs[0]``, ``outputs["y"]``.

    A tensor is an array that owns its memory, a sequence a list, a map a dict, an absent
    optional None, a sparse tensor a :class:`minirt.SparseTensor`. ``name in outputs``,
    ``keys()``, ``items()``, ``values()`` and ``dict(outputs)`` work as they do with a
    mapping, except that an output asked for twice is there twice. A slice keeps its names.
    """

    _names: tuple[str, ...]

    def __new__(cls, values: Iterable[Any] = (), names: Iterable[str] = ()) -> Outputs:
        """Join ``values`` and as many ``names``."""
        self = tuple.__new__(cls, values)
        self._names = tuple(names)
        if len(self._names) != len(self):
            raise ValueError(f"{len(self)} values cannot have {len(self._names)} names")
        return self

    @overload
    def __getitem__(self, key: str | SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> Outputs: ...
    def __getitem__(self, key: str | SupportsIndex | slice) -> Any:
        """The result of this name (the first of several), this position, or a slice."""
        if type(key) is int:  # at once: every run of a small model would feel it
            return tuple.__getitem__(self, key)
        if isinstance(key, str):
            if key not in self._names:
                raise KeyError(f"no output is named {key!r}; there are {list(self._names)}")
            key = self._names.index(key)
        if isinstance(key, slice):
            return Outputs(tuple.__getitem__(self, key), self._names[key])
        return tuple.__getitem__(self, key)

    def __contains__(self, item: object) -> bool:
        """Whether there is an output of this name, or this very object among the results."""
        # Arrays compare element by element, so equality would have no single answer.
        return item in self._names if isinstance(item, str) else any(item is v for v in self)

    def keys(self) -> tuple[str, ...]:
        """The names, in output order."""
        return self._names

    def values(self) -> tuple[Any, ...]:
        """The results, in output order, without their names."""
        return tuple(self)

    def items(self) -> tuple[tuple[str, Any], ...]:
        """Pairs of name and result, in output order."""
        return tuple(zip(self._names, self, strict=True))

    def _asdict(self) -> dict[str, Any]:
        return {name: self[name] for name in self._names}

    def __repr__(self) -> str:
        inside = ", ".join(f"{name!r}: {value!r}" for name, value in self.items())
        return f"Outputs({{{inside}}})"

    def __reduce__(self) -> tuple[type[Outputs], tuple[tuple[Any, ...], tuple[str, ...]]]:
        return Outputs, (tuple(self), self._names)


def labeller(names: tuple[str, ...]) -> Callable[[Iterable[Any]], Outputs]:
    """``Outputs(values, names)`` as a function of ``values``, in half the time: all runs end here.

    The names belong to a class made for them, so that no result needs a dictionary.
    """
    kind = type("Outputs", (Outputs,), {"__slots__": (), "__module__": __name__, "_names": names})
    return partial(tuple.__new__, kind)
