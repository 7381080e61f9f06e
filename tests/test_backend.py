"""minirt behind ONNX's interface for runtimes, and ONNX's own runner of its suite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from protos import node

from minirt import backend
from minirt.conformance import Tolerance, compare
from minirt.errors import InputError, SchemaError, UnsupportedError
from models import model

HALVES = np.array([0.5, 1.5, -2.5], np.float32)
CAST = model("float[N] x", "float16[N] y", f"y = Cast<to={TensorProto.FLOAT16}>(x)")

#: Of 2036 cases three are of a kind that the runner leaves out, and nine are not for it.
OFFICIAL = 2024


def test_the_official_runner(tmp_path):
    script = Path(__file__).parent / "official.py"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        capture_output=True,
        text=True,
        env=os.environ | {"ONNX_HOME": str(tmp_path)},
        timeout=600,
    )
    assert (done.stderr, done.stdout) == ("", f"{OFFICIAL} cases\n")


def test_it_is_a_backend_of_onnx():
    assert issubclass(backend.Backend, onnx.backend.base.Backend)
    assert isinstance(backend.prepare(CAST), onnx.backend.base.BackendRep)


def test_models():
    prepared = backend.prepare(CAST, "CPU", threads=1)
    for inputs in ([HALVES], (HALVES,), {"x": HALVES}):
        (result,) = prepared.run(inputs)
        assert result.dtype == np.float16
        np.testing.assert_array_equal(result, HALVES)
    assert prepared.run([HALVES], outputs=["y"])["y"].dtype == np.float16
    assert prepared.session.inputs[0].name == "x"
    (result,) = backend.run_model(CAST, [HALVES])
    np.testing.assert_array_equal(result, HALVES)


def test_devices():
    assert [backend.supports_device(d) for d in ("CPU", "CPU:0", "CUDA", "CUDA:1", "")] == [
        *(True, True),
        *(False, False, False),
    ]
    with pytest.raises(UnsupportedError, match=r"^device 'CUDA:1': minirt runs on the CPU alone$"):
        backend.prepare(CAST, "CUDA:1")
    with pytest.raises(UnsupportedError, match=r"^device 'CUDA'"):
        backend.run_node(node("Identity", "x", "y"), [HALVES], "CUDA")


def test_what_is_compatible():
    assert backend.is_compatible(CAST)
    assert not backend.is_compatible(CAST, "CUDA")
    twist = helper.make_graph([node("Twist", "", "y", domain="my")], "g", [], [])
    opsets = [helper.make_opsetid("my", 1)]
    assert not backend.is_compatible(helper.make_model(twist, opset_imports=opsets))
    wrong = model("float[N] x", "float16[N] y", "y = Cast<to=99>(x)")
    with pytest.raises(SchemaError, match="99"):
        backend.is_compatible(wrong)


def test_nodes():
    narrow = HALVES.astype(ml_dtypes.bfloat16)
    cast_like = node("CastLike", "x t", "y")
    (result,) = backend.run_node(cast_like, [HALVES, narrow])
    assert result.dtype == ml_dtypes.bfloat16
    assert result.tolist() == narrow.tolist()
    (result,) = backend.run_node(cast_like, [HALVES, HALVES], opset_version=15)
    assert result.dtype == np.float32
    (result,) = backend.run_node(node("CastLike", "x x", "y"), [HALVES])
    assert result.tolist() == HALVES.tolist()


@pytest.mark.parametrize(
    "given",
    [
        [HALVES, HALVES[:1]],
        [],
        np.array(["a", "b"], object),
        np.float16(2.0),
    ],
    ids=["sequence", "empty sequence", "text", "scalar"],
)
def test_nodes_take_values_of_any_type(given):
    (result,) = backend.run_node(node("Identity", "x", "y"), [given])
    assert compare(given, result, Tolerance(ulp=0)).problem == ""


def test_operands_are_counted():
    with pytest.raises(InputError, match=r"^1 inputs were passed, but the node takes 2: x, t$"):
        backend.run_node(node("CastLike", "x t", "y"), [HALVES])


def test_old_versions_of_nodes_are_told_apart():
    with pytest.raises(SchemaError):
        backend.run_node(node("Cast", "x", "y", to=1), [HALVES], opset_version=1)
