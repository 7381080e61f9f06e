"""The ``.pb`` files of a data set, from and to the values that a session takes and gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.containers import save_value, value_from_proto
from ..data.external import ExternalData
from ..data.files import read_file
from ..dtypes import BY_NAME
from ..errors import InputError, MinirtError, ParseError
from ..types import MapType, OptionalType, SequenceType, TensorType

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from ..feeds import ValueInfo
    from ..types import Type

__all__ = ["DataError", "read_values", "write_values"]

_BFLOAT16 = BY_NAME["bfloat16"]


class DataError(ParseError):
    """A file of a data set is missing, or not what its name and the model say."""


def read_values(
    folder: str | os.PathLike[str], kind: str, declared: Sequence[ValueInfo]
) -> list[Any]:
    """What ``<kind>_0.pb``, ``<kind>_1.pb`` … in ``folder`` hold, in order of ``declared``.

    Files may end early where what is declared has a default. A UINT16 tensor where the
    model declares BFLOAT16 is taken as its bits: so ONNX 1.8 to 1.18 wrote bfloat16.
    Raises DataError, which names the file, for one that is missing, that the model does
    not declare, or that cannot be read.
    """
    folder = Path(folder)
    pattern = re.compile(rf"{kind}_(0|[1-9]\d{{0,8}})\.pb")
    found = {int(m[1]) for path in folder.iterdir() if (m := pattern.fullmatch(path.name))}
    values = []
    for i, info in enumerate(declared):
        where = f"{folder.name}/{kind}_{i}.pb"
        if i in found:
            values.append(_read(folder / f"{kind}_{i}.pb", info.type, where))
        elif not info.has_default or any(index > i for index in found):
            raise DataError(f"{where} is missing: {kind} {info.name!r}, {info.type}")
    if extra := found - set(range(len(declared))):
        raise DataError(
            f"{folder.name}/{kind}_{min(extra)}.pb is too many: the model has {len(declared)} "
            f"{kind}{'s' * (len(declared) != 1)}"
        )
    return values


def write_values(
    folder: str | os.PathLike[str], kind: str, declared: Sequence[ValueInfo], values: Sequence[Any]
) -> None:
    """Write ``<kind>_0.pb``, ``<kind>_1.pb`` … into ``folder``, which is made if need be.

    ``values`` are what :meth:`minirt.Session.run` takes by position or returns, as arrays,
    lists and dicts; ``declared`` are the session's inputs or outputs. Inputs that have a
    default may be left out at the end. Raises what :func:`minirt.save_value` raises, and
    InputError for another number of values.
    """
    needed = sum(not info.has_default for info in declared)
    if not needed <= len(values) <= len(declared):
        raise InputError(f"{len(values)} {kind}s for a model that has {len(declared)}")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for i, (info, value) in enumerate(zip(declared, values, strict=False)):
        try:
            save_value(value, Path(folder) / f"{kind}_{i}.pb", info.type, info.name)
        except InputError as error:
            raise InputError(f"{kind} {info.name!r}: {error}") from None


def _read(path: Path, type_: Type, where: str) -> Any:
    try:
        external = ExternalData(path.parent)
        data = read_file(path, where, regular=True)
        value = value_from_proto(data, type_, where=where, external=external)
    except OSError as error:
        raise DataError(f"{where} cannot be read: {error.strerror}") from None
    except MinirtError as error:
        raise DataError(str(error)) from None
    return _with_bits(value, type_)


def _with_bits(value: Any, type_: Type | None) -> Any:
    """``value`` with bfloat16 where it has uint16 but ``type_`` says bfloat16."""
    if isinstance(value, list) and isinstance(type_, SequenceType):
        return [_with_bits(item, type_.element) for item in value]
    if isinstance(value, dict) and isinstance(type_, MapType):
        return {key: _with_bits(item, type_.element) for key, item in value.items()}
    if isinstance(type_, OptionalType):
        return _with_bits(value, type_.element)
    declared = type_.dtype if isinstance(type_, TensorType) else None
    if declared is _BFLOAT16 and isinstance(value, np.ndarray) and value.dtype == np.uint16:
        return value.view(_BFLOAT16.public)
    return value
