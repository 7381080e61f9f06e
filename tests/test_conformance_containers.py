"""Test directories whose inputs and outputs are no tensors, and data sets that minirt writes."""

import ml_dtypes
import numpy as np
import pytest
from conformance_data import cast_model, contents, halves_as_uint16, write_case
from onnx import MapProto, OptionalProto, SequenceProto, TensorProto, helper, numpy_helper

import minirt
from minirt.conformance import Tolerance, compare, find_cases, read_values, run_case, write_values
from minirt.data.sparse import SparseTensor
from models import model

A, B = np.float32([1.5, -2]), np.float32([[3]])
FLOAT = TensorProto.FLOAT


def run(path, **options):
    (case,) = find_cases([path])
    return run_case(case, **options)


def handed_on(kind):
    """A model whose output is its input."""
    return model(f"{kind} x", f"{kind} x", "")


def sparse_message(values, indices, dims):
    return helper.make_sparse_tensor(
        numpy_helper.from_array(values), numpy_helper.from_array(np.int64(indices)), dims
    )


def map_message(keys, messages):
    values = SequenceProto(elem_type=SequenceProto.TENSOR, tensor_values=messages)
    return MapProto(key_type=TensorProto.INT64, keys=keys, values=values)


def maps_message(*maps):
    return SequenceProto(elem_type=SequenceProto.MAP, map_values=maps)


def optional_message(message=None):
    if message is None:
        return OptionalProto(elem_type=OptionalProto.SEQUENCE)
    return OptionalProto(elem_type=OptionalProto.SEQUENCE, sequence_value=message)


ONE, TWO = numpy_helper.from_array(A), numpy_helper.from_array(B)
LIST = numpy_helper.from_list([A, B])
MAP, OTHER_MAP = map_message([1, -5], [ONE, TWO]), map_message([1, -5], [TWO, TWO])
SPARSE = sparse_message(A, [1, 4], [2, 3])

CASES = [
    # type, data, something else, and what is said of that
    ("seq(float[])", LIST, numpy_helper.from_list([A, B + 1]), "x[1][0,0]: expected 4.0"),
    ("seq(float[])", LIST, numpy_helper.from_list([A]), "x: expected a sequence of 1"),
    ("seq(float[])", numpy_helper.from_list([], dtype=1), LIST, "x: expected a sequence of 2"),
    ("optional(seq(float[]))", optional_message(LIST), optional_message(), "x: expected None"),
    ("optional(seq(float[]))", optional_message(), optional_message(LIST),
     "x: expected a sequence of 2, got None"),
    ("map(int64, float[])", MAP, OTHER_MAP, "x[1]: expected float[1,1], got float[2]"),
    ("map(int64, float[])", MAP, map_message([1], [ONE]), "x: expected the keys [1]"),
    ("seq(map(int64, float[]))", maps_message(MAP, MAP), maps_message(MAP, OTHER_MAP),
     "x[1][1]: expected float[1,1], got float[2]"),
    ("sparse_tensor(float[2,3])", SPARSE, sparse_message(A, [1, 5], [2, 3]),
     "x: expected values at [1, 5], got values at [1, 4]"),
    ("sparse_tensor(float[2,3])", SPARSE, sparse_message(A + 1, [1, 4], [2, 3]),
     "x.values[0]: expected 2.5"),
    ("seq(bfloat16[])",
     SequenceProto(elem_type=1, tensor_values=[halves_as_uint16([0x3F80])]),
     SequenceProto(elem_type=1, tensor_values=[halves_as_uint16([0x4000])]),
     "x[0][0]: expected 2.0 (0x4000), got 1.0 (0x3f80)"),
    ("map(int64, bfloat16[])",
     map_message([1], [halves_as_uint16([0x3F80])]),
     map_message([1], [halves_as_uint16([0x4000])]),
     "x[1][0]: expected 2.0 (0x4000), got 1.0 (0x3f80)"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "data", "other", "text"), CASES)
def test_every_kind_of_value(tmp_path, kind, data, other, text):
    good = {"input_0": data, "output_0": data}
    result = run(write_case(tmp_path / "a", handed_on(kind), good, good))
    assert (result.status, result.reason, len(result.outputs)) == ("passed", "", 2)
    result = run(write_case(tmp_path / "b", handed_on(kind), {"input_0": data, "output_0": other}))
    assert result.status == "failed"
    assert result.reason.startswith(text)


def test_identity_as_the_suite_has_it(tmp_path):
    kind = "optional(seq(float[]))"
    made = model(f"{kind} x", f"{kind} y", "y = Identity(x)", opset=16)
    data = {"input_0": optional_message(LIST), "output_0": optional_message(LIST)}
    assert run(write_case(tmp_path / "c", made, data), ulp=0).bit_exact


def test_external_data_of_a_case(tmp_path):
    made = model("float[2] x", "float[2] y, float[2] w", "y = Identity(x)",
                 initializers="float[2] w = {0, 0}")  # fmt: skip
    weights = made.graph.initializer[0]
    weights.ClearField("float_data")
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="w.bin")
    path = write_case(tmp_path / "c", made, {"input_0": A, "output_0": A, "output_1": A})
    (path / "w.bin").write_bytes(A.tobytes())
    assert run(path).status == "passed"
    (path / "w.bin").write_bytes((A + 1).tobytes())
    assert run(path).reason.startswith("w[0]: expected 1.5")


