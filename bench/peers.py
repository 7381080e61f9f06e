"""The best call of each peer, on buffers that exist already; left out where it has none.

A peer is a function of a workload and a number of threads that gives its contenders. All
but ONNX Runtime's 2- and 4-bit types, which it keeps packed, read and write the same
buffers as minirt.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import metadata
from types import ModuleType
from typing import NamedTuple

import numpy as np
from onnx import helper

from minirt import kernels
from minirt.data.packing import pack
from minirt.dtypes import DType
from minirt.jit import kernel
from minirt.jit.threads import at_most

from .timing import Contender
from .workload import Workload, aligned

__all__ = ["PEERS", "Peer", "cast_model", "copy_of", "onnxruntime_session", "peers", "versions"]

#: Packages whose versions belong to a result.
_PACKAGES = ("numba", "numpy", "ml_dtypes", "onnxruntime", "torch")


class Peer(NamedTuple):
    """A contender, and the share of its results that are wrong once it has run."""

    contender: Contender
    wrong: Callable[[], float]


@kernel
def _copy(source, target):
    for i in range(source.size):
        target[i] = source[i]


def copy_of(moved: int, threads: int) -> Peer:
    """The block copy: ``moved`` / 2 bytes, ordinary stores, minirt's launcher."""
    words = moved // 16
    source, target = (aligned(words, np.dtype("i8")) for _ in range(2))
    source[:] = np.arange(words)
    with at_most(threads):
        run = _copy.bind(source.dtype, target.dtype, size=words)
    return Peer(
        Contender(lambda: run(source, target)), lambda: float(not np.array_equal(source, target))
    )


def copy(work: Workload, threads: int) -> Peer:
    """A copy that reads and writes as many bytes as the conversion."""
    return copy_of(work.moved, threads)


def minirt(work: Workload, threads: int) -> Peer:
    """What a thunk of the operator Cast binds."""
    src, dst, size = work.src, work.dst, work.source.size
    with at_most(threads):
        run = kernels.convert(src, dst, size, saturate=True, round_mode="up")
    return Peer(Contender(lambda: run(work.source, work.result)), work.wrong)


def one_thread(work: Workload, threads: int) -> Peer | None:
    """minirt again, to see what more threads gain."""
    return minirt(work, 1) if threads > 1 else None


def onnxruntime(work: Workload, threads: int) -> Peer | None:
    """A session of one Cast, its input and output bound to buffers."""
    session = onnxruntime_session(cast_model(work.src, work.dst), threads)
    if session is None:
        return None
    packs, unpacks = work.dst.is_packed, work.src.is_packed
    source = pack(work.source, work.src) if unpacks else work.source
    result = aligned(work.dst.packed_size(work.result.size), np.dtype("u1")) if packs else None
    target = work.result if result is None else result
    binding = session.io_binding()
    shape = [work.source.size]
    binding.bind_input("x", "cpu", 0, work.src.code, shape, source.ctypes.data)
    binding.bind_output("y", "cpu", 0, work.dst.code, shape, target.ctypes.data)

    def run(kept: object = source) -> None:
        session.run_with_iobinding(binding)

    wrong = work.wrong if result is None else lambda: work.packed_wrong(result)
    return Peer(Contender(run, spins=threads > 1), wrong)


def torch(work: Workload, threads: int) -> Peer | None:
    """``copy_`` from one tensor to another over the buffers."""
    library = _optional("torch")
    # torch names the types as ml_dtypes does.
    kinds = [getattr(library, dtype.public.name, None) for dtype in (work.src, work.dst)]
    if library is None or None in kinds:
        return None
    buffers = (work.source.view(np.uint8), work.result.view(np.uint8))
    source, target = (library.from_numpy(b).view(k) for b, k in zip(buffers, kinds, strict=True))

    def run() -> None:
        target.copy_(source)

    library.set_num_threads(threads)
    try:
        run()
    except (RuntimeError, NotImplementedError):  # torch has the types, but not the pair
        return None
    return Peer(Contender(run, spins=threads > 1), work.wrong)


def numpy(work: Workload, threads: int) -> Peer | None:
    """``copyto``, of ml_dtypes where NumPy has no such type; it knows one thread only."""
    if threads > 1:
        return None
    source, target = work.source.view(work.src.public), work.result.view(work.dst.public)

    def run() -> None:
        with np.errstate(all="ignore"):
            np.copyto(target, source, casting="unsafe")

    try:
        run()
    except TypeError:
        return None
    return Peer(Contender(run), work.wrong)


#: Whatever is timed on a conversion; minirt comes first.
PEERS: dict[str, Callable[[Workload, int], Peer | None]] = {
    "minirt": minirt,
    "copy": copy,
    "one thread": one_thread,
    "ort": onnxruntime,
    "torch": torch,
    "numpy": numpy,
}


def peers(work: Workload, threads: int, names: Sequence[str]) -> Iterator[tuple[str, Peer]]:
    """The named peers that can do this conversion."""
    for name in names:
        peer = PEERS[name](work, threads)
        if peer is not None:
            yield name, peer


def cast_model(src: DType, dst: DType) -> bytes:
    """A model of one Cast of a one-dimensional tensor."""
    node = helper.make_node("Cast", ["x"], ["y"], to=dst.code)
    inputs = [helper.make_tensor_value_info("x", src.code, ["n"])]
    outputs = [helper.make_tensor_value_info("y", dst.code, ["n"])]
    graph = helper.make_graph([node], "cast", inputs, outputs)
    opset = helper.make_opsetid("", 25)
    return helper.make_model(graph, opset_imports=[opset], ir_version=11).SerializeToString()


def onnxruntime_session(model: bytes, threads: int):
    """A session with that many threads; None without ONNX Runtime, or if it refuses the model."""
    library = _optional("onnxruntime")
    if library is None:
        return None
    options = library.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 4
    states = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    try:
        return library.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except (states.NotImplemented, states.InvalidGraph, states.Fail):
        return None


def versions() -> dict[str, str]:
    """The versions of what is compared and of what it stands on."""
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def _optional(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None
