"""A model that is ready to run."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from .errors import ExecutionError, InputError, did_you_mean, printable
from .feeds import Feeder, ValueInfo
from .jit.threads import at_most
from .model.infer import infer_types
from .model.load import load_graph
from .outputs import Outputs, labeller
from .profiling import Profile, StepProfile
from .runtime.executor import Executor, Executors
from .runtime.plan import make_plan
from .types import TensorType

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from .data.external import Buffer
    from .feeds import Feeds, Shapes
    from .graph import Graph, Node, Value
    from .model.load import Model
    from .runtime.steps import Step

__all__ = ["Session", "load", "run"]

#: The most inputs, and outputs, that a repr lists.
_LISTED = 8


def load(
    model: Model,
    threads: int | None = None,
    optimize: bool = True,
    follow_symlinks: bool = False,
    *,
    base_dir: str | os.PathLike[str] | None = None,
    external: Mapping[str, Buffer] | None = None,
) -> Session:
    """Read, check and type a model.

    ``model`` is a path, the bytes of a file, a binary file object or an
    ``onnx.ModelProto``. ``threads`` bounds the threads of one run (default: the
    ``MINIRT_NUM_THREADS`` variable, else the processors that this process may use).
    ``optimize=False`` leaves out graph rewrites; results are the same.

    Tensors that are stored outside of the model are looked for in ``base_dir``, by default
    the folder of the model file, and first in ``external``, which maps locations, as the
    model writes them, to the contents of files: bytes or any other buffer, which is not
    copied. ``follow_symlinks`` allows links that leave the folder. Files are mapped, not
    read, so leave them as they are while the session lives; if one was written to, the
    next run raises ParseError.

    Raises ModelError for a model that is wrong, UnsupportedError with all operators
    that minirt does not have, and OSError for a file that cannot be read.
    """
    graph = load_graph(model, follow_symlinks=follow_symlinks, base_dir=base_dir, external=external)
    return Session(graph, threads=threads, optimize=optimize)


def run(
    model: Model,
    inputs: Feeds,
    outputs: Sequence[str] | None = None,
    *,
    threads: int | None = None,
    follow_symlinks: bool = False,
    base_dir: str | os.PathLike[str] | None = None,
    external: Mapping[str, Buffer] | None = None,
) -> Outputs:
    """Load a model and run it once; see :func:`load` and :meth:`Session.run`."""
    session = load(
        model,
        threads=threads,
        follow_symlinks=follow_symlinks,
        base_dir=base_dir,
        external=external,
    )
    return session.run(inputs, outputs)


class Session:
    """A model that is ready to run, made by :func:`load`.

    Any number of threads may run one session at once. What depends on the shapes of the
    inputs alone is worked out when they first come, and kept for the last few dozen
    combinations of shapes. Sessions can be copied and pickled.
    """

    def __init__(self, graph: Graph, *, threads: int | None = None, optimize: bool = True) -> None:
        at_most(threads)  # refuses what is no number of threads
        self._graph, self._threads, self._optimize = graph, threads, optimize
        self._mapped = graph.mapped
        types = infer_types(graph)
        self._values = {value.name: value for value in graph.values()}
        self._inputs = tuple(sorted(graph.inputs, key=lambda v: v in graph.initializers))
        self._input_types = [types[v] for v in self._inputs]
        self._feeder = Feeder(
            [ValueInfo(v.name, types[v], v in graph.initializers, v.doc) for v in self._inputs]
        )
        self._outputs = tuple(ValueInfo(v.name, types[v], doc=v.doc) for v in graph.outputs)
        self._output_names = tuple(v.name for v in graph.outputs)
        self._label = labeller(self._output_names)
        self._executors = Executors()

    @property
    def inputs(self) -> tuple[ValueInfo, ...]:
        """The inputs, in the order in which they are passed by position.

        Those that must be fed come first, then those that have an initializer.
        """
        return self._feeder.inputs

    @property
    def outputs(self) -> tuple[ValueInfo, ...]:
        """The outputs, in the order of the model."""
        return self._outputs

    @property
    def name(self) -> str:
        """What the file calls the graph."""
        return self._graph.name

    @property
    def doc(self) -> str:
        """The documentation of the graph."""
        return self._graph.doc

    @property
    def producer(self) -> str:
        """The tool that made the file, with its version: ``"pytorch 2.6"``."""
        return self._graph.producer

    @property
    def metadata(self) -> dict[str, str]:
        """What the file says of itself by keys of its own: ``metadata_props``."""
        return dict(self._graph.metadata)

    @property
    def opsets(self) -> dict[str, int]:
        """The version of each domain of operators that the model imports, "" for ai.onnx."""
        return dict(self._graph.opsets)

    # A keyword-only parameter would cost each call 60 ns.
    def run(
        self, inputs: Feeds, outputs: Sequence[str] | None = None, threads: int | None = None
    ) -> Outputs:
        """Compute ``outputs``, by default the model's.

        ``inputs`` maps names to values, or lists values in the order of :attr:`inputs`;
        an input that has a default may be None or missing. A value is

        - an array of the declared element type, in any layout and byte order: NumPy's with
          ml_dtypes, or of another library that NumPy can read. Nothing is converted.
        - for ``string``, text: str, bytes (UTF-8), nested lists and NumPy arrays of them.
        - a Python number or nested lists of numbers that the declared type has; a float type of
          16 bits and more takes the nearest of a Python float, as NumPy does.
        - for a sequence a list or tuple of such values, for a map a mapping, for an optional
          None too, for a sparse tensor a :class:`minirt.SparseTensor`.

        ``outputs`` names any values of the graph, inner ones too. Results are new,
        C-contiguous arrays of NumPy and ml_dtypes types, object arrays of str for text, or
        lists and dicts of them; they share memory with nothing, and no argument is written
        to. ``threads`` bounds the threads of this run, by default as :func:`load` was told.

        Raises InputError with everything that is wrong with the arguments, ShapeError if
        the shapes do not suit an operator, ExecutionError if the contents do not, and
        ParseError if a file that the model's tensors are in was written to.
        """
        names = self._output_names if outputs is None else _as_names(outputs)
        if threads is not None:
            at_most(threads)
        if self._mapped is not None:
            self._mapped.check_unchanged()
        try:
            feed = self._feeder.quick(inputs)
            executor = feed and self._executors.get((feed[1], names, threads))
            if feed is None or executor is None:
                feed = self._feeder.check(inputs)
                executor = self._executor(feed[1], names, threads)
            results = executor.run(feed[0])
            return self._label(results) if outputs is None else Outputs(results, names)
        except MemoryError:
            raise ExecutionError("the run takes more memory than there is") from None

    def profile(self, inputs: Feeds) -> Profile:
        """Run the model and measure each step, after one run that is not measured."""
        if self._mapped is not None:
            self._mapped.check_unchanged()
        buffers, shapes = self._feeder.check(inputs)
        executor = self._executor(shapes, self._output_names)
        executor.run(buffers)
        measured = executor.profile(buffers)
        return Profile(tuple(_step_profile(step, taken) for step, taken in measured))

    def _executor(
        self, shapes: Shapes, names: tuple[str, ...], threads: int | None = None
    ) -> Executor:
        """What runs inputs of these shapes, made now unless it is kept."""
        key = shapes, names, threads
        executor = self._executors.get(key)
        if executor is None:
            outputs = self._find(names)
            types = {
                value: TensorType(type.dtype, shape) if isinstance(type, TensorType) else type
                for value, type, shape in zip(self._inputs, self._input_types, shapes, strict=True)
                if shape is not None
            }
            with at_most(self._threads if threads is None else threads):
                plan = make_plan(self._graph, types, outputs)
            executor = self._executors.add(key, plan)
        return executor

    def _find(self, names: tuple[str, ...]) -> list[Value]:
        unknown = [name for name in names if name not in self._values]
        if unknown:
            raise InputError("; ".join(f"no value is named {n!r}{self._hint(n)}" for n in unknown))
        return [self._values[name] for name in names]

    def _hint(self, name: str) -> str:
        near = did_you_mean(name, self._values)
        return near or f"; the outputs are {', '.join(map(repr, self._output_names))}"

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        text = f"<Session{name}: ({_listing(self.inputs)}) -> ({_listing(self.outputs)})>"
        return printable(text, 2000)

    def __reduce__(self) -> tuple[Any, ...]:
        # Nodes first: each then meets values whose producers are pickled already, where a
        # graph begun at its outputs would be followed backwards, one recursion a node.
        return _rebuild, (self._graph.nodes, self._graph, self._threads, self._optimize)

    def __deepcopy__(self, memo: dict[int, object]) -> Session:
        # The graph is never changed, and everything else is a cache.
        return copy.copy(self)


def _rebuild(nodes: list[Node], graph: Graph, threads: int | None, optimize: bool) -> Session:
    return Session(graph, threads=threads, optimize=optimize)


def _listing(values: tuple[ValueInfo, ...]) -> str:
    """``"x: float[N], w: float[2] = ..."``; of many the first."""
    texts = [f"{v.name}: {v.type}{' = ...' * v.has_default}" for v in values[:_LISTED]]
    more = len(values) - _LISTED
    return ", ".join([*texts, f"... {more} more"] if more > 0 else texts)


def _as_names(outputs: Sequence[str]) -> tuple[str, ...]:
    if isinstance(outputs, str):
        raise InputError(f"outputs is a list of names: [{outputs!r}], not {outputs!r}")
    names = tuple(outputs)
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise InputError(f"outputs is a list of names, but {wrong[0]!r} is none")
    return names


def _step_profile(step: Step, seconds: float) -> StepProfile:
    op = step.node.qualified_name if step.node else ""
    return StepProfile(step.name, op, step.operands, step.results, seconds, step.bytes)
