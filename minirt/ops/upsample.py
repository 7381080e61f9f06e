"""Upsample, which opset 10 replaces by Resize.

An index of the result stands for its quotient by the scale, in float32, in the source.
"""

from __future__ import annotations

from functools import partial
from math import floor
from typing import TYPE_CHECKING, cast

import numpy as np

from ..dtypes import BY_NAME
from ..errors import SchemaError, ShapeError, UnsupportedError
from ..kernels.arrays import Shaped, computed
from ..types import Dim
from .arguments import attribute_to_operand
from .join import repeated
from .registry import op, upgrade
from .shapes import addressable, length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Graph, Node


@op("Upsample", contents=("scales",))
def upsample(X, scales, *, mode):
    """``X`` with each axis so many times as long: the element before, or a line between two.

    https://onnx.ai/onnx/operators/onnx__Upsample.html
    """
    if mode not in ("nearest", "linear"):
        raise SchemaError(f"mode={mode!r} is neither 'nearest' nor 'linear'")
    if mode == "linear" and not X.dtype.is_float:
        raise UnsupportedError(f"mode='linear' of {X.dtype}", op="Upsample", dtype=X.dtype.name)
    if X.shape is None:
        return X, None
    count = length(scales, "scales")
    if count not in (None, len(X.shape)):
        raise ShapeError(f"scales is {scales}, but X is {X}")
    if scales.value is None:
        return X.with_shape(*(Dim() for _ in X.shape)), None
    factors = list(scales.value)
    if not all(np.isfinite(factor) and factor >= 1 for factor in factors):
        raise ShapeError(f"scales={scales.value.tolist()} has to be 1 and more")
    output = addressable(X.with_shape(*map(_scaled, X.shape, factors)))
    if not X.is_concrete:
        return output, None
    sizes = cast("tuple[int, ...]", X.shape)
    if mode == "linear":
        return output, lambda: computed(partial(_interpolate, factors), [X], [output])
    if all(float(factor).is_integer() for factor in factors):
        repeats = [n for factor in factors for n in (1, int(factor))]
        return repeated(output, [n for size in sizes for n in (size, 1)], repeats, "X")
    return output, lambda: Shaped(partial(_take_nearest, factors))


def _scaled(size: int | Dim, factor: np.float32) -> int | Dim:
    if isinstance(size, Dim):
        return size if factor == 1 else Dim()
    return floor(size * float(factor))


def _places(count: int, factor: np.float32) -> np.ndarray:
    """Where the indices of an axis of the result are in the source, float32."""
    return np.arange(count, dtype=np.float32) / factor


def _indices(places: np.ndarray, size: int) -> np.ndarray:
    return np.asarray(np.clip(places, 0, max(size - 1, 0)), np.intp)


def _take_nearest(factors: Sequence[np.float32], data: np.ndarray, out: np.ndarray) -> None:
    axes = zip(out.shape, data.shape, factors, strict=True)
    places = [_indices(_places(count, factor), size) for count, size, factor in axes]
    out[...] = data[np.ix_(*places)]


def _interpolate(factors: Sequence[np.float32], data: np.ndarray, out: np.ndarray) -> None:
    for axis, factor in enumerate(factors):
        if factor == 1:
            continue
        places, size = _places(out.shape[axis], factor), data.shape[axis]
        before = np.floor(places)
        weight = np.asarray(places - before, out.dtype).reshape(-1, *(1,) * (data.ndim - axis - 1))
        first, second = (data.take(_indices(p, size), axis) for p in (before, before + 1))
        data = first + (second - first) * weight
    out[...] = data


@upgrade("Upsample", to=7)
def _(node: Node, graph: Graph) -> None:
    """Upsample-1 scales images, [N,C,H,W]."""
    attributes = node.attributes
    attributes["scales"] = [1.0, 1.0, attributes.pop("height_scale"), attributes.pop("width_scale")]
    if attributes["mode"] == "bilinear":
        attributes["mode"] = "linear"


@upgrade("Upsample", to=9)
def _(node: Node, graph: Graph) -> None:
    """Scales were an attribute."""
    attribute_to_operand(node, graph, "scales", dtype=BY_NAME["float"])
