"""TfIdfVectorizer: how often which sequences of words occur."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from ..dtypes import BY_NAME, Kind
from ..errors import SchemaError, ShapeError
from ..kernels.arrays import Shaped
from .registry import op

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    import numpy as np

    Gram = tuple[Hashable, ...]
    #: What an n-gram adds where, each time that it occurs.
    Terms = Mapping[Gram, Sequence[tuple[int, float]]]

_FLOAT = BY_NAME["float"]
_MODES = ("TF", "IDF", "TFIDF")


@op("TfIdfVectorizer")
def tf_idf_vectorizer(
    X,
    *,
    max_gram_length,
    max_skip_count,
    min_gram_length,
    mode,
    ngram_counts,
    ngram_indexes,
    pool_int64s,
    pool_strings,
    weights,
):
    """For each row of ``X`` ((C) or (N, C)), how often n-grams of a pool occur in it.

    The words of an n-gram follow each other, or leave out as many between each two, up to
    ``max_skip_count``. The count of the i-th n-gram is added at ``ngram_indexes[i]``: in mode IDF
    only whether it occurs, in IDF and TFIDF times ``weights[i]``.

    https://onnx.ai/onnx/operators/onnx__TfIdfVectorizer.html
    """
    if mode not in _MODES:
        raise SchemaError(f"mode={mode!r} is none of {', '.join(_MODES)}")
    if not 1 <= min_gram_length <= max_gram_length or max_skip_count < 0:
        raise SchemaError(
            f"min_gram_length={min_gram_length}, max_gram_length={max_gram_length} and "
            f"max_skip_count={max_skip_count} are no lengths of n-grams"
        )
    grams = _grams(_pool(X.dtype.kind, pool_strings, pool_int64s), ngram_counts)
    count = sum(map(len, grams.values()))
    if not ngram_indexes or len(ngram_indexes) != count or min(ngram_indexes) < 0:
        raise SchemaError(f"ngram_indexes={ngram_indexes} are not those of {count} n-grams")
    if weights and len(weights) != count:
        raise SchemaError(f"there are {len(weights)} weights for {count} n-grams")
    if X.shape is not None and len(X.shape) not in (1, 2):
        raise ShapeError(f"X is {X}, but it must have one dimension or two")
    factors = weights if weights and mode != "TF" else [1.0] * count
    terms = {gram: [(ngram_indexes[i], factors[i]) for i in same] for gram, same in grams.items()}
    sizes = range(min_gram_length, min(max_gram_length, len(ngram_counts)) + 1)
    Y = X.with_dtype(_FLOAT)
    if X.shape is not None:
        Y = Y.with_shape(*X.shape[:-1], max(ngram_indexes) + 1)
    return Y, lambda: Shaped(lambda X, Y: _count(X, Y, terms, sizes, max_skip_count, mode == "IDF"))


def _count(
    X: np.ndarray, Y: np.ndarray, terms: Terms, sizes: range, most_skipped: int, once: bool
) -> None:
    """Add up in each row of ``Y`` what n-grams in that row of ``X`` add to it."""
    Y.fill(0)
    results = Y.reshape(-1, Y.shape[-1])
    for words, result in zip(X.reshape(len(results), X.shape[-1]), results, strict=True):
        found = Counter(_windows(words.tolist(), sizes, most_skipped))
        for gram, times in found.items():
            for index, factor in terms.get(gram, ()):
                result[index] += factor if once else factor * times


def _pool(
    kind: Kind, strings: Sequence[str] | None, integers: Sequence[int] | None
) -> Sequence[Hashable]:
    """The words that n-grams are made of, which must be like those of the input."""
    if bool(strings) == bool(integers):
        raise SchemaError("needs one of the attributes pool_strings and pool_int64s, not both")
    if (kind is Kind.STRING) != bool(strings):
        name = "pool_strings" if strings else "pool_int64s"
        raise SchemaError(f"{name} does not go with an input of type {kind.value}")
    return strings or integers or ()


def _grams(pool: Sequence[Hashable], starts: Sequence[int]) -> dict[Gram, list[int]]:
    """The n-grams of a pool, where those of n words begin at ``starts[n - 1]``, by number."""
    bounds = [*starts, len(pool)]
    if sorted(bounds) != bounds or bounds[0] < 0:
        raise SchemaError(f"ngram_counts={starts} do not divide a pool of {len(pool)} words")
    grams: dict[Gram, list[int]] = {}
    number = 0
    for length, (start, stop) in enumerate(pairwise(bounds), 1):
        if (stop - start) % length:
            raise SchemaError(f"{stop - start} words of the pool are no n-grams of {length} words")
        for first in range(start, stop, length):
            grams.setdefault(tuple(pool[first : first + length]), []).append(number)
            number += 1
    return grams


def _windows(words: Sequence[Hashable], sizes: range, most_skipped: int) -> Iterator[Gram]:
    """Every n-gram of these sizes, with as many words left out between each two of them."""
    for size in sizes:
        last = (len(words) - 1) // (size - 1) if size > 1 else 1
        for step in range(1, min(most_skipped + 1, last) + 1):
            yield from zip(*(words[i * step :] for i in range(size)), strict=False)
