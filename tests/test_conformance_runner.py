"""Running test directories: what passes, what fails, and what is said about it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conformance_data import cast_model, node_model, write_case
from onnx import TensorProto, helper, numpy_helper
from operators import temporary  # noqa: F401

import minirt
from minirt.conformance import find_cases, run_case, run_directories
from minirt.ops.registry import op
from minirt.session import Session

X = np.float32([1.5, -2.5, 300])
Y = np.int32([1, -2, 300])
FLOAT_TO_INT = cast_model("FLOAT", "INT32", 3)


def run(path, **options):
    (case,) = find_cases([path])
    return run_case(case, **options)


def fails(path, **options):
    result = run(path, **options)
    assert result.status == "failed"
    assert not result.bit_exact
    return result.reason


def test_a_case_that_passes(tmp_path):
    result = run(write_case(tmp_path / "c", FLOAT_TO_INT, {"input_0": X, "output_0": Y}))
    assert (result.status, result.reason, result.bit_exact) == ("passed", "", True)
    assert result.seconds > 0
    (output,) = result.outputs
    assert output.to_json() == {
        "data_set": "test_data_set_0",
        "name": "y",
        "count": 3,
        "differ": 0,
        "max_ulp": 0,
        "reason": "",
    }


def test_a_wrong_result_shows_its_first_element(tmp_path):
    wrong = np.int32([1, -3, 301])
    path = write_case(tmp_path / "c", FLOAT_TO_INT, {"input_0": X, "output_0": wrong})
    assert fails(path) == (
        "y[1]: expected -3 (0xfffffffd), got -2 (0xfffffffe); 2 of 3 elements wrong"
    )


def test_every_data_set_counts(tmp_path):
    good, bad = {"input_0": X, "output_0": Y}, {"input_0": X, "output_0": Y + 1}
    result = run(write_case(tmp_path / "c", FLOAT_TO_INT, good, bad, good))
    assert result.status == "failed"
    assert result.reason == (
        "test_data_set_1: y[0]: expected 2 (0x00000002), got 1 (0x00000001); 3 of 3 elements wrong"
    )
    assert [(o.data_set, o.comparison.differ) for o in result.outputs] == [
        ("test_data_set_0", 0),
        ("test_data_set_1", 3),
        ("test_data_set_2", 0),
    ]


def test_tolerance_and_ulp(tmp_path):
    model = cast_model("DOUBLE", "FLOAT", 2)
    expected = np.nextafter(np.float32([1, 2]), np.float32(9))
    path = write_case(tmp_path / "c", model, {"input_0": np.array([1.0, 2]), "output_0": expected})
    result = run(path)
    assert (result.status, result.bit_exact) == ("passed", False)
    assert (result.outputs[0].comparison.differ, result.outputs[0].comparison.max_ulp) == (2, 1)
    assert run(path, ulp=1).status == "passed"
    assert fails(path, ulp=0) == (
        "y[0]: expected 1.0000001 (0x3f800001), got 1.0 (0x3f800000); "
        "2 of 2 elements wrong, up to 1 ulp off"
    )
    (path / "data.json").write_text('{"rtol": 0, "atol": 0}')
    assert fails(path).startswith("y[0]: expected 1.0000001")
    (path / "data.json").write_text("[]")
    assert fails(path) == "ParseError: data.json: not an object"


TWO_INPUTS = node_model(
    "CastLike",
    [("x", TensorProto.FLOAT, [3]), ("like", TensorProto.INT32, [1])],
    [("y", TensorProto.INT32, [3])],
)
LIKE = np.int32([0])

FILES = [
    (
        {"output_0": Y},
        "test_data_set_0/input_0.pb is missing: input 'x', float[3]",
    ),
    (
        {"input_0": X, "output_0": Y},
        "test_data_set_0/input_1.pb is missing: input 'like', int32[...]",
    ),
    (
        {"input_1": LIKE, "output_0": Y},
        "test_data_set_0/input_0.pb is missing: input 'x', float[3]",
    ),
    (
        {"input_0": X, "input_1": LIKE},
        "test_data_set_0/output_0.pb is missing: output 'y', int32[3]",
    ),
    (
        {"input_0": X, "input_1": LIKE, "input_2": X, "output_0": Y},
        "test_data_set_0/input_2.pb is too many: the model has 2 inputs",
    ),
    (
        {"input_0": X, "input_1": LIKE, "output_0": Y, "output_7": Y},
        "test_data_set_0/output_7.pb is too many: the model has 1 output",
    ),
    (
        {"input_0": X, "input_1": b"\xff\xff", "output_0": Y},
        "test_data_set_0/input_1.pb is no TensorProto: ",
    ),
    (
        {"input_0": b"", "input_1": LIKE, "output_0": Y},
        "test_data_set_0/input_0.pb has element type 0, which is undefined",
    ),
    (
        {
            "input_0": X,
            "input_1": LIKE,
            "output_0": TensorProto(data_type=6, dims=[3], raw_data=bytes(8)),
        },
        "test_data_set_0/output_0.pb declares int32[3], 12 bytes, but raw_data has 8",
    ),
    (
        {"input_0": X.astype(np.float64), "input_1": LIKE, "output_0": Y},
        "InputError: input 'x': expected float32, got float64",
    ),
    (
        {"input_0": X[:2], "input_1": LIKE, "output_0": Y},
        "InputError: input 'x': expected shape [3], got [2]",
    ),
    (
        {"input_0": X, "input_1": LIKE, "output_0": Y.astype(np.int64)},
        "y: expected int64[3], got int32[3]",
    ),
]


@pytest.mark.parametrize(("files", "reason"), FILES)
def test_faults_of_the_files(tmp_path, files, reason):
    assert fails(write_case(tmp_path / "c", TWO_INPUTS, files)).startswith(reason)


def test_a_file_that_cannot_be_read(tmp_path):
    path = write_case(tmp_path / "c", FLOAT_TO_INT, {"output_0": Y})
    (path / "test_data_set_0/input_0.pb").symlink_to("nowhere")
    assert fails(path) == "test_data_set_0/input_0.pb cannot be read: No such file or directory"


def test_an_input_with_a_default_may_be_missing_at_the_end(tmp_path):
    like = numpy_helper.from_array(LIKE, "like")
    model = node_model(
        "CastLike",
        # The file lists it first; by position it comes after those that must be fed.
        [("x", TensorProto.FLOAT, [3]), ("like", TensorProto.INT32, [1])],
        [("y", TensorProto.INT32, [3])],
        initializers=[like],
    )
    model.graph.input.insert(0, model.graph.input.pop(1))
    without = write_case(tmp_path / "a", model, {"input_0": X, "output_0": Y})
    with_it = write_case(tmp_path / "b", model, {"input_0": X, "input_1": LIKE, "output_0": Y})
    only_it = write_case(tmp_path / "c", model, {"input_1": LIKE, "output_0": Y})
    assert run(without).status == run(with_it).status == "passed"
    assert fails(only_it) == "test_data_set_0/input_0.pb is missing: input 'x', float[3]"


def test_defaults_end_the_files_and_leave_no_gaps(tmp_path):
    constants = [numpy_helper.from_array(LIKE, name) for name in ("like", "spare")]
    ints = [(name, TensorProto.INT32, [1]) for name in ("like", "spare")]
    model = node_model(
        "CastLike",
        [("x", TensorProto.FLOAT, [3]), ints[0]],
        [("y", TensorProto.INT32, [3])],
        initializers=constants,
    )
    model.graph.input.append(helper.make_tensor_value_info(*ints[1]))
    data = {"input_0": X, "output_0": Y}
    for name, given, reason in [
        ("a", {}, ""),
        ("b", {"input_1": LIKE}, ""),
        ("c", {"input_1": LIKE, "input_2": LIKE}, ""),
        ("d", {"input_2": LIKE}, "test_data_set_0/input_1.pb is missing: input 'like', int32[...]"),
    ]:
        assert run(write_case(tmp_path / name, model, data | given)).reason == reason


def test_no_data_set_no_model_bad_model(tmp_path):
    write_case(tmp_path / "good", FLOAT_TO_INT, {"input_0": X, "output_0": Y})
    write_case(tmp_path / "no data", FLOAT_TO_INT)
    write_case(tmp_path / "no model", FLOAT_TO_INT, {"output_0": Y})
    (tmp_path / "no model/model.onnx").unlink()
    write_case(tmp_path / "bad", FLOAT_TO_INT, {"output_0": Y})
    (tmp_path / "bad/model.onnx").write_bytes(b"{}")
    unknown = node_model("Cost", [("x", 1, [3])], [("y", 1, [3])])
    write_case(tmp_path / "unknown", unknown, {"input_0": X, "output_0": X})
    results = {r.case.name: r for r in run_directories([tmp_path]).results}
    assert {name: r.status for name, r in results.items()} == {
        "bad": "failed",
        "good": "passed",
        "no data": "skipped",
        "no model": "failed",
        "unknown": "failed",
    }
    assert results["no data"].reason == "no test_data_set_<k> directory beside model.onnx"
    assert results["no model"].reason == "no .onnx file beside test_data_set_0"
    assert results["bad"].reason.startswith("ParseError: ")
    assert "did you mean 'Cos'" in results["unknown"].reason


def test_a_fault_of_minirt_fails_one_case(tmp_path, monkeypatch):
    for name in ("a", "b"):
        write_case(tmp_path / name, FLOAT_TO_INT, {"input_0": X, "output_0": Y})
    working = Session.run

    def break_once(self, inputs):
        monkeypatch.setattr(Session, "run", working)
        raise ZeroDivisionError("what no one expected")

    monkeypatch.setattr(Session, "run", break_once)
    report = run_directories([tmp_path])
    assert [r.reason for r in report.results] == [
        "internal error: ZeroDivisionError: what no one expected",
        "",
    ]


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize("deterministic", [True, False])
def test_what_an_operator_draws_need_not_come_again(tmp_path, deterministic):
    @op("Flip", domain="test", deterministic=deterministic)
    def flip(x):
        return x.without_value(), lambda: lambda x, y: np.subtract(1, x, out=y)

    model = node_model("Flip", [("x", 1, [2])], [("y", 1, [2])])
    model.graph.node[0].domain = "test"
    model.opset_import.append(helper.make_opsetid("test", 1))
    trials = np.float32([0, 1])
    write_case(tmp_path / "draws", model, {"input_0": trials, "output_0": trials})
    write_case(tmp_path / "other", model, {"input_0": trials, "output_0": trials + 1})
    draws, other = run_directories([tmp_path]).results
    assert (draws.status, draws.bit_exact) == ("failed" if deterministic else "passed", False)
    assert other.status == "failed"


def test_the_report(tmp_path):
    write_case(tmp_path / "exact", FLOAT_TO_INT, {"input_0": X, "output_0": Y})
    near = {"input_0": np.array([1.0]), "output_0": np.float32([1.0005])}
    write_case(tmp_path / "near", cast_model("DOUBLE", "FLOAT", 1), near)
    write_case(tmp_path / "wrong", FLOAT_TO_INT, {"input_0": X, "output_0": Y + 1})
    write_case(tmp_path / "empty", FLOAT_TO_INT)
    seen = []
    report = run_directories([str(tmp_path)], on_result=seen.append)
    assert list(report.results) == seen
    assert [r.case.name for r in seen] == ["empty", "exact", "near", "wrong"]
    for cases, names in [
        (report.passed, ["exact", "near"]),
        (report.failed, ["wrong"]),
        (report.skipped, ["empty"]),
        (report.bit_exact, ["exact"]),
    ]:
        assert [r.case.name for r in cases] == names
    assert report.summary() == (
        "1 of 2 passed bit-exactly, 1 within the tolerance",
        "2 passed, 1 failed, 1 skipped",
    )
    data = json.loads(json.dumps(report.to_json()))
    assert data["versions"]["minirt"] == minirt.__version__
    assert set(data["versions"]) == {"python", "minirt", "onnx", "numpy", "numba", "ml_dtypes"}
    totals = data["totals"]
    assert totals.pop("seconds") == pytest.approx(report.seconds, abs=1e-3)
    assert totals == {"passed": 2, "failed": 1, "skipped": 1, "xfailed": 0, "bit_exact": 1}
    assert data["ulp"] is None
    near = data["cases"][2]
    assert near["path"] == str(tmp_path / "near")
    assert (near["name"], near["status"], near["bit_exact"]) == ("near", "passed", False)
    assert (near["outputs"][0]["differ"], near["outputs"][0]["max_ulp"]) == (1, 4194)
    assert data["cases"][3]["reason"] == report.failed[0].reason


def test_selection_by_keyword(tmp_path):
    for name in ("test_cast", "test_cast_string", "test_add"):
        write_case(tmp_path / name, FLOAT_TO_INT, {"input_0": X, "output_0": Y})
    report = run_directories([tmp_path], keyword="cast and not string")
    assert [r.case.name for r in report.results] == ["test_cast"]
