"""Scatter operators whose output takes the place of an operand."""

from __future__ import annotations

import numpy as np
import pytest
from case_models import COPIES, register_copy
from onnx import TensorProto, helper
from operators import temporary  # noqa: F401

import minirt

TURNED = np.int64([3, 0, 1, 2])
X = np.int64([[10, 11], [20, 21], [30, 31], [40, 41]])


def session(op, operands, **attributes):
    """``y = op(c, ...)`` where ``c`` is a copy of ``x`` that nobody else needs; "i" are indices."""
    shapes = {"x": X.shape, "i": None}
    nodes = [
        helper.make_node("Copy", ["x"], ["c"], domain=COPIES),
        helper.make_node(op, operands, ["m"], **attributes),
        helper.make_node("Copy", ["m"], ["y"], domain=COPIES),
    ]
    graph = helper.make_graph(
        nodes,
        "overwriting",
        [helper.make_tensor_value_info(n, TensorProto.INT64, s) for n, s in shapes.items()],
        [helper.make_empty_tensor_value_info("y")],
    )
    opsets = [helper.make_opsetid("", 24), helper.make_opsetid(COPIES, 1)]
    return minirt.load(helper.make_model(graph, opset_imports=opsets))


def along(indices):
    return np.stack([indices] * 2, axis=-1)


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize(
    ("op", "indices", "attributes", "expected"),
    [
        ("ScatterElements", along(TURNED), {}, X[[1, 2, 3, 0]]),
        ("ScatterElements", along(TURNED), {"reduction": "add"}, X + X[[1, 2, 3, 0]]),
        ("ScatterND", TURNED[:, None], {}, X[[1, 2, 3, 0]]),
        ("ScatterND", TURNED[:, None], {"reduction": "mul"}, X * X[[1, 2, 3, 0]]),
        ("TensorScatter", np.int64([1, 0, 1, 0]), {"axis": 1, "mode": "circular"}, None),
    ],
    ids=str,
)
def test_updates_that_are_the_data_which_is_overwritten(op, indices, attributes, expected):
    register_copy()
    operands = ["c", "c", "i"] if op == "TensorScatter" else ["c", "i", "c"]
    if expected is None:
        expected = np.int64([[11, 10], [20, 21], [31, 30], [40, 41]])
    loaded = session(op, operands, **attributes)
    np.testing.assert_array_equal(loaded.run({"x": X, "i": indices})["y"], expected)


@pytest.mark.usefixtures("temporary")
def test_indices_that_are_the_data_which_is_overwritten():
    register_copy()
    x = np.int64([[1, 0], [0, 1], [1, 0], [0, 1]])
    loaded = session("ScatterElements", ["c", "c", "i"], axis=1)
    np.testing.assert_array_equal(
        loaded.run({"x": x, "i": X})["y"],
        np.int64([[11, 10], [20, 21], [31, 30], [40, 41]]),
    )
