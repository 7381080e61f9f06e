"""ONNX's own definitions of operators by other operators: function bodies.

A body is written for one opset, in which its nodes have their meaning, and stands for the
operator in every opset for which that has the same schema. Some bodies depend on the node:
on its attributes, on which operands it has, and on their types.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from onnx import FunctionProto, defs

from ..errors import SchemaError
from .registry import NEWEST_OPSETS
from .schemas import find_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnx import NodeProto, TypeProto

__all__ = ["Function", "find_function"]


@dataclass(frozen=True, eq=False)
class Function:
    """An operator that has a body, which is written for opset ``version`` of its domain."""

    schema: Any  # defs.OpSchema, of whose members onnx's stubs lack some
    version: int

    @cached_property
    def fixed(self) -> FunctionProto | None:
        """The body, None if it depends on the node."""
        if self.version not in self.schema.function_opset_versions:
            return None
        proto = FunctionProto()
        proto.ParseFromString(self.schema.get_function_with_opset_version(self.version))
        return proto

    def body(self, node: NodeProto, types: Sequence[TypeProto]) -> FunctionProto | None:
        """The body for ``node`` where it is not fixed; None if ONNX has none for it.

        ``types`` are those of the operands, which must all be known; empty messages for
        operands that are omitted.
        """
        try:
            data = self.schema.get_context_dependent_function_with_opset_version(
                self.version,
                node.SerializeToString(),
                [type.SerializeToString() for type in types],
            )
        except MemoryError:
            raise
        except Exception:
            # Whatever C++ throws: the builder does not take the node.
            return None
        proto = FunctionProto.FromString(data)
        # One that gives up leaves what it has so far; the name comes last.
        return proto if proto.name and proto.node else None

    def heeds(self, attributes: Mapping[str, Any]) -> bool:
        """Whether the body means what ``attributes`` say.

        Raises SchemaError for an attribute of a value that it would take for another.
        """
        for name, allowed in _CHOICES.get(self.schema.name, {}).items():
            value = attributes.get(name, allowed[0])
            if value not in allowed:
                raise SchemaError(f"{name}={value!r} is none of {', '.join(map(str, allowed))}")
        ignored = _IGNORED.get(self.schema.name, {})
        return all(attributes.get(name, value) == value for name, value in ignored.items())


@lru_cache(maxsize=4096)
def find_function(domain: str, name: str, version: int) -> Function | None:
    """The body that an operator of opset ``version`` has, None if it has none.

    Of several that of the latest opset up to ``version`` is taken, else the first.
    """
    newest = NEWEST_OPSETS.get(domain, 0)
    if version > newest or find_schema(domain, name, version) is None:
        return None
    schema: Any = defs.get_schema(name, version, domain)
    known = [v for v in schema.all_function_opset_versions if v <= newest]
    if not known:
        return None
    return Function(schema, max((v for v in known if v <= version), default=known[0]))


#: What attributes of these operators may be. Their bodies take anything else for one of these,
#: and schemas do not say.
_CHOICES: Mapping[str, Mapping[str, tuple[str | int, ...]]] = {
    "Attention": {"is_causal": (0, 1), "qk_matmul_output_mode": (0, 1, 2, 3)},
    "Gelu": {"approximate": ("none", "tanh")},
    "LinearAttention": {"update_rule": ("linear", "gated", "delta", "gated_delta")},
    "NegativeLogLikelihoodLoss": {"reduction": ("none", "sum", "mean")},
    "RotaryEmbedding": {"interleaved": (0, 1)},
    "SoftmaxCrossEntropyLoss": {"reduction": ("none", "sum", "mean")},
}

#: Attributes that a body leaves out of account, with the value for which that is right.
_IGNORED: Mapping[str, Mapping[str, str]] = {"CastLike": {"round_mode": "up"}}
