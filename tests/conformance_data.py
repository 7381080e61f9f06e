"""Writes ONNX test directories, with the onnx package alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def node_model(
    op_type: str,
    inputs: Sequence[tuple[str, int, Sequence[int | str]]],
    outputs: Sequence[tuple[str, int, Sequence[int | str]]],
    *,
    opset: int = 21,
    ir_version: int = 10,
    initializers: Sequence[TensorProto] = (),
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node that takes ``inputs`` and gives ``outputs``: (name, type, shape)."""
    node = helper.make_node(op_type, [i[0] for i in inputs], [o[0] for o in outputs], **attributes)
    graph = helper.make_graph(
        [node],
        "case",
        [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs],
        initializer=list(initializers),
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)


def cast_model(source: str, target: str, size: int, **attributes: Any) -> onnx.ModelProto:
    """y = Cast(x) from one TensorProto type to another, by their names."""
    to = TensorProto.DataType.Value(target)
    x = ("x", TensorProto.DataType.Value(source), [size])
    return node_model("Cast", [x], [("y", to, [size])], to=to, **attributes)


def write_case(path: Path, model: onnx.ModelProto, *data_sets: dict[str, Any]) -> Path:
    """Write a test directory. A data set maps ``"input_0"`` to an array, a message or bytes."""
    path.mkdir(parents=True)
    (path / "model.onnx").write_bytes(model.SerializeToString())
    for k, values in enumerate(data_sets):
        folder = path / f"test_data_set_{k}"
        folder.mkdir()
        for name, value in values.items():
            (folder / f"{name}.pb").write_bytes(contents(value))
    return path


def contents(value: Any) -> bytes:
    """What stands in a .pb file."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, np.ndarray):
        value = numpy_helper.from_array(value)
    return bytes(value.SerializeToString())


def halves_as_uint16(bits: Sequence[int]) -> TensorProto:
    """bfloat16 bits in a UINT16 tensor: how ONNX 1.8 to 1.18 stored bfloat16."""
    return numpy_helper.from_array(np.array(bits, np.uint16))
