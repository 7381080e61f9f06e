"""If and Loop: subgraphs that run as data has it.

https://onnx.ai/onnx/operators/onnx__If.html, https://onnx.ai/onnx/operators/onnx__Loop.html
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import BY_NAME
from ..errors import ExecutionError, SchemaError, ShapeError
from ..kernels.arrays import Shaped
from ..types import Dim, OptionalType, SparseTensorType, TensorType, union
from .arguments import single
from .registry import op
from .values import promised, returned, stacked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..types import Shape, Type
    from .registry import Body, Run

    Program = Callable[..., list[Any]]

_BOOL, _INT64 = BY_NAME["bool"], BY_NAME["int64"]


# If


@op("If", returns=True)
def if_(cond, *, then_branch, else_branch):
    """What ``then_branch`` makes where ``cond`` is true, else what ``else_branch`` does.

    An output has the type that covers those of both branches. A branch that cannot run with
    the shapes at hand may be there as long as it is not taken.
    """
    known = single("cond", cond)
    if known is not None:
        taken = then_branch if known else else_branch
        types = taken.types()
        if all(isinstance(type, TensorType) and type.value is not None for type in types):
            return types, None
        return types, lambda: _take(taken.program(), types)
    then, other = _found(then_branch), _found(else_branch)
    types = _common(then, other)
    return types, lambda: _choose(_bound(then_branch, then), _bound(else_branch, other), types)


def _found(branch: Body) -> tuple[Type, ...] | ShapeError:
    """The types of what a branch makes, or the reason why it cannot run."""
    try:
        return branch.types()
    except ShapeError as error:
        return error


def _common(
    then: tuple[Type, ...] | ShapeError, other: tuple[Type, ...] | ShapeError
) -> tuple[Type, ...]:
    """The types that cover what both branches make, or the one that can run."""
    if isinstance(other, ShapeError):
        then, other = other, then
    if isinstance(other, ShapeError):
        raise other
    if isinstance(then, ShapeError):
        return other
    if len(then) != len(other):
        raise SchemaError(f"then_branch has {len(then)} outputs, but else_branch {len(other)}")
    return tuple(map(_united, range(len(then)), then, other))


def _united(index: int, then: Type, other: Type) -> Type:
    common = union(then, other)
    if common is None:
        raise SchemaError(f"output {index} is {then} in then_branch, but {other} in else_branch")
    return common


def _bound(branch: Body, found: tuple[Type, ...] | ShapeError) -> Program:
    return branch.program() if isinstance(found, tuple) else _failing(found)


def _failing(error: ShapeError) -> Program:
    def program(*_: Any) -> list[Any]:
        raise error.with_traceback(None)

    return program


def _take(program: Program, types: Sequence[Type]) -> Run:
    return lambda cond, outer: returned(program(outer), types)


def _choose(then: Program, other: Program, types: Sequence[Type]) -> Run:
    return lambda cond, outer: returned((then if cond.item() else other)(outer), types)


# Loop


@op("Loop", returns=True)
def loop(M, cond, *v_initial, body):
    """Run ``body`` up to ``M`` times, while ``cond`` and then the condition that it makes hold.

    Without ``cond`` the condition that ``body`` makes does not count. A carried value has the
    type that covers all that it becomes. Scan outputs, which keep one shape, get a leading
    dimension: the number of iterations.
    """
    most, start = single("M", M), single("cond", cond)
    number, condition = _counter_shape(body, 0), _counter_shape(body, 1)
    counters = TensorType(_INT64, number), TensorType(_BOOL, condition)
    unknown: set[Dim] = set()
    states, made = _rest(body, counters, v_initial, unknown)
    outputs, last = made[1 : len(states) + 1], len(states) + 1
    items = [_tensor(i, type) for i, type in enumerate(made[last:])]
    bounds = _bounds(most, M is None, start, cond is None, _is_true(made[0]))
    before = v_initial if bounds.never else states
    finals = outputs if bounds.surely else tuple(map(_final, before, outputs))
    finals = tuple(_settled(type, unknown) for type in finals)
    scans = tuple(_collected(item, bounds.count, unknown) for item in items)

    def bind() -> Run:
        program = body.program(*counters, *states)
        rows = tuple(map(promised, items, body.outputs[last:]))
        run = _Loop(program, number, condition, finals, scans, rows, cond is not None).run
        return Shaped(run)

    return (*finals, *scans), bind


@dataclass(frozen=True)
class _Bounds:
    """What is known of the number of iterations."""

    never: bool
    surely: bool
    count: int | Dim


def _bounds(
    most: int | None, is_endless: bool, start: int | None, is_free: bool, stays: bool
) -> _Bounds:
    """``most`` and ``start`` are M and cond, where they are known, or omitted.

    ``stays``: the condition that the body makes is always true.
    """
    begins = is_free or bool(start)
    surely = begins and (is_endless or (most is not None and most > 0))
    if start == 0 or (most is not None and most <= 0):
        return _Bounds(True, False, 0)
    if surely and most is not None and (is_free or stays):
        return _Bounds(False, True, most)
    return _Bounds(False, surely, Dim())


def _counter_shape(body: Body, index: int) -> tuple[int, ...]:
    """The shape in which ``body`` gets the number of the iteration, or the condition.

    That is 0-d, but older files declare one element in one dimension.
    """
    declared = body.inputs[index] if index < len(body.inputs) else None
    return (1,) * len(declared.shape or ()) if isinstance(declared, TensorType) else ()


def _rest(
    body: Body, counters: Sequence[Type], initial: Sequence[Type], unknown: set[Dim]
) -> tuple[list[Type], tuple[Type, ...]]:
    """The types that carried values may have, and what ``body`` makes of them."""
    states = list(initial)
    while True:
        made = body.types(*counters, *states)
        _check_made(made, len(states))
        changes = enumerate(zip(states, made[1:], strict=False))
        wider = [_widened(index, *change, unknown) for index, change in changes]
        if wider == states:
            return states, made
        states = wider


def _check_made(made: Sequence[Type], carried: int) -> None:
    if len(made) <= carried:
        raise SchemaError(
            f"body makes {len(made)} values, but should make a condition and "
            f"{carried} carried value{'s' * (carried != 1)}"
        )
    condition = made[0]
    if not isinstance(condition, TensorType) or condition.dtype is not _BOOL:
        raise SchemaError(f"the condition that body makes is {condition}, but should be bool[]")
    single("the condition that body makes", condition)


def _widened(index: int, state: Type, made: Type, unknown: set[Dim]) -> Type:
    """The type of what is of either."""
    if isinstance(state, OptionalType) and not isinstance(made, OptionalType):
        made = OptionalType(made)
    wider = union(state, made, unknown)
    if wider is None:
        raise SchemaError(f"carried value {index} is {state}, but body makes {made} of it")
    return wider


def _final(state: Type, made: Type) -> Type:
    """An optional that becomes its element comes out as such: it must not be empty before."""
    if isinstance(state, OptionalType) and not isinstance(made, OptionalType):
        return state.element or made
    return state


def _tensor(index: int, type: Type) -> TensorType:
    if not isinstance(type, TensorType):
        raise SchemaError(f"scan output {index} is {type}, but should be a tensor")
    return type


def _collected(item: TensorType, count: int | Dim, unknown: set[Dim]) -> TensorType:
    shape = _settled_shape(item.shape, unknown)
    return TensorType(item.dtype, None if shape is None else (count, *shape))


def _is_true(type: Type) -> bool:
    return isinstance(type, TensorType) and type.value is not None and bool(type.value.item())


def _settled(type: Type, unknown: set[Dim]) -> Type:
    """``type`` without the claim that values of several iterations have one unknown size."""
    if isinstance(type, TensorType | SparseTensorType):
        return replace(type, shape=_settled_shape(type.shape, unknown))
    return type if type.element is None else replace(type, element=_settled(type.element, unknown))


def _settled_shape(shape: Shape | None, unknown: set[Dim]) -> Shape | None:
    return None if shape is None else tuple(Dim() if d in unknown else d for d in shape)


@dataclass(frozen=True)
class _Loop:
    """A loop that is ready to run.

    The number of the iteration and the condition have the shapes ``number`` and ``condition``.
    ``rows`` are types of what an iteration adds to ``scans``; ``conditional``: the condition
    counts.
    """

    program: Program
    number: tuple[int, ...]
    condition: tuple[int, ...]
    finals: tuple[Type, ...]
    scans: tuple[TensorType, ...]
    rows: tuple[TensorType, ...]
    conditional: bool

    def run(self, limit: Any, cond: Any, *values: Any) -> Any:
        """The kernel: operands, and last what the body uses from around."""
        *states, outer = values
        program, last = self.program, len(self.finals) + 1
        most = np.inf if limit is None else limit.item()
        number, flag = np.empty(self.number, np.int64), np.ones(self.condition, np.uint8)
        scanned: list[list[np.ndarray]] = [[] for _ in self.rows]
        count, goes_on = 0, cond is None or cond.item()
        while goes_on and count < most:
            number[...] = count
            made = program(outer, number, flag, *states)
            states = made[1:last]
            for items, item in zip(scanned, made[last:], strict=True):
                items.append(item)
            flag = made[0]
            if flag.shape != self.condition:
                flag = self._condition(flag, count)
            if self.conditional:
                goes_on = flag.item()
            count += 1
        if not count:
            states = list(map(_unchanged, range(len(states)), states, self.finals))
        outputs = map(stacked, range(len(scanned)), scanned, self.rows)
        return returned([*states, *outputs], [*self.finals, *self.scans])

    def _condition(self, made: np.ndarray, count: int) -> np.ndarray:
        """What the body makes in one shape as it gets it in another."""
        if made.size != 1:
            raise ExecutionError(
                f"body makes a condition of shape {list(made.shape)} in iteration {count}, "
                "but should make a single value"
            )
        return made.reshape(self.condition)


def _unchanged(index: int, state: Any, type: Type) -> Any:
    """A carried value after no iteration, copied where its buffer will be used again."""
    if state is None and not isinstance(type, OptionalType):
        raise ExecutionError(
            f"carried value {index} is empty after no iteration, but {type} with one"
        )
    return state.copy() if isinstance(state, np.ndarray) else state
