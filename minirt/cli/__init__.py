"""The command ``minirt``: run, info, test, cache, bench.

Exit codes: 0 all is well, 1 a test case gave a wrong result, 2 it could not be done
(usage, bad model, bad input, no case found), 130 interrupted.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import InputError, MinirtError, printable
from .bench import add_bench
from .test import add_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..jit.cache import CacheInfo

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; ``argv`` is ``sys.argv[1:]`` by default."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Names are any text; a terminal that lacks a character must not end the command.
            stream.reconfigure(errors="backslashreplace")
    args = _parser().parse_args(argv)
    try:
        code: int = args.command(args)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("minirt: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Who read our output has gone (`minirt ... | head`). Python would complain once
        # more when it flushes at exit, unless there is somewhere to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if args.debug:
            raise
        print(printable(f"minirt: {_message(error)}"), file=sys.stderr)
        return 2


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    text = " ".join(str(error).split())
    if isinstance(error, MinirtError):
        return text if type(error) is InputError else f"{type(error).__name__}: {text}"
    return f"internal error: {type(error).__name__}: {text} (--debug shows where)"


# run


def _run(args: argparse.Namespace) -> int:
    from ..session import load
    from .results import show_value, value_to_json, write_result
    from .values import missing_inputs, read_feeds

    session = load(args.model, follow_symlinks=args.follow_symlinks, base_dir=args.base_dir)
    feeds = read_feeds(args.inputs, session.inputs)
    if problem := missing_inputs(args.model, args.inputs, feeds, session.inputs):
        raise InputError(problem)
    results = session.run(feeds).items()
    if args.json:
        outputs = [{"name": name, "value": value_to_json(value)} for name, value in results]
        print(json.dumps({"outputs": outputs}, allow_nan=False))
    elif not args.output:
        for name, value in results:
            print("\n".join(show_value(name, value)))
    if args.output:
        args.output.mkdir(parents=True, exist_ok=True)
        taken: set[str] = set()
        for (name, value), info in zip(results, session.outputs, strict=True):
            path = write_result(args.output, name, value, info.type, taken)
            if not args.json:
                print(printable(f"{name} -> {path}"))
    return 0


# info, cache


def _info(args: argparse.Namespace) -> int:
    from .info import describe, read_shapes

    shapes = read_shapes(args.sizes) if args.sizes or args.shapes else None
    where = {"follow_symlinks": args.follow_symlinks, "base_dir": args.base_dir}
    for line in describe(args.model, shapes=shapes, **where):
        print(line)
    return 0


def _cache_info(args: argparse.Namespace) -> int:
    from ..conformance.suite import suites_info
    from ..jit.cache import cache_info

    _show_cache("", cache_info(), suites_info())
    return 0


def _cache_clear(args: argparse.Namespace) -> int:
    from ..conformance.suite import suites_clear
    from ..jit.cache import cache_clear

    _show_cache("removed ", cache_clear(), suites_clear())
    return 0


def _show_cache(verb: str, kernels: CacheInfo, suites: CacheInfo) -> None:
    from .info import megabytes

    for what, info in (("compiled kernel", kernels), ("ONNX suite", suites)):
        count = f"{info.files} {what}{'s' * (info.files != 1)}"
        print(f"{verb}{count}, {megabytes(info.bytes)}, in {info.path}")


# The parser

_HELP = """\
Run ONNX models on kernels that Numba compiles.

  minirt run model.onnx -i x=photo.npy    compute a model's outputs
  minirt info model.onnx                  what a model takes, gives, consists of
  minirt test onnx                        run ONNX's own test suite

minirt COMMAND --help explains a command.
"""

_DEBUG = "show where an error comes from"

_RUN_HELP = """\
Compute the outputs of a model and print them, or write them to files.

An input is given as -i NAME=VALUE, where VALUE is

  a file       x=photo.npy   x=input_0.pb   x=data.npz (its array x or only one)
  a literal    x=1.5   'x=[[1, 2], [3, nan]]'   'x=["some", "text"]'

