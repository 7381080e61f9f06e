"""The kernel cache between processes: each way in which Numba's own goes wrong, and more."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from exact import cast
from jit_process import PREAMBLE, finish, run_python, start_python

import minirt

FAMILY = """
from numba import njit

def family(divisor):
    @njit
    def steps(x):  # recursive: LLVM cannot inline all of it, so its symbol stays
        return 0.0 if x <= 1 else steps(x / divisor) + 1

    @kernel
    def apply(src, dst):
        for i in range(src.size):
            dst[i] = steps(src[i])
    return apply

halves, thirds = family(2), family(3)
src, dst = np.array([8.0, 81.0]), np.zeros(2)
for name in sys.argv[1:]:
    globals()[name].bind(src.dtype, dst.dtype, size=2)(src, dst)
    print(name, dst.tolist())
print(*statistics())
"""
HALVES, THIRDS = "halves [3.0, 7.0]\n", "thirds [2.0, 4.0]\n"


def test_closures_are_loaded_from_the_cache(tmp_path: Path) -> None:
    assert run_python(FAMILY, tmp_path, "halves", "thirds") == HALVES + THIRDS + "2 0\n"
    assert run_python(FAMILY, tmp_path, "halves", "thirds") == HALVES + THIRDS + "0 2\n"


@pytest.mark.slow
def test_symbols_of_two_processes_do_not_collide(tmp_path: Path) -> None:
    """Each process compiles one member of a family, under symbols that Numba makes equal."""
    assert run_python(FAMILY, tmp_path, "halves") == HALVES + "1 0\n"
    assert run_python(FAMILY, tmp_path, "thirds") == THIRDS + "1 0\n"
    assert run_python(FAMILY, tmp_path, "thirds", "halves") == THIRDS + HALVES + "0 2\n"


SCRIPT = """
@kernel
def scale(src, dst):
    for i in range(src.size):
        dst[i] = src[i] * {factor}

src, dst = np.ones(2), np.zeros(2)
scale.bind(src.dtype, dst.dtype, size=2)(src, dst)
print(dst[0], *statistics())
"""


@pytest.mark.slow
def test_a_script_without_a_file_is_cached_by_its_code(tmp_path: Path) -> None:
    for factor, expected in [(2, "2.0 1 0"), (3, "3.0 1 0"), (2, "2.0 0 1"), (3, "3.0 0 1")]:
        assert run_python(SCRIPT.format(factor=factor), tmp_path) == expected + "\n"


def test_code_of_no_module_is_compiled_and_not_cached(tmp_path: Path) -> None:
    script = f"exec({SCRIPT.format(factor=2)!r}, {{**globals(), '__name__': 'nowhere'}})"
    for _ in range(2):
        assert run_python(script, tmp_path) == "2.0 1 0\n"
    assert not list(tmp_path.rglob("*.kernel"))


@pytest.mark.slow
def test_a_kernel_that_depends_on_something_unknown_is_not_cached(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("from numba import njit\n@njit\ndef f(x): return 2 * x\n")
    script = "import helpers" + SCRIPT.replace("src[i] * {factor}", "helpers.f(src[i])")
    for _ in range(2):
        assert run_python(script, tmp_path, PYTHONPATH=str(tmp_path)) == "2.0 1 0\n"


@pytest.mark.slow
def test_an_edited_helper_of_another_module_is_seen(tmp_path: Path) -> None:
    package = Path(minirt.__file__).parent
    copy = shutil.copytree(
        package, tmp_path / "minirt", ignore=shutil.ignore_patterns("__pycache__")
    )
    (copy / "kernels" / "caller.py").write_text(
        "from ..jit import kernel\n"
        "from .helper import f\n"
        "@kernel\n"
        "def call(src, dst):\n"
        "    for i in range(src.size):\n"
        "        dst[i] = f(src[i])\n"
    )
    script = """
    from minirt.kernels.caller import call
    src, dst = np.ones(2), np.zeros(2)
    call.bind(src.dtype, dst.dtype, size=2)(src, dst)
    print(dst[0], *statistics())
    """
    for factor, expected in [(2, "2.0 1 0"), (2, "2.0 0 1"), (3, "3.0 1 0")]:
        # An overload, which no look at the caller finds.
        (copy / "kernels" / "helper.py").write_text(
            "from numba.extending import overload\n"
            "def f(x): ...\n"
            "@overload(f)\n"
            f"def implement(x): return lambda x: {factor} * x\n"
        )
        written = run_python(
            script, tmp_path / "cache", PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1"
        )
        assert written == expected + "\n"


@pytest.mark.slow
def test_flags_belong_to_the_key(tmp_path: Path) -> None:
    script = """
    @kernel
    def last(src, dst):
        dst[0] = src[src.size - 1 + dst.size]

    src, dst = np.arange(8.0)[:4], np.zeros(1)
    try:
        last.bind(src.dtype, dst.dtype, size=1)(src, dst)
        print(dst[0], *statistics())
    except IndexError:
        print("IndexError", *statistics())
    """
    assert run_python(script, tmp_path) == "4.0 1 0\n"
    assert run_python(script, tmp_path, NUMBA_BOUNDSCHECK="1") == "IndexError 1 0\n"
    assert run_python(script, tmp_path) == "4.0 0 1\n"
    assert run_python(script, tmp_path, NUMBA_BOUNDSCHECK="1") == "IndexError 0 1\n"


@pytest.mark.slow
def test_another_processor_has_a_cache_of_its_own(tmp_path: Path) -> None:
    generic = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    for environment, expected in [({}, "1 0"), (generic, "1 0"), ({}, "0 1"), (generic, "0 1")]:
        written = run_python(SCRIPT.format(factor=2), tmp_path, **environment)
        assert written == f"2.0 {expected}\n"


ROUND_TRIP = """
from minirt.dtypes import BY_NAME
from minirt.jit import Codec, decode, encode, has_half

