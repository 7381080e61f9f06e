"""Published test data that is not what ONNX asks for.

``superseded.json`` lists cases by the *contents* of their outputs (:func:`digest`), so one
is recognised wherever it is kept and whatever it is called. Four kinds:

- ``value``: a later release corrected the expected data. The case is wrong, not the
  runtime that fails it.
- ``bits``: the data is right by value but not by bits, which matters with ``ulp`` alone.
- ``steps``: the data is rounded to few bits again and again, where ONNX leaves that open;
  minirt's results must be within two units in the last place.
- ``model``: no schema of ONNX's allows the model any more.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto

from ..data.files import read_file
from ..data.tensors import from_proto
from ..errors import MinirtError
from ..model.load import read_model
from ..model.scope import text_of

if TYPE_CHECKING:
    from pathlib import Path

    from .cases import Case

__all__ = ["Superseded", "digest", "find_superseded"]


@dataclass(frozen=True)
class Superseded:
    """Why a case's data cannot be held against a runtime.

    ``cases`` are those where it is known from: ``"v1.16.2/test_cast_FLOAT16_to_INT4"``.
    """

    kind: str
    reason: str
    cases: tuple[str, ...]


def find_superseded(case: Case) -> Superseded | None:
    """What is known against the data of ``case``, None if nothing is or it cannot be read."""
    try:
        return _entries().get(digest(case))
    except (OSError, MinirtError):
        return None


def digest(case: Case) -> str:
    """64 bits, in hexadecimal, over the operators of the model and the outputs expected of it.

    Not over files, which differ between releases for other reasons. Raises OSError and
    MinirtError if the model or an output cannot be read.
    """
    proto = read_model(case.model)[0] if case.model else ModelProto()
    operators = {text_of(node.op_type, "an operator") for node in proto.graph.node}
    state = hashlib.sha256(" ".join(sorted(operators)).encode())
    for data_set in case.data_sets:
        for path in sorted(data_set.glob("output_*.pb")):
            state.update(b"\n%b %b" % (os.fsencode(path.name), _elements(path)))
    return state.hexdigest()[:16]


def _elements(path: Path) -> bytes:
    """Type, shape and elements of a tensor; what is no tensor, as it is."""
    contents = read_file(path, path.name, regular=True)
    try:
        tensor = TensorProto.FromString(contents)
        array = from_proto(tensor)
    except (DecodeError, UnicodeDecodeError, MinirtError):
        return contents
    text = array.dtype == object
    elements = json.dumps(array.tolist()).encode() if text else array.tobytes()
    return f"{tensor.data_type} {array.shape} ".encode() + elements


@cache
def _entries() -> dict[str, Superseded]:
    text = files(__package__).joinpath("superseded.json").read_text(encoding="utf-8")
    return {
        code: Superseded(group["kind"], group["reason"], tuple(cases))
        for group in json.loads(text)
        for code, cases in group["cases"].items()
    }
