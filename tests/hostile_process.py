"""A process of its own, within limits, for files that ask for much with little.

``python hostile_process.py MODULE...`` runs the cases of these modules, each of which once
took all memory, or hours; a line of JSON for each says how it ended. What that should be
stands in test_hostile.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import signal
import sys
import traceback
from collections.abc import Callable

from onnx import ModelProto, NodeProto, TensorProto
from protos import node

import minirt
from minirt.model.load import read_graph

__all__ = ["BOOL", "LOCAL", "calls", "case", "expand", "infer", "load"]

#: Of one case, which takes a second or two; and of the process, numba's code included.
SECONDS, BYTES = 60, 3 << 30

BOOL, LOCAL = TensorProto.BOOL, {"": 21, "local": 1}

Case = Callable[[], object]


def case(function: Case) -> Case:
    """Mark ``function`` as a case; what it returns, or the error that it raises, is compared."""
    cases = sys.modules[function.__module__].__dict__.setdefault("CASES", {})
    cases[function.__name__] = function
    return function


def load(proto: ModelProto) -> minirt.Session:
    return minirt.load(proto.SerializeToString())


def infer(proto: ModelProto) -> str:
    """The number of nodes, and the length of the text in thousands."""
    inferred = minirt.infer(proto.SerializeToString())
    return f"{len(inferred.nodes)} nodes, {len(str(inferred)) // 1000} thousand characters"


def expand(proto: ModelProto) -> str:
    """The number of nodes, those of functions in place of calls."""
    return f"{len(read_graph(proto.SerializeToString()).nodes)} nodes"


def calls(count: int, name: str = "F", outputs: str = "y") -> list[NodeProto]:
    """Calls of a function, with one result each."""
    return [node(name, "x", f"{outputs}{i}" * bool(outputs), domain="local") for i in range(count)]


def _outcome(action: Case) -> str:
    _alarm(SECONDS)
    try:
        return str(action())
    except minirt.MinirtError as error:
        return f"{type(error).__name__}: {error}"
    except Exception as error:
        return "".join(traceback.format_exception(error)[-3:])
    finally:
        _alarm(0)


def _alarm(seconds: int) -> None:
    if hasattr(signal, "SIGPROF"):  # not on Windows; of its own time, however busy the machine is
        signal.signal(signal.SIGPROF, _expired)
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _expired(*_: object) -> None:
    raise TimeoutError(f"it takes more than {SECONDS} seconds")


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, ValueError):  # Windows, macOS
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


if __name__ == "__main__":
    _limit_memory()
    for module in map(importlib.import_module, sys.argv[1:]):
        for name, action in module.CASES.items():
            sys.stdout.write(f"{json.dumps([name, _outcome(action)])}\n")
            sys.stdout.flush()
