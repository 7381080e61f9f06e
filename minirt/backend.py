"""minirt behind the interface that ONNX has for runtimes, ``onnx.backend.base``.

::

    from minirt import backend

    representation = backend.prepare(model)  # an onnx.ModelProto
    outputs = representation.run([x])
    outputs = backend.run_node(onnx.helper.make_node("Relu", ["x"], ["y"]), [x])

:class:`Backend` is what ``onnx.backend.test.BackendTest`` takes. :mod:`minirt` itself is
simpler to use, and takes files.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import IR_VERSION, helper
from onnx.backend import base

from .data.containers import type_of
from .data.tensors import type_to_proto
from .errors import InputError, UnsupportedError
from .ops.registry import NEWEST_OPSETS
from .session import Session, load
from .types import MapType, SequenceType, TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx import ModelProto, NodeProto

    from .feeds import Feeds
    from .outputs import Outputs
    from .types import Type

__all__ = [
    "Backend",
    "BackendRep",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]


class BackendRep(base.BackendRep):
    """A model that is ready to run; ``session`` is what :func:`minirt.load` gives."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def run(self, inputs: Feeds, **options: Any) -> Outputs:
        """Compute the model's outputs: :meth:`minirt.session.Session.run` with its ``options``."""
        return self.session.run(inputs, **options)


class Backend(base.Backend):
    """What ONNX asks of a runtime, for the CPU."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether minirt runs on ``device``: ``"CPU"``, also with a number, ``"CPU:0"``."""
        return device.partition(":")[0] == "CPU"

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **options: Any) -> bool:
        """Whether minirt has all that ``model`` needs. Raises ModelError if the model is wrong."""
        try:
            cls.prepare(model, device, **options)
        except UnsupportedError:
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **options: Any) -> BackendRep:
        """Load ``model``; ``options`` are those of :func:`minirt.load`.

        Raises what that raises, and UnsupportedError for a device that is no CPU.
        """
        if not cls.supports_device(device):
            raise UnsupportedError(f"device {device!r}: minirt runs on the CPU alone")
        return BackendRep(load(model, **options))

    @classmethod
    def run_model(
        cls, model: ModelProto, inputs: Feeds, device: str = "CPU", **options: Any
    ) -> Outputs:
        """Load ``model`` with the ``options`` of :func:`minirt.load` and run it once."""
        return cls.prepare(model, device, **options).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Sequence[Any],
        device: str = "CPU",
        outputs_info: object = None,
        **options: Any,
    ) -> Outputs:
        """Run a model of this one node.

        ``inputs`` are in the order of the operands, without those that the node omits; one
        that it takes twice comes once. ``opset_version`` is the version of the node's domain,
        by default the newest that minirt knows. ``outputs_info`` is of no use to minirt,
        which finds types itself.
        """
        opset = options.pop("opset_version", None) or NEWEST_OPSETS.get(node.domain, 1)
        return cls.run_model(_model_of(node, inputs, opset), inputs, device, **options)


def _model_of(node: NodeProto, inputs: Sequence[Any], opset: int) -> ModelProto:
    """A model that takes what the node takes and gives what it gives."""
    names = list(dict.fromkeys(filter(None, node.input)))
    if len(names) != len(inputs):
        raise InputError(
            f"{len(inputs)} inputs were passed, but the node takes {len(names)}: {', '.join(names)}"
        )
    graph = helper.make_graph(
        [node],
        node.name or node.op_type,
        [
            helper.make_value_info(name, type_to_proto(_type(value)))
            for name, value in zip(names, inputs, strict=True)
        ],
        [helper.make_empty_tensor_value_info(name) for name in filter(None, node.output)],
    )
    opsets = [helper.make_opsetid(node.domain, opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def _type(value: Any) -> Type:
    """The type of a value and, as far as they can be seen, of what is in it."""
    type = type_of(value)
    match type:
        case TensorType():
            return replace(type, shape=np.shape(value))
        case SequenceType() if value:
            return SequenceType(type_of(value[0]))
        case MapType() if value:
            return MapType(type.key, type_of(np.asarray(next(iter(value.values())))))
    return type


is_compatible = Backend.is_compatible
prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
