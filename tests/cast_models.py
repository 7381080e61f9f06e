"""Models of Cast and CastLike, and running them on elements (codes, or text for strings)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from cast_data import from_storage, to_storage
from onnx import ModelProto, NodeProto, helper

import minirt
from minirt.dtypes import BY_NAME

__all__ = ["Element", "cast_node", "elements_of", "make_model", "public", "run_chain"]

Element = int | str

#: The IR version that came with an opset, as far as old models differ.
_IR = {1: 3, 6: 3, 9: 4, 13: 7, 15: 8, 19: 9, 21: 10, 23: 11, 24: 12, 25: 13, 28: 14}


def public(elements: Sequence[Element], name: str) -> np.ndarray:
    """The array that a caller of minirt would pass."""
    if name == "string":
        return np.array(elements, object)
    codes = np.array(elements, np.uint64)
    return to_storage(codes, name).view(BY_NAME[name].public)


def elements_of(array: np.ndarray, name: str) -> list[Element]:
    """The elements of an array that minirt gave back; its type must be ``name``'s."""
    assert array.dtype == BY_NAME[name].public
    flat = array.reshape(-1)
    return flat.tolist() if name == "string" else from_storage(flat).tolist()


def cast_node(source: str, out: str, dst: str, op: str = "Cast", **options: object) -> NodeProto:
    """A Cast, or a CastLike whose second input is called ``like_<dst>``."""
    if op == "CastLike":
        return helper.make_node(op, [source, f"like_{dst}"], [out], **options)
    return helper.make_node(op, [source], [out], to=BY_NAME[dst].code, **options)


def make_model(
    nodes: list[NodeProto], src: str, outputs: dict[str, str], opset: int = 28
) -> ModelProto:
    """A model with input ``x`` of type ``src``, every ``like_<type>`` that nodes name, and
    ``outputs`` from name to type."""
    likes = {name for node in nodes for name in node.input if name.startswith("like_")}
    inputs = [helper.make_tensor_value_info("x", BY_NAME[src].code, ["n"])]
    for name in sorted(likes):
        code = BY_NAME[name.removeprefix("like_")].code
        inputs.append(helper.make_tensor_value_info(name, code, [0]))
    results = [
        helper.make_tensor_value_info(name, BY_NAME[dst].code, ["n"])
        for name, dst in outputs.items()
    ]
    graph = helper.make_graph(nodes, "casts", inputs, results)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=_IR.get(opset, 14))


def run_model(model: ModelProto, x: np.ndarray) -> minirt.Outputs:
    """Run with ``x``, and an empty array for every other input."""
    feeds = {"x": x}
    for value in model.graph.input:
        if value.name != "x":
            code = value.type.tensor_type.elem_type
            feeds[value.name] = np.empty(0, minirt.dtypes.find(code).public)
    return minirt.run(model, feeds)


def run_chain(
    types: Sequence[str],
    elements: Sequence[Element],
    *,
    op: str = "Cast",
    opset: int = 28,
    **options: object,
) -> list[Element]:
    """Convert through ``types``, one node a step; ``options`` are attributes of the first."""
    names = ["x", *(f"y{i}" for i in range(1, len(types)))]
    nodes = [
        cast_node(names[i], names[i + 1], types[i + 1], op, **(options if i == 0 else {}))
        for i in range(len(types) - 1)
    ]
    model = make_model(nodes, types[0], {names[-1]: types[-1]}, opset)
    return elements_of(run_model(model, public(elements, types[0]))[0], types[-1])
