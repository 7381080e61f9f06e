"""``minirt bench``: the benchmarks, which a source tree has and an installed package has not."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

from ..errors import InputError

__all__ = ["add_bench"]

_HELP = """\
Measure minirt beside other runtimes, as far as they are installed, in one
interleaved run. The benchmarks are in the folder bench of minirt's source tree,
whose README.md says what is measured; "minirt bench cast --help" lists options.
"""


def add_bench(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command to a parser's ``commands``."""
    parser = commands.add_parser(
        "bench",
        parents=[common],
        help="compare minirt's speed with that of other runtimes",
        description=_HELP,
    )
    parser.add_argument("name", metavar="NAME", help="the benchmark: cast")
    parser.add_argument("options", metavar="...", nargs=argparse.REMAINDER, help="its options")
    parser.set_defaults(command=_bench)


def _bench(args: argparse.Namespace) -> int:
    root = Path(__file__).resolve().parents[2]
    if not (root / "bench" / "__init__.py").is_file():
        raise InputError(
            f"there are no benchmarks beside {root / 'minirt'}; they come with minirt's source tree"
        )
    sys.path.insert(0, str(root))
    try:
        code: int = importlib.import_module("bench").main([args.name, *args.options])
    finally:
        sys.path.remove(str(root))
    return code