@kernel
def cast(src, dst, from_, to):
    for i in range(src.size):
        dst[i] = encode(to, decode(from_, src[i]))

half, single = BY_NAME["float16"], BY_NAME["float"]
codes = np.arange(1 << 16, dtype="u2")
wide, back = np.zeros(codes.size, "f4"), np.zeros_like(codes)
cast.bind(half.storage, single.storage, Codec(half), Codec(single), size=codes.size)(codes, wide)
cast.bind(single.storage, half.storage, Codec(single), Codec(half), size=codes.size)(wide, back)
quiet = np.where(codes & 0x7FFF > 0x7C00, codes | 0x0200, codes)
exact = codes.view("f2").astype("f4")
assert (wide == exact)[~np.isnan(exact)].all() and (back == quiet).all()
print(has_half())
"""


@pytest.mark.slow
def test_a_target_without_half_instructions_converts_all_the_same(tmp_path: Path) -> None:
    """Where the target has no F16C an fpext from half ends in SIGSEGV."""
    generic = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    written = run_python(ROUND_TRIP, tmp_path, **generic)
    assert written in ("True\n", "False\n")  # AArch64 has them in its base
    run_python(ROUND_TRIP, tmp_path)


INTERLEAVED = """
from minirt.dtypes import BY_NAME
from minirt.jit import Codec, cache, decode, encode

@kernel
def cast(src, dst, from_, to):
    for i in range(src.size):
        dst[i] = encode(to, decode(from_, src[i]))

names, barrier = sys.argv[1].split(","), sys.argv[2:]
save = cache.Store.save

def save_together(*arguments):
    mine, other = barrier
    open(mine, "w").close()  # compiled, not saved
    while not os.path.exists(other):
        time.sleep(0.01)
    save(*arguments)

if barrier:
    cache.Store.save = save_together
single = BY_NAME["float"]
src, dst = np.array([1.0, -448.0, 3e38], "f4"), np.zeros(3, "u1")
for name in names:
    run = cast.bind(src.dtype, dst.dtype, Codec(single), Codec(BY_NAME[name]), size=3)
    run(src, dst)
    print(name, dst.tolist())
print(*statistics())
"""


@pytest.mark.slow
def test_two_processes_that_compile_at_once_keep_apart(tmp_path: Path) -> None:
    """Numba gives both the same file name, and one the other's code from then on."""
    expected = {
        "float8e4m3fn": "float8e4m3fn [56, 254, 126]\n",
        "float8e5m2": "float8e5m2 [60, 223, 123]\n",
    }
    cache, flags = tmp_path / "cache", [str(tmp_path / name) for name in ("one", "two")]
    processes = [
        start_python(INTERLEAVED, cache, name, *order)
        for name, order in zip(expected, (flags, flags[::-1]), strict=True)
    ]
    assert [finish(process) for process in processes] == [e + "1 0\n" for e in expected.values()]
    written = run_python(INTERLEAVED, cache, ",".join(expected))
    assert written == "".join(expected.values()) + "0 2\n"


