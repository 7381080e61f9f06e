"""Finding test directories."""

from __future__ import annotations

import json
import os

import pytest

from minirt.conformance import cases, find_cases, select_cases
from minirt.conformance.compare import Tolerance
from minirt.errors import InputError, ParseError


def make(root, *paths):
    """Files, and with a trailing slash directories."""
    for path in paths:
        target = root / path
        (target if path.endswith("/") else target.parent).mkdir(parents=True, exist_ok=True)
        if not path.endswith("/"):
            target.touch()
    return root


def found(*paths):
    return [
        (case.name, case.model and case.model.name, [d.name for d in case.data_sets], case.problem)
        for case in find_cases(paths)
    ]


def test_any_name_any_depth_any_number_of_data_sets(tmp_path):
    make(
        tmp_path,
        "b/deep/er/model.onnx",
        "b/deep/er/test_data_set_10/",
        "b/deep/er/test_data_set_9/input_0.pb",
        "b/deep/er/test_data_set_0/",
        "a case/net.onnx",
        "a case/test_data_set_0/",
        "notes/readme.txt",
        "model.onnx",
        "test_data_set_0/",
    )
    assert found(tmp_path) == [
        (tmp_path.name, "model.onnx", ["test_data_set_0"], ""),
        ("a case", "net.onnx", ["test_data_set_0"], ""),
        (
            "b/deep/er",
            "model.onnx",
            ["test_data_set_0", "test_data_set_9", "test_data_set_10"],
            "",
        ),
    ]


def test_a_case_itself_several_paths_and_each_only_once(tmp_path, monkeypatch):
    make(tmp_path, "x/one/model.onnx", "x/one/test_data_set_0/")
    make(tmp_path, "y/two/model.onnx", "y/two/test_data_set_0/")
    one = ("one", "model.onnx", ["test_data_set_0"], "")
    two = ("two", "model.onnx", ["test_data_set_0"], "")
    assert found(tmp_path / "x/one") == [one]
    assert found(tmp_path / "y", tmp_path / "x") == [two, one]
    assert found(tmp_path / "x", tmp_path / "x/one", tmp_path / "y/../x") == [one]
    monkeypatch.chdir(tmp_path / "x/one")
    assert found(".") == [one]


def test_what_is_no_whole_case_is_reported(tmp_path):
    make(tmp_path, "good/model.onnx", "good/test_data_set_0/")
    make(tmp_path, "no_data/model.onnx", "no_model/test_data_set_3/")
    make(tmp_path, "two/a.onnx", "two/b.onnx", "two/test_data_set_0/")
    make(tmp_path, "main/a.onnx", "main/model.onnx", "main/test_data_set_0/")
    problems = {case.name: case.problem for case in find_cases([tmp_path])}
    assert problems == {
        "good": "",
        "main": "",
        "no_data": "no test_data_set_<k> directory beside model.onnx",
        "no_model": "no .onnx file beside test_data_set_3",
        "two": "2 .onnx files and no model.onnx",
    }


def test_nothing_to_run(tmp_path):
    make(tmp_path, "a/model.onnx", "file")
    message = (
        f"no ONNX test case in {tmp_path}: a case is a directory with a model.onnx and "
        "directories test_data_set_<k> that hold input_<i>.pb and output_<j>.pb"
    )
    for paths, expected in [
        ([tmp_path], message),
        ([tmp_path / "no"], f"{tmp_path / 'no'}: not found"),
        (
            [tmp_path / "file"],
            f"{tmp_path / 'file'}: is a file; give the directory that holds it",
        ),
    ]:
        with pytest.raises(InputError) as caught:
            find_cases(paths)
        assert str(caught.value) == expected


def test_links_are_followed_but_not_in_circles(tmp_path, monkeypatch):
    make(tmp_path, "real/case/model.onnx", "real/case/test_data_set_0/", "tree/")
    try:
        os.symlink(tmp_path / "real/case", tmp_path / "tree/linked")
        os.symlink(tmp_path / "tree", tmp_path / "tree/loop")
    except OSError:  # Windows without the right to make links has nothing to follow
        return
    visited, inner = [], cases._case
    monkeypatch.setattr(cases, "_case", lambda *folder: visited.append(folder) or inner(*folder))
    assert [name for name, *_ in found(tmp_path / "tree")] == ["linked"]
    assert len(visited) == 2  # the tree and the case


def test_selection_by_name(tmp_path):
    for name in ("v1.16.2/test_cast", "v1.18.0/test_cast", "v1.18.0/test_add"):
        make(tmp_path, f"{name}/model.onnx", f"{name}/test_data_set_0/")
    every = find_cases([tmp_path])
    assert [c.name for c in select_cases(every, "v1.18 and cast")] == ["v1.18.0/test_cast"]
    assert select_cases(every, "") == every
    with pytest.raises(InputError) as caught:
        select_cases(every, "sub")
    assert str(caught.value) == "-k 'sub' fits none of the 3 cases"


def test_a_case_may_bring_its_own_tolerance(tmp_path):
    make(tmp_path, "model.onnx", "test_data_set_0/")
    (case,) = find_cases([tmp_path])
    assert case.tolerance() == Tolerance(1e-3, 1e-7, None)
    assert case.tolerance(2) == Tolerance(1e-3, 1e-7, 2)
    (tmp_path / "data.json").write_text(json.dumps({"rtol": 0.5, "url": "somewhere"}))
    assert case.tolerance() == Tolerance(0.5, 1e-7, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "data.json: not an object"),
        ('{"rtol": -1}', "data.json: rtol=-1 is no tolerance"),
        ('{"atol": NaN}', "data.json: atol=nan is no tolerance"),
        ('{"atol": "1"}', "data.json: atol='1' is no tolerance"),
        ("{", "data.json: Expecting property name enclosed in double quotes"),
    ],
)
def test_a_bad_tolerance_is_an_error(tmp_path, text, message):
    make(tmp_path, "model.onnx", "test_data_set_0/")
    (tmp_path / "data.json").write_text(text)
    (case,) = find_cases([tmp_path])
    with pytest.raises(ParseError) as caught:
        case.tolerance()
    assert str(caught.value).startswith(message)
