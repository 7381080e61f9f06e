"""Contenders that take and give Python objects: strings, and whole runs of a model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import minirt
from minirt import kernels
from minirt.dtypes import BY_NAME
from minirt.jit.threads import at_most

from . import peers
from .peers import Peer
from .timing import Contender
from .workload import Workload, as_storage, exact, typical

__all__ = ["runs", "strings"]

#: Texts before they repeat themselves: exact arithmetic is slow.
_DISTINCT = 1009


def strings(src: str, dst: str, elements: int, threads: int) -> tuple[dict[str, Peer], int]:
    """Numbers as text or back, and the bytes of both.

    ONNX Runtime, too, is given and gives arrays of objects.
    """
    numeric = BY_NAME[dst if src == "string" else src]
    codes = typical(numeric, numeric)[:_DISTINCT]
    texts = [exact.cast(int(code), numeric.name, "string") for code in codes]
    back = [exact.cast(text, "string", numeric.name) for text in texts]
    text = np.resize(np.array(texts, object), elements)
    if src == "string":
        source, expected = text, np.resize(as_storage(np.array(back, "u8"), numeric), elements)
    else:
        source, expected = np.resize(as_storage(codes, numeric), elements), text
    result = np.empty(elements, expected.dtype)
    with at_most(threads):
        run = kernels.convert(BY_NAME[src], BY_NAME[dst], elements, saturate=True, round_mode="up")
    moved = elements * numeric.storage.itemsize + sum(map(len, text))
    found = {
        "minirt": Peer(Contender(lambda: run(source, result)), lambda: _differ(result, expected)),
        "copy": peers.copy_of(moved, threads),
    }
    session = peers.onnxruntime_session(peers.cast_model(BY_NAME[src], BY_NAME[dst]), threads)
    if session is not None and numeric.storage == numeric.public:
        found["ort"] = _call(lambda: session.run(None, {"x": source})[0], expected)
    return found, moved


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
