"""The cast kernels compiled for lesser processors: other instructions, the same values.

Without F16C the half conversions are integer code, and without byte permutes tables are
read element by element: code that an ordinary run never sees.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cast_data import PAIRS, pair_id
from exact import bits_of

from minirt.jit.target import has_byte_permute

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parent
EXHAUSTIVE = TESTS / "test_cast_exhaustive.py"
#: Node ids of what differs on a processor with AVX2 from one that has AVX-512 too.
NARROW = [
    f"{EXHAUSTIVE}::{test}[{pair_id(pair)}]"
    for test in ("test_values", "test_position_in_the_array_does_not_matter")
    for pair in PAIRS
    if bits_of(pair[0]) <= 8
]
LESSER = {"generic": [str(EXHAUSTIVE)]}
if has_byte_permute() == "avx512vbmi":
    LESSER["x86-64-v3"] = NARROW


def run_python(cpu: str, *arguments: str) -> str:
    """What a Python whose Numba compiles for ``cpu`` writes; its failure is ours."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": ""},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_the_generic_target_has_no_half_instructions() -> None:
    script = "from minirt.jit.target import has_half; print(has_half())"
    assert run_python("generic", "-c", script) == "False\n"


@pytest.mark.parametrize("cpu", LESSER)
def test_every_conversion(cpu: str) -> None:
    options = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist")
    assert " passed" in run_python(cpu, "-m", "pytest", *options, *LESSER[cpu])
