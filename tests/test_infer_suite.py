"""Inference of every model of the suite, whether or not its operators exist."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from protos import model, node, value

import minirt
from minirt.cli.info import describe
from minirt.conformance import suite_directory
from minirt.data.tensors import type_from_proto
from minirt.graph import Graph
from minirt.types import Type, merge

#: As many values as both minirt and onnx know something of, at least: with the types that
#: files declare, and with those that minirt finds without them.
DECLARED, FOUND = 11_500, 9_000


@pytest.fixture(scope="module")
def paths() -> list[Path]:
    found = sorted(suite_directory().glob("*/model.onnx"))
    assert len(found) >= 2036
    return found


@pytest.mark.slow
def test_every_model_is_read_typed_and_printed(paths):
    """As ``minirt info --shapes`` does it: with what minirt lacks, and all values."""
    for path in paths:
        lines = list(describe(str(path), shapes={}))
        assert "operators" in lines, path
        graph = lines[lines.index("values") + 1 :]
        assert graph[0].startswith("  graph "), path
        assert graph[-1].startswith("    output %"), path


@pytest.mark.slow
@pytest.mark.parametrize("least", [DECLARED, FOUND], ids=["as declared", "as found"])
def test_onnx_is_not_contradicted(paths, least):
    compared = 0
    for path in paths:
        proto = onnx.load(path)
        theirs = onnx.shape_inference.infer_shapes(proto, data_prop=True)
        if least == FOUND:
            forget_types(proto.graph)
        pairs = list(known_pairs(minirt.infer(proto), theirs.graph))
        assert contradictions(pairs) == [], path
        compared += len(pairs)
    assert compared >= least


def forget_types(graph: onnx.GraphProto) -> None:
    """Remove the types that are not needed: of values other than inputs."""
    graph.ClearField("value_info")
    for info in graph.output:
        info.ClearField("type")
    for each in graph.node:
        for attribute in each.attribute:
            if attribute.HasField("g"):
                forget_types(attribute.g)


def known_pairs(graph: Graph, proto: onnx.GraphProto) -> Iterator[tuple[str, Type, Type]]:
    """The types of values, here and in subgraphs, that both minirt and onnx know something of."""
    declared = {info.name: info.type for info in (*proto.input, *proto.output, *proto.value_info)}
    for edge in graph.values():
        theirs = declared.get(edge.name)
        if edge.type is not None and theirs and theirs.WhichOneof("value"):
            yield edge.name, edge.type, type_from_proto(theirs)
    for each in graph.nodes:
        attributes = proto.node[each.index].attribute
        inner = {a.name: a.g for a in attributes if a.HasField("g")}
        for name, subgraph in each.subgraphs():
            yield from known_pairs(subgraph, inner[name])


def contradictions(pairs) -> list[str]:
    return [f"{name}: {ours}, {theirs}" for name, ours, theirs in pairs if not merge(ours, theirs)]


def test_a_contradiction_is_found():
    proto = model([node("Cast", "x", "y", to=10)], [value("x", 1, [2])], ["y"])
    theirs = onnx.shape_inference.infer_shapes(proto)
    assert [str(ours) for _, ours, _ in known_pairs(minirt.infer(proto), theirs.graph)] == [
        "float[2]",
        "float16[2]",
    ]
    for info in (*theirs.graph.output, *theirs.graph.value_info):
        info.type.tensor_type.shape.dim[0].dim_value = 3
    found = contradictions(known_pairs(minirt.infer(proto), theirs.graph))
    assert found == ["y: float16[2], float16[3]"]
