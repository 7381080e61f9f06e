"""The cast kernels compiled for a processor without vector extensions: the same values.

Without F16C the half conversions are integer code, which an ordinary run never sees.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parent
GENERIC = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}


def run_python(*arguments: str) -> str:
    """What a Python for the generic processor writes; its failure is ours."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | GENERIC,
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_the_generic_target_has_no_half_instructions() -> None:
    assert run_python("-c", "from minirt.jit import has_half; print(has_half())") == "False\n"


def test_every_conversion_on_a_generic_processor() -> None:
    options = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist")
    written = run_python("-m", "pytest", *options, str(TESTS / "test_cast_exhaustive.py"))
    assert " passed" in written
