"""Sessions: what they say about a model, which values they compute, how they are copied."""

import copy
import io
import multiprocessing
import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import minirt
from minirt.dtypes import BY_NAME
from minirt.profiling import Profile, StepProfile
from minirt.types import SequenceType, TensorType
from models import model, session

X = np.array([0.5, -1.5, 2.25], "f4")
WIDE = "half = Cast<to=10>(x) wide = Cast<to=11>(half) y = Cast<to=6>(wide)"


@pytest.fixture(scope="module")
def chain() -> minirt.Session:
    """float32 to float16 to float64 to int32, with values that each step keeps."""
    return session("float[N] x", "int32[N] y", WIDE)


# What a session says


def test_inputs_and_outputs() -> None:
    s = session(
        "float[N,3] x, float[2] w, string text, int4[?,M] codes",
        "float16[N,3] y, float[2] v",
        "y = Cast<to=10>(x) v = Identity(w)",
        initializers="float[2] w = {1, 2}",
    )
    assert [i.name for i in s.inputs] == ["x", "text", "codes", "w"]
    assert [str(i.type) for i in s.inputs] == ["float[N,3]", "string[]", "int4[?,M]", "float[2]"]
    assert [i.shape for i in s.inputs] == [("N", 3), (), (None, "M"), (2,)]
    assert [i.dtype for i in s.inputs] == [
        np.dtype("f4"), np.dtype(object), BY_NAME["int4"].public, np.dtype("f4"),
    ]  # fmt: skip
    assert [(i.has_default, i.optional) for i in s.inputs] == [(False, False)] * 3 + [(True, True)]
    assert [(o.name, str(o.type)) for o in s.outputs] == [("y", "float16[N,3]"), ("v", "float[2]")]


def test_types_of_outputs_are_inferred() -> None:
    proto = model("float[N,3] x", "float16[] y", "y = Cast<to=10>(x)")
    assert minirt.load(proto).outputs[0].shape == ("N", 3)


def test_reprs() -> None:
    s = session(
        "float[N] x, float[2] w", "float16[N] y", "y = Cast<to=10>(x)",
        initializers="float[2] w = {1, 2}",
    )  # fmt: skip
    assert repr(s) == "<Session 'main': (x: float[N], w: float[2] = ...) -> (y: float16[N])>"
    assert repr(s.inputs) == "(<'x': float[N]>, <'w': float[2], has_default=True>)"


@pytest.mark.parametrize(
    ("count", "end"),
    [(8, "x7: int8[N])"), (9, "x7: int8[N], ... 1 more)"), (20, "x7: int8[N], ... 12 more)")],
)
def test_the_repr_of_many(count: int, end: str) -> None:
    names = ", ".join(f"int8[N] x{i}" for i in range(count))
    text = repr(session(names, "int8[N] y", "y = Identity(x0)"))
    assert text.startswith("<Session 'main': (x0: int8[N], x1: int8[N], ")
    assert text.endswith(f"{end} -> (y: int8[N])>")


def test_doc_strings() -> None:
    proto = model("float[N] x", "float16[N] y", "y = Cast<to=10>(x)")
    proto.graph.input[0].doc_string = "samples"
    proto.graph.output[0].doc_string = "rounded"
    s = minirt.load(proto)
    assert (s.inputs[0].doc, s.outputs[0].doc) == ("samples", "rounded")


def test_what_a_file_says_of_itself() -> None:
    proto = model("float[N] x", "float16[N] y", "y = Cast<to=10>(x)", opset=21)
    proto.graph.doc_string, proto.graph.name = "Rounds.", "rounder"
    proto.producer_name, proto.producer_version = "exporter", "1.2"
    proto.opset_import.add(domain="ai.onnx.ml", version=4)
    helper.set_model_props(proto, {"author": "A. B.", "task": "none"})
    s = minirt.load(proto)
    assert (s.name, s.doc, s.producer) == ("rounder", "Rounds.", "exporter 1.2")
    assert s.metadata == {"author": "A. B.", "task": "none"}
    assert s.opsets == {"": 21, "ai.onnx.ml": 4}
    s.metadata["author"] = "someone else"
    assert s.metadata["author"] == "A. B."
    bare = minirt.load(model("float[N] x", "float[N] y", "y = Identity(x)"))
    assert (bare.doc, bare.producer, bare.metadata) == ("", "", {})


def test_records_are_frozen(chain: minirt.Session) -> None:
    with pytest.raises(AttributeError):
        chain.inputs[0].name = "z"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        chain.inputs = ()  # type: ignore[misc]


# What it is made from, and how


@pytest.mark.parametrize("kind", ["path", "Path", "bytes", "file", "proto"])
def test_run_takes_every_form_of_a_model(kind: str, tmp_path: Path) -> None:
    proto = model("float[N] x", "float16[N] y", "y = Cast<to=10>(x)")
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    data = proto.SerializeToString()
    form = {
        "path": str(path), "Path": path, "bytes": data, "file": io.BytesIO(data), "proto": proto,
    }[kind]  # fmt: skip
    (y,) = minirt.run(form, {"x": X})
    assert y.dtype == np.float16
    assert y.tolist() == X.tolist()


