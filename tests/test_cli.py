"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from conformance_data import cast_model, write_case
from onnx import TensorProto, helper

import minirt
from minirt import conformance
from minirt.cli import main
from minirt.cli.test import StatusLine

X = np.float32([1.5, -2.5, 300])
Y = np.int32([1, -2, 300])
FLOAT_TO_INT = cast_model("FLOAT", "INT32", 3)


@pytest.fixture
def command(capsys):
    """Runs a command in this process: (exit code, standard output, standard error)."""

    def run(*argv):
        try:
            code = main([str(argument) for argument in argv])
        except SystemExit as end:  # argparse
            code = end.code
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def cases(tmp_path):
    """Three cases, the last of which fails."""
    write_case(tmp_path / "test_good", FLOAT_TO_INT, {"input_0": X, "output_0": Y})
    near = {"input_0": np.array([1.0]), "output_0": np.float32([1.0005])}
    write_case(tmp_path / "test_near", cast_model("DOUBLE", "FLOAT", 1), near)
    write_case(tmp_path / "test_wrong", FLOAT_TO_INT, {"input_0": X, "output_0": Y + 1})
    return tmp_path


# Help and usage


@pytest.mark.parametrize(
    "words", ["", "run", "info", "test", "cache", "cache info", "cache clear", "bench"]
)
def test_help(command, words):
    code, out, err = command(*words.split(), "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: minirt {words}".rstrip())
    assert max(map(len, out.split("\n"))) <= 80


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "minirt: error: the following arguments are required: COMMAND"),
        (["walk"], "minirt: error: argument COMMAND: invalid choice: 'walk'"),
        (["run"], "minirt run: error: the following arguments are required: MODEL"),
        (["test"], "minirt test: error: the following arguments are required: PATH"),
        (["test", ".", "--ulp", "-1"], "minirt test: error: argument --ulp: -1 is negative"),
        (["test", ".", "--ulp", "x"], "minirt test: error: argument --ulp: invalid"),
        (["info", "a", "--deb"], "minirt: error: unrecognized arguments: --deb"),
    ],
)
def test_usage_errors(command, argv, message):
    code, out, err = command(*argv)
    assert (code, out) == (2, "")
    assert message in err


def test_version(command):
    assert command("--version") == (0, f"minirt {minirt.__version__}\n", "")


# test


def test_all_passed(command, cases):
    assert command("test", cases / "test_good", cases / "test_near") == (
        0,
        "1 of 2 passed bit-exactly, 1 within the tolerance\n2 passed, 0 failed, 0 skipped\n",
        "",
    )


def test_one_line_a_failure_then_the_totals(command, cases):
    assert command("test", cases) == (
        1,
        "FAILED test_wrong: y[0]: expected 2 (0x00000002), got 1 (0x00000001); "
        "3 of 3 elements wrong\n"
        "1 of 2 passed bit-exactly, 1 within the tolerance\n"
        "2 passed, 1 failed, 0 skipped\n",
        "",
    )


def test_skipped_cases_have_their_reason(command, cases):
    (cases / "test_wrong/test_data_set_0").rename(cases / "elsewhere")
    code, out, _ = command("test", cases)
    assert code == 0
    assert out.startswith("SKIPPED test_wrong: no test_data_set_<k> directory beside model.onnx\n")
    assert out.endswith("\n2 passed, 0 failed, 1 skipped\n")


def test_selection_and_ulp(command, cases):
    assert command("test", cases, "-k", "good or near")[0] == 0
    code, out, _ = command("test", cases, "-k", "not wrong", "--ulp", "0")
    assert code == 1
    assert out == (
        "FAILED test_near: y[0]: expected 1.0005 (0x3f801062), got 1.0 (0x3f800000); "
        "1 of 1 elements wrong, up to 4194 ulp off\n"
        "1 of 1 passed bit-exactly, 0 within the tolerance\n"
        "1 passed, 1 failed, 0 skipped\n"
    )
    assert command("test", cases, "-k", "near", "--ulp", "4194")[0] == 0


def test_nothing_to_test(command, tmp_path):
    (tmp_path / "empty").mkdir()
    for path, message in [
        (tmp_path / "empty", f"minirt: no ONNX test case in {tmp_path / 'empty'}: a case is "),
        (tmp_path / "absent", f"minirt: {tmp_path / 'absent'}: not found\n"),
    ]:
        code, out, err = command("test", path)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(message)


