"""What an operator is, and how one is found.

An operator is one function. Its positional parameters are the operands of the newest
ONNX schema, by name; its keyword-only parameters are attributes, by name, always
given (the schema fills defaults, so none stands here). It takes the operands' types
and returns the type of the output (or a tuple of them) and how to run it::

    @op("Relu")
    def relu(X):
        return X, lambda: kernels.relu(X)

The second part is a thunk, called once the types of operands are concrete. It returns
``run(*operands, *outputs)`` over flat, C-contiguous storage buffers, or
:class:`~minirt.kernels.arrays.Shaped` to get arrays in their shapes; operands declared
``type_only`` are left out, omitted ones are None. Instead of a thunk an operator may
return :class:`Alias`, when its output is one of its operands under another type, or
None, when every output type carries its value.

Where the type of an output depends on what an operand holds, as that of ``Reshape`` on
``shape``, the operand is declared in ``contents``. Its type then has a ``value`` wherever the
contents are known, and always when the thunk is called; so ``run`` does not get it. Without
``value`` the function returns what it can say, with unknown dimensions. Where the output
depends on contents that only the kernel sees, as that of ``NonZero`` does, the type has
unknown dimensions to the end: such an output is not among the arguments of ``run``, which
returns a new storage array of the shape that it found. An operator declared ``returns``
gives all its outputs in this way.

Sequences, optionals, maps and sparse tensors are Python objects in storage form, in which
a tensor keeps its shape (:mod:`minirt.data.values`). As operands ``run`` gets them as they are,
and must not change them. Outputs of such a type are not among its arguments: it returns
the one, or a tuple of all in their order. What it returns may share parts with operands
of such a type, but not with tensors, whose buffers are used again: those it copies. To
append is ``lambda sequence, tensor: [*sequence, tensor.reshape(shape).copy()]``.

An attribute that is a graph arrives as a :class:`Body`. So the type of ``If`` is that of
``then_branch.types()``, where the branches agree. Values of the graphs around it that the
subgraphs of a node use are operands too, which stand nowhere: ``run`` gets them as one tuple,
after its other arguments, and hands it on to ``Body.program``.

Old nodes are rewritten to the newest form at load by functions registered with
:func:`upgrade`; a second registration with ``since=`` exists only where a new version
*means* something else in the same form.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph import Graph, Node
    from ..kernels.arrays import Shaped
    from ..types import Type

    #: ``run(*operands, *outputs)`` over flat storage buffers, which returns other outputs.
    Run: TypeAlias = Callable[..., Any] | Shaped
    Thunk: TypeAlias = Callable[[], Run]

_F = TypeVar("_F", bound="Callable[..., Any]")

__all__ = [
    "NEWEST_OPSETS",
    "PRIVATE_DOMAIN",
    "Alias",
    "Body",
    "Operator",
    "find",
    "op",
    "operators",
    "upgrade",
    "upgrades",
]

#: The newest version of each domain that minirt implements. A newer onnx package
#: brings newer ones; they are refused with both numbers until someone reads the change.
NEWEST_OPSETS: dict[str, int] = {
    "": 28,
    "ai.onnx.ml": 5,
    "ai.onnx.preview": 1,
    "ai.onnx.preview.training": 1,
}


@dataclass(frozen=True)
class Alias:
    """An output that is the operand of this name, seen under the output's type."""

    operand: str


class Body(Protocol):
    """What an operator's function gets for an attribute that is a graph."""

    @property
    def inputs(self) -> tuple[Type | None, ...]:
        """The types of the inputs as the file declares them, None where it does not."""

    @property
    def outputs(self) -> tuple[Type | None, ...]:
        """The types of the outputs as the file declares them: a promise, not a fact."""

    def types(self, *inputs: Type | None) -> tuple[Type, ...]:
        """The types of what the subgraph makes of inputs of these types, one for each.

        None stands for the type that the file declares. Contents (``value``) are left out
        of account, as they may be others the next time. Raises SchemaError and ShapeError
        for types that do not fit the subgraph.
        """

    def program(self, *inputs: Type | None) -> Callable[..., list[Any]]:
        """``run(outer, *inputs)``, which computes the outputs of the subgraph; for thunks only.

        Inputs and outputs are in storage form (:mod:`minirt.data.values`), tensors in their
        shapes: those of one call may be others than those of the next, but element types are
        those of :meth:`types` of the same ``inputs``. ``outer`` is the last argument of the
        operator's own ``run``. Outputs are new: they share no memory with inputs.
        """


