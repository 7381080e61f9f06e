"""The fuzzer: whatever a file holds, minirt gives a result or an error of its own.

    python tests/fuzz.py --minutes 30               on all processors, each input another
    python tests/fuzz.py --replay findings/hang-1   one input that was saved, with a traceback

Processes of their own try one damaged model after the other, within limits of time and
memory. What ends otherwise than it should is saved as a folder that ``--replay`` takes.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
from fuzz_damage import damaged
from fuzz_seeds import Seed, handcrafted, read_seed

import minirt
from minirt.cli import main
from minirt.conformance import compare, find_cases, run_case, suite_directory
from minirt.conformance.compare import Tolerance
from minirt.errors import InputError
from minirt.types import Dim, MapType, OptionalType, SequenceType, TensorType, Type

__all__ = ["check", "damaged", "many_seeds"]

#: Of one input; many times what the slowest takes with all its kernels to compile.
SECONDS, BYTES = 120, 4 << 30

#: Longer messages are for nobody.
LONGEST_MESSAGE = 10_100

#: Larger seeds are left out, and larger inputs of models are not fed.
LARGEST_SEED, LARGEST_FEED = 1 << 16, 1 << 16


# What every input must pass


def check(seed: Seed, folder: Path) -> str:
    """Do with ``seed``, written into the empty ``folder``, all that minirt does with files.

    Returns what :func:`minirt.load` made of it. Raises whatever is not as it should be.
    """
    path = seed.write(folder)
    _attempt(lambda: _require_text(str(minirt.infer(path))))
    session = _attempt(partial(minirt.load, path))
    outcome = "loads" if isinstance(session, minirt.Session) else type(session).__name__
    types: list[Type | None] = [None]
    if isinstance(session, minirt.Session):
        _require_text(repr(session))
        types += [info.type for info in (*session.inputs, *session.outputs)]
        result = _attempt(partial(_run, session))
        outcome = "runs" if isinstance(result, minirt.Outputs) else outcome
    for name in seed.files:
        if name.endswith(".pb"):
            for type_ in types:
                _attempt(partial(_round_trip, folder / name, type_))
            _command("run", str(path), "-i", str(folder / name), "--json")
    _command("info", str(path))
    _test(folder)
    return outcome


def _command(*words: str) -> None:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    if code not in (0, 2) or "internal error" in err.getvalue():
        raise AssertionError(f"minirt {' '.join(words)} gives {code}: {err.getvalue()}")
    _require_text(out.getvalue() + err.getvalue())


def _attempt(action: Callable[[], Any]) -> Any:
    """What ``action`` returns, or the error of minirt's tree that it raises."""
    try:
        return action()
    except minirt.MinirtError as error:
        _require_text(str(error))
        return error


def _require_text(text: str) -> None:
    if len(text) > LONGEST_MESSAGE and "\n" not in text:
        raise AssertionError(f"{len(text)} characters of text: {text[:300]}...")
    for line in text.split("\n"):
        if not line.isprintable():
            raise AssertionError(f"text that a terminal may take for commands: {line!r}")


def _run(session: minirt.Session) -> minirt.Outputs:
    feeds = [_some_value(info.type) for info in session.inputs]
    outputs = session.run(feeds)
    for info, value in zip(session.outputs, outputs, strict=True):
        # Of the shape only the file may know, and it may be wrong.
        if isinstance(info.type, TensorType) and value.dtype != info.type.dtype.public:
            raise AssertionError(f"{value.dtype} for {info.type}")
    return outputs


def _some_value(type_: Type) -> Any:
    match type_:
        case TensorType(dtype=dtype, shape=shape):
            dims = [2 if isinstance(d, Dim) else d for d in shape or ()]
            if prod(d or 1 for d in dims) > LARGEST_FEED:
                raise InputError("its size is the caller's own")
            return np.full(dims, "1" if dtype.storage.hasobject else 0, dtype.public)
        case SequenceType():
            return []
        case MapType():
            return {}
        case OptionalType():
            return None
    raise InputError("no value comes to mind")


def _round_trip(path: Path, type_: Type | None) -> None:
    value = minirt.load_value(path, type_)
    copy = path.with_name("copy")
    minirt.save_value(value, copy, type_)
    again = minirt.load_value(copy, type_)
    comparison = compare(_plain(value), _plain(again), Tolerance(ulp=0))
    if not comparison.passed:
        raise AssertionError(comparison.problem)


def _plain(value: Any) -> Any:
    sparse = hasattr(value, "indices")
    return [value.values, value.indices, np.array(value.shape)] if sparse else value


def _test(folder: Path) -> None:
    cases = _attempt(partial(find_cases, [folder]))
    for case in cases if isinstance(cases, list) else []:
        result = run_case(case)
        if "internal error" in result.reason:
            raise AssertionError(result.reason)


# Seeds


