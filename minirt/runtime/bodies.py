"""Subgraphs that operators run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ..jit.threads import at_most, limit
from ..model import typed
from ..types import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..graph import Graph, Value
    from ..types import Type
    from .executor import Executor

    Shapes = tuple[tuple[int, ...], ...]

__all__ = ["Body", "Program", "body_maker"]


def body_maker(types: dict[Value, Type]) -> Callable[..., Body]:
    """``make(graph, outer=...)`` of a :class:`Body` around which values have ``types``."""
    return partial(Body, typed.typing_around(types))


class Body(typed.Body):
    """A subgraph of a node whose kernel gets the values ``outer`` of the graphs around it."""

    def __init__(self, typing: typed.Typing, graph: Graph, outer: tuple[Value, ...]) -> None:
        super().__init__(graph, typing)
        self._outer = outer

    def program(self, *inputs: Type | None) -> Callable[..., list[Any]]:
        """``run(outer, *inputs)``: see :class:`minirt.ops.registry.Body`."""
        types = self.input_types(*inputs)
        around = {v: self._typing.types[v] for v in self.graph.captures}
        used = [(i, v) for i, v in enumerate(self._outer) if v in around]
        return Program(self.graph, types, around, used).run


class Program:
    """Runs a subgraph, by a plan for each combination of shapes that its inputs come in."""

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[Value, Type],
        around: Mapping[Value, Type],
        used: Sequence[tuple[int, Value]],
    ) -> None:
        # Here, as plans need bodies, and bodies plans.
        from .executor import Executors

        self._graph, self._around = graph, around
        self._types: dict[Value, Type] = {v: around[v] for _, v in used} | dict(inputs)
        self._tensors = {v: t for v, t in self._types.items() if isinstance(t, TensorType)}
        self._threads = limit()
        self._executors = Executors()
        scope: dict[str, Any] = {"run_for": self._run_for}
        exec(_source([i for i, _ in used], [v in self._tensors for v in self._types]), scope)
        #: ``run(outer, *inputs)`` gives the outputs for these values, all in storage form.
        self.run: Callable[..., list[Any]] = scope["run"]

    def _run_for(self, shapes: Shapes) -> Callable[[list[Any]], list[Any]]:
        """What runs tensors of these shapes, made now unless it is kept."""
        return (self._executors.get(shapes) or self._planned(shapes)).run

    def _planned(self, shapes: Shapes) -> Executor:
        from .plan import make_plan

        pairs = zip(self._tensors.items(), shapes, strict=True)
        sized = {value: TensorType(type.dtype, shape) for (value, type), shape in pairs}
        types, outputs = self._types | sized, self._graph.outputs
        with at_most(self._threads):
            plan = make_plan(self._graph, types, outputs, self._around, public=False, flat=False)
        return self._executors.add(shapes, plan)


def _source(used: Sequence[int], are_tensors: Sequence[bool]) -> str:
    """A program as a Python function: of what a loop costs this is a large part.

    ``used`` are positions in ``outer``; then come inputs. What ran last most often runs again.
    """
    count = len(are_tensors) - len(used)
    names = [*(f"outer[{i}]" for i in used), *(f"i{i}" for i in range(count))]
    shapes = "".join(f"{n}.shape, " for n, is_one in zip(names, are_tensors, strict=True) if is_one)
    return "\n".join(
        [
            "last = None, None",
            f"def run({', '.join(['outer', *names[len(used) :]])}):",
            " global last",
            f" shapes = ({shapes})",
            " known, call = last",
            " if shapes != known:",
            "  call = run_for(shapes)",
            "  last = shapes, call",
            f" return call([{', '.join(names)}])",
        ]
    )
