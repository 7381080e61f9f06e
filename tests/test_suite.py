"""The suite of the installed onnx, the published cases of ``test_cc``, and what is said of them.

``tests/conformance/xfail.txt`` has the cases that are known to fail; after operators came,
``python tests/update.py`` writes it.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from update import ROOT, XFAIL, stated_count

from minirt.conformance import find_cases, run_cases, run_directories, run_suite, suite_directory
from minirt.conformance.expected import expect, read_expected

TEST_CC = Path(__file__).parent / "data/test_cc"

#: The suite is run in so many parts, so that processes can share the work.
PARTS = 16

#: The number of its cases, of onnx 1.23.2.
CASES = 2036


#: Their data is rounded to 16 bits at each step; superseded.json says so.
ROUNDED = {
    f"test_attention_4d_{name}{expanded}"
    for name in (
        *("attn_mask_causal_bf16", "causal_bf16", "causal_fp16"),
        *("causal_padded_kv_bf16", "padded_kv_bf16"),
    )
    for expanded in ("", "_expanded")
}


def faults(report):
    return {result.case.name: result.reason for result in report.failed}


@pytest.mark.parametrize("part", range(PARTS))
def test_every_case_of_the_suite_passes_or_fails_as_expected(part):
    cases = find_cases([suite_directory()])
    expected = read_expected(XFAIL)
    results = [expect(result, expected) for result in run_cases(cases[part::PARTS])]
    assert {r.case.name: r.reason for r in results if r.status == "failed"} == {}
    assert {r.case.name for r in results if r.status == "skipped"} <= ROUNDED


def test_expected_failures_are_cases_of_operators_that_are_not_there():
    names = {case.name for case in find_cases([suite_directory()])}
    assert len(names) == CASES
    expected = read_expected(XFAIL, names)
    assert [line for line in expected.items() if not line[1].startswith("not built yet: ")] == []
    readme = ROOT.joinpath("README.md").read_text("utf-8")
    assert stated_count(readme) == (len(names - expected.keys() - ROUNDED), len(names))


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
def test_casts_are_exact(keyword, count):
    report = run_suite(keyword=keyword, ulp=0)
    assert faults(report) == {}
    assert report.skipped == []
    assert len(report.bit_exact) == len(report.passed) >= count
