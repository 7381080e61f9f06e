"""ONNX's own runner over minirt.backend: ``ONNX_HOME=DIR python -W ignore tests/official.py``.

A process of its own, for the runner generates all its cases, which warns and takes seconds,
and writes to DIR. It prints how many cases there were, and each that did not go as
``tests/conformance/xfail.txt`` says.
"""

from __future__ import annotations

import io
import sys
import unittest
from pathlib import Path

from onnx.backend.test import BackendTest

from minirt.backend import Backend
from minirt.conformance.expected import read_expected

#: What the runner cannot judge: draws at random, data that is rounded at each step, and lists in
#: lists, which it takes for arrays.
EXCLUDED = r"^test_(bernoulli|attention_4d_causal_fp16|loop16_seq_none)"

XFAIL = Path(__file__).parent / "conformance/xfail.txt"


class Strict(Backend):
    """One that never says that a model is not for it, which the runner would skip."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **options):
        return True


def main() -> None:
    runner = BackendTest(Strict, __name__)
    runner.include("_cpu$")
    runner.exclude(EXCLUDED)
    runner.xfail(f"^(?:{'|'.join(['nothing', *read_expected(XFAIL)])})_cpu$")
    suite = runner.test_suite
    result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(suite)
    told = [(case, text.strip().split("\n")[-1]) for case, text in result.failures + result.errors]
    told += [(case, "passed, against xfail.txt") for case in result.unexpectedSuccesses]
    for case, text in told:
        sys.stdout.write(f"{case.id().split('.')[-1]}: {text}\n")
    sys.stdout.write(f"{suite.countTestCases() - len(result.skipped)} cases\n")


if __name__ == "__main__":
    main()