def test_bad_expression(command, cases):
    assert command("test", cases, "-k", "good near") == (
        2,
        "",
        "minirt: -k 'good near', column 6: expected 'and', 'or' or the end, found 'near'\n",
    )
    assert command("test", cases, "-k", "sub") == (
        2,
        "",
        "minirt: -k 'sub' fits none of the 3 cases\n",
    )


def test_json(command, cases):
    target = cases / "report.json"
    code, _, _ = command("test", cases, "--json", target)
    assert code == 1
    data = json.loads(target.read_text())
    assert [(c["name"], c["status"]) for c in data["cases"]] == [
        ("test_good", "passed"),
        ("test_near", "passed"),
        ("test_wrong", "failed"),
    ]
    code, out, err = command("test", cases, "--json", cases / "no/report.json")
    assert (code, out) == (2, "")
    assert err.endswith(f"there is no directory {cases / 'no'}\n")


def test_the_word_onnx_is_the_installed_suite(command, cases, monkeypatch):
    monkeypatch.setattr(conformance, "suite_directory", lambda progress: cases)
    assert command("test", "onnx", "-k", "good")[0] == 0
    assert command("test", "onnx")[0] == 1


def test_progress_on_a_terminal_alone(cases, monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "20")
    assert main(["test", str(cases)]) == 1
    clear = "\r\x1b[K"
    assert terminal.getvalue() == (
        "\r1/3 test_good\x1b[K"
        "\r2/3 test_near\x1b[K"
        f"{clear}"  # the line of the failure stands alone
        "\r3/3 test_wrong\x1b[K"
        f"{clear}"
    )
    status = StatusLine()
    status.generating(1, 3)
    assert terminal.getvalue().endswith("\rgenerating the suit\x1b[K")


def test_interruption(command, cases, monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(conformance, "run_cases", interrupted)
    assert command("test", cases) == (130, "", "minirt: interrupted\n")


# info


def test_info(command, tmp_path):
    branch = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["b"], to=TensorProto.INT8)],
        "branch",
        [],
        [helper.make_tensor_value_info("b", TensorProto.INT8, None)],
    )
    nodes = [
        helper.make_node("Cast", ["x"], ["a"], to=TensorProto.INT8),
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
        helper.make_node("Twist", ["w"], ["z"], domain="my.domain"),
        helper.make_node("Twist", ["x"], ["z2"], domain="my.domain"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3]),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("w", TensorProto.INT4, [1001]),
        ],
        [
            helper.make_tensor_value_info("a", TensorProto.INT8, ["N", 3]),
            helper.make_tensor_value_info("y", TensorProto.INT8, None),
            helper.make_tensor_value_info("z2", TensorProto.FLOAT16, [2]),
        ],
        [helper.make_tensor("w", TensorProto.INT4, [1001], [0] * 1001)],
        doc_string="Two\nlines.",
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("my.domain", 2)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    model.producer_name, model.producer_version = "exporter", "1.2"
    entry = model.metadata_props.add()
    entry.key, entry.value = "licence", "free"
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    code, out, err = command("info", path)
    assert (code, err) == (0, "")
    # If is counted as missing or not, as operators come.
    head, missing = out.split("not implemented\n")
    assert head == (
        f"{path}\n"
        "  producer    exporter 1.2\n"
        "  IR version  10\n"
        "  opsets      ai.onnx 21, my.domain 2\n"
        "  parameters  1,001 in 1 initializer, 501 B\n"
        "  licence     free\n"
        "  doc         Two lines.\n"
        "inputs\n"
        "  x  float[N,3]\n"
        "  c  bool[]\n"
        "  w  int4[1001], has a default\n"
        "outputs\n"
        "  a   int8[N,3]\n"
        "  y   int8[...]\n"
        "  z2  float16[2]\n"
        "operators\n"
        "  Cast             3\n"
        "  If               1\n"
        "  my.domain.Twist  2\n"
    )
    assert "  Twist (my.domain 2, 2 nodes)\n" in missing


def test_info_of_an_empty_model(command, tmp_path):
    graph = helper.make_graph([], "g", [], [])
    path = tmp_path / "model.onnx"
    path.write_bytes(helper.make_model(graph, ir_version=10).SerializeToString())
    code, out, _ = command("info", path)
    assert code == 0
    assert out.endswith("inputs\n  none\noutputs\n  none\noperators\n  none\n")


