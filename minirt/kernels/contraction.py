"""Sums of products of tensors whose axes have names, as products of matrices."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from . import products

__all__ = ["contract"]

_quiet = np.errstate(all="ignore")


@_quiet
def contract(
    operands: Sequence[np.ndarray],
    indices: Sequence[Sequence[str]],
    target: Sequence[str],
    out: np.ndarray,
    multiply: products.Multiply,
) -> None:
    """Write to ``out`` the products of ``operands``, summed over indices that ``target`` lacks.

    ``indices`` names the axes of each operand. An axis of size 1 is broadcast to the size that
    its index has elsewhere. Operands are taken in their order, two at a time, and matrices
    ``multiply`` multiplies.
    """
    terms = [_Term.of(x, names) for x, names in zip(operands, indices, strict=True)]
    total = terms[0]
    for position, term in enumerate(terms[1:], 1):
        later = {name for other in terms[position + 1 :] for name in other.names}.union(target)
        pair = total.summed(later.union(term.names)), term.summed(later.union(total.names))
        total = _product(*pair, later, multiply)
    total = total.summed(target)
    missing = [name for name in target if name not in total.names]
    array = total.array.reshape((*total.array.shape, *[1] * len(missing)))
    names = [*total.names, *missing]
    out[...] = array.transpose([names.index(name) for name in target])


class _Term:
    """An array whose axes have different names, none of them to be broadcast."""

    def __init__(self, array: np.ndarray, names: Sequence[str]) -> None:
        self.array, self.names = array, tuple(names)

    @classmethod
    def of(cls, array: np.ndarray, names: Sequence[str]) -> _Term:
        """Take diagonals where a name repeats, and drop axes of size 1."""
        kept: list[str] = []
        for name in names:
            axis = len(kept)
            if array.shape[axis] == 1:
                array = array.squeeze(axis)
            elif name in kept:
                array = np.diagonal(array, 0, kept.index(name), axis)
                array = np.moveaxis(array, -1, kept.index(name))
            else:
                kept.append(name)
        return cls(array, kept)

    def summed(self, wanted: Collection[str]) -> _Term:
        """Sum over the names that nobody wants."""
        axes = tuple(i for i, name in enumerate(self.names) if name not in wanted)
        if not axes:
            return self
        total = np.add.reduce(self.array, axes, self.array.dtype)
        return _Term(np.asarray(total), [name for name in self.names if name in wanted])

    def grouped(self, *groups: Sequence[str]) -> np.ndarray:
        """The array with one axis for each group of names."""
        order = [self.names.index(name) for group in groups for name in group]
        sizes = [prod(self.size(name) for name in group) for group in groups]
        return self.array.transpose(order).reshape(sizes)

    def size(self, name: str) -> int:
        return int(self.array.shape[self.names.index(name)])


def _product(a: _Term, b: _Term, wanted: Collection[str], multiply: products.Multiply) -> _Term:
    """The product of two, summed over the names of both that nobody wants."""
    both = [name for name in a.names if name in b.names]
    stack = [name for name in both if name in wanted]
    inner = [name for name in both if name not in wanted]
    left = [name for name in a.names if name not in both]
    right = [name for name in b.names if name not in both]
    x, y = a.grouped(stack, left, inner), b.grouped(stack, inner, right)
    total = np.empty((x.shape[0], x.shape[1], y.shape[2]), x.dtype)
    if inner:
        multiply(x, y, total)
    else:
        np.multiply(x, y, total)
    shape = [*map(a.size, [*stack, *left]), *map(b.size, right)]
    return _Term(total.reshape(shape), [*stack, *left, *right])