# The comparator


def sparse(values, indices, shape, dtype="f4"):
    return SparseTensor(np.array(values, dtype), np.array(indices, "i8"), shape)


@pytest.mark.parametrize(
    ("expected", "actual", "text"),
    [
        (sparse([1, 2], [1, 5], (2, 3)), sparse([1, 2], [[0, 1], [1, 2]], (2, 3)), ""),
        (sparse([1, 2], [1, 5], (2, 3)), sparse([1, 2], [[0, 1], [1, 1]], (2, 3)),
         "output: expected values at [1, 5], got values at [1, 4]"),
        (sparse([1], [1], (2, 3)), sparse([1], [1], (3, 2)),
         "output: expected sparse(float[2,3]), got sparse(float[3,2])"),
        (sparse([1], [1], (2, 3)), sparse([1], [1], (2, 3), "f8"),
         "output.values: expected float[1], got double[1]"),
        (sparse([1], [1], (2,)), np.float32([0, 1]),
         "output: expected sparse(float[2]), got float[2]"),
        (sparse([], [], (9,)), sparse(range(9), range(9), (9,)),
         "output: expected values at [], got values at [0, 1, 2, 3, 4, 5, 6, 7], ..."),
        (sparse([1], [[2**40, 3]], (2**50, 2**50)), sparse([1], [[2**40, 3]], (2**50, 2**50)), ""),
        (sparse([1], [2**60 + 3], (2**50, 2**50)), sparse([1], [[2**10, 3]], (2**50, 2**50)), ""),
        (sparse([1], [3], (2**50, 2**50)), sparse([1], [[2**14, 3]], (2**50, 2**50)),
         f"output: expected values at [3], got values at [{2**64 + 3}]"),
    ],
)  # fmt: skip
def test_sparse_tensors_compare(expected, actual, text):
    assert compare(expected, actual).problem == text


def test_the_tolerance_holds_in_sparse_tensors():
    pair = sparse([1], [1], (2,)), sparse([1 + 2**-23], [1], (2,))
    assert compare(*pair).passed
    assert compare(*pair).differ == 1
    assert not compare(*pair, Tolerance(ulp=0)).passed


# Data sets that minirt writes


def test_what_is_written_is_read_and_runs(tmp_path):
    kinds = "seq(int4[]) s, optional(float[N]) o, float[N] a, map(string, bool[]) m"
    made = model(kinds, "seq(int4[]) s, optional(float[N]) o, float16[N] y, map(string, bool[]) m",
                 "y = Cast<to=10>(a)")  # fmt: skip
    session = minirt.load(made)
    values = [[np.array([-8, 7, 1], ml_dtypes.int4)], None, A, {"k": np.array([True, False])}]
    path = write_case(tmp_path / "c", made)
    folder = path / "test_data_set_0"
    write_values(folder, "input", session.inputs, values)
    write_values(str(folder), "output", session.outputs, session.run(values))
    assert sorted(f.name for f in folder.iterdir()) == [
        f"{kind}put_{i}.pb" for kind in ("in", "out") for i in range(4)
    ]
    assert SequenceProto.FromString((folder / "input_0.pb").read_bytes()).name == "s"
    read = read_values(str(folder), "input", session.inputs)
    assert compare(values, read, Tolerance(ulp=0)).passed
    assert run(path, ulp=0).bit_exact


def test_inputs_with_defaults_may_be_left_out(tmp_path):
    made = model("float[N] x, float[2] w", "float16[N] y", "y = Cast<to=10>(x)",
                 initializers="float[2] w = {1, 2}")  # fmt: skip
    session = minirt.load(made)
    write_values(tmp_path / "a", "input", session.inputs, [A])
    assert [f.name for f in (tmp_path / "a").iterdir()] == ["input_0.pb"]
    for values, count in ([], 0), ([A, A, A], 3):
        with pytest.raises(minirt.InputError) as caught:
            write_values(tmp_path / "b", "input", session.inputs, values)
        assert str(caught.value) == f"{count} inputs for a model that has 2"
    assert not (tmp_path / "b").exists()


def test_values_of_other_types_are_not_written(tmp_path):
    session = minirt.load(cast_model("FLOAT", "FLOAT16", 2))
    for value, text in [
        ([1, 2], "expected float[2], got list"),
        (A.astype("f8"), "expected float, got double"),
    ]:
        with pytest.raises(minirt.InputError) as caught:
            write_values(tmp_path, "input", session.inputs, [value])
        assert str(caught.value) == f"input 'x': {text}"


def test_contents_of_files_are_as_onnx_writes_them(tmp_path):
    session = minirt.load(cast_model("FLOAT", "FLOAT16", 2))
    write_values(tmp_path, "input", session.inputs, [A])
    assert (tmp_path / "input_0.pb").read_bytes() == contents(numpy_helper.from_array(A, "x"))
