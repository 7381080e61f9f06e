"""What a caller feeds, held against what a model takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from .data.accept import accept
from .dtypes import Kind
from .errors import InputError, UnsupportedError, did_you_mean, printable
from .types import Dim, OptionalType, TensorType, Type

if TYPE_CHECKING:
    from collections.abc import Iterator

    #: For each input the shape that came, () for what is no tensor, and None where the
    #: default stands in.
    Shapes = tuple[tuple[int, ...] | None, ...]
    Feeds = Mapping[str, Any] | Sequence[Any]

__all__ = ["Feeder", "ValueInfo"]

#: The most names that a message lists.
_LISTED = 8

#: Stands for an input that is not fed, since None is a value of an optional one.
_NOT_FED = object()


@dataclass(frozen=True)
class ValueInfo:
    """An input or output of a model.

    ``type`` prints as ONNX writes it (``float[N,3]``). ``has_default`` says that an
    initializer stands in for an input that is not fed.
    """

    name: str
    type: Type
    has_default: bool = False
    doc: str = ""

    @property
    def dtype(self) -> np.dtype | None:
        """The NumPy or ml_dtypes type of the elements, ``object`` for text; None if no tensor."""
        return self.type.dtype.public if isinstance(self.type, TensorType) else None

    @property
    def shape(self) -> tuple[int | str | None, ...] | None:
        """Sizes, names of symbolic dimensions, None for unknown ones; None for any rank."""
        if not isinstance(self.type, TensorType) or self.type.shape is None:
            return None
        return tuple(d.name if isinstance(d, Dim) else d for d in self.type.shape)

    @property
    def optional(self) -> bool:
        """Whether an input may be left out."""
        return self.has_default or isinstance(self.type, OptionalType)

    def __repr__(self) -> str:
        default = ", has_default=True" if self.has_default else ""
        return printable(f"<{self.name!r}: {self.type}{default}>", 500)


class Feeder:
    """Turns what a caller passes into what steps take of ``inputs``.

    Tensors are flat storage buffers, other values are in storage form (:mod:`minirt.data.values`).
    """

    def __init__(self, inputs: Sequence[ValueInfo]) -> None:
        self.inputs = tuple(inputs)
        self._names = tuple(i.name for i in inputs)
        self._ready = tuple((i.name, *_ready_types(i)) for i in inputs)

    def quick(self, feeds: Feeds) -> tuple[list[ndarray], Shapes] | None:
        """:meth:`check` for the everyday case, None in any other.

        All inputs are there and are arrays of types whose memory needs no look. Shapes
        are not held against the declared ones.
        """
        kind = type(feeds)
        if kind is dict:
            named: Any = feeds
        elif kind is list or kind is tuple:
            named = dict(zip(self._names, feeds, strict=False))
        else:
            return None
        if len(feeds) != len(self._ready):
            return None
        buffers, shapes = [], []
        for name, public, storage in self._ready:
            array = named.get(name)
            if type(array) is not ndarray or array.dtype is not public or not array.flags.aligned:
                return None
            flat = array.ravel()
            buffers.append(flat if storage is None else flat.view(storage))
            shapes.append(array.shape)
        return buffers, tuple(shapes)

    def check(self, feeds: Feeds) -> tuple[list[Any], Shapes]:
        """The values of the inputs that are fed, and the shapes of all.

        ``feeds`` maps names to values or lists them in the order of ``inputs``; None is
        the same as none where there is a default. Raises one InputError that names
        everything that is wrong.
        """
        faults: list[str] = []
        named = self._by_name(feeds, faults)
        values = [self._value(info, named.get(info.name), faults) for info in self.inputs]
        faults += self._conflicts(values)
        if faults:
            raise InputError("; ".join(faults))
        fed: list[Any] = []
        shapes: list[tuple[int, ...] | None] = []
        for info, value in zip(self.inputs, values, strict=True):
            is_tensor = isinstance(info.type, TensorType)
            if value is _NOT_FED:
                shapes.append(None)
            else:
                fed.append(value.reshape(-1) if is_tensor else value)
                shapes.append(value.shape if is_tensor else ())
        return fed, tuple(shapes)

    def _by_name(self, feeds: Feeds, faults: list[str]) -> Mapping[str, Any]:
        if isinstance(feeds, Mapping):
            unknown = [n for n in feeds if n not in self._names]
            faults += [f"no input is named {n!r}{self._hint(n)}" for n in unknown]
            return feeds
        if not isinstance(feeds, Sequence) or isinstance(feeds, (str, bytes)):
            raise InputError(
                f"inputs are a mapping of names to arrays or a list of arrays, "
                f"not {type(feeds).__name__}{'; pass [array]' if hasattr(feeds, 'shape') else ''}"
            )
        if len(feeds) > len(self._names):
            faults.append(
                f"{len(feeds)} inputs were passed by position, but there are {len(self._names)}"
                f"{self._listing()}"
            )
        return dict(zip(self._names, feeds, strict=False))

    def _hint(self, name: object) -> str:
        return (did_you_mean(name, self._names) if isinstance(name, str) else "") or self._listing()

    def _listing(self) -> str:
        names = [*self._names[:_LISTED], *["..."] * (len(self._names) > _LISTED)]
        return f" ({', '.join(names)})" if names else ""

    def _value(self, info: ValueInfo, value: object, faults: list[str]) -> Any:
        """One input in storage form; _NOT_FED, perhaps with a fault, where nothing is fed."""
        if value is None and not isinstance(info.type, OptionalType):
            if not info.has_default:
                faults.append(f"input {info.name!r}: missing, expected {info.type}")
            return _NOT_FED
        try:
            return accept(value, info.type, f"input {info.name!r}")
        except InputError as error:
            faults.append(str(error))
            return _NOT_FED
        except UnsupportedError as error:
            raise error.located(f"input {info.name!r}") from None

    def _conflicts(self, values: Sequence[Any]) -> Iterator[str]:
        """The dimensions of one name that have two sizes."""
        first: dict[Dim, tuple[int, str]] = {}
        for info, value in zip(self.inputs, values, strict=True):
            type = info.type.element if isinstance(info.type, OptionalType) else info.type
            if not isinstance(value, ndarray) or not isinstance(type, TensorType):
                continue
            for axis, (dim, size) in enumerate(zip(type.shape or (), value.shape, strict=False)):
                if isinstance(dim, Dim):
                    here = f"{info.name!r} (axis {axis})"
                    known, there = first.setdefault(dim, (size, here))
                    if known != size:
                        yield f"{dim} is {known} in input {there}, but {size} in input {here}"


def _ready_types(info: ValueInfo) -> tuple[np.dtype | None, np.dtype | None]:
    """The type of arrays whose memory is storage as it is, and the view on it if one is needed.

    Text has to be looked at, and so have types of which not every bit pattern is storage.
    """
    if not isinstance(info.type, TensorType):
        return None, None
    dtype = info.type.dtype
    if dtype.kind in (Kind.STRING, Kind.BOOL) or dtype.is_packed:
        return None, None
    return dtype.public, None if dtype.storage == dtype.public else dtype.storage
