"""Functions that ask for much with little."""

from __future__ import annotations

from hostile_process import BOOL, LOCAL, calls, case, expand, infer
from hostile_sizes import sparse
from onnx import AttributeProto, FunctionProto, NodeProto, TensorProto, helper
from protos import graph, model, node, value


def _function(name: str, nodes: list[NodeProto], inputs: str = "p", outputs: str = "r"):
    imports = [helper.make_opsetid(*item) for item in LOCAL.items()]
    return helper.make_function("local", name, inputs.split(), outputs.split(), nodes, imports)


def _call(index: int, operand: str, result: str) -> NodeProto:
    return node(f"F{index}", operand, result, domain="local")


@case
def functions_that_double() -> object:
    """Two to the power of very many nodes, a number of kilobytes for each function."""
    proto = model(calls(1, "F0"), ["x"], ["y0"], opsets=LOCAL)
    body = _function("", [_call(0, "p", "s"), _call(0, "s", "r")])
    for i in range(10_000):
        body.name, body.node[0].op_type, body.node[1].op_type = f"F{i}", *[f"F{i + 1}"] * 2
        proto.functions.append(body)
    proto.functions.append(_function(f"F{i + 1}", [node("Identity", "p", "r")]))
    return expand(proto)


@case
def a_list_in_a_function() -> object:
    body = [node("Constant", "", "c", value_ints=list(range(100_000))), node("Identity", "p", "r")]
    proto = model(calls(5000), ["x"], ["y0"], functions=[_function("F", body)], opsets=LOCAL)
    return expand(proto)


@case
def a_tensor_in_a_function() -> object:
    """All calls share it, as they may: this one is fine."""
    tensor = TensorProto(data_type=1, dims=[10**6], float_data=[1.0] * 10**6)
    body = [node("Constant", "", "c", value=tensor), node("Identity", "p", "r")]
    proto = model(calls(5000), ["x"], ["y0"], functions=[_function("F", body)], opsets=LOCAL)
    return expand(proto)


@case
def a_sparse_tensor_in_a_function() -> object:
    body = [node("Constant", "", "r", sparse_value=sparse("", [2**27]))]
    proto = model(calls(100), ["x"], ["y0"], functions=[_function("F", body)], opsets=LOCAL)
    return expand(proto)


@case
def a_function_of_many_inputs() -> object:
    inputs = " ".join(f"p{i}" for i in range(20_000))
    function = _function("F", [node("Identity", "p0", "r")], inputs)
    return expand(model(calls(20_000), ["x"], ["y0"], functions=[function], opsets=LOCAL))


@case
def calls_without_results() -> object:
    """Nothing tells the names of their values apart but a number."""
    function = _function("F", [node("Identity", "p", "s"), node("Identity", "s", "r")])
    nodes = calls(20_000, outputs="")
    return expand(model(nodes, ["x"], ["x"], functions=[function], opsets=LOCAL))


@case
def calls_in_calls() -> object:
    """Each has a name that begins with that of the one around it."""
    last, long = 10_000, "value" * 20
    functions = [
        _function(f"F{i}", [_call(i + 1, "p", long), node("Identity", long, "r")])
        for i in range(last)
    ]
    functions.append(_function(f"F{last}", [node("Identity", "p", "r")]))
    return expand(model(calls(1, "F0"), ["x"], ["y0"], functions=functions, opsets=LOCAL))


def _given(name: str, type_: int = AttributeProto.GRAPH) -> AttributeProto:
    """An attribute that is the argument ``g`` of the function."""
    return AttributeProto(name=name, ref_attr_name="g", type=type_)


def _branches(output: str, condition: str = "p") -> NodeProto:
    """An If whose branches are both the argument of the function."""
    branches = [_given("then_branch"), _given("else_branch")]
    return NodeProto(op_type="If", input=[condition], output=[output], attribute=branches)


def _with_argument(nodes: list[NodeProto]) -> FunctionProto:
    function = _function("F", nodes)
    function.attribute.append("g")
    return function


@case
def graphs_that_functions_share() -> object:
    """Two to the power of thirty ways lead to the innermost graph."""
    inner = graph([node("Identity", "c", "o")], [], ["o"])
    for _ in range(24):
        inner = graph([node("F", "c", "o", domain="local", g=inner)], [], ["o"])
    proto = model(
        [node("F", "c", "y", domain="local", g=inner)],
        [value("c", BOOL, [])],
        ["y"],
        functions=[_with_argument([_branches("r")])],
        opsets=LOCAL,
    )
    return infer(proto)


@case
def a_graph_that_many_nodes_share() -> object:
    """It captures many values, too."""
    count = 20_000
    names = [f"v{i}" for i in range(count)]
    shared = graph([node("Identity", name, f"i{name}") for name in names], [], ["iv0"])
    proto = model(
        [node("F", "c", "y", domain="local", g=shared), *(node("Identity", "c", n) for n in names)],
        [value("c", BOOL, [])],
        ["y"],
        functions=[_with_argument([*(_branches(f"s{i}") for i in range(count)), _branches("r")])],
        opsets=LOCAL,
    )
    return expand(proto)


@case
def a_list_that_many_nodes_share() -> object:
    users = [
        NodeProto(
            op_type="Constant",
            output=[f"r{i}"],
            attribute=[
                AttributeProto(name="value_ints", ref_attr_name="g", type=AttributeProto.INTS)
            ],
        )
        for i in range(20_000)
    ]
    function = _with_argument([*users, node("Identity", "p", "r")])
    call = node("F", "x", "y", domain="local", g=[1] * 500_000)
    return expand(model([call], ["x"], ["y"], functions=[function], opsets=LOCAL))


@case
def one_long_name_in_a_function() -> object:
    function = _function("F", [node("Identity", "p", "n" * 1_000_000), node("Identity", "p", "r")])
    proto = model(calls(5000), ["x"], ["y0"], functions=[function], opsets=LOCAL)
    return expand(proto)
