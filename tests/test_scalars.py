"""Functions of one number as kernels: how exact they are, and that bits are the same anywhere."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minirt import kernels
from minirt.jit import Scalar, call
from minirt.kernels import elementary, scalars

F4 = np.float32


def every_size() -> np.ndarray:
    """float32 numbers of both signs and of every exponent, with what is special."""
    codes = np.arange(0, 1 << 32, 25_013, dtype=np.uint64).astype(np.uint32)
    special = F4([0.0, -0.0, np.inf, -np.inf, np.nan, 88.72, 88.73, -87.33, -103.97, -104.0])
    usual = np.random.default_rng(1).uniform(-12, 12, 50_000).astype(F4)
    return np.concatenate([codes.view(F4), special, usual])


def apply(name: str, x: np.ndarray, *parameters: float) -> np.ndarray:
    y = np.empty_like(x)
    kernels.map_scalar(name, x.dtype, x.size, *parameters)(x, y)
    return y


def distance(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """In units in the last place; 0 for two NaN, and many for one."""

    def place(x: np.ndarray) -> np.ndarray:
        codes = np.where(np.isnan(x), x.dtype.type(np.nan), x).view(f"i{x.itemsize}")
        codes = codes.astype(np.int64)
        return np.where(codes < 0, -(codes & np.iinfo(f"i{x.itemsize}").max), codes)

    return abs(place(actual) - place(expected))


def elements(function: Callable[[float], float]) -> Callable[[Any], Any]:
    return np.vectorize(function, otypes=[float])


EXACT: dict[str, tuple[Callable[..., Any], int]] = {
    "exp": (np.exp, 1),
    "expm1": (np.expm1, 2),
    "log": (np.log, 2),
    "tanh": (np.tanh, 3),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 2),
    "erf": (elements(math.erf), 4),
    "below_normal": (lambda x: elements(math.erfc)(-x / math.sqrt(2)) / 2, 8),
    "softplus": (lambda x: np.logaddexp(x, 0), 4),
    "softsign": (lambda x: x / (1 + abs(x)), 1),
}


@pytest.mark.parametrize("name", EXACT)
def test_float32_is_exact_to_a_few_units_in_the_last_place(name):
    function, ulp = EXACT[name]
    x = every_size()
    with np.errstate(all="ignore"):
        expected = function(x.astype(np.float64)).astype(F4)
    # Subnormal steps on the way are coarser than the last place of what comes of them.
    coarse = (abs(expected) < 1e-36) & (name == "below_normal")
    wrong = (distance(apply(name, x), expected) > ulp) & ~coarse
    assert list(zip(x[wrong][:3], expected[wrong][:3], strict=True)) == []


INF, NAN = math.inf, math.nan


def _log(x: float) -> float:
    return math.log(x) if x > 0 else NAN if x else -INF


#: For float64: the function, how far off it may be, and what it is of infinities, NaN and 1e308.
EXACT_DOUBLE: dict[str, tuple[Callable[[float], float], int, list[float]]] = {
    "exp": (math.exp, 2, [INF, 0, NAN, INF, 0]),
    "expm1": (math.expm1, 2, [INF, -1, NAN, INF, -1]),
    "log": (_log, 2, [INF, NAN, NAN, math.log(1e308), NAN]),
    "tanh": (math.tanh, 3, [1, -1, NAN, 1, -1]),
    "sigmoid": (lambda x: math.exp(x) / (1 + math.exp(x)), 4, [1, 0, NAN, 1, 0]),
    "softplus": (
        lambda x: max(x, 0) + math.log1p(math.exp(-abs(x))),
        4,
        [INF, 0, NAN, 1e308, 0],
    ),
    "erf": (math.erf, 0, [1, -1, NAN, 1, -1]),
}


@pytest.mark.parametrize("name", EXACT_DOUBLE)
def test_float64_is_exact_to_a_few_units_in_the_last_place(name):
    function, ulp, limits = EXACT_DOUBLE[name]
    rng = np.random.default_rng(4)
    near, far = rng.uniform(-12, 12, 2000), rng.uniform(-700, 700, 500)
    tiny = np.ldexp(rng.uniform(-1, 1, 500), rng.integers(-1070, 0, 500))
    x = np.concatenate([near, far, tiny, [0.0, -0.0, 5e-324]])
    expected = elements(function)(x)
    wrong = distance(apply(name, x), expected) > ulp
    assert list(zip(x[wrong][:3], expected[wrong][:3], strict=True)) == []
    special = apply(name, np.array([INF, -INF, NAN, 1e308, -1e308]))
    assert np.array_equal(special, limits, equal_nan=True)


@pytest.mark.parametrize("name", ["tanh", "erf", "expm1"])
def test_zero_keeps_its_sign(name):
    y = apply(name, F4([0.0, -0.0]))
    assert (y.tolist(), np.signbit(y).tolist()) == ([0, 0], [False, True])


@pytest.mark.parametrize("name", sorted(scalars.FUNCTIONS))
def test_position_in_the_array_does_not_matter(name):
    """Vectors, and the rest of a loop, give the same bits."""
    x = np.random.default_rng(2).normal(size=70).astype(F4) * 4
    if name == "log1p":
        x = abs(x) / (1 + abs(x))
    each = [apply(name, x[i : i + 1], 1.25, 0.75).view(np.uint32)[0] for i in range(x.size)]
    for start in range(0, 8):
        found = apply(name, x[start:].copy(), 1.25, 0.75).view(np.uint32)
        assert found.tolist() == each[start:]


def test_threads_give_the_same_bits(monkeypatch):
    x = np.random.default_rng(3).normal(size=1_500_000).astype(F4) * 4
    monkeypatch.setenv("MINIRT_NUM_THREADS", "1")
    one = apply("gelu", x)
    monkeypatch.setenv("MINIRT_NUM_THREADS", "2")
    assert apply("gelu", x).tobytes() == one.tobytes()


DIGESTS = """
import hashlib
import numpy as np
from test_scalars import apply, every_size
for name in ("exp", "expm1", "log", "tanh", "erf", "gelu", "softplus"):
    y = apply(name, every_size()[::41].copy(), 1.25, 0.75)
    y[np.isnan(y)] = np.nan
    print(name, hashlib.sha256(y.tobytes()).hexdigest())
