"""What nodes make of constants, computed where they are typed: shapes, above all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.arrays import Shaped
from ..ops import registry
from ..ops.registry import Alias
from ..types import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Node
    from ..ops.registry import Thunk
    from ..types import Type

__all__ = ["folded"]

#: Elements of the operands and results together. What is larger decides no shapes; it is computed
#: when the model runs.
_MOST = 4096


def folded(
    node: Node,
    operands: Sequence[Type | None],
    results: tuple[Type, ...],
    how: Thunk | Alias | None,
) -> tuple[Type, ...]:
    """``results`` with their contents, where those of ``operands`` are known and small.

    The kernel computes them, so they are what a run would give.
    """
    operator = registry.find(node.domain, node.op_type, node.opset)
    if operator is None or how is None or not operator.deterministic or any(node.subgraphs()):
        return results
    if not all(isinstance(type, TensorType) for type in results) or all(map(_is_known, results)):
        return results
    names = operator.operand_names(len(operands))
    given = dict(enumerate(operands))
    types = [given.get(i) for i, name in enumerate(names) if name not in operator.type_only]
    if not types or not all(t is None or _is_known(t) for t in types):
        return results
    sizes = [t.size or 0 for t in (*types, *results) if isinstance(t, TensorType)]
    if sum(sizes) > _MOST:
        return results
    if isinstance(how, Alias):
        return _viewed(given[names.index(how.operand)], results)
    read = [given.get(i) for i in operator.reads(names)]
    try:
        return _computed(how(), read, results, operator.returns)
    except Exception:
        # A kernel that fails, or cannot be compiled here, says so when the model runs: with its
        # place, and only if its result is wanted.
        return results


def _is_known(type: Type) -> bool:
    return isinstance(type, TensorType) and type.value is not None


def _viewed(source: Type | None, results: tuple[Any, ...]) -> tuple[Type, ...]:
    if not isinstance(source, TensorType) or source.value is None:
        return results
    view, *rest = results
    if not view.is_concrete:
        return results
    contents = source.value.reshape(-1).view(view.dtype.storage).reshape(view.shape)
    return replace(view, value=contents), *rest


def _computed(
    run: Any, read: Sequence[Any], results: tuple[Any, ...], returns: bool
) -> tuple[Type, ...]:
    """The results with what ``run`` makes of constants."""
    shaped = isinstance(run, Shaped)
    # Ones, and the like, may be one element that is shown many times.
    given = [t and np.ascontiguousarray(t.value).reshape(t.shape) for t in read]
    arguments = [a if a is None or shaped else a.reshape(-1) for a in given]
    made = [
        None if returns or not t.is_concrete else np.empty(t.shape, t.dtype.storage)
        for t in results
    ]
    targets = [array if shaped else array.reshape(-1) for array in made if array is not None]
    returned = (run.function if shaped else run)(*arguments, *targets)
    rest = iter(returned if isinstance(returned, tuple) else (returned,))
    arrays = [next(rest) if array is None else array for array in made]
    return tuple(_with_contents(t, a) for t, a in zip(results, arrays, strict=True))


def _with_contents(type: TensorType, array: np.ndarray) -> TensorType:
    array = np.ascontiguousarray(array).reshape(array.shape)
    array.flags.writeable = False
    return TensorType(type.dtype, array.shape, array)