def test_run_takes_outputs() -> None:
    proto = model("float[N] x", "int32[N] y", WIDE)
    assert minirt.run(proto, [X], ["half"]).keys() == ("half",)


@pytest.mark.parametrize("threads", [1, 2, np.int64(1), None])
def test_numbers_of_threads(threads: int | None) -> None:
    s = minirt.load(model("float[N] x", "float16[N] y", "y = Cast<to=10>(x)"), threads=threads)
    assert s.run([X])[0].tolist() == X.tolist()


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two", [1]])
def test_what_is_no_number_of_threads(threads: object) -> None:
    proto = model("float[N] x", "float16[N] y", "y = Cast<to=10>(x)")
    with pytest.raises(
        minirt.InputError, match=r"^threads=.* is no number of threads; give 1 or more$"
    ):
        minirt.load(proto, threads=threads)  # type: ignore[arg-type]
    with pytest.raises(minirt.InputError, match=r"^threads=.* is no number of threads"):
        minirt.load(proto).run([X], threads=threads)  # type: ignore[arg-type]


def test_threads_hold_where_kernels_are_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    from minirt import session as module
    from minirt.jit import threads

    seen = []
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 8)
    plan = module.make_plan
    monkeypatch.setattr(module, "make_plan", lambda *a: seen.append(threads.resolve()) or plan(*a))
    proto = model("float[N] x", "float16[N] y", "y = Cast<to=10>(x)")
    minirt.load(proto, threads=1).run([X])
    minirt.run(proto, [X], threads=1)
    s = minirt.load(proto, threads=1)
    for count in (None, 2, 1, 2, np.int64(2), None):
        s.run([X], threads=count)
    assert seen == [1, 1, 1, 2, 1]


def test_optimize_changes_no_result() -> None:
    proto = model("float[N] x", "int32[N] y", WIDE)
    results = [minirt.load(proto, optimize=o).run([X])[0].tolist() for o in (True, False)]
    assert results[0] == results[1] == [0, -1, 2]


def test_a_model_that_cannot_run_is_refused_at_load() -> None:
    nodes = [
        helper.make_node("NoSuchOp", ["x"], ["a"]),
        helper.make_node("Gelu", ["a"], ["y"], domain="com.microsoft"),
    ]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N"]) for n in "xy")
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    proto = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y]), opset_imports=opsets, ir_version=10
    )
    with pytest.raises(minirt.UnsupportedError) as caught:
        minirt.load(proto)
    assert "NoSuchOp (ai.onnx 21" in str(caught.value)
    assert "Gelu (com.microsoft 1" in str(caught.value)


def test_attributes_are_checked_at_load() -> None:
    with pytest.raises(minirt.SchemaError, match="round_mode='sideways'"):
        session("float[N] x", "float16[N] y", 'y = Cast<to=10, round_mode="sideways">(x)')
    with pytest.raises(minirt.SchemaError, match="to=14"):
        session("float[N] x", "complex64[N] y", "y = Cast<to=14>(x)")


# Outputs


def test_any_value_can_be_asked_for(chain: minirt.Session) -> None:
    results = chain.run([X], ["wide", "x", "y", "half"])
    assert results.keys() == ("wide", "x", "y", "half")
    assert [r.dtype.name for r in results] == ["float64", "float32", "int32", "float16"]
    assert [r.tolist() for r in results] == [X.tolist(), X.tolist(), [0, -1, 2], X.tolist()]


def test_initializers_and_constants_can_be_asked_for() -> None:
    s = session(
        "float[N] x", "float16[N] y",
        "c = Constant<value_floats=[1.0, 2.0]>() y = Cast<to=10>(x)",
        initializers="int64[2] w = {7, 8}",
    )  # fmt: skip
    results = s.run([X], outputs=("w", "c"))
    assert results["w"].dtype == np.int64
    assert results["w"].tolist() == [7, 8]
    assert results["c"].tolist() == [1.0, 2.0]


def test_asking_for_nothing(chain: minirt.Session) -> None:
    assert chain.run([X], []) == ()


def test_an_output_twice(chain: minirt.Session) -> None:
    results = chain.run([X], ["y", "y"])
    assert results.keys() == ("y", "y")
    assert results[0].tolist() == results[1].tolist() == [0, -1, 2]
    assert not np.shares_memory(results[0], results[1])


@pytest.mark.parametrize(
    ("outputs", "text"),
    [
        (["Y"], "no value is named 'Y'; the outputs are 'y'"),
        (["hal"], "no value is named 'hal'; did you mean 'half'?"),
        (
            ["wid", "y", "zzzzzz"],
            "no value is named 'wid'; did you mean 'wide'?; "
            "no value is named 'zzzzzz'; the outputs are 'y'",
        ),
        ("y", "outputs is a list of names: ['y'], not 'y'"),
        ([0], "outputs is a list of names, but 0 is none"),
    ],
)
def test_outputs_that_are_not_there(chain: minirt.Session, outputs: object, text: str) -> None:
    with pytest.raises(minirt.InputError) as caught:
        chain.run([X], outputs)  # type: ignore[arg-type]
    assert str(caught.value) == text


