"""A hundred thousand of everything: it takes time by their number, not by its square."""

from __future__ import annotations

import numpy as np
from hostile_process import BOOL, LOCAL, calls, case, expand, infer, load
from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto, helper
from protos import graph, model, node, value

from minirt.runtime.arena import Arena

MANY = 60_000


@case
def many_nodes_in_a_chain() -> object:
    nodes = [node("Identity", f"v{i}", f"v{i + 1}") for i in range(MANY)]
    return load(model(nodes, ["v0"], [f"v{MANY}"])).outputs


@case
def many_nodes_backwards() -> object:
    nodes = [node("Identity", f"v{i}", f"v{i + 1}") for i in reversed(range(MANY))]
    return load(model(nodes, ["v0"], [f"v{MANY}"])).outputs


@case
def many_of_everything() -> object:
    """Inputs, outputs, initializers, declarations, metadata, imports."""
    names = [f"v{i}" for i in range(MANY)]
    declared = [value(name, 1, ["N"]) for name in names]
    proto = ModelProto(ir_version=10)
    proto.opset_import.extend(helper.make_opsetid(f"d{i}", 1) for i in range(MANY))
    proto.opset_import.append(helper.make_opsetid("", 21))
    proto.graph.CopyFrom(GraphProto(name="g", input=declared, value_info=declared))
    tensor = {"data_type": 1, "dims": [1], "raw_data": b"\0" * 4}
    proto.graph.initializer.extend(TensorProto(name=f"w{i}", **tensor) for i in range(MANY))
    proto.graph.output.extend(ValueInfoProto(name=f"{'vw'[i % 2]}{i}") for i in range(MANY))
    helper.set_model_props(proto, {name: name for name in names})
    session = load(proto)
    return f"{len(session.inputs)} inputs, {len(session.outputs)} outputs"


@case
def one_node_of_many_operands() -> object:
    inputs = " ".join(["x"] * MANY)
    proto = model([node("Merge", inputs, "y", domain="local")], ["x"], ["y"], opsets=LOCAL)
    return infer(proto)


@case
def many_calls() -> object:
    nodes = [node("Identity", "p", "s"), node("Identity", "s", "r")]
    imports = [helper.make_opsetid("", 21)]
    function = helper.make_function("local", "F", ["p"], ["r"], nodes, imports)
    proto = model(calls(MANY // 2), ["x"], ["y0"], functions=[function], opsets=LOCAL)
    return expand(proto)


@case
def many_subgraphs() -> object:
    inner = graph([node("Identity", "x", "i")], [], ["i"])
    count = MANY // 10
    nodes = [node("If", "c", f"y{i}", then_branch=inner, else_branch=inner) for i in range(count)]
    return infer(model(nodes, ["x", value("c", BOOL, [])], ["y0"]))


@case
def many_gaps() -> object:
    """Buffers of which every other one is free, where none of the next fits in."""
    arena = Arena()
    for offset in [arena.take(64) for _ in range(2 * MANY)][::2]:
        arena.give(offset, 64)
    return len({arena.take(128) for _ in range(MANY)})


@case
def many_steps() -> object:
    """Planned and run, with buffers that come and go in another order."""
    count = 2000
    nodes = [node("Cast", "x", f"h{i}", to=10) for i in range(count)]
    nodes += [node("Cast", f"h{i}", f"y{i}", to=1) for i in range(0, count, 2)]
    nodes += [node("Cast", f"h{i}", f"y{i}", to=11) for i in range(1, count, 2)]
    names = [f"y{i}" for i in range(count)]
    session = load(model(nodes, [value("x", 1, [1])], names))
    return len(session.run({"x": np.ones(1, np.float32)}))