def many_seeds() -> list[Seed]:
    """The handcrafted ones, and all cases that this machine has."""
    here = Path(__file__).parent
    folders = [path.parent for root in (here / "data/test_cc", suite_directory())
               for path in sorted(root.rglob("model.onnx"))]  # fmt: skip
    # Most of the suite is of operators that do not exist yet, and so of one outcome.
    seeds = [*list(handcrafted()) * 40, *map(read_seed, folders)]
    return [seed for seed in seeds if _size(seed) <= LARGEST_SEED]


def _size(seed: Seed) -> int:
    return len(seed.model) + sum(map(len, seed.files.values()))


def _input(seeds: Sequence[Seed], seed: int, index: int) -> Seed:
    """The input number ``index`` of a process, always the same."""
    return damaged(Random(f"{seed}-{index}"), seeds)


# A process that tries inputs


def work(seed: int, first: int, until: float, folder: Path) -> None:
    """Try inputs from number ``first`` on; say which one is tried in the file ``seed``."""
    _limit()
    warnings.simplefilter("error")
    seeds, outcomes, index = many_seeds(), Counter[str](), first
    while time.time() < until:
        (folder / f"{seed}.at").write_text(str(index))
        damaged_seed = _input(seeds, seed, index)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            try:
                outcomes[check(damaged_seed, Path(scratch))] += 1
            except Exception as error:
                outcomes["finding"] += 1
                _save(damaged_seed, folder, error)
        index += 1
        (folder / f"{seed}.sum").write_text(json.dumps(outcomes))


def _limit() -> None:
    try:
        import resource
    except ImportError:  # Windows has other means; only the time is limited there
        return
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _save(seed: Seed, folder: Path, error: Exception | None, kind: str = "") -> None:
    """Keep an input, one for each place where something went wrong."""
    if error is not None:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "minirt" in f.filename]
        last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__}-{Path(last.filename).stem}-{last.lineno}"
    target = folder / kind
    if not target.exists():
        seed.write(target)
        (target / "traceback.txt").write_text(
            "".join(traceback.format_exception(error)) if error else kind
        )


# The process that watches them


class Worker:
    """One process, started again after each input that ended or hung it."""

    def __init__(self, seed: int, until: float, folder: Path) -> None:
        self.seed, self.until, self.folder = seed, until, folder
        self.outcomes: Counter[str] = Counter()
        self.at, self.since = -1, time.time()
        self.start(0)

    def start(self, first: int) -> None:
        """Begin with input number ``first``."""
        self.outcomes += self._counted()
        (self.folder / f"{self.seed}.sum").unlink(missing_ok=True)
        arguments = [self.seed, first, self.until, self.folder]
        command = [sys.executable, __file__, "--work", *map(str, arguments)]
        self.process = subprocess.Popen(command)
        self.since = time.time()

    def _counted(self) -> Counter[str]:
        path = self.folder / f"{self.seed}.sum"
        return Counter(json.loads(path.read_text())) if path.exists() else Counter()

    def watch(self) -> bool:
        """Look after the process; whether it has still something to do."""
        path = self.folder / f"{self.seed}.at"
        at = int(path.read_text() or -1) if path.exists() else -1
        if at != self.at:
            self.at, self.since = at, time.time()
        code = self.process.poll()
        if code == 0:
            self.outcomes += self._counted()
            return False
        hangs = code is None and time.time() - self.since > SECONDS
        if code is not None or hangs:
            self.process.kill()
            self.process.wait()
            kind = f"hang-{self.seed}-{at}" if hangs else f"exit{code}-{self.seed}-{at}"
            self.outcomes["finding"] += 1
            _save(_input(many_seeds(), self.seed, at), self.folder, None, kind)
            self.start(at + 1)
        return True


def fuzz() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--replay", type=Path, metavar="DIR")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        seed, first, until, folder = args.work
        work(int(seed), int(first), float(until), Path(folder))
        return 0
    if args.replay:
        warnings.simplefilter("error")
        with tempfile.TemporaryDirectory() as scratch:
            _say(check(read_seed(args.replay), Path(scratch)))
        return 0
    args.folder.mkdir(parents=True, exist_ok=True)
    suite_directory()  # once, before the processes want it
    _say(f"onnx {onnx.__version__}, numpy {np.__version__}, seed {args.seed}")
    until = time.time() + 60 * args.minutes
    workers = [Worker(args.seed + job, until, args.folder) for job in range(args.jobs or 1)]
    while any([worker.watch() for worker in workers]):
        time.sleep(1)
    outcomes = sum((worker.outcomes for worker in workers), Counter[str]())
    _say(f"{sum(outcomes.values())} inputs: {dict(outcomes.most_common())}")
    for path in sorted(args.folder.glob("*/")):
        _say(f"finding: {path}")
    return 1 if outcomes["finding"] else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(fuzz())