A literal has the type that the model declares: a number with a point becomes
the nearest value of a float type of 16 bits and more, and must fit any other
type exactly. A sequence is a list of such literals, a map {"key": literal}, an
absent optional null. A model with one input needs no name (-i photo.npy);
-i data.npz feeds each of its arrays to the input of that name.

Outputs of NumPy's own types are written as .npy; bfloat16, float8, int4 and
the like, strings and sequences as .pb, the format of ONNX, which -i reads.
"""

_RUN_EXAMPLES = """\
examples:
  minirt run model.onnx -i x=photo.npy
  minirt run model.onnx -i 'x=[[1, 2], [3, 4]]' -i scale=0.5 --json
  minirt run model.onnx -i inputs.npz -o results/
"""

_INFO_HELP = """\
Show what a model takes and gives, its versions and parameters, how often it
uses which operator, and which of its operators minirt does not have.

--shapes adds every value with its type and shape, and -s fixes the shapes of
inputs: sizes, names, and ? where a size is not known.
"""

_INFO_EXAMPLES = """\
examples:
  minirt info model.onnx --shapes
  minirt info model.onnx -s x=1,3,224,224 -s mask=1,?
"""

_CACHE_HELP = """\
Compiled kernels and the generated ONNX suite are kept in MINIRT_CACHE_DIR, by
default the user's cache directory.
"""


class _Parser(argparse.ArgumentParser):
    """One that leaves the layout of its texts alone; subparsers are of this class too."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="minirt", description=_HELP)
    parser.add_argument("--version", action="version", version=f"minirt {__version__}")
    parser.add_argument("--debug", action="store_true", help=_DEBUG)
    # After the command too, where it must not reset what stood before it.
    common = _Parser(add_help=False)
    common.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=_DEBUG)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_run(commands, common)
    _add_info(commands, common)
    add_test(commands, common)
    _add_cache(commands, common)
    add_bench(commands, common)
    return parser


def _add_run(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "run",
        parents=[common],
        help="compute a model's outputs",
        description=_RUN_HELP,
        epilog=_RUN_EXAMPLES,
    )
    parser.add_argument("model", metavar="MODEL", help="an ONNX file")
    parser.add_argument(
        "-i",
        "--input",
        dest="inputs",
        metavar="[NAME=]VALUE",
        action="append",
        default=[],
        help="an input: a .npy, .npz or .pb file, or a literal",
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="write each output to a file in DIR"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help='print the outputs as JSON; NaN and the infinities are the strings "NaN", '
        '"Infinity" and "-Infinity"',
    )
    _add_external(parser)
    parser.set_defaults(command=_run)


def _add_info(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "info",
        parents=[common],
        help="show what is in a model",
        description=_INFO_HELP,
        epilog=_INFO_EXAMPLES,
    )
    parser.add_argument("model", metavar="MODEL", help="an ONNX file")
    parser.add_argument("--shapes", action="store_true", help="show every value with its type")
    parser.add_argument(
        "-s",
        dest="sizes",
        metavar="NAME=SIZES",
        action="append",
        default=[],
        help="the shape of an input, and show every value",
    )
    _add_external(parser)
    parser.set_defaults(command=_info)


def _add_external(parser: argparse.ArgumentParser) -> None:
    folder = "where external data is, by default in the model's folder"
    parser.add_argument("--base-dir", metavar="DIR", help=folder)
    parser.add_argument(
        "--follow-symlinks",
        action="store_true",
        help="allow external data behind links that leave that folder",
    )


def _add_cache(commands: Any, common: argparse.ArgumentParser) -> None:
    parser = commands.add_parser(
        "cache",
        help="show or clear what minirt keeps on disk",
        description=_CACHE_HELP,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    info = actions.add_parser("info", parents=[common], help="show where and how much it is")
    info.set_defaults(command=_cache_info)
    clear = actions.add_parser("clear", parents=[common], help="remove it")
    clear.set_defaults(command=_cache_clear)
