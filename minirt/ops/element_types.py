"""Element types that attributes name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dtypes import BY_CODE
from ..errors import SchemaError
from .schemas import newest_schema

if TYPE_CHECKING:
    from ..dtypes import DType

__all__ = ["result_dtype"]


def result_dtype(
    operator: str, output: str, code: int | None, default: DType, attribute: str = "dtype"
) -> DType:
    """The element type of an output of ``operator`` whose ``attribute`` says ``code``.

    ``default`` where it says nothing (None). Raises SchemaError for a type that the newest
    schema does not allow.
    """
    schema = newest_schema("", operator)
    outputs = schema.outputs if schema else ()
    allowed = {type for p in outputs if p.name == output for type in p.types}
    dtype = default if code is None else BY_CODE.get(code)
    if dtype is not None and f"tensor({dtype})" in allowed:
        return dtype
    known = [d for d in BY_CODE.values() if f"tensor({d})" in allowed]
    what = f"without {attribute} it would be {default}" if code is None else f"{attribute}={code}"
    raise SchemaError(
        f"{what}, but {output} may be {', '.join(f'{d.code} ({d.name})' for d in known)}"
    )
