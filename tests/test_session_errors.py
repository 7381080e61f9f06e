"""Exact texts: everything that is wrong with the inputs, in one line."""

import ml_dtypes
import numpy as np
import pytest

import minirt
from models import session


def f4(*shape: int) -> np.ndarray:
    return np.zeros(shape, "f4")


def refused(s: minirt.Session, inputs: object) -> str:
    """The text of the InputError; a second time it is the same."""
    texts = []
    for _ in range(2):
        with pytest.raises(minirt.InputError) as caught:
            s.run(inputs)  # type: ignore[arg-type]
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    assert "\n" not in texts[0]
    return texts[0]


@pytest.fixture(scope="module")
def pair() -> minirt.Session:
    return session(
        "float[N,3] x, int32[M] ids, float[N] w", "float16[N,3] y", "y = Cast<to=10>(x)",
        initializers="float[2] w = {1, 2}",
    )  # fmt: skip


IDS = np.zeros(2, "i4")


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        # types
        ({"x": f4(2, 3), "ids": np.zeros(2, "i8")}, "input 'ids': expected int32, got int64"),
        ({"x": f4(2, 3), "ids": np.int64(2)}, "input 'ids': expected int32, got int64"),
        ({"x": f4(2, 3), "ids": np.zeros(2, ">i8")}, "input 'ids': expected int32, got int64"),
        ({"x": f4(2, 3), "ids": np.array([1, None])}, "input 'ids': expected int32, got object"),
        ({"x": f4(2, 3), "ids": np.array(["1"])}, "input 'ids': expected int32, got str"),
        (
            {"x": f4(2, 3), "ids": np.zeros(2, "M8[s]")},
            "input 'ids': expected int32, got datetime64[s]",
        ),
        ({"x": f4(2, 3), "ids": np.zeros(2, bool)}, "input 'ids': expected int32, got bool"),
        ({"x": np.float64(1), "ids": IDS}, "input 'x': expected float32, got float64"),
        (
            {"x": f4(2, 3).astype(ml_dtypes.bfloat16), "ids": IDS},
            "input 'x': expected float32, got bfloat16",
        ),
        ({"x": f4(2, 3), "ids": {1: 2}}, "input 'ids': expected an array, got dict"),
        ({"x": f4(2, 3), "ids": object()}, "input 'ids': expected an array, got object"),
        (
            {"x": f4(2, 3), "ids": np.ma.array(IDS, mask=[0, 1])},
            "input 'ids': 1 elements are masked; pass array.filled(value)",
        ),
        # shapes
        ({"x": f4(2, 4), "ids": IDS}, "input 'x': expected shape [N,3], got [2,4]"),
        ({"x": f4(3), "ids": IDS}, "input 'x': expected shape [N,3], got [3]"),
        ({"x": f4(), "ids": IDS}, "input 'x': expected shape [N,3], got []"),
        ({"x": f4(1, 2, 3), "ids": IDS}, "input 'x': expected shape [N,3], got [1,2,3]"),
        ({"x": f4(2, 3), "ids": 7}, "input 'ids': expected shape [M], got []"),
        ({"x": f4(2, 3), "ids": [[7]]}, "input 'ids': expected shape [M], got [1,1]"),
        (
            {"x": f4(2, 3), "ids": IDS, "w": f4(5)},
            "N is 2 in input 'x' (axis 0), but 5 in input 'w' (axis 0)",
        ),
        # names
        ({"x": f4(2, 3)}, "input 'ids': missing, expected int32[M]"),
        ({"x": f4(2, 3), "ids": None}, "input 'ids': missing, expected int32[M]"),
        (
            {"x": f4(2, 3), "ids": IDS, "idss": IDS},
            "no input is named 'idss'; did you mean 'ids'?",
        ),
        (
            {"x": f4(2, 3), "ids": IDS, "attention": IDS, 3: IDS},
            "no input is named 'attention' (x, ids, w); no input is named 3 (x, ids, w)",
        ),
        (
            [f4(2, 3), IDS, f4(2), f4(2)],
            "4 inputs were passed by position, but there are 3 (x, ids, w)",
        ),
        ([f4(2, 3)], "input 'ids': missing, expected int32[M]"),
        # Python values
        (
            {"x": f4(2, 3), "ids": [1, 2.5]},
            "input 'ids': element [1]: 2.5 is not exactly representable as int32",
        ),
        (
            {"x": [[0.5, 0.25, 1e39]], "ids": IDS},
            "input 'x': element [0,2]: 1e+39 is not exactly representable as float32",
        ),
        (
            {"x": [[1, 2, 3], [4, 5]], "ids": IDS},
            "input 'x': ragged: at depth 1 there are length 2 and length 3",
        ),
        ({"x": f4(2, 3), "ids": "12"}, "input 'ids': '12' is not a number"),
        (
            {"x": f4(2, 3), "ids": [np.int64(1)]},
            "input 'ids': element [0]: expected int32, got int64",
        ),
        # everything at once
        (
            {"x": f4(2, 3).astype("f8"), "idx": IDS, "w": f4(2, 2)},
            "no input is named 'idx'; did you mean 'ids'?; "
            "input 'x': expected float32, got float64; "
            "input 'ids': missing, expected int32[M]; "
            "input 'w': expected shape [N], got [2,2]",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong(pair: minirt.Session, inputs: object, text: str) -> None:
    assert refused(pair, inputs) == text


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        (f4(2, 3), "not ndarray; pass [array]"),
        (np.float32(1), "not float32; pass [array]"),
        (iter([f4(2, 3), IDS]), "not list_iterator"),
        ("x", "not str"),
        (b"x", "not bytes"),
        (None, "not NoneType"),
        ({1, 2}, "not set"),
    ],
)
def test_what_is_no_collection_of_inputs(pair: minirt.Session, inputs: object, text: str) -> None:
    assert (
        refused(pair, inputs)
        == f"inputs are a mapping of names to arrays or a list of arrays, {text}"
    )


