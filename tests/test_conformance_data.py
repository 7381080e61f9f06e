"""Data as people have it on disk: bfloat16 in UINT16 files, containers, superseded data."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from conformance_data import cast_model, contents, halves_as_uint16, node_model, write_case
from onnx import TensorProto, helper, numpy_helper

import minirt
from minirt.conformance import find_cases, run_case, run_directories, superseded
from minirt.conformance.data import DataError, read_values
from minirt.conformance.superseded import Superseded, digest
from minirt.dtypes import BY_NAME
from minirt.feeds import ValueInfo
from minirt.types import OptionalType, SequenceType, TensorType

TEST_CC = Path(__file__).parent / "data/test_cc"

# The example of CastLike in ONNX 1.12 (opset 15), whose bfloat16 is float32 cut to its
# upper half instead of rounded.
TEXTS = ["0.47892547", "0.48033667", "0.49968487", "0.81910545", "0.47031248", "0.816468"]
TEXTS += ["0.21087195", "0.7229038", "NaN", "INF", "+INF", "-INF"]
FLOATS = np.array([float(t.replace("INF", "inf")) for t in TEXTS], np.float32).reshape(3, 4)
TRUNCATED = (FLOATS.view(np.uint32) >> 16).astype(np.uint16)


def run(path, **options):
    (case,) = find_cases([path])
    return run_case(case, **options)


def castlike_15(path, bits, like_shape=(3, 4)):
    """The example FLOAT_to_BFLOAT16 as ONNX 1.12 ships it, but for ``bits``."""
    model = node_model(
        "CastLike",
        [
            ("input", TensorProto.FLOAT, [3, 4]),
            ("like", TensorProto.BFLOAT16, list(like_shape)),
        ],
        [("output", TensorProto.BFLOAT16, [3, 4])],
        opset=15,
        ir_version=8,
    )
    data = {
        "input_0": FLOATS,
        "input_1": halves_as_uint16([0]),
        "output_0": halves_as_uint16(bits),
    }
    return write_case(path, model, data)


def test_truncated_bfloat16_is_one_unit_off_at_most(tmp_path):
    path = castlike_15(tmp_path / "c", TRUNCATED)
    result = run(path)
    assert (result.status, result.bit_exact) == ("passed", False)
    assert result.outputs[0].comparison.max_ulp == 1
    assert result.outputs[0].comparison.differ == 5


def test_two_units_are_too_many(tmp_path):
    bits = TRUNCATED.copy()
    bits[1, 2] -= 1
    result = run(castlike_15(tmp_path / "c", bits))
    assert result.status == "failed"
    assert result.reason == (
        "output[1,2]: expected 0.208984375 (0x3e56), got 0.2109375 (0x3e58); "
        "1 of 12 elements wrong, up to 2 ulp off"
    )


@pytest.mark.parametrize("place", [8, 9, 11])
def test_nan_and_infinity_are_never_near(tmp_path, place):
    bits = TRUNCATED.reshape(-1).copy()
    bits[place] = {8: 0x7F80, 9: 0x7F7F, 11: 0xFF7F}[place]
    assert run(castlike_15(tmp_path / "c", bits.reshape(3, 4))).status == "failed"


def test_bits_are_taken_in_inputs_too(tmp_path):
    model = cast_model("BFLOAT16", "FLOAT", 3)
    bits, values = [0x3F80, 0xC020, 0x7F80], np.float32([1, -2.5, np.inf])
    path = write_case(
        tmp_path / "c", model, {"input_0": halves_as_uint16(bits), "output_0": values}
    )
    assert run(path, ulp=0).bit_exact
    with pytest.raises(minirt.InputError, match="expected bfloat16, got uint16"):
        minirt.run(path / "model.onnx", [np.array(bits, np.uint16)])


def test_bits_are_taken_for_bfloat16_alone(tmp_path):
    model = cast_model("FLOAT16", "FLOAT", 1)
    data = {"input_0": halves_as_uint16([0x3C00]), "output_0": np.float32([1])}
    assert run(write_case(tmp_path / "c", model, data)).reason == (
        "InputError: input 'x': expected float16, got uint16; "
        "if these are its bits, pass array.view(numpy.float16)"
    )


def test_the_shape_of_an_unread_input_is_free(tmp_path):
    """ONNX 1.12 and 1.14 declare [3,4] for what they store as [1]; one that is read is checked."""
    assert run(castlike_15(tmp_path / "a", TRUNCATED, (3, 4))).status == "passed"
    data = {"input_0": np.float32([1, 2]), "output_0": np.int8([1, 2])}
    result = run(write_case(tmp_path / "b", cast_model("FLOAT", "INT8", 3), data))
    assert result.reason == "InputError: input 'x': expected shape [3], got [2]"


# Containers


FLOAT, BF16 = (TensorType(BY_NAME[name]) for name in ("float", "bfloat16"))
ONE, TWO = np.float32([1]), np.float32([[2, 3]])

VALUES = [
    (FLOAT, numpy_helper.from_array(TWO), TWO),
    (SequenceType(FLOAT), numpy_helper.from_list([ONE, TWO]), [ONE, TWO]),
    (SequenceType(FLOAT), numpy_helper.from_list([], dtype=1), []),
    (OptionalType(FLOAT), numpy_helper.from_optional(ONE), ONE),
    (OptionalType(FLOAT), numpy_helper.from_optional(None), None),
    (OptionalType(SequenceType(FLOAT)), numpy_helper.from_optional([ONE]), [ONE]),
    (
        SequenceType(BF16),
        numpy_helper.from_list([np.uint16([0x3F80])]),
        [np.array([1], ml_dtypes.bfloat16)],
    ),
    (
        OptionalType(BF16),
        numpy_helper.from_optional(np.uint16([0x3F80])),
        np.array([1], ml_dtypes.bfloat16),
    ),
]


@pytest.mark.parametrize(("type_", "proto", "value"), VALUES)
def test_containers(tmp_path, type_, proto, value):
    (tmp_path / "input_0.pb").write_bytes(contents(proto))
    (read,) = read_values(tmp_path, "input", [ValueInfo("x", type_)])
    assert type(read) is type(value)
    pairs = zip(read, value, strict=True) if isinstance(value, list) else [(read, value)]
    for got, wanted in pairs:
        assert getattr(got, "dtype", None) == getattr(wanted, "dtype", None)
        np.testing.assert_array_equal(got, wanted)


def test_a_container_of_another_kind(tmp_path):
    (tmp_path / "input_0.pb").write_bytes(contents(ONE))
    with pytest.raises(DataError, match=rf"{tmp_path.name}/input_0\.pb"):
        read_values(tmp_path, "input", [ValueInfo("x", SequenceType(FLOAT))])


# Superseded


def clipped(path, bits=None):
    """test_cast_FLOAT16_to_INT4 of ONNX 1.16: -9 … 15, which were clipped to -8 … 7."""
    x = np.arange(-9, 16, dtype=np.float16).reshape(5, 5)
    codes = np.clip(x, -8, 7).astype(np.int8).reshape(-1) if bits is None else bits
    y = helper.make_tensor("any name", TensorProto.INT4, [5, 5], codes)
    model = cast_model("FLOAT16", "INT4", 5)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim.add().dim_value = 5
    return write_case(path, model, {"input_0": x, "output_0": y})


def test_published_data_is_recognised_wherever_it_is_kept(tmp_path):
    result = run(clipped(tmp_path / "my own name"))
    assert result.status == "skipped"
    assert result.reason == (
        "float to int4 or uint4 was clipped until ONNX 1.18; it wraps since 1.19 "
        "(as in v1.16.2/test_cast_FLOAT16_to_INT4)"
    )
    wraps = [7, *range(-8, 8), *range(-8, 0)]
    assert run(clipped(tmp_path / "new", wraps)).bit_exact
    other = [*wraps[:-1], 0]
    assert run(clipped(tmp_path / "wrong", other)).status == "failed"


def test_ten_directories_are_right_by_value_alone():
    report = run_directories([TEST_CC], keyword="e8m0 or float4e2m1", ulp=0)
    skipped = {r.case.name.removeprefix("test_cc_"): r.reason for r in report.skipped}
    assert report.failed == []
    assert set(skipped) == {
        "cast_FLOAT4E2M1_to_FLOAT",
        "cast_FLOAT4E2M1_to_FLOAT16",
        "cast_FLOAT16_to_FLOAT4E2M1",
        "cast_FLOAT_to_FLOAT4E2M1",
        "cast_e8m0_FLOAT8E8M0_to_FLOAT",
        "castlike_FLOAT4E2M1_to_FLOAT",
        "castlike_FLOAT4E2M1_to_FLOAT16",
        "castlike_FLOAT8E8M0_to_FLOAT",
        "castlike_FLOAT16_to_FLOAT4E2M1",
        "castlike_FLOAT_to_FLOAT4E2M1",
    }
    assert all(reason.startswith("right by value, not by bits: ") for reason in skipped.values())


@pytest.fixture
def listed(monkeypatch):
    """Lists one case, with a reason."""

    def enter(path, kind):
        (case,) = find_cases([path])
        entry = Superseded(kind, "because", ("v1/test",))
        monkeypatch.setattr(superseded, "_entries", lambda: {digest(case): entry})

    return enter


def near_case(path, expected):
    data = {"input_0": np.array([1.0]), "output_0": np.float32([expected])}
    return write_case(path, cast_model("DOUBLE", "FLOAT", 1), data)


def test_wrong_data_excuses_wrong_results_and_unreadable_files(tmp_path, listed):
    wrong = near_case(tmp_path / "a", 2)
    assert run(wrong).status == "failed"
    listed(wrong, "value")
    assert (run(wrong).status, run(wrong).reason) == ("skipped", "because (as in v1/test)")
    broken = near_case(tmp_path / "b", 1)
    (broken / "test_data_set_0/output_0.pb").write_bytes(b"\xff")
    listed(broken, "value")
    assert run(broken).status == "skipped"


def test_a_listed_case_that_passes_has_passed(tmp_path, listed):
    path = near_case(tmp_path / "c", 1)
    listed(path, "value")
    assert run(path).bit_exact


def test_wrong_data_excuses_no_error(tmp_path, listed):
    model = node_model("Cos", [("x", 1, [1])], [("y", 1, [1])])
    model.graph.node[0].domain = "nowhere"
    model.opset_import.append(helper.make_opsetid("nowhere", 1))
    path = write_case(tmp_path / "c", model, {"input_0": np.float32([1]), "output_0": ONE})
    listed(path, "value")
    assert run(path).status == "failed"


def test_an_invalid_model_is_excused_as_such_alone(tmp_path, listed):
    early = cast_model("DOUBLE", "FLOAT", 1, opset=5)  # Cast-1 takes a name
    path = write_case(tmp_path / "early", early, {"input_0": np.array([1.0]), "output_0": ONE})
    assert run(path).status == "failed"
    listed(path, "value")
    assert run(path).status == "failed"
    listed(path, "model")
    assert (run(path).status, run(path).reason) == ("skipped", "because (as in v1/test)")
    wrong = near_case(tmp_path / "wrong", 2)
    listed(wrong, "model")
    assert run(wrong).status == "failed"


def test_other_bits_are_excused_under_ulp_alone_and_only_if_near(tmp_path, listed):
    near, far = near_case(tmp_path / "near", 1.0001), near_case(tmp_path / "far", 2)
    listed(near, "bits")
    assert run(near).status == "passed"
    assert (run(near, ulp=0).status, run(near, ulp=0).reason[:7]) == ("skipped", "because")
    assert run(near, ulp=10_000).status == "passed"
    listed(far, "bits")
    assert run(far).status == run(far, ulp=0).status == "failed"


def test_data_rounded_at_each_step_is_excused_only_if_near(tmp_path, listed):
    def half_case(name, codes_off):
        expected = np.float16(1) + codes_off * np.finfo(np.float16).eps
        data = {"input_0": np.array([1.0]), "output_0": np.float16([expected])}
        return write_case(tmp_path / name, cast_model("DOUBLE", "FLOAT16", 1), data)

    near, far = half_case("near", 2), half_case("far", 3)
    assert run(near).status == "failed"
    for path, status in ((near, "skipped"), (far, "failed")):
        listed(path, "steps")
        assert [run(path, ulp=ulp).status for ulp in (None, 0, 1)] == [status] * 3
    assert run(far, ulp=2).status == "failed"
    assert run(far, ulp=3).status == "passed"


def test_the_digest_is_over_operators_and_outputs(tmp_path):
    def of(name, model=None, output=ONE, other=ONE):
        model = model or cast_model("DOUBLE", "FLOAT", 1)
        path = write_case(tmp_path / name, model, {"input_0": other, "output_0": output})
        return digest(find_cases([path])[0])

    base = of("base")
    named = numpy_helper.from_array(ONE, "name")
    typed = helper.make_tensor("y", TensorProto.FLOAT, [1], [1.0])
    assert base == of("named", output=named) == of("typed", output=typed)
    assert base == of("input", other=TWO)
    assert base == of("opset", cast_model("DOUBLE", "FLOAT", 1, opset=19))
    like = node_model("CastLike", [("x", 11, [1]), ("l", 1, [1])], [("y", 1, [1])])
    others = [
        of("like", like),
        of("value", output=ONE + 1),
        of("shape", output=ONE.reshape(1, 1)),
        of("dtype", output=ONE.view(np.int32)),
        of("text", output=np.array(["1"], object)),
    ]
    assert len({base, *others}) == 6


def test_the_list_is_well_formed():
    groups = json.loads(Path(superseded.__file__).with_name("superseded.json").read_text())
    assert {group["kind"] for group in groups} == {"value", "bits", "steps", "model"}
    codes = [code for group in groups for code in group["cases"]]
    assert len(codes) == len(set(codes)) == len(superseded._entries())
    assert all(group["reason"] for group in groups)
    assert all(cases for group in groups for cases in group["cases"].values())
