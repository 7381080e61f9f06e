"""Operators of ai.onnx.ml that select features, or encode them one by one."""

from __future__ import annotations

from math import floor, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import BY_NAME
from ..errors import SchemaError, ShapeError
from ..kernels.arrays import Shaped
from ..kernels.bounds import check_indices
from ..kernels.labels import encode
from ..types import Dim, TensorType
from .registry import op
from .shapes import product

if TYPE_CHECKING:
    from ..dtypes import DType

_ML = "ai.onnx.ml"
_FLOAT, _INT64, _STRING = BY_NAME["float"], BY_NAME["int64"], BY_NAME["string"]


@op("ArrayFeatureExtractor", domain=_ML)
def array_feature_extractor(X, Y):
    """The entries along the last axis of X that Y names, however many axes Y has.

    Indices count from 0. A vector X counts as a matrix of one row.

    https://onnx.ai/onnx/operators/onnx_aionnxml_ArrayFeatureExtractor.html
    """
    if X.shape is None:
        return TensorType(X.dtype), None
    if not X.shape:
        raise ShapeError(f"X is {X}, but must have at least one axis")
    count = Dim() if Y.shape is None else product(Y.shape)
    return X.with_shape(*(X.shape[:-1] or (1,)), count), lambda: Shaped(_extract)


def _extract(X: np.ndarray, Y: np.ndarray, Z: np.ndarray) -> None:
    check_indices("Y", Y, 0, X.shape[-1] - 1)
    if Z.size:
        X.take(Y.reshape(-1), -1, Z.reshape(*X.shape[:-1], Y.size), "clip")


@op("Binarizer", domain=_ML)
def binarizer(X, *, threshold):
    """1 for each element of X that is greater than ``threshold``, else 0.

    https://onnx.ai/onnx/operators/onnx_aionnxml_Binarizer.html
    """
    bound = np.float64(threshold)
    if X.dtype.is_float:
        bound = X.dtype.storage.type(threshold)
    elif isfinite(threshold):  # as float64 an integer of 64 bits might be the threshold
        bound = floor(threshold)
    return X.without_value(), lambda: Shaped(lambda X, Y: np.copyto(Y, np.greater(X, bound)))


@op("LabelEncoder", domain=_ML)
def label_encoder_1(X, *, classes_strings, default_int64, default_string):
    """The index of each string among ``classes_strings``, or the string at each index.

    https://onnx.ai/onnx/operators/text_diff_LabelEncoder_1_2.html
    """
    strings = _array(classes_strings or [], _STRING)
    indices = _array(range(strings.size), _INT64)
    if X.dtype is _STRING:
        return _encoder(X, strings, indices, _array(default_int64, _INT64), _INT64)
    return _encoder(X, indices, strings, _array(default_string, _STRING), _STRING)


@op("LabelEncoder", domain=_ML, since=2)
def label_encoder(
    X,
    *,
    default_float,
    default_int64,
    default_string,
    default_tensor,
    keys_floats,
    keys_int64s,
    keys_strings,
    keys_tensor,
    values_floats,
    values_int64s,
    values_strings,
    values_tensor,
):
    """The value whose key is the element, for each of X, the default for one that is no key.

    Of equal keys the last counts, and NaN equals NaN.

    https://onnx.ai/onnx/operators/onnx_aionnxml_LabelEncoder.html
    """
    keys_type, keys = _one_of(
        "keys", floats=keys_floats, int64s=keys_int64s, strings=keys_strings, tensor=keys_tensor
    )
    dtype, values = _one_of(
        "values",
        floats=values_floats,
        int64s=values_int64s,
        strings=values_strings,
        tensor=values_tensor,
    )
    if keys_type is not X.dtype:
        raise SchemaError(f"X is {X}, but the keys are of type {keys_type}")
    if keys.size != values.size:
        raise SchemaError(f"there are {keys.size} keys, but {values.size} values")
    default: Any = default_int64
    if dtype.is_float or dtype is _STRING:
        default = default_float if dtype.is_float else default_string
    default = _array(default, dtype) if default_tensor is None else _default(default_tensor, dtype)
    return _encoder(X, keys, values, default, dtype)


def _encoder(
    X: TensorType, keys: np.ndarray, values: np.ndarray, default: np.ndarray, dtype: DType
):
    return X.with_dtype(dtype), lambda: Shaped(encode(keys, values, default))


def _one_of(what, **lists):
    """The one list that is given, as an array, and the type of its elements."""
    given = {name: content for name, content in lists.items() if content is not None}
    if len(given) != 1:
        names = [f"{what}_{name}" for name in given]
        raise SchemaError(
            f"needs exactly one of {', '.join(f'{what}_{name}' for name in lists)}, "
            f"but has {' and '.join(names) or 'none'}"
        )
    ((name, content),) = given.items()
    if name == "tensor":
        return content.dtype, content.value.reshape(-1)
    dtype = {"floats": _FLOAT, "int64s": _INT64, "strings": _STRING}[name]
    return dtype, _array(content, dtype)


def _default(default, dtype):
    if default.dtype is not dtype or default.size != 1:
        raise SchemaError(f"default_tensor is {default}, but must be one element of type {dtype}")
    return default.value.reshape(())


def _array(content: Any, dtype: DType) -> np.ndarray:
    try:
        return np.array(content, dtype.storage)
    except OverflowError:
        raise SchemaError(f"{content} is out of the range of {dtype}") from None
