"""Operators on strings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ..dtypes import BY_NAME
from ..errors import SchemaError, ShapeError, UnsupportedError
from ..kernels.arrays import Shaped
from ..kernels.regex import Regex
from ..types import Dim, TensorType, merge
from .registry import op
from .shapes import broadcast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_INT64, _BOOL = BY_NAME["int64"], BY_NAME["bool"]

#: Languages in which letters have other capitals than Python gives them, as Turkish i.
_OTHER_CAPITALS = frozenset({"az", "lt", "tr"})
_LETTERS: Mapping[str, Callable[[str], str]] = {
    "NONE": str,
    "LOWER": str.lower,
    "UPPER": str.upper,
}


@op("StringConcat")
def string_concat(X, Y):
    """Each string of ``X`` with that of ``Y`` behind it, with broadcasting.

    https://onnx.ai/onnx/operators/onnx__StringConcat.html
    """
    Z = TensorType(X.dtype, broadcast(X, Y))
    return Z, lambda: Shaped(lambda X, Y, Z: np.add(X, Y, out=Z))


@op("StringSplit")
def string_split(X, *, delimiter, maxsplit):
    """The parts of each string along a last axis, filled up with "", and how many there are.

    Without ``delimiter`` parts stand between blanks, any number of them, and there may be no
    part; blanks are those of Unicode. At most ``maxsplit`` cuts are made, from the left; a
    negative number is no bound.

    https://onnx.ai/onnx/operators/onnx__StringSplit.html
    """
    most = -1 if maxsplit is None else maxsplit

    def cut(text: str) -> list[str]:
        # Python leaves blanks at the end where it stops before.
        return text.split(delimiter, most) if delimiter else text.strip().split(None, most)

    def split(X, Z):
        parts = [cut(text) for text in X.flat]
        Z[...] = np.reshape([len(part) for part in parts], Z.shape)
        Y = np.full((X.size, max(map(len, parts), default=0)), "", object)
        for row, part in zip(Y, parts, strict=True):
            row[: len(part)] = part
        return Y.reshape(*X.shape, Y.shape[1])

    Y = X.with_shape(*X.shape, Dim()) if X.shape is not None else X
    return (Y, X.with_dtype(_INT64)), lambda: Shaped(split)


@op("RegexFullMatch")
def regex_full_match(X, *, pattern):
    """Whether each string as a whole matches a regular expression in RE2's syntax.

    Time is linear in the text. Single bytes and scripts are not supported.

    https://onnx.ai/onnx/operators/onnx__RegexFullMatch.html
    """
    if pattern is None:
        raise SchemaError("attribute pattern is missing")
    matches = Regex(pattern).matches

    def run(X, Y):
        Y[...] = np.fromiter(map(matches, X), np.bool_, X.size)

    return X.with_dtype(_BOOL), lambda: run


@op("StringNormalizer")
def string_normalizer(X, *, case_change_action, is_case_sensitive, locale, stopwords):
    """The strings of ``X`` (C or 1 x C) that are none of ``stopwords``, in other letters.

    If none is left, one "". Capitals are those of Unicode: a ``locale`` that has others
    raises UnsupportedError.

    https://onnx.ai/onnx/operators/onnx__StringNormalizer.html
    """
    change = _LETTERS.get(case_change_action)
    if change is None:
        known = ", ".join(_LETTERS)
        raise SchemaError(f"case_change_action={case_change_action!r} is none of {known}")
    if is_case_sensitive not in (0, 1):
        raise SchemaError(f"is_case_sensitive={is_case_sensitive} is neither 0 nor 1")
    if re.split("[-_.]", locale or "")[0].lower() in _OTHER_CAPITALS:
        raise UnsupportedError(f"locale={locale!r}, whose capitals are not those of Unicode")
    rows = () if X.shape is None or len(X.shape) == 1 else (1,)
    Y = TensorType(X.dtype, None if X.shape is None else (*rows, Dim()))
    if merge(X.without_value(), Y) is None:
        raise ShapeError(f"X is {X}, but it must have the shape C or 1 x C")
    folded = str if is_case_sensitive else str.casefold
    stopped = set(map(folded, stopwords or ()))

    def run(X):
        kept = [change(text) for text in X.flat if folded(text) not in stopped] or [""]
        return np.array(kept, object).reshape(*rows, -1)

    return Y, lambda: Shaped(run)
