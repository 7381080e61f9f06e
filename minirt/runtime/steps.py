"""What a plan says: steps over numbered slots.

A plan has everything about a run that does not depend on the contents of the inputs: which
nodes run, with which compiled kernels, and where each value lies. It is immutable;
:mod:`minirt.runtime.executor` gives it memory. Where types depend on what a run computes, a
plan ends, and :class:`Rest` is what the next one begins with.

Buffers are numbered *slots*: first the inputs, then the results, then the plan's own, last
:data:`NOTHING`, which stands for an omitted operand or output.

Tensors lie flat in memory that the plan provides. A value of any other type is a Python
object in storage form (:mod:`minirt.data.values`), which the kernel makes and returns, as
it does tensors whose sizes only it can tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..types import Shape, TensorType, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..graph import Node, Value

__all__ = [
    "NOTHING",
    "Buffer",
    "Constant",
    "Objects",
    "Plan",
    "Region",
    "Rest",
    "Returned",
    "Step",
]

#: The slot of what is not there; kernels get None for it.
NOTHING = -1


@dataclass(frozen=True, slots=True)
class Constant:
    """A slot whose contents are known: a flat storage buffer that is never written."""

    buffer: np.ndarray


@dataclass(frozen=True, slots=True)
class Region:
    """A slot that is ``size`` elements of ``dtype`` at a byte offset of the arena."""

    offset: int
    size: int
    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class Objects:
    """A slot of ``size`` Python objects: strings cannot live in an arena."""

    size: int


@dataclass(frozen=True, slots=True)
class Returned:
    """A slot for a value that a kernel makes itself, gone when no step needs it any more.

    ``is_array``: it is a tensor of known shape, which kernels may want flat.
    """

    is_array: bool = False


Buffer = Constant | Region | Objects | Returned


@dataclass(frozen=True, slots=True)
class Step:
    """One call ``*returns = run(*reads, *writes, outer)``, with slots for operands.

    ``outer`` is a tuple of slots too, None for what has no subgraphs. ``shapes`` are those in
    which arrays of ``reads``, ``writes`` and ``outer`` are passed, None for flat ones and
    for what is no tensor. ``node`` is None where a result is copied from another value;
    ``operands`` and ``results`` are types. ``bytes`` counts what the step reads and
    writes in tensors. ``frees`` are slots of returned values that no later step needs.
    """

    run: Callable[..., Any]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    node: Node | None
    operands: tuple[Type | None, ...]
    results: tuple[Type, ...]
    bytes: int
    returns: tuple[int, ...] = ()
    frees: tuple[int, ...] = ()
    outer: tuple[int, ...] | None = None
    shapes: tuple[Shape | None, ...] = ()

    @property
    def name(self) -> str:
        """What runs, for people: ``"Cast 'widen' (node 3)"``."""
        return self.node.location if self.node else "copy of a result"


@dataclass(frozen=True, eq=False)
class Plan:
    """What to call in which order, for inputs of fixed types.

    ``inputs`` and ``results`` are the types of the first slots, ``buffers`` the slots
    that follow; all those in the arena take ``arena_bytes`` together. Results are in
    ``public`` form, else in storage form. Those of a plan with a ``rest`` are for that, and
    may be tensors of sizes that only a run can tell. Tensors come in ``flat``, else in their
    shapes.
    """

    inputs: tuple[Type, ...]
    results: tuple[Type, ...]
    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    arena_bytes: int
    public: bool = True
    flat: bool = True
    rest: Rest | None = None

    @property
    def needs_memory(self) -> bool:
        """Whether a run needs buffers that no other run may use at the same time."""
        return any(isinstance(b, Region | Objects) for b in self.buffers)


@dataclass(frozen=True, eq=False)
class Rest:
    """What a plan leaves to be planned when it has run, and what that begins with.

    ``values`` of ``types`` are what it needs, and lie in ``slots`` of the plan, inputs or
    results. Types may lack sizes; the contents of those in ``decisive`` decide other types.
    """

    values: tuple[Value, ...]
    types: tuple[Type, ...]
    slots: tuple[int, ...]
    decisive: frozenset[Value]
    plan: Callable[[Mapping[Value, Type]], Plan]

    def settle(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[Value, Type]]:
        """A key for the next plan, and the types it is made from; tensors may be flat."""
        types, key = {}, []
        for value, type, array in zip(self.values, self.types, arrays, strict=True):
            if isinstance(type, TensorType):
                shape = type.shape if type.is_concrete else array.shape
                contents = array.reshape(shape).copy() if value in self.decisive else None
                type = TensorType(type.dtype, shape, contents)
                key.append((shape, None if contents is None else contents.tobytes()))
            types[value] = type
        return tuple(key), types