"""


def digests(**environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", DIGESTS],
        env=os.environ | environment,
        cwd=os.path.dirname(__file__),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_a_processor_without_fused_operations_gives_the_same_bits():
    generic = digests(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")
    assert generic.count("\n") == 7
    assert generic == digests()


COUNT = """
import numpy as np
from minirt import jit, kernels
x = np.float32([0, 1])
for name in ("elu", "relu"):
    kernels.map_scalar(name, x.dtype, 2, 1.0)(x, np.empty_like(x))
print(*jit.statistics())
"""


def test_each_function_is_compiled_once_and_kept(tmp_path):
    environment = os.environ | {"MINIRT_CACHE_DIR": str(tmp_path)}
    counts = [
        subprocess.run(
            [sys.executable, "-c", COUNT],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        ).stdout.split()
        for _ in range(2)
    ]
    assert counts == [["2", "0"], ["0", "2"]]


def test_parameters_are_given_as_far_as_there_are_some():
    x = F4([-4.0, 0.5, 4.0])
    assert apply("leaky_relu", x, 0.25).tolist() == [-1.0, 0.5, 4.0]
    assert apply("shrink", x, 1.0, 2.0).tolist() == [-3.0, 0.0, 3.0]
    assert apply("relu", x, 7.0, 7.0).tolist() == [0.0, 0.5, 4.0]


def test_scalars_have_names_and_are_pickled_by_them():
    assert repr(elementary.exp) == "<scalar minirt.kernels.elementary.exp>"
    assert pickle.loads(pickle.dumps(scalars.gelu)) is scalars.gelu
    assert elementary.exp.__doc__ == "e^x."


def test_call_is_for_kernels():
    with pytest.raises(NotImplementedError, match="for kernels"):
        call(elementary.exp, 1.0, 0.0, 0.0)


def test_functions_are_made_once_for_a_type():
    made = []

    @Scalar
    def half(real):
        made.append(real)
        return lambda x: x / real(2)

    assert half(np.float32) is half(np.float32)
    half(np.float64)
    assert made == [np.float32, np.float64]
