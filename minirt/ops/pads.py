"""Pad: tensors with more, or fewer, elements around them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ..errors import SchemaError, ShapeError
from ..kernels.arrays import Shaped
from ..types import Dim, TensorType
from .arguments import single
from .registry import Alias, op, upgrade
from .shapes import addressable, axes_operand, integers, length, normalized_axes, unknown_dims
from .slices import zero

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..graph import Graph, Node


@op("Pad", since=11, contents=("pads", "axes"))
def pad(data, pads, constant_value=None, axes=None, *, mode):
    """``data`` with ``pads`` elements before and after it along ``axes``; negative ones cut off.

    https://onnx.ai/onnx/operators/onnx__Pad.html
    """
    _check_mode(mode)
    single("constant_value", constant_value)
    widths, count = integers(pads, "pads"), length(pads, "pads")
    if data.shape is None:
        rank = count // 2 if axes is None and count is not None else None
        return TensorType(data.dtype, unknown_dims(rank)), None
    along = axes_operand(axes, len(data.shape))
    if along is None:
        return data.with_shape(*(Dim() for _ in data.shape)), None
    if count not in (None, 2 * len(along)):
        raise ShapeError(f"pads has {count} numbers, but {len(along)} axes take {2 * len(along)}")
    if widths is None:
        return data.with_shape(
            *(Dim() if i in along else d for i, d in enumerate(data.shape))
        ), None
    return _padded(data, along, widths, mode, zero(data.dtype))


@op("Pad")
def pad_by_attributes(data, *, mode, pads, value):
    """As before opset 11: with the number ``value`` around ``data``.

    https://onnx.ai/onnx/operators/onnx__Pad.html
    """
    _check_mode(mode)
    if data.shape is None:
        return TensorType(data.dtype, unknown_dims(len(pads) // 2)), None
    if len(pads) != 2 * len(data.shape):
        raise ShapeError(f"pads has {len(pads)} numbers, but data {data} takes two an axis")
    with np.errstate(over="ignore"):
        constant = np.array(value, data.dtype.public).view(data.dtype.storage)
    return _padded(data, range(len(data.shape)), pads, mode, constant)


@op("CenterCropPad", contents=("shape",))
def center_crop_pad(input_data, shape, *, axes):
    """The middle of ``input_data``, of the sizes ``shape`` along ``axes``; with zeros around it.

    https://onnx.ai/onnx/operators/onnx__CenterCropPad.html
    """
    sizes, count = integers(shape, "shape"), length(shape, "shape")
    if input_data.shape is None:
        return TensorType(input_data.dtype, unknown_dims(count if axes is None else None)), None
    dims = list(input_data.shape)
    along = range(len(dims)) if axes is None else normalized_axes(axes, len(dims))
    if count not in (None, len(along)):
        raise ShapeError(f"shape is {shape}, but there are {len(along)} axes")
    for number, axis in enumerate(along):
        dims[axis] = Dim() if sizes is None else sizes[number]
    if sizes is not None and min(sizes, default=0) < 0:
        raise ShapeError(f"shape={sizes} has a negative size")
    if sizes is None or not input_data.is_concrete:
        return addressable(input_data.with_shape(*dims)), None
    more = [size - input_data.shape[axis] for size, axis in zip(sizes, along, strict=True)]
    # Half of it before, rounded towards 0: of what is cut off, and of what is added.
    before = [abs(n) // 2 * (1 if n > 0 else -1) for n in more]
    after = [n - half for n, half in zip(more, before, strict=True)]
    pads, default = [*before, *after], zero(input_data.dtype)
    return _padded(input_data, along, pads, "constant", default, "input_data")


@upgrade("Pad", to=2)
def _(node: Node, graph: Graph) -> None:
    """Pad-1 calls them paddings."""
    node.attributes["pads"] = node.attributes.pop("paddings")


def _check_mode(mode: str) -> None:
    if mode not in _MODES:
        raise SchemaError(f"mode={mode!r} is none of {', '.join(_MODES)}")


def _padded(
    data: TensorType,
    along: Sequence[int],
    pads: Sequence[int],
    mode: str,
    default: Any,
    name: str = "data",
):
    """The result for ``pads`` before and after each of ``along``; ``default`` is the constant."""
    widths = [(0, 0)] * len(data.shape or ())
    for axis, front, back in zip(along, pads, pads[len(along) :], strict=False):
        widths[axis] = front, back
    dims = [_size(dim, width, data) for dim, width in zip(data.shape or (), widths, strict=True)]
    output = addressable(data.with_shape(*dims))
    if not any(map(any, widths)):
        return output, Alias(name)
    if not (data.is_concrete and output.is_concrete):
        return output, None
    axes = list(map(_axis, cast("Sequence[int]", data.shape), widths))
    if mode != "constant" and output.size and any(axis.low == axis.high for axis in axes):
        raise ShapeError(f"pads={list(pads)} leave nothing of data {data} for mode={mode!r}")
    sizes = cast("Sequence[int]", output.shape)
    borders = list(_borders(axes, sizes, mode)) if output.size else []
    return output, lambda: Shaped(partial(_write, axes, borders, mode, default))


def _size(size: int | Dim, width: tuple[int, int], data: TensorType) -> int | Dim:
    if isinstance(size, Dim):
        return Dim() if sum(width) else size
    if size + sum(width) < 0:
        raise ShapeError(f"pads {width[0]} and {width[1]} cut off more than data {data} has")
    return size + sum(width)


class _Axis(NamedTuple):
    """Indices ``low`` to ``high`` of an axis, and where they come to lie: from ``front`` on."""

    low: int
    high: int
    front: int

    @property
    def kept(self) -> slice:
        """What is taken from the data."""
        return slice(self.low, self.high)

    @property
    def core(self) -> slice:
        """Where it comes to lie."""
        return slice(self.front, self.front + self.high - self.low)


def _axis(size: int, width: tuple[int, int]) -> _Axis:
    low = min(max(-width[0], 0), size)
    high = max(min(size, size + width[1]), low)
    return _Axis(low, high, max(width[0], 0))


# The kernel


def _constant(begin: int, end: int, size: int) -> Iterator[tuple[slice, slice]]:
    yield slice(0, begin), slice(0)
    yield slice(end, size), slice(0)


def _edge(begin: int, end: int, size: int) -> Iterator[tuple[slice, slice]]:
    yield slice(0, begin), slice(begin, begin + 1)
    yield slice(end, size), slice(end - 1, end)


def _reflect(begin: int, end: int, size: int) -> Iterator[tuple[slice, slice]]:
    mirrored = end - begin - 1
    before, after = min(mirrored, begin), min(mirrored, size - end)
    yield slice(begin - before, begin), slice(begin + before, begin, -1)
    last = end - 2 - after
    yield slice(end, end + after), slice(end - 2, None if last < 0 else last, -1)
    yield from _repeated(begin - before, end + after, size, max(2 * mirrored, 1))


def _wrap(begin: int, end: int, size: int) -> Iterator[tuple[slice, slice]]:
    yield from _repeated(begin, end, size, end - begin)


def _repeated(begin: int, end: int, size: int, period: int) -> Iterator[tuple[slice, slice]]:
    """From whole periods, of which there are more each time."""
    while begin > 0:
        shift = (end - begin) // period * period
        first = max(begin - shift, 0)
        yield slice(first, begin), slice(first + shift, begin + shift)
        begin = first
    while end < size:
        shift = (end - begin) // period * period
        last = min(end + shift, size)
        yield slice(end, last), slice(end - shift, last - shift)
        end = last


#: For each mode how an axis of ``size`` is filled outside of ``begin`` to ``end``: pairs of slices
#: in order, what is filled, and what is there by then that stands there too.
_MODES = {"constant": _constant, "reflect": _reflect, "edge": _edge, "wrap": _wrap}


def _borders(axes: Sequence[_Axis], shape: Sequence[int], mode: str) -> Iterator[tuple[Any, Any]]:
    """The same for all axes: around what is there along the axes before, and will be after."""
    for number, axis in enumerate(axes):
        before = (slice(None),) * number
        after = tuple(later.core for later in axes[number + 1 :])
        for border, source in _MODES[mode](axis.core.start, axis.core.stop, shape[number]):
            if border.start < border.stop:
                yield (*before, border, *after), (*before, source, *after)


def _write(
    axes: Sequence[_Axis],
    borders: Sequence[tuple[Any, Any]],
    mode: str,
    default: Any,
    data: np.ndarray,
    *rest: Any,
) -> None:
    """``rest`` is the operand with the constant, if there is such an operand, and the output."""
    *given, out = rest
    np.copyto(out[tuple(axis.core for axis in axes)], data[tuple(axis.kept for axis in axes)])
    constant = default if not given or given[0] is None else given[0].reshape(-1)[0]
    for border, source in borders:
        out[border] = constant if mode == "constant" else out[source]
