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

__all__ = ["Body", "Program", "body_maker"]


def body_maker(types: dict[Value, Type]) -> Callable[..., Body]:
    """``make(graph, outer=...)`` of a :class:`Body` around which values have ``types``."""
    return partial(Body, typed.typing_around(types))


class Body(typed.Body):
    """A subgraph of a node whose kernel gets the values ``outer`` of the graphs around it."""

    def __init__(self, typing: typed.Typing, graph: Graph, outer: tuple[Value, ...]) -> None:
        super().__init__(graph, typing)
        self._outer = outer

    def program(self, *inputs: Type | None) -> Program:
        """``run(outer, *inputs)``: see :class:`minirt.ops.registry.Body`."""
        types = self.input_types(*inputs)
        around = {v: self._typing.types[v] for v in self.graph.captures}
        used = [(i, v) for i, v in enumerate(self._outer) if v in around]
        return Program(self.graph, types, around, used)


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
        self._used = [i for i, _ in used]
        self._values = [*(v for _, v in used), *inputs]
        self._types = [*(around[v] for _, v in used), *inputs.values()]
        self._tensors = [isinstance(type, TensorType) for type in self._types]
        self._threads = limit()
        self._executors = Executors()

    def __call__(self, outer: Sequence[Any], *inputs: Any) -> list[Any]:
        """The outputs for these values, all in storage form."""
        values = [*(outer[i] for i in self._used), *inputs]
        pairs = list(zip(values, self._tensors, strict=True))
        key = tuple([value.shape if tensor else None for value, tensor in pairs])
        executor = self._executors.get(key) or self._planned(key)
        return executor.run([value.reshape(-1) if tensor else value for value, tensor in pairs])

    def _planned(self, key: tuple[tuple[int, ...] | None, ...]) -> Executor:
        from .plan import make_plan

        types: dict[Value, Type] = {
            value: TensorType(type.dtype, shape) if isinstance(type, TensorType) else type
            for value, type, shape in zip(self._values, self._types, key, strict=True)
        }
        with at_most(self._threads):
            plan = make_plan(self._graph, types, self._graph.outputs, self._around, public=False)
        return self._executors.add(key, plan)
