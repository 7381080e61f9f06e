"""Write the suite of the installed onnx as test directories.

``python -m minirt.conformance.generate DIR`` is a process of its own, because onnx
collects its cases in module globals at import, and Pillow must be out of reach before
that: with it the image cases differ from the data that ONNX froze. Each line of its
standard output is ``done total``, for a progress display.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import numpy_helper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from onnx.backend.test.case.test_case import TestCase

__all__ = ["generate"]


def generate(target: Path, report: Callable[[int, int], None]) -> int:
    """Write every case below ``target``, a directory each; returns how many."""
    with np.errstate(all="ignore"):
        cases = list(_collect(report))
    for done, case in enumerate(cases):
        _write(case, target / case.name)
        report(len(cases) + done, 2 * len(cases))
    return len(cases)


def _collect(report: Callable[[int, int], None]) -> Iterator[TestCase]:
    from onnx.backend.test.case import model, node
    from onnx.backend.test.loader import load_model_tests, load_node_model_tests

    modules = [module.name for module in pkgutil.iter_modules(node.__path__)]
    for done, name in enumerate(modules):
        importlib.import_module(f"{node.__name__}.{name}")
        report(done, 2 * len(modules))
    cases = list(load_node_model_tests())
    for kind in ("simple", "pytorch-converted", "pytorch-operator", "real"):
        cases += load_model_tests(kind=kind)
    # Some simple cases are on disk, some only in code.
    names = {case.name for case in cases}
    simple = [case for case in model.collect_testcases() if case.kind == "simple"]
    yield from cases
    yield from (case for case in simple if case.name not in names)


def _write(case: TestCase, path: Path) -> None:
    if case.model_dir:
        shutil.copytree(case.model_dir, path)
    elif case.model is None:
        _write_light(case, path)
    else:
        path.mkdir(parents=True)
        (path / "model.onnx").write_bytes(case.model.SerializeToString())
        graph = case.model.graph
        for k, (inputs, outputs) in enumerate(case.data_sets or []):
            data_set = path / f"test_data_set_{k}"
            data_set.mkdir()
            _write_values(data_set, "input", graph.input, inputs)
            _write_values(data_set, "output", graph.output, outputs)
    (path / "data.json").write_text(json.dumps({"rtol": case.rtol, "atol": case.atol}))


def _write_light(case: TestCase, path: Path) -> None:
    """A real network without its weights: the suite gives its input by formula."""
    source = Path(onnx.__file__).parent.parent / str(case.url)
    graph = onnx.load(source).graph
    data_set = path / "test_data_set_0"
    data_set.mkdir(parents=True)
    shutil.copy(source, path / "model.onnx")
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    _write_values(data_set, "input", inputs, [_ramp(value) for value in inputs])
    for j in range(len(graph.output)):
        output = source.with_name(f"{source.stem}_output_{j}.pb")
        shutil.copy(output, data_set / f"output_{j}.pb")


def _ramp(value: onnx.ValueInfoProto) -> np.ndarray:
    shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
    size = int(np.prod(shape))
    return (np.arange(size).reshape(shape) / size).astype(np.float32)


def _write_values(data_set: Path, kind: str, declared: Any, values: Any) -> None:
    for i, (info, value) in enumerate(zip(declared, values, strict=True)):
        proto = _to_proto(value, info.type.WhichOneof("value"), info.name)
        (data_set / f"{kind}_{i}.pb").write_bytes(proto.SerializeToString())


def _to_proto(value: Any, kind: str, name: str) -> Any:
    if kind == "sequence_type":
        return numpy_helper.from_list(value, name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, name)
    if kind == "map_type":
        return numpy_helper.from_dict(value, name)
    if isinstance(value, onnx.TensorProto):
        return value
    return numpy_helper.from_array(np.asarray(value), name)


def _report(done: int, total: int) -> None:
    sys.stdout.write(f"{done} {total}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.modules["PIL"] = None  # type: ignore[assignment]
    generate(Path(sys.argv[1]), _report)
