"""What kernels get: flat, contiguous, aligned storage, whatever the caller holds."""

import ml_dtypes
import numpy as np
import pytest

from minirt.dtypes import BY_NAME
from minirt.feeds import Feeder, ValueInfo
from minirt.types import Dim, TensorType


def feeder(*names: str) -> Feeder:
    """Inputs x0, x1 … of one dimension."""
    return Feeder(
        [ValueInfo(f"x{i}", TensorType(BY_NAME[n], (Dim(),))) for i, n in enumerate(names)]
    )


def off_by_one_byte(values: np.ndarray) -> np.ndarray:
    result = np.empty(values.nbytes + 1, "u1")[1:].view(values.dtype)
    result[:] = values
    return result


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("float", np.array([1, 2, 3], "f4")),
        ("float", np.array([1, 9, 2, 9, 3, 9], "f4")[::2]),
        ("float", np.array([3, 2, 1], "f4")[::-1]),
        ("float", np.array([1, 2, 3], ">f4")),
        ("float", off_by_one_byte(np.array([1, 2, 3], "f4"))),
        ("float", np.frombuffer(np.array([1, 2, 3], "f4").tobytes(), "f4")),
        ("float", [1, 2.0, 3]),
        ("float16", np.array([1, 2, 3], "f2")),
        ("float16", np.array([1, 2, 3], ">f2")),
        ("bfloat16", np.array([1, 2, 3], ml_dtypes.bfloat16)),
        ("bfloat16", off_by_one_byte(np.array([1, 2, 3], ml_dtypes.bfloat16))),
        ("int4", np.array([1, 2, 3], ml_dtypes.int4)),
    ],
)
@pytest.mark.parametrize("form", [dict, list], ids=["by name", "by position"])
def test_buffers_are_ready_for_kernels(name: str, values: object, form: type) -> None:
    feeds = {"x0": values} if form is dict else [values]
    f = feeder(name)
    for buffers, shapes in filter(None, [f.quick(feeds), f.check(feeds)]):
        (buffer,) = buffers
        assert shapes == ((3,),)
        assert buffer.shape == (3,)
        assert buffer.dtype == BY_NAME[name].storage
        assert buffer.flags.c_contiguous
        assert buffer.flags.aligned
        assert buffer.view(BY_NAME[name].public).astype("f8").tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "values", "codes"),
    [
        ("int4", np.array([0xFF, 0x17], "u1").view(ml_dtypes.int4), [15, 7]),
        ("uint2", np.array([0xFF, 0x04], "u1").view(ml_dtypes.uint2), [3, 0]),
        ("float6e3m2", np.array([0xFF, 0x40], "u1").view(ml_dtypes.float6_e3m2fn), [63, 0]),
        ("bool", np.array([2, 0], "u1").view(bool), [1, 0]),
    ],
)
def test_spare_bits_are_cleared(name: str, values: np.ndarray, codes: list[int]) -> None:
    f = feeder(name)
    for feeds in ({"x0": values}, [values]):
        assert f.quick(feeds) is None
        assert f.check(feeds)[0][0].tolist() == codes


F4, F2 = np.zeros(2, "f4"), np.zeros(3, "f2")


@pytest.mark.parametrize(
    "values", [[F4], [F4, F2, F2], [F2, F4], [F4, None], [F4, [0.0]], [F4, F2.astype(">f2")]]
)
def test_the_quick_way_is_for_arrays_of_every_input(values: list[object]) -> None:
    f = feeder("float", "float16")
    assert f.quick(values) is None
    assert f.quick({f"x{i}": v for i, v in enumerate(values)}) is None


def test_the_quick_way() -> None:
    f = feeder("float", "float16")
    for feeds in ({"x1": F2, "x0": F4}, [F4, F2], (F4, F2)):
        quick = f.quick(feeds)
        assert quick is not None
        assert [b.dtype for b in quick[0]] == ["f4", "u2"]
        assert quick[1] == ((2,), (3,))
    assert f.quick({"x0": F4, "x2": F2}) is None
    assert f.quick(iter([F4, F2])) is None  # type: ignore[arg-type]


def test_arrays_are_not_copied_without_need() -> None:
    f = feeder("float", "bfloat16", "int4", "string")
    values = [
        np.zeros(2, "f4"),
        np.zeros(2, ml_dtypes.bfloat16),
        np.zeros(2, ml_dtypes.int4),
        np.array(["a"], object),
    ]
    buffers, _ = f.check(values)
    assert all(np.shares_memory(b, v) for b, v in zip(buffers, values, strict=True))


def test_inputs_with_defaults_leave_no_buffer() -> None:
    kind = TensorType(BY_NAME["float"], (Dim(),))
    f = Feeder([ValueInfo("x", kind), ValueInfo("w", kind, has_default=True)])
    x = np.zeros(2, "f4")
    for feeds in ({"x": x}, [x], [x, None]):
        buffers, shapes = f.check(feeds)
        assert len(buffers) == 1
        assert shapes == ((2,), None)
