"""What a caller feeds, held against what a model takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from .arrays import to_storage
from .dtypes import DType, Kind, find
from .errors import InputError, UnsupportedError, did_you_mean
from .literals import from_python, public_name
from .types import Dim, OptionalType, TensorType, Type

if TYPE_CHECKING:
    from collections.abc import Iterator

    #: For each input the shape that came, None where the default stands in.
    Shapes = tuple[tuple[int, ...] | None, ...]
    Feeds = Mapping[str, Any] | Sequence[Any]

__all__ = ["Feeder", "ValueInfo"]

#: The most names that a message lists.
_LISTED = 8


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
        return f"<{self.name!r}: {self.type}{default}>"


class Feeder:
    """Turns what a caller passes into flat storage buffers for ``inputs``."""

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

    def check(self, feeds: Feeds) -> tuple[list[ndarray], Shapes]:
        """The buffers of the inputs that are fed, and the shapes of all.

        ``feeds`` maps names to values or lists them in the order of ``inputs``; None is
        the same as none where there is a default. Raises one InputError that names
        everything that is wrong.
        """
        faults: list[str] = []
        named = self._by_name(feeds, faults)
        arrays = [self._array(info, named.get(info.name), faults) for info in self.inputs]
        faults += self._conflicts(arrays)
        if faults:
            raise InputError("; ".join(faults))
        shapes = tuple(None if a is None else a.shape for a in arrays)
        return [a.reshape(-1) for a in arrays if a is not None], shapes

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

    def _array(self, info: ValueInfo, value: object, faults: list[str]) -> ndarray | None:
        """What was fed for one input as a storage array; None, perhaps with a fault, if nothing."""
        if not isinstance(info.type, TensorType):
            raise UnsupportedError(f"input {info.name!r}: a run takes no {info.type} yet")
        if value is None:
            if not info.has_default:
                faults.append(f"input {info.name!r}: missing, expected {info.type}")
            return None
        try:
            array = _storage(value, info.type.dtype)
            _check_shape(array.shape, info.type)
        except InputError as error:
            faults.append(f"input {info.name!r}: {error}")
            return None
        return array

    def _conflicts(self, arrays: Sequence[ndarray | None]) -> Iterator[str]:
        """The dimensions of one name that have two sizes."""
        first: dict[Dim, tuple[int, str]] = {}
        for info, array in zip(self.inputs, arrays, strict=True):
            declared = info.type.shape if isinstance(info.type, TensorType) else None
            if array is None or declared is None:
                continue
            for axis, (dim, size) in enumerate(zip(declared, array.shape, strict=True)):
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


def _storage(value: object, dtype: DType) -> ndarray:
    """``value`` as a storage array; arrays are never converted, Python values if they fit."""
    array = _as_array(value)
    if array is None:
        return from_python(value, dtype)
    found = find(array.dtype)
    if found is not dtype:
        came = public_name(found) if found and array.dtype.kind != "O" else array.dtype.name
        raise InputError(f"expected {public_name(dtype)}, got {came}{_bits_hint(array, dtype)}")
    return to_storage(array, dtype)


def _as_array(value: object) -> ndarray | None:
    """An array of any kind as NumPy's; None for lists and Python scalars.

    The latter include numpy.float64 and numpy.str_, whose types the elements of lists tell.
    """
    if isinstance(value, ndarray):
        return value
    if isinstance(value, (list, tuple, range, int, float, complex, str, bytes)):
        return None
    kind = type(value).__name__
    try:
        if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
            return np.asarray(value)
        if hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{kind} cannot be read as an array: {reason}") from error
    try:
        return np.asarray(memoryview(value))  # type: ignore[arg-type]
    except TypeError:
        raise InputError(f"expected an array, got {kind}") from None


def _bits_hint(array: ndarray, dtype: DType) -> str:
    """How to pass bits for a type that NumPy alone does not have."""
    public = dtype.public
    if dtype.storage == public or dtype.kind is Kind.BOOL:
        return ""
    if array.dtype.kind != "u" or array.itemsize != public.itemsize:
        return ""
    name = f"{public.type.__module__}.{public.name}"
    return f"; if these are its bits, pass array.view({name})"


def _check_shape(shape: tuple[int, ...], declared: TensorType) -> None:
    dims = declared.shape
    if dims is None:
        return
    fixed = [(d, s) for d, s in zip(dims, shape, strict=False) if isinstance(d, int)]
    if len(dims) != len(shape) or any(d != s for d, s in fixed):
        expected, came = (",".join(map(str, s)) for s in (dims, shape))
        raise InputError(f"expected shape [{expected}], got [{came}]")
