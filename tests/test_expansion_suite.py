"""ONNX's functions in the suite: expanded as ONNX does it, in every model and at any depth."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import onnx
import pytest
from canonical import canonical
from operators import bare, temporary  # noqa: F401
from schema_operators import register_all

from minirt.conformance import suite_directory
from minirt.graph import Graph
from minirt.model.expansion import expansion_of, has_expansion
from minirt.model.load import read_graph
from minirt.model.typed import infer_types
from minirt.passes.check import check
from minirt.passes.expand import expand
from minirt.passes.upgrade import upgrade

pytestmark = [pytest.mark.usefixtures("bare"), pytest.mark.slow]


def read(model) -> Graph:
    graph = read_graph(model)
    check(graph)
    upgrade(graph)
    return graph


def function_case(folder: Path) -> Graph:
    """The case that ``folder`` has expanded, at the opset of ai.onnx for which it does so."""
    name, _, version = folder.name.partition("_expanded")
    model = onnx.load(folder.parent / name / "model.onnx")
    for item in model.opset_import:
        if version and item.domain in ("", "ai.onnx"):
            item.version = int(version.removeprefix("_ver"))
    return read(model)


def test_a_node_becomes_what_onnx_makes_of_it():
    folders = sorted(suite_directory().glob("*_expanded*"))
    assert len(folders) >= 480
    operators: Counter[str] = Counter()
    for folder in folders:
        graph, expected = function_case(folder), read(folder / "model.onnx")
        (node,) = graph.nodes
        expansion = expansion_of(node, infer_types(graph), {})
        expansion.inputs, expansion.outputs = graph.inputs, graph.outputs
        assert canonical(expansion) == canonical(expected), folder.name
        operators[node.op_type] += 1
    assert len(operators) >= 48


def test_every_function_is_expanded_where_types_are_known():
    """Of all models, among them 64 of which onnx's own inliner does not know enough types."""
    register_all()
    models = sorted(suite_directory().glob("*/model.onnx"))
    assert len(models) >= 2036
    expanded = 0
    for path in models:
        graph = read(path)
        expanded += expand(graph)
        left = {n.op_type for g in graph.graphs() for n in g.nodes if has_expansion(n)}
        assert left <= {"CastLike", "Relu"}, path  # which are there
    assert expanded >= 550
