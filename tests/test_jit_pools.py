"""Which threads run kernels, and what becomes of them."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import numba
import pytest
from jit_process import run_python

from minirt.jit import pools


def test_tbb_is_looked_for_where_pip_put_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Installed:
        name = pools._LIBRARY

        def locate(self) -> Path:
            return Path("/venv/lib") / self.name

    monkeypatch.setattr(metadata, "files", lambda name: [Installed()])
    assert list(pools._libraries()) == [str(Path("/venv/lib") / pools._LIBRARY), pools._LIBRARY]


def test_tbb_that_is_not_installed_may_still_be_on_the_system(monkeypatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", missing)
    assert list(pools._libraries()) == [pools._LIBRARY]
    monkeypatch.setattr(metadata, "files", lambda name: None)  # an installation without records
    assert list(pools._libraries()) == [pools._LIBRARY]


def test_a_tbb_that_does_not_load_or_is_too_old_is_passed_over(monkeypatch) -> None:
    class Old:
        def TBB_runtime_interface_version(self) -> int:
            return pools._OLDEST - 1

    monkeypatch.setattr(pools, "_libraries", lambda: iter(["/no/such/library"]))
    assert pools._tbb() is None
    monkeypatch.setattr(pools.ctypes, "CDLL", lambda *a, **k: Old())
    assert pools._tbb() is None


def test_numbas_own_setting_can_ask_for_workqueue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "THREADING_LAYER", "workqueue")
    assert pools._tbb() is None


def test_numba_keeps_its_own_choice(tmp_path: Path) -> None:
    script = """
    import numba
    before = dict(os.environ), numba.config.THREADING_LAYER
    from minirt.jit import pools
    pools.pool()
    assert before == (dict(os.environ), numba.config.THREADING_LAYER)
    try:
        numba.threading_layer()
    except ValueError:
        print("not chosen")
    """
    assert run_python(script, tmp_path) == "not chosen\n"
