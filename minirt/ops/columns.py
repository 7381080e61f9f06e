"""Col2Im: blocks of an image, added up where they overlap."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..dtypes import Kind
from ..errors import SchemaError, ShapeError, UnsupportedError
from ..kernels.arrays import computed
from ..types import Dim, TensorType
from .registry import op
from .shapes import addressable, integers, length, unknown_dims

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Axis(NamedTuple):
    """How blocks of ``taps`` elements lie along an axis of an image of ``size``."""

    size: int
    taps: int
    stride: int
    dilation: int
    front: int
    back: int

    @property
    def blocks(self) -> int:
        """How many there are."""
        reach = self.size + self.front + self.back - self.dilation * (self.taps - 1) - 1
        return reach // self.stride + 1

    def cuts(self, tap: int) -> tuple[slice, slice]:
        """Where ``tap`` of each block is in the image, and of which blocks it is inside."""
        start = tap * self.dilation - self.front
        first = max(-(start // self.stride), 0)
        last = min((self.size - 1 - start) // self.stride, self.blocks - 1)
        if last < first:
            return slice(0), slice(0)
        inside = slice(start + first * self.stride, start + last * self.stride + 1, self.stride)
        return inside, slice(first, last + 1)


@op("Col2Im", contents=("image_shape", "block_shape"))
def col2im(input, image_shape, block_shape, *, dilations, pads, strides):
    """An image of ``image_shape`` in which each column of ``input`` [N,C*taps,L] is a block.

    https://onnx.ai/onnx/operators/onnx__Col2Im.html
    """
    if input.dtype.kind in (Kind.STRING, Kind.BOOL):
        raise UnsupportedError(f"sums of {input.dtype}", op="Col2Im", dtype=input.dtype.name)
    if input.shape is not None and len(input.shape) != 3:
        raise ShapeError(f"input is {input}, but has to be [N,C*taps,L]")
    image, block = integers(image_shape, "image_shape"), integers(block_shape, "block_shape")
    rank = length(image_shape, "image_shape")
    batch, channels, blocks = input.shape or (Dim(), Dim(), Dim())
    if image is None or block is None:
        dims = unknown_dims(rank) if image is None else tuple(image)
        return TensorType(input.dtype, dims and (batch, Dim(), *dims)), None
    axes = _axes(image, block, strides, dilations, pads)
    counts = [axis.blocks for axis in axes]
    if isinstance(channels, int) and channels % prod(block):
        raise ShapeError(f"input {input} has not a multiple of {prod(block)} rows, a block's taps")
    if min(counts) < 1 or (isinstance(blocks, int) and blocks != prod(counts)):
        raise ShapeError(f"input is {input}, but {' x '.join(map(str, counts))} blocks fit in")
    depth = Dim() if isinstance(channels, Dim) else channels // prod(block)
    output = addressable(input.with_shape(batch, depth, *image))
    return output, lambda: computed(partial(_add, axes), [input], [output])


def _axes(
    image: Sequence[int],
    block: Sequence[int],
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
) -> list[_Axis]:
    rank = len(image)
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    pads = pads or [0] * (2 * rank)
    lengths = len(block), len(strides), len(dilations), len(pads) / 2
    if any(count != rank for count in lengths) or not rank:
        raise ShapeError(
            f"image_shape={list(image)}, block_shape={list(block)}, strides={list(strides)}, "
            f"dilations={list(dilations)} and pads={list(pads)} have different lengths"
        )
    if min(*strides, *dilations) < 1 or min(pads) < 0:
        raise SchemaError(
            f"strides={list(strides)} and dilations={list(dilations)} have to be positive, "
            f"pads={list(pads)} not negative"
        )
    if min(block) < 1 or min(image) < 0:
        raise ShapeError(f"image_shape={list(image)} or block_shape={list(block)} has bad sizes")
    rows = image, block, strides, dilations, pads[:rank], pads[rank:]
    return [_Axis(*each) for each in zip(*rows, strict=True)]


def _add(axes: Sequence[_Axis], columns: np.ndarray, image: np.ndarray) -> None:
    taps, counts = [axis.taps for axis in axes], [axis.blocks for axis in axes]
    blocks = columns.reshape(*image.shape[:2], *taps, *counts)
    image[...] = 0
    for tap in np.ndindex(*taps):
        cuts = [axis.cuts(place) for axis, place in zip(axes, tap, strict=True)]
        inside = (slice(None), slice(None), *(cut for cut, _ in cuts))
        image[inside] += blocks[(slice(None), slice(None), *tap)][
            (slice(None), slice(None), *(cut for _, cut in cuts))
        ]
