"""Python processes of their own for the tests of ``minirt.jit``."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["PREAMBLE", "finish", "run_python", "start_python"]

#: What nearly every script needs.
PREAMBLE = """
import os, sys, threading, time
import numpy as np
from minirt.jit import kernel, statistics
"""

#: Newer Pythons warn of each fork in a process with threads: a test of that is meant.
_WARNINGS = "error,ignore:This process:DeprecationWarning"


def start_python(
    script: str, cache: Path, *arguments: str, preamble: str = PREAMBLE, **environment: str
) -> subprocess.Popen[str]:
    """Start ``script`` with its kernel cache at ``cache``; PYTHONPATH goes before what is set."""
    settings = {"MINIRT_CACHE_DIR": str(cache), "PYTHONWARNINGS": _WARNINGS, **environment}
    paths = [environment.get("PYTHONPATH"), os.environ.get("PYTHONPATH")]
    settings["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return subprocess.Popen(
        # -P: the current directory is not searched, so that PYTHONPATH comes first.
        [sys.executable, "-P", "-c", preamble + textwrap.dedent(script), *arguments],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], timeout: float = 300) -> str:
    """What a process wrote; that it fails, crashes or hangs is a failure here."""
    try:
        written, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        written, errors = process.communicate()
        raise AssertionError(f"hangs; wrote {written[-2000:]} {errors[-2000:]}") from None
    assert process.returncode == 0, f"exit {process.returncode}: {written[-2000:]} {errors[-4000:]}"
    return written


def run_python(script: str, cache: Path, *arguments: str, **environment: str) -> str:
    """Start a script and wait for what it writes."""
    return finish(start_python(script, cache, *arguments, **environment))
