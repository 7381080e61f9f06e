"""Inference of every model of the suite, whether or not its operators exist."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from case_models import type_of
from protos import model, node, value
from update import XFAIL

import minirt
from minirt.cli.info import describe
from minirt.conformance import find_cases, read_values, suite_directory
from minirt.conformance.expected import read_expected
from minirt.data.tensors import type_from_proto
from minirt.graph import Graph
from minirt.types import OptionalType, SparseTensorType, TensorType, Type, merge

#: As many values as both minirt and onnx know something of, at least: with the types that
#: files declare, and with those that minirt finds without them.
DECLARED, FOUND = 11_500, 9_000


#: Where onnx says more than minirt: of AffineGrid, whose definition does not tell the last
#: dimension; of a branch that does not suit the rank at hand, and is never taken; and, wrongly,
#: that the elements of a sequence have no dimensions.
VAGUER = {
    "test_affine_grid_2d",
    "test_affine_grid_2d_align_corners",
    "test_affine_grid_3d",
    "test_affine_grid_3d_align_corners",
    "test_affine_grid_3d_align_corners_expanded",
    "test_affine_grid_3d_expanded",
    "test_loop13_seq",
}

#: The suite is run in so many parts, so that processes can share the work.
PARTS = 8


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


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_a_run_gives_what_is_inferred(part):
    """Of models that pass: every value of the graph, without the shapes of inputs and with them."""
    expected = read_expected(XFAIL)
    for case in find_cases([suite_directory()])[part::PARTS]:
        if case.name in expected:
            continue
        session = minirt.load(case.model)
        inputs = read_values(case.data_sets[0], "input", session.inputs)
        feeds = dict(zip((info.name for info in session.inputs), inputs, strict=False))
        shapes = {
            info.name: np.shape(feeds[info.name])
            for info in session.inputs
            if isinstance(info.type, TensorType) and info.name in feeds
        }
        for graph in (minirt.infer(case.model), minirt.infer(case.model, shapes)):
            check_run(session, graph, feeds, case.name)


def check_run(session: minirt.Session, graph: Graph, feeds, name: str) -> None:
    """Fail where a value that a run makes is not of the type that ``graph`` says."""
    known = {edge.name: edge.type for edge in graph.values() if edge.name in session._values}
    for edge, actual in session.run(feeds, list(known)).items():
        inferred = known[edge]
        while isinstance(inferred, OptionalType):
            inferred = inferred.element
        if inferred is not None and (hasattr(actual, "dtype") or actual):
            assert merge(inferred, type_of(actual)), (
                f"{name}: {edge!r} is {type_of(actual)}, but {inferred} was inferred"
            )


@pytest.mark.slow
def test_inference_is_as_precise_as_that_of_onnx(paths):
    """Of models that pass: what onnx knows of a value without its declaration, minirt knows."""
    expected, vague = read_expected(XFAIL), {}
    for path in paths:
        if path.parent.name in expected:
            continue
        proto = onnx.load(path)
        forget_types(proto.graph)
        theirs = onnx.shape_inference.infer_shapes(proto, data_prop=True)
        pairs = list(known_pairs(minirt.infer(proto), theirs.graph, all_values=True))
        if less := [
            f"{n}: {ours}, {theirs}" for n, ours, theirs in pairs if is_vaguer(ours, theirs)
        ]:
            vague[path.parent.name] = less
    assert vague.keys() == VAGUER, vague


def is_vaguer(ours: Type | None, theirs: Type) -> bool:
    """Whether ``theirs`` says a size, or how many there are, that ``ours`` does not."""
    if ours is None:
        return True
    if not isinstance(theirs, TensorType | SparseTensorType):
        element = getattr(theirs, "element", None)
        return element is not None and is_vaguer(ours.element, element)
    if theirs.shape is None:
        return False
    return ours.shape is None or any(
        isinstance(size, int) and not isinstance(ours_size, int)
        for ours_size, size in zip(ours.shape, theirs.shape, strict=True)
    )


def forget_types(graph: onnx.GraphProto) -> None:
    """Remove the types that are not needed: of values other than inputs."""
    graph.ClearField("value_info")
    for info in graph.output:
        info.ClearField("type")
    for each in graph.node:
        for attribute in each.attribute:
            if attribute.HasField("g"):
                forget_types(attribute.g)


def known_pairs(
    graph: Graph, proto: onnx.GraphProto, all_values: bool = False
) -> Iterator[tuple[str, Type, Type]]:
    """The types of values, here and in subgraphs, that both minirt and onnx know something of.

    ``all_values``: or onnx alone.
    """
    declared = {info.name: info.type for info in (*proto.input, *proto.output, *proto.value_info)}
    for edge in graph.values():
        theirs = declared.get(edge.name)
        if theirs and theirs.WhichOneof("value") and (edge.type is not None or all_values):
            yield edge.name, edge.type, type_from_proto(theirs)
    for each in graph.nodes:
        attributes = proto.node[each.index].attribute
        inner = {a.name: a.g for a in attributes if a.HasField("g")}
        for name, subgraph in each.subgraphs():
            yield from known_pairs(subgraph, inner[name], all_values)


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
