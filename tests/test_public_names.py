"""What `import minirt` gives, and what it costs."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import minirt

INIT = Path(minirt.__file__)


def python(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_public_name_is_there() -> None:
    assert {
        "run", "load", "infer", "Session", "Outputs", "MinirtError", "ModelError", "ParseError",
        "SchemaError", "ShapeError", "UnsupportedError", "InputError", "ExecutionError",
        "SparseTensor", "load_value", "save_value",
        "__version__",
    } == set(minirt.__all__)  # fmt: skip
    for name in minirt.__all__:
        assert getattr(minirt, name) is not None
        assert name in dir(minirt)


def test_names_are_listed_before_they_are_asked_for() -> None:
    names = python("import minirt; print(*dir(minirt))").split()
    assert set(minirt.__all__) <= set(names)


def test_editors_see_the_same_names() -> None:
    """What stands under TYPE_CHECKING is what is imported lazily, from the same module."""
    tree = ast.parse(INIT.read_text())
    guarded = [node for node in tree.body if isinstance(node, ast.If)]
    imports = {
        alias.name: node.module
        for block in guarded
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imports == minirt._HOMES
    assert set(imports) | {"__version__"} == set(minirt.__all__)


def test_importing_is_cheap() -> None:
    heavy = "{'numba', 'llvmlite', 'onnx', 'onnx.reference', 'ml_dtypes', 'numpy'}"
    assert python(f"import sys, minirt; print(sorted({heavy} & set(sys.modules)))") == "[]\n"


def test_loading_a_model_imports_no_compiler() -> None:
    code = """
import sys, minirt
from onnx import TensorProto, helper
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT16, ["N"])
node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT16)
opsets = [helper.make_opsetid("", 21)]
model = helper.make_model(
    helper.make_graph([node], "g", [x], [y]), opset_imports=opsets, ir_version=10
)
session = minirt.load(model)
repr(session), session.inputs, minirt.infer(model)
print(sorted({'numba', 'llvmlite', 'onnx.reference'} & set(sys.modules)))
"""
    assert python(code) == "[]\n"


def test_no_submodule_has_a_public_name() -> None:
    """Importing it would set it in the place of the name."""
    submodules = {module.name for module in pkgutil.iter_modules(minirt.__path__)}
    assert not submodules & set(minirt.__all__)


def test_version() -> None:
    text = (INIT.parent.parent / "pyproject.toml").read_text()
    assert f'version = "{minirt.__version__}"' in text


def test_version_of_a_checkout_that_is_not_installed() -> None:
    code = """
from importlib import metadata
def missing(name):
    raise metadata.PackageNotFoundError(name)
metadata.version = missing
import minirt
print(minirt.__version__)
"""
    assert python(code) == "0+unknown\n"


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match=r"^module 'minirt' has no attribute 'Tensor'$"):
        minirt.Tensor  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        importlib.import_module("minirt.nothing")
