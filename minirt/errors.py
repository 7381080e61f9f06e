"""The exception tree.

::

    MinirtError
    ├── ModelError        the file is wrong                       (also a ValueError)
    │   ├── ParseError        bytes that are not what they claim
    │   ├── SchemaError       names, attributes, operand counts and types
    │   └── ShapeError        shapes that contradict each other
    ├── UnsupportedError  valid ONNX that minirt does not implement
    ├── InputError        the caller's feeds or arguments are wrong (also a ValueError)
    └── ExecutionError    a kernel could not do its work          (also a RuntimeError)

A message is one line: what is wrong, the numbers, where, and a hint. The
code that finds a fault says only what it knows; whoever knows the node adds
the location late, with :meth:`MinirtError.located`.
"""

from __future__ import annotations

from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "ExecutionError",
    "InputError",
    "MinirtError",
    "ModelError",
    "ParseError",
    "SchemaError",
    "ShapeError",
    "UnsupportedError",
    "did_you_mean",
    "printable",
]


#: The most characters of a message: a file may have names of gigabytes.
_LONGEST = 10_000

#: Pairs of characters that are compared to find a near name: a second, at most.
_MOST_PAIRS = 4_000_000


class MinirtError(Exception):
    """Base of every error that minirt raises on purpose."""

    #: Where the fault is, as ``"Conv 'layer1/conv2' (node 12)"``; empty while unknown.
    location: str = ""

    def located(self, location: str) -> Self:
        """Return this error with ``location`` in front of its message, unless it has one."""
        if not self.location:
            self.location = location
            message = self.args[0] if self.args else ""
            self.args = (f"{location}: {message}", *self.args[1:])
        return self

    def __str__(self) -> str:
        return printable(super().__str__(), _LONGEST)


class ModelError(MinirtError, ValueError):
    """The model contradicts the ONNX specification or itself."""


class ParseError(ModelError):
    """Bytes, or a payload in them, are not what they claim to be."""


class SchemaError(ModelError):
    """Names, attributes, operand counts or operand types are wrong."""


class ShapeError(ModelError):
    """Shapes contradict each other or the operator."""


class UnsupportedError(MinirtError):
    """The model is valid ONNX, but minirt does not implement a part of it.

    ``op`` is the operator (``"ai.onnx.ml.SVMRegressor"``), ``opset`` the version
    of its domain, ``dtype`` the element type; each is None where it plays no part.
    ``operators`` are all those that a model needs and minirt does not have, where that is it.
    """

    def __init__(
        self,
        message: str,
        *,
        op: str | None = None,
        opset: int | None = None,
        dtype: str | None = None,
        operators: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.op, self.opset, self.dtype = op, opset, dtype
        self.operators = tuple(operators)


class InputError(MinirtError, ValueError):
    """What the caller passed does not fit the model's inputs."""


class ExecutionError(MinirtError, RuntimeError):
    """A kernel met data that its operator does not allow.

    ``node_path`` names the node, outermost graph first; ``types`` are the types of
    its operands, as text.
    """

    def __init__(self, message: str, *, node_path: str = "", types: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.node_path, self.types = node_path, tuple(types)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the known name nearest to ``name``, "" if none is near.

    To be appended to a message about a name that is not known.
    """
    similar = (k for k in known if abs(len(k) - len(name)) <= 3)
    # A graph may have a million names, and each of them a million characters.
    count = _MOST_PAIRS // (len(name) + 3) ** 2
    nearest = get_close_matches(name, islice(similar, count), n=1)
    return f"; did you mean {nearest[0]!r}?" if nearest else ""


def printable(text: str, limit: int | None = None) -> str:
    """``text`` on one line and without control characters, which a name in a file may have.

    With a ``limit``, of a longer text the first so many characters and its length.
    """
    if limit is not None and len(text) > limit:
        text = f"{text[:limit]}... ({len(text)} characters)"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
