"""Operators that make tensors from attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import BY_NAME
from ..errors import SchemaError
from ..types import TensorType
from .registry import op

if TYPE_CHECKING:
    from ..dtypes import DType

_FLOAT, _INT64, _STRING = BY_NAME["float"], BY_NAME["int64"], BY_NAME["string"]


@op("Constant")
def constant(
    *,
    sparse_value,
    value,
    value_float,
    value_floats,
    value_int,
    value_ints,
    value_string,
    value_strings,
):
    """The tensor that the one attribute which is given holds; a number or string is 0-d.

    https://onnx.ai/onnx/operators/onnx__Constant.html
    """
    given = {
        "sparse_value": sparse_value,
        "value": value,
        "value_float": _tensor(value_float, _FLOAT),
        "value_floats": _tensor(value_floats, _FLOAT),
        "value_int": _tensor(value_int, _INT64),
        "value_ints": _tensor(value_ints, _INT64),
        "value_string": _tensor(value_string, _STRING),
        "value_strings": _tensor(value_strings, _STRING),
    }
    names = [name for name, content in given.items() if content is not None]
    if len(names) != 1:
        raise SchemaError(
            f"needs exactly one of the attributes {', '.join(given)}, "
            f"but has {' and '.join(names) or 'none'}"
        )
    return given[names[0]], None


def _tensor(content: Any, dtype: DType) -> TensorType | None:
    if content is None:
        return None
    array = np.array(content, dtype.storage)
    array.flags.writeable = False
    return TensorType(dtype, array.shape, array)
