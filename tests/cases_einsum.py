"""Einsum. Expected: sums over all values of all indices, in Python's numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
from case_data import allowed, numbers, rounded, type_name
from cases import Case

from minirt.errors import SchemaError, ShapeError


def _expand(term: str, dots: int) -> str:
    """The ellipsis as digits."""
    return term.replace("...", "0123456789"[:dots])


def _einsum(*Inputs, equation):
    equation = equation.replace(" ", "")
    left, arrow, target = equation.partition("->")
    terms = left.split(",")
    dots = max(x.ndim - len(t.replace("...", "")) for x, t in zip(Inputs, terms, strict=True))
    terms = [_expand(term, dots) for term in terms]
    every = "".join(terms)
    if not arrow:
        once = "".join(sorted(c for c in set(every) if every.count(c) == 1 and c.isalpha()))
        target = ("..." if "..." in left else "") + once
    target, names = _expand(target, dots), sorted(set(every))
    sizes = dict.fromkeys(names, 1)
    for x, term in zip(Inputs, terms, strict=True):
        for name, size in zip(term, x.shape, strict=True):
            sizes[name] = size if sizes[name] == 1 else sizes[name]
    result = np.zeros([sizes[name] for name in target], object)
    for values in product(*(range(sizes[name]) for name in names)):
        at, term_product = dict(zip(names, values, strict=True)), 1
        for x, term in zip(Inputs, terms, strict=True):
            place = (0 if n == 1 else at[name] for name, n in zip(term, x.shape, strict=True))
            term_product *= int(x[tuple(place)])
        result[tuple(at[name] for name in target)] += term_product
    return rounded(result, Inputs[0].dtype)


EQUATIONS = [
    ("ij->ji", (2, 3)),
    ("ij", (2, 3)),
    ("ba", (2, 3)),
    ("bA", (2, 3)),
    ("ij->", (2, 3)),
    ("ij->i", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iij->ji", (3, 3, 2)),
    ("iji->j", (3, 2, 3)),
    ("->", ()),
    ("...", (2, 3)),
    ("...->...", (2, 3)),
    ("i...->...", (2, 3, 4)),
    ("i...j->j...", (2, 3, 4, 2)),
    ("i...", (2, 3)),
    ("...ii->...i", (2, 3, 3)),
    (" i j , j k -> i k ", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,jk->ki", (2, 3), (3, 4)),
    ("i,j->ij", (2,), (3,)),
    ("i,j", (2,), (3,)),
    ("i,i->", (3,), (3,)),
    ("i,i", (3,), (3,)),
    ("i,i->i", (3,), (3,)),
    (",i->i", (), (3,)),
    (",", (), ()),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 4)),
    ("bhid,bhjd->bhij", (2, 2, 3, 2), (2, 2, 4, 2)),
    ("...ij,...jk->...ik", (2, 2, 3), (2, 3, 4)),
    ("...ij,...jk->...ik", (1, 2, 3), (2, 3, 4)),
    ("...ij,...jk", (2, 1, 2, 3), (1, 2, 3, 2)),
    ("...,...->...", (2, 1), (1, 3)),
    ("ij,ij->ij", (2, 1), (1, 3)),
    ("ij,jk->ik", (2, 1), (3, 2)),
    ("ij,jk->ik", (2, 0), (0, 3)),
    ("ij,jk->ik", (0, 2), (2, 3)),
    ("ij->j", (0, 3)),
    ("ij,kl->ijkl", (2, 1), (2, 2)),
    ("ij,kl->il", (2, 3), (2, 2)),
    ("iij,jk->k", (2, 2, 3), (3, 2)),
    ("ij,jk,kl->il", (2, 3), (3, 2), (2, 4)),
    ("ij,kj,lj->ikl", (2, 3), (2, 3), (2, 3)),
    ("a,ab,abc->abc", (2,), (2, 3), (2, 3, 2)),
    ("a,ab,abc", (2,), (2, 3), (2, 3, 2)),
    ("i,i,i,i->", (3,), (3,), (3,), (3,)),
    ("zA,AZ->zZ", (2, 3), (3, 2)),
]
X, Y = numbers(np.float32, 2, 3), numbers(np.float32, 3, 4)


def _wrong(equation: str, *inputs: np.ndarray, kind=SchemaError, text: str) -> Case:
    return Case("Einsum", inputs, attributes={"equation": equation}, raises=(kind, text))


WRONG = [
    _wrong("ij,jk->il", X, Y, text="character 8: index 'l' occurs in no input"),
    _wrong("ij,jk->ii", X, Y, text="character 8: index 'i' occurs twice in the output"),
    _wrong("ij, j1->i", X, Y, text="character 5: '1' is neither a letter nor '...'"),
    _wrong("i..j", X, text="character 1: '.' is neither"),
    _wrong("......", X, text="character 3: a second ellipsis in one term"),
    _wrong("ij->j->i", X, text="'-' is neither"),
    _wrong("ij", X, Y, text="has 1 terms, but there are 2 inputs"),
    _wrong("ij,jk,kl", X, Y, text="has 3 terms, but there are 2 inputs"),
    _wrong("ijk", X, kind=ShapeError, text="has 3 indices for float[2,3], which has 2 dimensions"),
    _wrong("i", X, kind=ShapeError, text="has 1 indices for float[2,3], which has 2 dimensions"),
    _wrong(
        "ij,ij->", X, Y, kind=ShapeError, text="index 'i' of equation 'ij,ij->' has sizes [2, 3]"
    ),
    _wrong("ii", X, kind=ShapeError, text="has sizes [2, 3]"),
    _wrong("...,...->...", X, Y, kind=ShapeError, text="an axis of '...'"),
    _wrong("...i,...->...", X, Y, kind=ShapeError, text="stands for 1 axes, but for 2"),
    _wrong("...i->i", X, kind=ShapeError, text="lacks the 1 axes of '...'"),
]

CASES = [
    *(
        Case("Einsum", tuple(numbers(np.float32, *s) for s in shapes), _einsum, {"equation": e})
        for e, *shapes in EQUATIONS
    ),
    *(
        Case("Einsum", (numbers(d, 2, 2, 3), numbers(d, 2, 3, 4)), _einsum, {"equation": e}, id=i)
        for d in allowed("Einsum")
        for e, i in (("bij,bjk->ik", type_name(d)), ("abc,dcf->fa", f"{type_name(d)} outer"))
    ),
    Case("Einsum", (X, Y), _einsum, {"equation": "ij,jk"}, opset=12),
    Case("Einsum", (X, Y), _einsum, {"equation": "ij,jk"}, opset=28),
    *WRONG,
]
