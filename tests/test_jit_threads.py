"""How many threads run."""

from __future__ import annotations

import math
import os
import threading
from pathlib import Path

import numba
import pytest
from jit_process import finish, start_python

from minirt.errors import InputError
from minirt.jit import threads
from minirt.jit.threads import at_most, available, resolve

QUOTA = threads._quota


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight processors, no quota, a Numba that takes them all."""
    monkeypatch.delenv("MINIRT_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    monkeypatch.setattr(threads, "_quota", lambda: math.inf)
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 64)


def test_affinity_counts() -> None:
    assert available() == resolve() == 8


@pytest.mark.parametrize(("variable", "expected"), [("3", 3), (" 5 ", 5), ("1", 1), ("", 8)])
def test_the_variable_comes_before_affinity(monkeypatch, variable: str, expected: int) -> None:
    monkeypatch.setenv("MINIRT_NUM_THREADS", variable)
    assert resolve() == expected


def test_the_argument_comes_before_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIRT_NUM_THREADS", "3")
    assert resolve(2) == 2


@pytest.mark.parametrize("variable", ["0", "-1", "two", "1.5", "1e3", " "])
def test_a_variable_that_is_no_number_of_threads(monkeypatch, variable: str) -> None:
    monkeypatch.setenv("MINIRT_NUM_THREADS", variable)
    with pytest.raises(InputError, match=f"^MINIRT_NUM_THREADS='{variable}' .*give 1 or more$"):
        resolve()


@pytest.mark.parametrize("argument", [0, -3, 1.5, "two"])
def test_an_argument_that_is_no_number_of_threads(argument) -> None:
    with pytest.raises(InputError, match=f"^threads={argument!r} "):
        resolve(argument)


def test_a_limit_holds_within_its_context_and_this_thread(monkeypatch) -> None:
    monkeypatch.setenv("MINIRT_NUM_THREADS", "5")
    elsewhere: list[int] = []
    with at_most(3):
        thread = threading.Thread(target=lambda: elsewhere.append(resolve()))
        thread.start()
        thread.join()
        with at_most(None):
            assert resolve() == 5
        assert (resolve(), resolve(2)) == (3, 2)
    assert (resolve(), elsewhere) == (5, [5])


def test_a_limit_is_looked_at_before_it_is_used() -> None:
    with pytest.raises(InputError, match=r"^threads=0 "):
        at_most(0)


@pytest.mark.parametrize("argument", [65, 10**9])
def test_never_more_than_numba_has(argument: int) -> None:
    assert resolve(argument) == 64


def test_without_affinity_the_processors_of_the_process_count(monkeypatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    monkeypatch.setattr(os, "process_cpu_count", lambda: 6, raising=False)
    assert available() == 6
    monkeypatch.delattr(os, "process_cpu_count")
    assert available() == 12
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available() == 1


@pytest.mark.parametrize(
    ("quotas", "expected"),
    [([], 8), ([3.0], 3), ([2.9], 2), ([0.5], 1), ([16.0], 8), ([6.0, 2.5, 4.0], 2)],
)
def test_quotas_round_down_but_leave_one(monkeypatch, quotas: list[float], expected: int) -> None:
    monkeypatch.setattr(threads, "_quotas", lambda membership, mount: quotas)
    monkeypatch.setattr(threads, "_quota", QUOTA.__wrapped__)
    assert available() == expected


UNLIMITED = {"cpu.max": "max 100000\n"}
HALF, FOUR = {"cpu.max": "50000 100000\n"}, {"cpu.max": "400000 100000\n"}


def v1(quota: int) -> dict[str, str]:
    return {"cpu.cfs_quota_us": f"{quota}\n", "cpu.cfs_period_us": "100000\n"}


@pytest.mark.parametrize(
    ("membership", "groups", "expected"),
    [
        ("0::/\n", {"": FOUR}, [4.0]),
        ("0::/a/b\n", {"a/b": HALF, "a": FOUR}, [0.5, 4.0]),
        ("0::/a/b\n", {"a/b": UNLIMITED, "a": FOUR, "": UNLIMITED}, [4.0]),
        ("0::/gone/from/here\n", {"": FOUR}, [4.0]),  # a container sees its own group as the top
        ("4:cpu,cpuacct:/a\n", {"cpu,cpuacct/a": v1(250000)}, [2.5]),
        ("4:cpu:/a\n3:cpuset:/a\n", {"cpu/a": v1(-1), "cpu": v1(100000)}, [1.0]),
        ("3:cpuset:/a\n2:memory:/a\n", {"cpuset/a": HALF, "memory/a": HALF}, []),
        ("0::/\n", {"": {"cpu.max": "nonsense\n"}}, []),
        ("0::/\n", {"": {"cpu.max": "1 0\n"}}, []),
        ("0::/../../etc\n", {"": FOUR}, [4.0]),
        ("garbage\n\n", {"": UNLIMITED}, []),
        ("", {}, []),
    ],
)
def test_quotas_of_control_groups(tmp_path, monkeypatch, membership, groups, expected) -> None:
    (tmp_path / "cgroup").write_text(membership)
    for group, files in groups.items():
        for name, text in files.items():
            path = tmp_path / "fs" / group / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    assert list(threads._quotas(tmp_path / "cgroup", tmp_path / "fs")) == expected


def test_where_there_are_no_control_groups(tmp_path: Path, monkeypatch) -> None:
    assert list(threads._quotas(tmp_path / "cgroup", tmp_path / "fs")) == []


def test_counting_threads_needs_no_numba(tmp_path: Path) -> None:
    script = """
    import sys
    from minirt.jit.threads import available
    print(available() >= 1, "numba" in sys.modules)
    """
    assert finish(start_python(script, tmp_path, preamble="")) == "True False\n"
