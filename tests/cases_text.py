"""Operators on strings: StringConcat, StringSplit, StringNormalizer, RegexFullMatch, TfIdf."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
from cases import Case

from minirt.errors import SchemaError, ShapeError, UnsupportedError


def words(*texts):
    return np.array(texts, object)


NAMES = words("abc", "", "né", "😀")
NONE = np.empty((2, 0), object)


def concatenated(X, Y):
    X, Y = np.broadcast_arrays(X, Y)
    return np.array([x + y for x, y in zip(X.flat, Y.flat, strict=True)], object).reshape(X.shape)


CONCAT = [
    Case("StringConcat", (NAMES, NAMES[::-1].copy()), concatenated, elementwise=True),
    Case("StringConcat", (NAMES.reshape(2, 2), words("x", "y")), concatenated),
    Case("StringConcat", (NAMES.reshape(4, 1), words(" ").reshape(1, 1, 1)), concatenated),
    Case("StringConcat", (np.array("a", object), np.array("b", object)), np.array("ab", object)),
    Case("StringConcat", (NONE, words("x").reshape(1, 1)), NONE),
    Case("StringConcat", (NAMES, words("x", "y")), raises=(ShapeError, "string[4]")),
]


def split(x, y, z, **attributes):
    """A case of strings, their parts, and how many these are."""
    return Case("StringSplit", (x,), (y, np.int64(z)), attributes)


SPLIT = [
    split(words("a,b", "c"), words(["a", "b"], ["c", ""]), [2, 1], delimiter=","),
    split(words(",a,,b,", ""), words(*[["", "a", "", "b", ""], [""] * 5]), [5, 1], delimiter=","),
    split(words("a--b-c"), words(["a", "b-c"]), [2], delimiter="--"),
    split(words("a,b,c", "d"), words(["a", "b,c"], ["d", ""]), [2, 1], delimiter=",", maxsplit=1),
    split(words("a,b,c"), words(["a,b,c"]), [1], delimiter=",", maxsplit=0),
    split(words("a,b,c"), words(["a", "b", "c"]), [3], delimiter=",", maxsplit=2**62),
    split(words("a,b,c"), words(["a", "b", "c"]), [3], delimiter=",", maxsplit=-1),
    split(words(" a \t b\n", ""), words(["a", "b"], ["", ""]), [2, 0]),
    split(words("", "  "), np.empty((2, 0), object), [0, 0], delimiter=""),
    # Blanks at the end go too where the last part is not split.
    split(words("  a  b  c  "), words(["a", "b  c"]), [2], maxsplit=1),
    split(np.array("né 😀", object), words("né", "😀"), 2),
    split(words(["a b"], ["c"]), words([["a", "b"]], [["c", ""]]), [[2], [1]]),
    split(NONE, np.empty((2, 0, 0), object), np.zeros((2, 0))),
]

DAYS = words("Monday", "tuesday", "", "STRAßE", "monday")


def normalize(x, y, **attributes):
    return Case("StringNormalizer", (x,), y, attributes, opset=10)


NORMALIZE = [
    normalize(DAYS, DAYS),
    normalize(
        DAYS, words("MONDAY", "TUESDAY", "", "STRASSE", "MONDAY"), case_change_action="UPPER"
    ),
    normalize(DAYS, words("monday", "tuesday", "", "straße", "monday"), case_change_action="LOWER"),
    normalize(DAYS, words("tuesday", "", "STRAßE"), stopwords=["MONDAY"]),
    normalize(
        DAYS,
        words("Monday", "tuesday", "", "STRAßE"),
        stopwords=["monday", "TUESDAY"],
        is_case_sensitive=1,
    ),
    normalize(DAYS[:2], words(""), stopwords=["monday", "tuesday"]),
    normalize(DAYS[None, :2].copy(), words([""]), stopwords=["monday", "tuesday"]),
    normalize(DAYS[None], words(["tuesday", "", "STRAßE"]), stopwords=["monday"], locale="de_DE"),
    normalize(np.empty(0, object), words("")),
    *(
        Case("StringNormalizer", (x,), attributes=attributes, opset=10, raises=(error, text))
        for x, attributes, error, text in (
            (DAYS, {"case_change_action": "lower"}, SchemaError, "'lower'"),
            (DAYS, {"is_case_sensitive": 2}, SchemaError, "is_case_sensitive=2"),
            (DAYS, {"locale": "tr_TR.UTF-8"}, UnsupportedError, "tr_TR"),
            (words(["a"], ["b"]), {}, ShapeError, "string[2,1]"),
            (np.array("a", object), {}, ShapeError, "string[]"),
        )
    ),
]

MATCH = [
    Case(
        "RegexFullMatch",
        (words("a1", "a", "b1"),),
        np.array([True, False, False]),
        {"pattern": r"a\d"},
    ),
    Case("RegexFullMatch", (words(["é"], ["ab"]),), np.array([[True], [False]]), {"pattern": "."}),
    Case("RegexFullMatch", (np.array("", object),), np.array(True), {"pattern": ""}),
    Case("RegexFullMatch", (NONE,), np.zeros((2, 0), bool), {"pattern": "a"}),
    Case(
        "RegexFullMatch", (NAMES,), attributes={"pattern": "(a"}, raises=(SchemaError, "missing )")
    ),
    Case("RegexFullMatch", (NAMES,), raises=(SchemaError, "pattern")),
    Case(
        "RegexFullMatch",
        (NAMES,),
        attributes={"pattern": r"\p{Greek}"},
        raises=(UnsupportedError, "Greek"),
    ),
]

#: 1-grams 2, 3, 5, then 2-grams (2, 3), (5, 2), then one 3-gram (2, 5, 2).
POOL = [2, 3, 5, 2, 3, 5, 2, 2, 5, 2]
TERMS = {
    "ngram_counts": [0, 3, 7],
    "ngram_indexes": [4, 0, 1, 2, 6, 5],
    "min_gram_length": 1,
    "max_gram_length": 3,
    "max_skip_count": 1,
    "mode": "TF",
}
ROWS = np.int64([[2, 3, 5, 2, 5, 2], [3, 3, 3, 3, 3, 3], [9, 2, 9, 5, 9, 2]])


def counted(X, ngram_counts, ngram_indexes, weights=None, mode="TF", **attributes):
    """The definition, place by place: every choice of n positions, if its steps are equal."""
    pool = attributes.get("pool_int64s") or attributes["pool_strings"]
    bounds = [*ngram_counts, len(pool)]
    grams = [
        tuple(pool[i : i + n])
        for n in range(1, len(bounds))
        for i in range(bounds[n - 1], bounds[n], n)
    ]
    shortest, longest = attributes["min_gram_length"], attributes["max_gram_length"]
    rows = X.reshape(-1, X.shape[-1]) if X.size else X.reshape(len(X), 0)
    Y = np.zeros((len(rows), max(ngram_indexes) + 1))
    for row, result in zip(rows.tolist(), Y, strict=True):
        found = Counter(
            tuple(row[i] for i in places)
            for n in range(shortest, min(longest, len(row)) + 1)
            for places in combinations(range(len(row)), n)
            if len(steps := set(np.diff(places).tolist())) < 2
            and max(steps, default=1) <= attributes["max_skip_count"] + 1
        )
        for gram, index, weight in zip(grams, ngram_indexes, weights or [1] * 99, strict=False):
            count = min(found[gram], 1) if mode == "IDF" else found[gram]
            result[index] += count * (1 if mode == "TF" else weight)
    return Y.reshape(*X.shape[:-1], -1).astype(np.float32)


def tfidf(x, **attributes):
    attributes = {**TERMS, "pool_int64s": POOL, **attributes}
    return Case("TfIdfVectorizer", (x,), counted, attributes, opset=9)


def spelled(numbers):
    return np.array([f"w{n}" for n in numbers.flat], object).reshape(numbers.shape)


TERM_WEIGHTS = [0.5, 10.0, 0.25, 3.0, 7.0, 1.5]
TFIDF = [
    *(tfidf(ROWS, max_skip_count=skip) for skip in (0, 1, 2, 5, 2**40)),
    *(tfidf(ROWS[0], mode=mode, weights=TERM_WEIGHTS) for mode in ("TF", "IDF", "TFIDF")),
    *(tfidf(ROWS, mode=mode) for mode in ("IDF", "TFIDF")),
    tfidf(ROWS.astype(np.int32), min_gram_length=2, max_gram_length=2),
    tfidf(ROWS, min_gram_length=3, max_gram_length=2**40),
    tfidf(ROWS, ngram_indexes=[0, 0, 1, 1, 1, 3], mode="TFIDF", weights=TERM_WEIGHTS),
    tfidf(ROWS[:1, :1], max_gram_length=1),
    tfidf(np.zeros((2, 0), np.int64)),
    tfidf(np.zeros(0, np.int64).reshape(1, 0)),
    Case(
        "TfIdfVectorizer",
        (spelled(ROWS),),
        counted,
        {**TERMS, "pool_strings": [f"w{n}" for n in POOL]},
    ),
    *(
        Case(
            "TfIdfVectorizer",
            (x,),
            attributes={**TERMS, "pool_int64s": POOL, **attributes},
            raises=(error, text),
        )
        for x, attributes, error, text in (
            (ROWS, {"mode": "tf"}, SchemaError, "mode='tf'"),
            (ROWS, {"min_gram_length": 0}, SchemaError, "min_gram_length=0"),
            (ROWS, {"min_gram_length": 4}, SchemaError, "min_gram_length=4"),
            (ROWS, {"max_skip_count": -1}, SchemaError, "max_skip_count=-1"),
            (ROWS, {"ngram_counts": [0, 3, 11]}, SchemaError, "ngram_counts=[0, 3, 11]"),
            (ROWS, {"ngram_counts": [-1, 3, 7]}, SchemaError, "ngram_counts=[-1, 3, 7]"),
            (ROWS, {"ngram_counts": [0, 4, 7]}, SchemaError, "3 words of the pool"),
            (ROWS, {"ngram_indexes": [0, 1]}, SchemaError, "6 n-grams"),
            (ROWS, {"ngram_indexes": [0, 1, 2, 3, 4, -1]}, SchemaError, "6 n-grams"),
            (ROWS, {"weights": [1.0]}, SchemaError, "1 weights for 6"),
            (ROWS, {"pool_strings": ["a"]}, SchemaError, "not both"),
            (spelled(ROWS), {}, SchemaError, "pool_int64s"),
            (ROWS[0, 0], {}, ShapeError, "int64[]"),
            (ROWS[None], {}, ShapeError, "int64[1,3,6]"),
        )
    ),
]

CASES = [*CONCAT, *SPLIT, *NORMALIZE, *MATCH, *TFIDF]
