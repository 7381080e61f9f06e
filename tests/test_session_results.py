"""Results own their memory: nobody else sees a change to them, and they see nobody's."""

from itertools import combinations

import ml_dtypes
import numpy as np
import pytest

import minirt
from models import session

X = np.array([1.0, -2.0, 0.5], "f4")

#: Graphs in which a result is, in memory, what something else is: inputs, outputs, body.
PASSES = {
    "no node": ("float[N] x", "float[N] x", ""),
    "one input twice": ("float[N] x", "float[N] x, float[N] x", ""),
    "identity": ("float[N] x", "float[N] y", "y = Identity(x)"),
    "chain of identities": (
        "float[N] x", "float[N] c, float[N] a", "a = Identity(x) b = Identity(a) c = Identity(b)",
    ),
    "cast to the same type": ("float[N] x", "float[N] y", "y = Cast<to=1>(x)"),
    "cast like itself": ("float[N] x", "float[N] y", "y = CastLike(x, x)"),
    "both views": ("float[N] x", "float[N] y, float[N] z", "y = Cast<to=1>(x) z = Identity(y)"),
    "view of a computed value": (
        "float[N] x", "double[N] y, double[N] z", "y = Cast<to=11>(x) z = Identity(y)",
    ),
    "view before its root": (
        "float[N] x", "double[N] z, double[N] y", "y = Cast<to=11>(x) z = Identity(y)",
    ),
    "a result that is used again": (
        "float[N] x", "double[N] y, float[N] z", "y = Cast<to=11>(x) z = Cast<to=1>(y)",
    ),
}  # fmt: skip


def unshared(results: minirt.Outputs, *others: np.ndarray) -> bool:
    pairs = [*combinations(results, 2), *((r, o) for r in results for o in others)]
    return not any(np.shares_memory(a, b) for a, b in pairs)


@pytest.mark.parametrize("graph", PASSES.values(), ids=PASSES)
def test_results_share_no_memory(graph: tuple[str, str, str]) -> None:
    s = session(*graph)
    results = s.run([X])
    x = X.copy()
    for result in results:
        assert result.tolist() == X.tolist()
        assert result.flags.owndata
        assert result.flags.c_contiguous
        assert result.flags.writeable
    assert unshared(results, X)
    later = s.run([x])
    assert unshared(both(results, later), x)
    for result in later:
        result[:] = 99
    assert x.tolist() == X.tolist()
    assert all(result.tolist() == X.tolist() for result in results)
    assert all(result.tolist() == X.tolist() for result in s.run([X]))


def both(first: minirt.Outputs, second: minirt.Outputs) -> minirt.Outputs:
    return minirt.Outputs([*first, *second], [*first.keys(), *second.keys()])


def test_what_was_fed_may_change_afterwards() -> None:
    s = session("float[N] x", "float[N] y, float16[N] z", "y = Identity(x) z = Cast<to=10>(x)")
    x = X.copy()
    y, z = s.run([x])
    x[:] = 7
    assert y.tolist() == z.tolist() == X.tolist()
    assert s.run([x])[0].tolist() == [7, 7, 7]


@pytest.fixture(scope="module")
def constants() -> minirt.Session:
    return session(
        "float[N] x, float[2] w",
        "float[2] w, int64[2] k, float[2] c, float16[2] narrow, string[1] t",
        "c = Constant<value_floats=[5.0, 6.0]>() narrow = Cast<to=10>(w)"
        ' t = Constant<value_strings=["text"]>()',
        initializers="float[2] w = {1, 2}, int64[2] k = {3, 4}",
    )


def test_constants_are_copied(constants: minirt.Session) -> None:
    expected = [[1, 2], [3, 4], [5, 6], [1, 2], ["text"]]
    for _ in range(3):
        results = constants.run([X])
        assert [r.tolist() for r in results] == expected
        assert all(r.flags.owndata and r.flags.writeable for r in results)
        assert unshared(results)
        for result in results:
            result[:] = "x" if result.dtype == object else 0


def test_a_default_that_is_fed_is_copied_too(constants: minirt.Session) -> None:
    w = np.array([8, 9], "f4")
    results = constants.run({"x": X, "w": w})
    assert results["w"].tolist() == results["narrow"].tolist() == [8, 9]
    assert unshared(results, w)
    assert constants.run([X])["w"].tolist() == [1, 2]


def test_text_is_copied_as_arrays() -> None:
    s = session("string[N] x", "string[N] y, string[N] z", "y = Identity(x) z = Identity(x)")
    x = np.array(["a", "b"], object)
    y, z = s.run([x])
    y[0], z[1] = "changed", "changed"
    assert x.tolist() == ["a", "b"]
    assert (y.tolist(), z.tolist()) == (["changed", "b"], ["a", "changed"])


def test_inner_values_are_copied_out_of_the_arena() -> None:
    s = session(
        "float[N] x", "float[N] y",
        "a = Cast<to=11>(x) b = Cast<to=10>(a) c = Cast<to=11>(b) d = Cast<to=10>(c) "
        "y = Cast<to=1>(d)",
    )  # fmt: skip
    names = ["a", "b", "c", "d", "y", "a"]
    first, second = s.run([X], names), s.run([2 * X], names)
    assert unshared(both(first, second), X)
    assert all(r.tolist() == X.tolist() for r in first)
    assert all(r.tolist() == (2 * X).tolist() for r in second)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 3), (3, 0, 2), (1, 1, 1, 1, 1)])
@pytest.mark.parametrize(
    ("onnx_type", "public"),
    [
        ("double", "f8"),
        ("float16", "f2"),
        ("bfloat16", ml_dtypes.bfloat16),
        ("int4", ml_dtypes.int4),
        ("bool", "?"),
        ("string", "O"),
    ],
)
def test_results_have_public_types_and_shapes(
    shape: tuple[int, ...], onnx_type: str, public: object
) -> None:
    from onnx import TensorProto

    to = TensorProto.DataType.Value(onnx_type.upper())
    s = session("float[] x", f"{onnx_type}[] y", f"y = Cast<to={to}>(x)")
    (y,) = s.run([np.ones(shape, "f4")])
    assert type(y) is np.ndarray
    assert (y.shape, y.dtype) == (shape, np.dtype(public))
    assert y.flags.c_contiguous
    assert y.flags.owndata
    assert set(y.ravel().tolist()) <= {1, "1"}


def test_nothing_fed_is_written_to() -> None:
    """Read-only memory would end the process."""
    s = session(
        "float[N] x, string[N] t", "float16[N] y, float[N] z, float[N] u, string[N] v",
        "y = Cast<to=10>(x) z = Identity(x) u = Cast<to=1>(t) v = Cast<to=8>(x)",
    )  # fmt: skip
    x, t = np.frombuffer(X.tobytes(), "f4"), np.array(["1", "2", "3"], object)
    t.flags.writeable = False
    results = s.run([x, t])
    assert results["y"].tolist() == results["z"].tolist() == X.tolist()
    assert results["u"].tolist() == [1, 2, 3]
    assert results["v"].tolist() == ["1", "-2", "0.5"]
