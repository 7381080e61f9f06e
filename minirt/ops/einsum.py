"""Einsum: sums of products, written as an equation."""

from __future__ import annotations

import string
from functools import lru_cache
from typing import TYPE_CHECKING

from ..errors import SchemaError, ShapeError
from ..kernels import contraction, products
from ..kernels.arrays import computed, number_dtype
from ..types import TensorType
from .registry import op
from .shapes import broadcast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..types import Dim

_ELLIPSIS = "..."


@op("Einsum")
def einsum(*Inputs, equation):
    """Sums, over all indices that the output lacks, of products of elements.

    Letters are indices; "..." stands for the same number of axes wherever it occurs. An index
    of size 1 in one place is broadcast to its size in others.

    https://onnx.ai/onnx/operators/onnx__Einsum.html
    """
    terms, target = _parse(equation)
    if len(terms) != len(Inputs):
        raise SchemaError(
            f"equation {equation!r} has {len(terms)} terms, but there are {len(Inputs)} inputs"
        )
    if any(operand.shape is None for operand in Inputs):
        return TensorType(Inputs[0].dtype), None
    spread = _spread(equation, terms, target, Inputs)
    indices = [_indices(term, spread) for term in terms]
    made = _indices(target, spread)
    sizes = _sizes(equation, indices, Inputs)
    output = Inputs[0].with_shape(*(sizes[index] for index in made))

    def thunk():
        multiply = products.matmul(number_dtype(output.dtype))
        return computed(
            lambda *x: contraction.contract(x[:-1], indices, made, x[-1], multiply),
            Inputs,
            [output],
        )

    return output, thunk


#: A term: letters, and "..." at most once.
Term = tuple[str, ...]


@lru_cache(maxsize=256)
def _parse(equation: str) -> tuple[tuple[Term, ...], Term]:
    """The terms of the operands and that of the output. Raises SchemaError with the position."""
    left, arrow, right = equation.partition("->")
    start, terms = 0, []
    for text in left.split(","):
        terms.append(_term(equation, text, start))
        start += len(text) + 1
    if not arrow:
        return tuple(terms), _implicit(terms)
    start = len(left) + len(arrow)
    target = _term(equation, right, start)
    known = {index for term in terms for index in term} | {_ELLIPSIS}
    for position, index in enumerate(right, start):
        if index in string.ascii_letters:
            if index not in known:
                raise _wrong(equation, position, f"index {index!r} occurs in no input")
            if index in right[: position - start]:
                raise _wrong(equation, position, f"index {index!r} occurs twice in the output")
    return tuple(terms), target


def _term(equation: str, text: str, start: int) -> Term:
    """The indices in ``text``, which begins at ``start`` of the equation."""
    found: list[str] = []
    at = 0
    while at < len(text):
        if text[at] in string.ascii_letters:
            found.append(text[at])
        elif text.startswith(_ELLIPSIS, at):
            if _ELLIPSIS in found:
                raise _wrong(equation, start + at, "a second ellipsis in one term")
            found.append(_ELLIPSIS)
            at += 2
        elif text[at] != " ":
            raise _wrong(equation, start + at, f"{text[at]!r} is neither a letter nor '...'")
        at += 1
    return tuple(found)


def _implicit(terms: Sequence[Term]) -> Term:
    """The output that is not written: the ellipsis, then the indices that occur once, sorted."""
    every = [index for term in terms for index in term]
    once = sorted(index for index in every if every.count(index) == 1 and index != _ELLIPSIS)
    return ((_ELLIPSIS,) if _ELLIPSIS in every else ()) + tuple(once)


def _wrong(equation: str, position: int, message: str) -> SchemaError:
    return SchemaError(f"equation {equation!r}, character {position}: {message}")


def _spread(
    equation: str, terms: Sequence[Term], target: Term, operands: Sequence[TensorType]
) -> int:
    """How many axes the ellipsis stands for. Raises ShapeError."""
    found = None
    for term, operand in zip(terms, operands, strict=True):
        letters = len(term) - (_ELLIPSIS in term)
        rest = len(operand.shape or ()) - letters
        if rest < 0 or (rest and _ELLIPSIS not in term):
            raise ShapeError(
                f"equation {equation!r} has {letters} indices for {operand}, "
                f"which has {letters + rest} dimensions"
            )
        if _ELLIPSIS in term:
            found = rest if found is None else found
            if rest != found:
                raise ShapeError(
                    f"'...' in equation {equation!r} stands for {found} axes, but for {rest} in "
                    f"{operand}"
                )
    if found and _ELLIPSIS not in target:
        raise ShapeError(f"the output of equation {equation!r} lacks the {found} axes of '...'")
    return found or 0


def _indices(term: Term, spread: int) -> tuple[str, ...]:
    """One index for each axis: those of the ellipsis are numbers."""
    found: list[str] = []
    for index in term:
        found += map(str, range(spread)) if index == _ELLIPSIS else [index]
    return tuple(found)


def _sizes(
    equation: str, indices: Sequence[Sequence[str]], operands: Sequence[TensorType]
) -> dict[str, int | Dim]:
    """The size of each index. Raises ShapeError if there are two, neither of them 1."""
    found: dict[str, list[TensorType]] = {}
    for term, operand in zip(indices, operands, strict=True):
        for index, size in zip(term, operand.shape or (), strict=True):
            found.setdefault(index, []).append(operand.with_shape(size))
    sizes: dict[str, int | Dim] = {}
    for index, lines in found.items():
        try:
            (sizes[index],) = broadcast(*lines) or ()
        except ShapeError:
            every = [line.shape[0] for line in lines if line.shape]
            name = "an axis of '...'" if index.isdigit() else f"index {index!r}"
            raise ShapeError(f"{name} of equation {equation!r} has sizes {every}") from None
    return sizes