@dataclass(frozen=True, eq=False)
class Operator:
    """A registered operator: its function, and the facts that it declares.

    ``type_only`` names operands whose contents are never read, ``contents`` those on whose
    contents types depend, ``inplace`` operands whose buffer an output of the same type may
    take over. ``returns``: the kernel returns its outputs, as it makes them. ``types_of`` is
    the operator whose newest schema says which types a node of any version may have, ""
    where the node's own schema does. ``counts`` is a keyword-only parameter that is no
    attribute: it gets the number of the node's outputs.
    """

    name: str
    domain: str
    since: int
    function: Callable[..., tuple[Type | tuple[Type, ...], Thunk | Alias | None]]
    type_only: frozenset[str] = frozenset()
    contents: frozenset[str] = frozenset()
    inplace: tuple[str, ...] = ()
    deterministic: bool = True
    returns: bool = False
    types_of: str = ""
    counts: str = ""

    @property
    def until(self) -> int:
        """The last opset of which this is the operator: another one may follow."""
        later = [v for v in _OPERATORS.get((self.domain, self.name), {}) if v > self.since]
        return min(later, default=NEWEST_OPSETS.get(self.domain, self.since) + 1) - 1

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """The names of the positional parameters; a variadic one (``*inputs``) is the last."""
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(p.name for p in parameters if p.kind is not p.KEYWORD_ONLY)

    @cached_property
    def is_variadic(self) -> bool:
        """Whether the last operand may be there any number of times."""
        parameters = inspect.signature(self.function).parameters.values()
        return any(p.kind is p.VAR_POSITIONAL for p in parameters)

    def operand_names(self, count: int) -> tuple[str, ...]:
        """The names of the operands of a node with ``count`` inputs, omitted ones too.

        A variadic one comes last and repeats, perhaps no times.
        """
        names = self.operands
        if self.is_variadic:
            names = names[:-1] + names[-1:] * (count - len(names) + 1)
        return names

    def reads(self, names: tuple[str, ...]) -> tuple[int, ...]:
        """The positions, among operands of these names, of those that its kernel gets."""
        left_out = self.type_only | self.contents
        return tuple(i for i, name in enumerate(names) if name not in left_out)

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The names of the keyword-only parameters."""
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(
            p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != self.counts
        )


#: The domain of operators that only passes put into graphs, such as fused ones.
PRIVATE_DOMAIN = "minirt"

#: So many names are looked up once; those that a stranger's models make up are forgotten.
_REMEMBERED = 4096

_OPERATORS: dict[tuple[str, str], dict[int, Operator]] = {}
_UPGRADES: dict[tuple[str, str], dict[int, Callable[[Node, Graph], None]]] = {}


def op(
    name: str,
    *,
    domain: str = "",
    since: int = 1,
    type_only: tuple[str, ...] = (),
    contents: tuple[str, ...] = (),
    inplace: tuple[str, ...] = (),
    deterministic: bool = True,
    returns: bool = False,
    types_of: str = "",
    counts: str = "",
) -> Callable[[_F], _F]:
    """Register the operator ``name`` from opset ``since`` to the next registration."""

    def register(function: _F) -> _F:
        versions = _OPERATORS.setdefault((domain, name), {})
        if since in versions:
            raise ValueError(f"{name}-{since} is registered twice")
        versions[since] = Operator(
            name,
            domain,
            since,
            function,
            frozenset(type_only),
            frozenset(contents),
            inplace,
            deterministic,
            returns,
            types_of,
            counts,
        )
        find.cache_clear()
        return function

    return register


def upgrade(
    *names: str, to: int, domain: str = ""
) -> Callable[[Callable[[Node, Graph], None]], Callable[[Node, Graph], None]]:
    """Register a rewrite of nodes from before opset ``to`` into their opset-``to`` form.

    The function changes the node in place; new operands become initializers of the
    graph that it is given.
    """

    def register(function: Callable[[Node, Graph], None]) -> Callable[[Node, Graph], None]:
        for name in names:
            steps = _UPGRADES.setdefault((domain, name), {})
            if to in steps:
                raise ValueError(f"{name} is upgraded to opset {to} twice")
            steps[to] = function
        return function

    return register


@cache
def _load_families() -> None:
    """Import every module of this package once: importing one registers its operators."""
    package = importlib.import_module(__package__)
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{__package__}.{module.name}")


@lru_cache(maxsize=_REMEMBERED)
def find(domain: str, name: str, opset: int) -> Operator | None:
    """The operator that ``name`` means at ``opset`` of ``domain``, None if there is none."""
    _load_families()
    versions = _OPERATORS.get((domain, name), {})
    usable = [since for since in versions if since <= opset]
    return versions[max(usable)] if usable else None


def operators() -> list[Operator]:
    """Every registered operator, by domain, name and version."""
    _load_families()
    return [
        _OPERATORS[key][since] for key in sorted(_OPERATORS) for since in sorted(_OPERATORS[key])
    ]


def upgrades(domain: str, name: str, opset: int) -> list[tuple[int, Callable[[Node, Graph], None]]]:
    """The rewrites that a node of ``opset`` still needs, oldest first, each with its opset."""
    _load_families()
    steps = _UPGRADES.get((domain, name), {})
    return [(to, steps[to]) for to in sorted(steps) if to > opset]
