"""A bounded, repeatable run of the fuzzer; ``python tests/fuzz.py`` goes on as long as one likes.

Kernels are left out here: they are many, and to compile them takes most of the time.
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType
from unittest.mock import patch

import numpy as np
import pytest
from fuzz import check, damaged
from fuzz_seeds import Seed, handcrafted, read_seed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TEST_CC = Path(__file__).parent / "data/test_cc"
SEEDS = [*handcrafted(), *(read_seed(path.parent) for path in sorted(TEST_CC.glob("*/model.onnx")))]

#: What a hang is, and how much memory is too much, beyond what the tests have already.
SECONDS, BYTES = 60, 2 << 30


@pytest.fixture(scope="module", autouse=True)
def bounds() -> Iterator[None]:
    """No kernels, and a bound on memory where there can be one."""
    with patch("minirt.kernels.convert", no_kernel), memory_bound():
        yield


def no_kernel(*_: object, **__: object) -> Callable[[np.ndarray, np.ndarray], None]:
    return lambda source, target: target.fill("" if target.dtype.hasobject else 0)


@contextmanager
def memory_bound() -> Iterator[None]:
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):  # not on Linux
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + BYTES, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def time_bound() -> Iterator[None]:
    def expired(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"it takes more than {SECONDS} seconds")

    if not hasattr(signal, "SIGPROF"):  # on Windows
        yield
        return
    before = signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def try_out(seed: Seed) -> str:
    with tempfile.TemporaryDirectory() as folder, time_bound():
        return check(seed, Path(folder))


@pytest.mark.parametrize("seed", list(handcrafted()), ids=lambda seed: seed.name)
def test_what_the_fuzzer_starts_from_is_valid(seed):
    assert try_out(seed) in {"loads", "runs", "UnsupportedError"}


@settings(
    max_examples=1500,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.randoms(use_true_random=False))
def test_whatever_a_file_holds_the_outcome_is_a_result_or_an_error_of_ours(random):
    try_out(damaged(random, SEEDS))


def test_the_fuzzer_notices():
    seed = next(handcrafted())
    for fault in (KeyError("x"), RecursionError(), RuntimeWarning("noise")):
        with (
            patch("minirt.model.load.build", side_effect=fault),
            pytest.raises((type(fault), AssertionError)),
        ):
            try_out(seed)


def test_damage_is_repeatable_and_various():
    damages = [damaged(Random(i), SEEDS) for i in range(300)]
    assert damages == [damaged(Random(i), SEEDS) for i in range(300)]
    assert len({damage.model for damage in damages}) > 200
