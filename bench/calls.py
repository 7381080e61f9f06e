"""Contenders that take and give Python objects: strings, and whole runs of a model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import minirt
from minirt import kernels
from minirt.dtypes import BY_NAME

from . import peers
from .peers import Peer
from .timing import Contender
from .workload import Workload

__all__ = ["runs", "strings"]


def strings(src: str, dst: str, elements: int, threads: int) -> dict[str, Peer]:
    """float32 numbers as text or back; ONNX Runtime also takes and gives arrays of objects."""
    numbers = np.random.default_rng(0).standard_normal(elements).astype("f4")
    numbers[abs(numbers) < 0.01] += 1  # below, text has an exponent, which NumPy does not write
    texts = np.array([np.format_float_positional(x, trim="-") for x in numbers], object)
    source, expected = (texts, numbers) if src == "string" else (numbers, texts)
    result = np.empty(elements, expected.dtype)
    run = kernels.convert(BY_NAME[src], BY_NAME[dst], elements, saturate=True, round_mode="up")
    found = {
        "minirt": Peer(Contender(lambda: run(source, result)), lambda: _differ(result, expected))
    }
    session = peers.onnxruntime_session(peers.cast_model(BY_NAME[src], BY_NAME[dst]), threads)
    if session is not None:
        found["ort"] = _call(lambda: session.run(None, {"x": source})[0], expected)
    return found


def runs(src: str, dst: str, elements: int) -> dict[str, Peer]:
    """``run`` of a session with one Cast, from a dictionary of arrays to an array."""
    work = Workload.make(src, dst, elements)
    model = peers.cast_model(work.src, work.dst)
    source, expected = work.source.view(work.src.public), work.expected[:elements]
    session = minirt.load(model, threads=1)

    def view(array: np.ndarray) -> np.ndarray:
        return array.view(expected.dtype)

    found = {"minirt": _call(lambda: session.run({"x": source})[0], expected, view)}
    other = peers.onnxruntime_session(model, 1)
    if other is not None:
        found["ort"] = _call(lambda: other.run(None, {"x": source})[0], expected, view)
    return found


def _call(
    run: Callable[[], np.ndarray],
    expected: np.ndarray,
    view: Callable[[np.ndarray], np.ndarray] = lambda array: array,
) -> Peer:
    return Peer(Contender(run), lambda: _differ(view(run()), expected))


def _differ(result: np.ndarray, expected: np.ndarray) -> float:
    return float(np.count_nonzero(result != expected)) / expected.size
