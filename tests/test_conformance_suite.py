"""The suite of the installed onnx: generated whole, once, and never half."""

from __future__ import annotations

import json
import logging
import os
import sys

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from minirt.conformance import find_cases, suite, suite_directory
from minirt.errors import ExecutionError


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """A suite that was generated now, and what was said meanwhile."""
    cache, said = tmp_path_factory.mktemp("cache"), []
    # With Pillow the image cases would have other data than onnx froze.
    pillow = cache / "path/PIL"
    pillow.mkdir(parents=True)
    (pillow / "__init__.py").write_text("raise RuntimeError('Pillow was used')")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(pillow.parent), *sys.path])
        patch.setenv("MINIRT_CACHE_DIR", str(cache))
        yield suite_directory(lambda done, total: said.append((done, total))), said


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and a generator that takes no time."""

    def generate(scratch, progress):
        (scratch / "test_a").mkdir()
        (scratch / "test_b").mkdir()
        runs.append(scratch)

    runs = []
    monkeypatch.setenv("MINIRT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(suite, "_generate", generate)
    return runs


def test_every_kind_of_case_is_there(generated):
    folder, _ = generated
    cases = {case.name: case for case in find_cases([folder])}
    assert len(cases) >= 2036
    assert not [case.name for case in cases.values() if case.problem]
    for name in (
        "test_cast_FLOAT_to_INT4",  # node, its data as messages
        "test_castlike_FLOAT_to_FLOAT8E4M3FN_expanded",  # a function body
        "test_sequence_model1",  # simple, on disk
        "test_mod_fmod_0_signed_zero_float16",  # simple, only in code
        "test_Conv2d",  # converted from PyTorch
        "test_operator_add_broadcast",
        "test_resnet50",  # real
    ):
        assert len(cases[name].data_sets) == 1
        assert list(cases[name].data_sets[0].glob("output_0.pb"))
    assert cases["test_densenet121"].tolerance().rtol == 2e-3


def test_values_are_those_of_onnx(generated):
    folder, _ = generated

    def tensor(path):
        return numpy_helper.to_array(onnx.load_tensor(folder / path))

    np.testing.assert_array_equal(
        tensor("test_abs/test_data_set_0/output_0.pb"),
        np.abs(tensor("test_abs/test_data_set_0/input_0.pb")),
    )
    ramp = tensor("test_resnet50/test_data_set_0/input_0.pb")
    assert ramp.shape == (1, 3, 224, 224)
    assert ramp.dtype == np.float32
    assert ramp[0, 0, 0, 1] == np.float32(1 / 150528)
    from onnx.backend.test.case.node import _image_decoder_data as frozen

    picture = tensor("test_image_decoder_decode_jpeg_rgb/test_data_set_0/output_0.pb")
    np.testing.assert_array_equal(picture, frozen.image_decoder_decode_jpeg_rgb.output)


def test_progress_goes_from_nothing_to_all(generated):
    _, said = generated
    shares = [done / total for done, total in said]
    assert shares == sorted(shares)
    assert shares[0] < 0.05
    assert shares[-1] > 0.95


def test_it_is_generated_once(cache):
    first = suite_directory()
    assert first.name == f"onnx-{onnx.__version__}-numpy-{np.__version__}-1"
    assert suite_directory() == first
    assert len(cache) == 1
    assert sorted(os.listdir(first)) == ["suite.json", "test_a", "test_b"]
    assert os.listdir(first.parent) == [first.name]


def test_another_version_is_another_suite(cache, monkeypatch):
    first = suite_directory()
    monkeypatch.setattr(suite, "version", lambda package: "9.9")
    second = suite_directory()
    assert (first != second, len(cache)) == (True, 2)
    assert first.exists()


@pytest.mark.parametrize("damage", ["case", "index", "nonsense"])
def test_a_damaged_suite_is_generated_again(cache, damage):
    folder = suite_directory()
    if damage == "case":
        (folder / "test_a").rmdir()
    elif damage == "index":
        (folder / "suite.json").unlink()
    else:
        (folder / "suite.json").write_text("[")
    assert suite_directory() == folder
    assert len(cache) == 2
    assert (folder / "test_a").is_dir()


def test_a_faster_process_is_no_error(cache, monkeypatch):
    def generate(scratch, progress):
        inner(scratch, progress)
        monkeypatch.setattr(suite, "_generate", inner)
        suite_directory()  # what another process does meanwhile

    inner = suite._generate
    monkeypatch.setattr(suite, "_generate", generate)
    folder = suite_directory()
    assert len(cache) == 2
    assert json.loads((folder / "suite.json").read_text()) == {"cases": ["test_a", "test_b"]}
    assert os.listdir(folder.parent) == [folder.name]


def test_a_failure_leaves_nothing_behind(cache, monkeypatch):
    def fail(scratch, progress):
        (scratch / "test_a").mkdir()
        raise KeyboardInterrupt

    inner = suite._generate
    monkeypatch.setattr(suite, "_generate", fail)
    with pytest.raises(KeyboardInterrupt):
        suite_directory()
    monkeypatch.setattr(suite, "_generate", inner)
    folder = suite_directory()
    assert os.listdir(folder.parent) == [folder.name]


def test_without_a_cache_directory_it_lasts_for_this_run(cache, tmp_path, monkeypatch, caplog):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MINIRT_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with caplog.at_level(logging.WARNING, "minirt.conformance"):
        folder = suite_directory()
    assert sorted(os.listdir(folder)) == ["suite.json", "test_a", "test_b"]
    assert "the suite is generated for this run only" in caplog.text


def test_a_broken_onnx_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx/__init__.py").write_text("raise ImportError('broken on purpose')")
    monkeypatch.setenv("MINIRT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(ExecutionError) as caught:
        suite_directory()
    assert str(caught.value) == (
        f"onnx {onnx.__version__} cannot generate its suite: ImportError: broken on purpose"
    )
    assert os.listdir(tmp_path / "cache/suites") == []


def test_info_and_clear(cache):
    assert suite.suites_info()[1:] == (0, 0)
    folder = suite_directory()
    size = (folder / "suite.json").stat().st_size
    assert suite.suites_info() == (folder.parent, 1, size)
    assert suite.suites_clear() == (folder.parent, 1, size)
    assert suite.suites_info()[1:] == (0, 0)
    assert suite.suites_clear()[1:] == (0, 0)
