"""What may know what: read from the sources, not from what happens to be imported."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import minirt
from minirt.ops import registry

PACKAGE = Path(minirt.__file__).parent
ROOT = PACKAGE.parent

#: Every module or subpackage, lowest layer first. One imports from its own layer and below.
LAYERS: tuple[set[str], ...] = (
    {"errors", "dtypes", "types", "graph", "text", "lazy", "version", "jit"},
    {"kernels", "data"},
    {"ops"},
    {"model", "passes"},
    {"runtime"},
    {"feeds", "outputs", "profiling", "session"},
    {"__init__", "__main__", "backend", "cli", "conformance"},
)

LAYER_OF = {name: layer for layer, names in enumerate(LAYERS) for name in names}

SOURCES = sorted(PACKAGE.rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def unit(path: Path) -> str:
    """The module or subpackage of minirt that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the absolute name of every module that a file imports, wherever it does."""
    package = ("minirt", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            yield node.lineno, module
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Every string of a file that the program can use: no docstrings, no ``__all__``."""
    of_no_use = {
        id(part)
        for node in ast.walk(tree(path))
        if _is_docstring(node) or _is_all(node)
        for part in ast.walk(node)
    }
    for node in ast.walk(tree(path)):
        is_string = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_string and id(node) not in of_no_use:
            yield node.lineno, node.value


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_all(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def places(found: Iterator[tuple[Path, int, str]]) -> list[str]:
    return [f"{path.relative_to(ROOT)}:{line}: {what}" for path, line, what in found]


def test_every_module_has_a_layer():
    assert {unit(path) for path in SOURCES} == set(LAYER_OF)


def test_imports_only_go_down():
    def upward() -> Iterator[tuple[Path, int, str]]:
        for path in SOURCES:
            for line, name in imports(path):
                parts = name.split(".")
                target = parts[1] if parts[0] == "minirt" and len(parts) > 1 else ""
                if LAYER_OF.get(target, -1) > LAYER_OF[unit(path)]:
                    yield path, line, name

    assert places(upward()) == []


def test_jit_alone_extends_numba():
    def outside() -> Iterator[tuple[Path, int, str]]:
        for path in SOURCES:
            if unit(path) != "jit":
                for line, name in imports(path):
                    if re.match(r"llvmlite\b|numba\.(core|extending|experimental)\b", name):
                        yield path, line, name

    assert places(outside()) == []


def test_kernels_know_no_graphs():
    def known() -> Iterator[tuple[Path, int, str]]:
        for path in SOURCES:
            if unit(path) in ("kernels", "jit"):
                for line, name in imports(path):
                    if re.match(r"onnx\b|minirt\.(graph|text)\b", name):
                        yield path, line, name

    assert places(known()) == []


def test_operators_are_named_by_operators_and_passes_alone():
    names = {operator.name for operator in registry.operators()}

    def named() -> Iterator[tuple[Path, int, str]]:
        for path in SOURCES:
            if unit(path) not in ("ops", "passes"):
                yield from ((path, line, text) for line, text in strings(path) if text in names)

    assert names >= {"Cast", "CastLike", "Constant", "Identity"}
    assert places(named()) == []


def test_minirt_knows_no_test():
    known = re.compile(r"test_data_set|test_cc|\btest_[a-z]+_|\b[0-9a-f]{32,}\b|model\.onnx")

    def found() -> Iterator[tuple[Path, int, str]]:
        for path in SOURCES:
            if unit(path) not in ("conformance", "cli"):
                for line, text in strings(path):
                    if known.search(text):
                        yield path, line, text

    assert places(found()) == []


def test_only_the_command_line_prints():
    def prints() -> Iterator[tuple[Path, int, str]]:
        for path in SOURCES:
            for node in ast.walk(tree(path)):
                name = node.func if isinstance(node, ast.Call) else None
                if isinstance(name, ast.Name) and name.id == "print" and unit(path) != "cli":
                    yield path, node.lineno, "print"

    assert places(prints()) == []


def test_element_data_is_converted_by_kernels_alone():
    """NumPy's conversions between element types depend on the processor, and round twice.

    Kernels know which of them are exact.
    """

    def conversions() -> Iterator[tuple[Path, int, str]]:
        for path in SOURCES:
            if unit(path) in ("ops", "runtime", "session"):
                for node in ast.walk(tree(path)):
                    if isinstance(node, ast.Attribute) and node.attr == "astype":
                        yield path, node.lineno, "astype"

    assert places(conversions()) == []


# What an import brings along


def modules_after(code: str) -> set[str]:
    """The top-level modules, and those of onnx, that a fresh Python has after ``code``."""
    script = f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"
    output = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=120
    )
    return set(output.stdout.split())


MODEL = """
from onnx import parser
model = parser.parse_model(
    '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (float16[N] y)'
    '{ y = Cast<to = 10>(x) }'
)
"""


@pytest.mark.parametrize(
    "code",
    [
        "import minirt",
        f"{MODEL}from minirt.model.load import load_graph\nload_graph(model)",
        f"{MODEL}import minirt\nstr(minirt.infer(model, {{'x': [3]}}))",
        f"{MODEL}import minirt\nminirt.load(model)",
    ],
    ids=["import", "load_graph", "infer", "load"],
)
def test_nothing_compiles_before_a_run(code):
    loaded = modules_after(code)
    assert "minirt" in loaded
    assert not {"numba", "llvmlite", "onnx.reference", "onnx.backend"} & loaded


def test_import_is_light():
    assert not {"numpy", "onnx", "ml_dtypes"} & modules_after("import minirt")


def test_info_runs_without_numba(tmp_path):
    path = tmp_path / "m.onnx"
    code = f"{MODEL}open({str(path)!r}, 'wb').write(model.SerializeToString())"
    block = "import sys\nsys.modules['numba'] = None"
    command = f"from minirt.cli import main\nassert main(['info', {str(path)!r}]) == 0"
    assert "minirt.cli.info" in modules_after(f"{code}\n{block}\n{command}")