@pytest.mark.parametrize("verb", ["run", "info"])
def test_bad_models(command, tmp_path, verb):
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"\x80\x02.")
    code, out, err = command(verb, bad)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("minirt: ParseError: ")
    absent = tmp_path / "absent.onnx"
    assert command(verb, absent) == (2, "", f"minirt: {absent}: No such file or directory\n")


def test_debug_shows_where(tmp_path, command):
    with pytest.raises(FileNotFoundError):
        main(["info", str(tmp_path / "absent.onnx"), "--debug"])
    with pytest.raises(FileNotFoundError):
        main(["--debug", "info", str(tmp_path / "absent.onnx")])


def test_a_fault_of_minirt_is_one_line_too(command, cases, monkeypatch):
    def broken(*args, **options):
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr(conformance, "find_cases", broken)
    assert command("test", cases) == (
        2,
        "",
        "minirt: internal error: ZeroDivisionError: two lines (--debug shows where)\n",
    )


# cache


def test_cache(command, tmp_path, monkeypatch):
    monkeypatch.setenv("MINIRT_CACHE_DIR", str(tmp_path))
    nothing = f"0 compiled kernels, 0 B, in {tmp_path}\n0 ONNX suites, 0 B, in "
    assert command("cache", "info") == (0, f"{nothing}{tmp_path / 'suites'}\n", "")
    (tmp_path / "suites/onnx-1").mkdir(parents=True)
    (tmp_path / "suites/onnx-1/model.onnx").write_bytes(bytes(1234))
    (tmp_path / "0.1-abc/cpu").mkdir(parents=True)
    (tmp_path / "0.1-abc/cpu/a.kernel").write_bytes(bytes(999))
    (tmp_path / "mine.txt").touch()
    there = f"1 compiled kernel, 999 B, in {tmp_path}\n"
    there += f"1 ONNX suite, 1.2 kB, in {tmp_path / 'suites'}\n"
    assert command("cache", "info") == (0, there, "")
    removed = "".join(f"removed {line}\n" for line in there.splitlines())
    assert command("cache", "clear") == (0, removed, "")
    assert os.listdir(tmp_path) == ["mine.txt"]
    assert command("cache", "info")[1] == f"{nothing}{tmp_path / 'suites'}\n"


# Processes


def process(*argv, **options):
    command = [sys.executable, "-m", "minirt", *map(str, argv)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def test_the_module_is_the_command(cases):
    out, err = (running := process("test", cases / "test_wrong")).communicate()
    assert running.returncode == 1
    assert out.decode().splitlines()[-1] == "0 passed, 1 failed, 0 skipped"
    assert err == b""


def test_a_reader_that_has_gone_is_no_error(cases):
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    running = process("test", cases, env=buffered)
    running.stdout.close()
    assert running.stderr.read() == b""
    running.stderr.close()
    assert running.wait() == 141


def test_a_terminal_without_the_characters(cases):
    (cases / "test_wrong").rename(cases / "test_\u00e9\u4e16")
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    out, err = process("test", cases, "-k", "not good", env=ascii_only).communicate()
    assert b"FAILED test_\\xe9\\u4e16: y[0]: " in out
    assert err == b""


def test_info_needs_no_numba(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(FLOAT_TO_INT.SerializeToString())
    code = (
        "import sys; from minirt.cli import main; "
        f"code = main(['info', {str(path)!r}]); "
        "print(code, sorted({'numba', 'llvmlite'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert out.decode().splitlines()[-1] == "0 []"


# bench


def test_bench(monkeypatch):
    """It hands on its arguments, and the exit code."""
    calls = []
    monkeypatch.setattr("bench.main", lambda arguments: calls.append(arguments) or 1)
    assert main(["bench", "cast", "--quick", "--pairs", "float->int8"]) == 1
    assert calls == [["cast", "--quick", "--pairs", "float->int8"]]


def test_bench_without_a_source_tree(tmp_path, monkeypatch, command):
    monkeypatch.setattr("minirt.cli.bench.__file__", str(tmp_path / "minirt" / "cli" / "bench.py"))
    code, out, err = command("bench", "cast")
    assert (code, out) == (2, "")
    assert err == (
        f"minirt: there are no benchmarks beside {tmp_path / 'minirt'}; "
        "they come with minirt's source tree\n"
    )
