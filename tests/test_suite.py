"""The published cases of Cast and CastLike: ``test_cc`` and the suite of the installed onnx."""

from __future__ import annotations

from pathlib import Path

import pytest

from minirt.conformance import run_directories, run_suite

TEST_CC = Path(__file__).parent / "data/test_cc"


def faults(report):
    return {result.case.name: result.reason for result in report.failed}


def test_test_cc():
    report = run_directories([TEST_CC])
    assert faults(report) == {}
    assert (len(report.passed), len(report.skipped)) == (217, 0)


def test_test_cc_bit_for_bit():
    report = run_directories([TEST_CC], ulp=0)
    assert faults(report) == {}
    # These ten are listed, with the reason, in superseded.json.
    assert (len(report.bit_exact), len(report.skipped)) == (207, 10)


@pytest.mark.parametrize(("keyword", "count"), [("test_cast_", 60), ("test_castlike_", 112)])
def test_the_suite_of_the_installed_onnx(keyword, count):
    for ulp in (None, 0):
        report = run_suite(keyword=keyword, ulp=ulp)
        assert faults(report) == {}
        assert report.skipped == []
        assert len(report.bit_exact) == len(report.passed) >= count