def test_one_size_a_symbol() -> None:
    s = session(
        "float[N,N] x, float[N] a, float[?] u, float[?] v", "float16[N] y", "y = Cast<to=10>(a)"
    )
    free = {"u": f4(8), "v": f4(9)}
    assert refused(s, {"x": f4(2, 3), "a": f4(2), **free}) == (
        "N is 2 in input 'x' (axis 0), but 3 in input 'x' (axis 1)"
    )
    assert refused(s, {"x": f4(2, 2), "a": f4(3), **free}) == (
        "N is 2 in input 'x' (axis 0), but 3 in input 'a' (axis 0)"
    )
    # One that is wrong in itself says nothing about the symbol.
    assert (
        refused(s, {"x": f4(2), "a": f4(3), **free}) == "input 'x': expected shape [N,N], got [2]"
    )
    assert s.run({"x": f4(3, 3), "a": f4(3), **free})[0].shape == (3,)


@pytest.mark.parametrize(
    ("dtype", "public", "bits"),
    [
        ("bfloat16", "ml_dtypes.bfloat16", "u2"),
        ("float16", "numpy.float16", "u2"),
        ("float8e4m3fn", "ml_dtypes.float8_e4m3fn", "u1"),
        ("float8e5m2fnuz", "ml_dtypes.float8_e5m2fnuz", "u1"),
        ("float8e8m0", "ml_dtypes.float8_e8m0fnu", "u1"),
        ("float4e2m1", "ml_dtypes.float4_e2m1fn", "u1"),
        ("int4", "ml_dtypes.int4", "u1"),
        ("uint2", "ml_dtypes.uint2", "u1"),
    ],
)
def test_bits_are_no_values(dtype: str, public: str, bits: str) -> None:
    s = session(f"{dtype}[N] x", "float[N] y", "y = Cast<to=1>(x)")
    kind, name = np.dtype(bits).name, public.partition(".")[2]
    assert refused(s, [np.zeros(3, bits)]) == (
        f"input 'x': expected {name}, got {kind}; if these are its bits, pass array.view({public})"
    )
    assert refused(s, [np.zeros(3, "u8")]) == f"input 'x': expected {name}, got uint64"
    # The hint works.
    module = {"numpy": np, "ml_dtypes": ml_dtypes}[public.partition(".")[0]]
    assert s.run([np.zeros(3, bits).view(getattr(module, name))])[0].shape == (3,)


def test_bits_of_bool_and_wide_types_are_not_guessed() -> None:
    flags = session("bool[N] x", "float[N] y", "y = Cast<to=1>(x)")
    assert refused(flags, [np.zeros(3, "u1")]) == "input 'x': expected bool, got uint8"
    single = session("float[N] x", "float16[N] y", "y = Cast<to=10>(x)")
    assert refused(single, [np.zeros(3, "u4")]) == "input 'x': expected float32, got uint32"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.zeros(2, "i4"), "expected str, got int32"),
        (np.zeros(2, ml_dtypes.int4), "expected str, got int4"),
        ([1], "element [0]: 1 is not text"),
        (["a", None], "element [1]: None is not text"),
        (["a", b"\xff"], "element [1]: b'\\xff' is not UTF-8 text: invalid start byte"),
        (["a", ["b"]], "ragged: at depth 1 there are no sequence and length 1"),
    ],
)
def test_what_is_no_text(values: object, text: str) -> None:
    s = session("string[N] x", "float[N] y", "y = Cast<to=1>(x)")
    assert refused(s, {"x": values}) == f"input 'x': {text}"


def test_objects_that_are_no_text() -> None:
    s = session("string[N] x", "string[N] y", "y = Identity(x)")
    assert "element [1]" in refused(s, [np.array(["a", 1.5], object)])
    assert "element [0]" in refused(s, [np.array([b"\xff"], object)])


def test_a_long_list_of_names_is_cut() -> None:
    names = [f"input{i:02}" for i in range(50)]
    s = session(
        ", ".join(f"float[N] {n}" for n in names), "float16[N] y", "y = Cast<to=10>(input00)"
    )
    text = refused(s, {**{n: f4(2) for n in names}, "zzz": f4(2)})
    assert text == f"no input is named 'zzz' ({', '.join(names[:8])}, ...)"


class Foreign:
    """A tensor that NumPy may not read."""

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        raise RuntimeError("it lives on a device;\n  call .cpu() first\n")


def test_a_foreign_array_that_cannot_be_read(pair: minirt.Session) -> None:
    assert refused(pair, [f4(2, 3), Foreign()]) == (
        "input 'ids': Foreign cannot be read as an array: it lives on a device; call .cpu() first"
    )


def test_a_wrong_call_leaves_the_session_as_it_was(pair: minirt.Session) -> None:
    x = np.arange(6, dtype="f4").reshape(2, 3)
    good = pair.run([x, IDS])[0].tolist()
    refused(pair, [x, IDS, f4(3)])
    assert pair.run([x, IDS])[0].tolist() == good == x.tolist()
