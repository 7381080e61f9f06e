"""ONNX's functions expanded as ONNX does it: the cases of the suite that are such expansions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import onnx
import pytest
from canonical import canonical

from minirt.conformance import suite_directory
from minirt.expansion import expansion_of
from minirt.graph import Graph
from minirt.load import read_graph
from minirt.passes.check import check
from minirt.passes.upgrade import upgrade
from minirt.typed import infer_types

pytestmark = pytest.mark.slow


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


@pytest.fixture(scope="module")
def folders() -> list[Path]:
    found = sorted(f for f in suite_directory().iterdir() if "_expanded" in f.name)
    assert len(found) >= 480
    return found


def test_a_node_becomes_what_onnx_makes_of_it(folders):
    operators: Counter[str] = Counter()
    for folder in folders:
        graph, expected = function_case(folder), read(folder / "model.onnx")
        (node,) = graph.nodes
        expansion = expansion_of(node, infer_types(graph), {})
        expansion.inputs, expansion.outputs = graph.inputs, graph.outputs
        assert canonical(expansion) == canonical(expected), folder.name
        operators[node.op_type] += 1
    assert len(operators) >= 48