MANY = """
from minirt.dtypes import BY_NAME
from minirt.jit import Codec, decode, encode

@kernel
def cast(src, dst, from_, to):
    for i in range(src.size):
        dst[i] = encode(to, decode(from_, src[i]))

order, place = sys.argv[1:]
with np.load(place) as data:
    src, wanted = data["src"].view("f4"), {name: data[name] for name in data if name != "src"}
names = sorted(wanted)
if order:
    np.random.default_rng(int(order)).shuffle(names)
single = BY_NAME["float"]
for name in names:
    dtype, saturate, round_mode = name.split()
    to = Codec(BY_NAME[dtype], saturate == "True", round_mode)
    dst = np.zeros(src.size, to.dtype.storage)
    cast.bind(src.dtype, dst.dtype, Codec(single), to, size=src.size)(src, dst)
    codes = dst.view(f"u{dst.itemsize}")
    assert (codes == wanted[name]).all(), (name, codes, wanted[name])
print(*statistics())
"""


@pytest.mark.slow
def test_eight_cold_processes_and_thirty_codecs(tmp_path: Path) -> None:
    plain = ["double", "float16", "bfloat16", "float4e2m1", "float6e2m3", "float6e3m2", "bool"]
    plain += [f"{sign}int{bits}" for sign in ("", "u") for bits in (2, 4, 8, 16, 32, 64)]
    codecs = [(name, True, "up") for name in plain]
    eights = ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]
    codecs += [(name, saturate, "up") for name in eights for saturate in (True, False)]
    codecs += [("float8e8m0", True, mode) for mode in ("up", "down", "nearest")]
    assert len(codecs) == 30
    values = [0.0, -0.0, 1.0, -1.5, 2.5, 3.0, 448.0, 464.1, 480.0, 61440.0, -1e-3, 1e-40, 3e9, 3e38]
    source = np.array([*values, -np.inf, np.inf, np.nan], "f4").view("u4")
    wanted = {
        f"{name} {saturate} {mode}": np.array(
            [cast(int(code), "float", name, saturate, mode) for code in source], "u8"
        )
        for name, saturate, mode in codecs
    }
    np.savez(tmp_path / "data.npz", src=source, **wanted)
    cache, data = tmp_path / "cache", str(tmp_path / "data.npz")
    processes = [start_python(MANY, cache, str(seed), data) for seed in range(8)]
    for process in processes:
        finish(process, timeout=600)
    assert run_python(MANY, cache, "", data) == "0 30\n"
    assert len(list(cache.rglob("*.kernel"))) == 30


@pytest.mark.slow
def test_a_damaged_entry_costs_a_compilation(tmp_path: Path) -> None:
    script = SCRIPT.format(factor=2)
    run_python(script, tmp_path)
    (entry,) = tmp_path.rglob("*.kernel")
    for damaged in (entry.read_bytes()[:-100], b"garbage"):
        entry.write_bytes(damaged)
        assert run_python(script, tmp_path) == "2.0 1 0\n"
        assert run_python(script, tmp_path) == "2.0 0 1\n"


def test_without_a_usable_cache_there_is_one_line_about_it(tmp_path: Path) -> None:
    script = (
        PREAMBLE + SCRIPT.format(factor=2) + "scale.bind(src.dtype, 'f4' and dst.dtype, size=3)"
    )
    place = tmp_path / "a file"
    place.write_text("")
    process = start_python(script, place)
    written, errors = process.communicate(timeout=300)
    assert (process.returncode, written) == (0, "2.0 1 0\n")
    assert errors.startswith("kernels are compiled without a cache: ")
    assert errors.count("\n") == 1


def test_what_only_some_systems_have_is_not_needed(tmp_path: Path) -> None:
    script = """
    from minirt.jit import launcher, threads
    launcher.PAYS = 0

    @kernel
    def double(src, dst):
        for i in range(src.size):
            dst[i] = 2 * src[i]

    src, dst = np.arange(50_000.0), np.zeros(50_000)
    double.bind(src.dtype, dst.dtype, size=src.size, threads=2)(src, dst)
    assert (dst == 2 * src).all()
    print(threads.available() >= 1, *statistics())
    """
    missing = "import os\nfor name in ('fork', 'register_at_fork', 'sched_getaffinity', 'geteuid'):"
    missing += "\n    if hasattr(os, name): delattr(os, name)\n"
    for expected in ("True 1 0\n", "True 0 1\n"):
        process = start_python(
            script, tmp_path, preamble=missing + PREAMBLE, NUMBA_THREADING_LAYER="workqueue"
        )
        assert finish(process) == expected
