"""Parallel code of the user's own in the same process, on each of Numba's threading layers."""

from __future__ import annotations

from importlib import import_module, metadata

import concurrency_numba
import pytest
from concurrency import names_of, run_checks, warm

pytestmark = pytest.mark.slow


def _layers() -> list[str]:
    """Those that are installed."""
    layers = ["workqueue"]
    try:
        import_module("numba.np.ufunc.omppool")
        layers.append("omp")
    except ImportError:  # no OpenMP
        pass
    try:
        metadata.version("tbb")
        layers.append("tbb")
    except metadata.PackageNotFoundError:  # there are no wheels for this platform
        pass
    return layers


@pytest.fixture(scope="module", params=_layers())
def outcomes(request: pytest.FixtureRequest, tmp_path_factory) -> dict[str, str]:
    kernels = warm(tmp_path_factory)
    return run_checks(concurrency_numba, kernels, NUMBA_THREADING_LAYER=request.param)


@pytest.mark.parametrize("name", names_of(concurrency_numba))
def test_users_of_numba(outcomes: dict[str, str], name: str) -> None:
    assert outcomes[name] == "ok", outcomes[name]


def test_nothing_is_said_about_it(outcomes: dict[str, str]) -> None:
    assert (outcomes["end"], outcomes["stderr"]) == ("exit 0", "")