def test_shapes_of_one_size_are_told_apart() -> None:
    s = session("float[] x", "float16[] y", "y = Cast<to=10>(x)")
    for shape in [(6,), (2, 3), (3, 2), (6, 1), (1, 6)] * 2:
        for form in (np.zeros(shape, "f4"), np.zeros(shape, ">f4")):
            assert s.run([form])[0].shape == shape


def test_inputs_that_are_not_needed_must_still_be_right() -> None:
    s = session("float[N] x, float[N] z", "float16[N] y", "y = Cast<to=10>(x)")
    with pytest.raises(minirt.InputError, match="input 'z': missing"):
        s.run({"x": X})


# Failures


def test_a_kernel_that_fails_says_where() -> None:
    s = session("string[N] x", "float[N] y", "[parse] y = Cast<to=1>(x)")
    with pytest.raises(minirt.ExecutionError) as caught:
        s.run([["1", "one"]])
    assert str(caught.value).startswith("Cast 'parse' (node 0): element 1 ")
    assert "'one'" in str(caught.value)
    assert caught.value.node_path == "Cast 'parse' (node 0)"
    assert caught.value.types == ("string[2]",)
    assert s.run([["1", "2"]])[0].tolist() == [1, 2]


# Profile


def test_profile() -> None:
    s = session(
        "float[N] x", "int32[N] y, float[N] z",
        "[narrow] half = Cast<to=10>(x) y = Cast<to=6>(half) z = Identity(x)",
    )  # fmt: skip
    profile = s.profile([X])
    assert [step.node for step in profile.steps] == [
        "Cast 'narrow' (node 0)", "Cast (node 1)", "copy of a result",
    ]  # fmt: skip
    assert [step.op for step in profile.steps] == ["Cast", "Cast", ""]
    assert [[str(t) for t in s.operands] for s in profile.steps] == [
        ["float[3]"], ["float16[3]"], ["float[3]"],
    ]  # fmt: skip
    assert [str(step.results[0]) for step in profile.steps] == [
        "float16[3]", "int32[3]", "float[3]",
    ]  # fmt: skip
    assert [step.bytes for step in profile.steps] == [3 * 6, 3 * 6, 3 * 8]
    assert all(step.seconds > 0 for step in profile.steps)
    assert profile.bytes == 60
    assert profile.seconds == sum(step.seconds for step in profile.steps)


def test_profile_prints_as_a_table() -> None:
    four, half = TensorType(BY_NAME["float"], (1000,)), TensorType(BY_NAME["float16"], (1000,))
    many = SequenceType(half)
    steps = (
        StepProfile("Cast 'a' (node 0)", "Cast", (four, None), (half,), 3e-6, 6000),
        StepProfile("copy of a result", "", (half,), (half,), 0.0, 4000),
        StepProfile("copy of a result", "", (many,), (many,), 1e-6, 0),
    )
    assert str(Profile(steps)) == (
        "step  node               operands            results              µs   bytes  GB/s\n"
        "0     Cast 'a' (node 0)  float[1000], -      float16[1000]       3.0   6,000  2.00\n"
        "1     copy of a result   float16[1000]       float16[1000]       0.0   4,000     -\n"
        "2     copy of a result   seq(float16[1000])  seq(float16[1000])  1.0       0     -\n"
        "      total                                                      4.0  10,000  2.50"
    )


# Copies


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_copies_run(clone) -> None:
    s = session(
        "float[N] x, float[2] w", "float16[N] y, float[2] v", "y = Cast<to=10>(x) v = Identity(w)",
        initializers="float[2] w = {1, 2}",
    )  # fmt: skip
    s.run([X])
    again = clone(s)
    assert again is not s
    assert repr(again) == repr(s)
    assert again.inputs == s.inputs
    results = again.run({"x": X})
    assert results["y"].tolist() == X.tolist()
    assert results["v"].tolist() == [1, 2]


def test_a_session_is_pickled_with_its_settings() -> None:
    proto = model("float[N] x", "float16[N] y", "y = Cast<to=10>(x)")
    again = pickle.loads(pickle.dumps(minirt.load(proto, threads=1, optimize=False)))
    assert (again._threads, again._optimize) == (1, False)


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_long_chains_are_copied(clone) -> None:
    """A graph is deeper than Python's stack."""
    names = [f"v{i}" for i in range(5001)]
    body = " ".join(f"{b} = Identity({a})" for a, b in pairwise(names))
    s = session("float[N] v0", f"float[N] {names[-1]}", body)
    assert clone(s).run([X])[0].tolist() == X.tolist()


def run_in_child(data: bytes) -> list[float]:
    return pickle.loads(data).run([X])[0].tolist()


def test_a_session_goes_to_another_process() -> None:
    s = session("float[N] x", "float16[N] y", "y = Cast<to=10>(x)")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(run_in_child, (pickle.dumps(s),)) == X.tolist()
