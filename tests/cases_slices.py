"""Slice, Trilu, CenterCropPad. Expected: the rules on ONNX's pages, index by index."""

from __future__ import annotations

import itertools

import numpy as np
from case_data import allowed, opsets, type_name
from case_elements import elements
from cases import Case

from minirt.errors import SchemaError, ShapeError

LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max
LOW32, HIGH32 = np.iinfo(np.int32).min, np.iinfo(np.int32).max
X = elements(np.float32, 4, 5, 6)


def ints(*values):
    return np.array(values, np.int64)


# Slice


def indices(size, start, end, step):
    """Which indices are taken, by ONNX's rules for bounds beyond the ends."""
    start, end = (int(b) + size if b < 0 else int(b) for b in (start, end))
    if step > 0:
        start, end = min(max(start, 0), size), min(max(end, 0), size)
    else:
        start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    return [i for i in range(size) if (i - start) % step == 0 and (
        start <= i < end if step > 0 else end < i <= start)][:: 1 if step > 0 else -1]  # fmt: skip


def cut(x, starts, ends, axes=None, steps=None):
    axes = range(len(starts)) if axes is None else [int(axis) % x.ndim for axis in axes]
    steps = [1] * len(starts) if steps is None else steps
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        x = x.take(indices(x.shape[axis], start, end, step), int(axis))
    return x


STARTS = (0, 1, 3, 4, 5, 6, -1, -4, -5, -6, HIGH, LOW, HIGH32, LOW32)
STEPS = (1, 2, 5, HIGH, -1, -2, -6, LOW)
#: Along an axis of 5, each bound with each step.
BOUNDS = [
    (start, end, step)
    for number, (start, end) in enumerate(itertools.product(STARTS, STARTS))
    for step in (STEPS[number % 8], STEPS[number // 14 % 8])
]


def many(*bounds):
    """Slices of one axis, side by side in one node."""
    starts, ends, steps = zip(*bounds, strict=True)
    x = elements(np.uint8, *(5 for _ in bounds))
    return x, ints(*starts), ints(*ends), ints(*range(len(bounds))), ints(*steps)


SLICE = [
    *(
        Case("Slice", (elements(dtype, 4, 5), ints(3, 1), ints(LOW, 4), None, ints(-2, 1)), cut,
             id=type_name(dtype))
        for dtype in allowed("Slice")
    ),
    *(Case("Slice", many(*BOUNDS[i : i + 4]), cut) for i in range(0, len(BOUNDS), 4)),
    *(
        Case("Slice", (elements(np.int8, size), ints(start), ints(end), None, ints(step)), cut)
        for size in (0, 1)
        for start, end, step in [(0, HIGH, 1), (-1, LOW, -1), (1, 5, 2), (LOW, HIGH, 1), (5, 0, -3)]
    ),
    Case("Slice", (X, np.int32([1, -2]), np.int32([HIGH32, LOW32]), np.int32([-1, 0]),
                   np.int32([2, -1])), cut),
    Case("Slice", (X, ints(1), ints(3), ints(-2)), cut),
    Case("Slice", (X, ints(1, 2, 3), ints(4, 5, 6)), cut),
    Case("Slice", (X, ints(1), ints(3)), cut),
    Case("Slice", (X, ints(), ints()), cut),
    Case("Slice", (X, ints(), ints(), ints()), cut),
    Case("Slice", (X, ints(0), ints(HIGH), ints(1)), cut, id="all"),
    Case("Slice", (X, ints(-1), ints(LOW), ints(1), ints(-1)), cut, id="turned round"),
    Case("Slice", (X, ints(2), ints(2), ints(1)), cut, id="none"),
    Case("Slice", (np.float32(3), ints(), ints()), cut),
    *(Case("Slice", (X, ints(1, 0), ints(3, 9), ints(0, 2)), cut, opset=v)
      for v in opsets("Slice")[1:]),
    Case("Slice", (X,), X[1:3, :, :-1], {"starts": [1, 0], "ends": [3, -1], "axes": [0, 2]},
         opset=1),
    Case("Slice", (X,), X[1:, :2], {"starts": [1, 0], "ends": [1000, 2]}, opset=9),
    *(
        Case("Slice", (X, *operands), raises=(ShapeError, text))
        for operands, text in [
            ((ints(0), ints(1), ints(0), ints(0)), "steps has a 0"),
            ((ints(0), ints(1), ints(3)), "axes=3 is not in [-3, 2]"),
            ((ints(0), ints(1), ints(LOW)), "is not in [-3, 2]"),
            ((ints(0, 0), ints(1, 1), ints(2, -1)), "axes=[2, -1] names an axis twice"),
            ((ints(0, 0), ints(1)), "operands have different lengths: starts 2, ends 1"),
            ((ints(0), ints(1), ints(0, 1)), "starts 1, ends 1, axes 2"),
            ((ints(0), ints(1), ints(0), ints(1, 1)), "ends 1, axes 1, steps 2"),
            ((ints(0, 0, 0, 0), ints(1, 1, 1, 1)), "starts has 4 numbers, but data float[4,5,6]"),
            ((ints(0)[None], ints(1)), "starts is int64[1,1], but should have one dimension"),
        ]
    ),
]  # fmt: skip

# Trilu


def trilu(x, k=None, *, upper=1):
    y = x.copy()
    for i in np.ndindex(x.shape):
        diagonal = i[-1] - i[-2]
        bound = 0 if k is None else int(np.reshape(k, ()))
        if diagonal < bound if upper else diagonal > bound:
            y[i] = "" if x.dtype == object else np.zeros((), x.dtype)
    return y


TRILU = [
    *(
        Case("Trilu", (elements(dtype, 3, 4), np.int64(0)), trilu, {"upper": upper},
             id=type_name(dtype))
        for dtype in allowed("Trilu")
        for upper in (0, 1)
    ),
    *(
        Case("Trilu", (X, np.int64(k)), trilu, {"upper": upper})
        for upper in (0, 1)
        for k in (-9, -5, -4, -1, 1, 4, 5, 6, 7, HIGH, LOW)
    ),
    *(Case("Trilu", (x,), trilu) for x in (X, X[0], X[:0], X[:, :0], X[..., :0], X[..., :1])),
    Case("Trilu", (X, ints(-1)), trilu),
    *(
        Case("Trilu", operands, attributes=attributes, raises=error)
        for operands, attributes, error in [
            ((X[0, 0],), {}, (ShapeError, "input is float[6], but needs two axes")),
            ((X, ints(1, 2)), {}, (ShapeError, "k is int64[2], but must be a single value")),
            ((X, ints()), {}, (ShapeError, "k is int64[0], but must be a single value")),
            ((X,), {"upper": 2}, (SchemaError, "upper=2")),
        ]
    ),
]  # fmt: skip

# CenterCropPad


def center(x, shape, *, axes=None):
    for axis, size in zip(range(x.ndim) if axes is None else axes, shape, strict=True):
        have = x.shape[axis]
        if size <= have:
            first = (have - size) // 2
            x = x.take(range(first, first + int(size)), axis)
        else:
            around = [x, x]
            before = (int(size) - have) // 2
            for side, count in enumerate((before, int(size) - have - before)):
                shape = list(x.shape)
                shape[axis] = count
                around[side] = np.full(shape, "" if x.dtype == object else 0, x.dtype)
            x = np.concatenate([around[0], x, around[1]], axis)
    return x


INT32 = "ONNX's definition compares shape with int64"

CENTER = [
    *(
        Case("CenterCropPad", (elements(dtype, 4, 5), ints(3, 8)), center, id=type_name(dtype))
        for dtype in allowed("CenterCropPad")
    ),
    *(
        Case("CenterCropPad", (X, ints(*shape)), center)
        for shape in ((4, 5, 6), (2, 2, 2), (1, 8, 3), (7, 7, 7), (0, 5, 6), (8, 0, 9))
    ),
    Case("CenterCropPad", (X, np.int32([7, 2])), center, {"axes": [-1, 0]}, no_body=INT32),
    Case("CenterCropPad", (X, ints(3)), center, {"axes": [1]}),
    Case("CenterCropPad", (X[:0], ints(3)), center, {"axes": [0]}),
    *(
        Case("CenterCropPad", (X, shape), attributes=attributes, raises=(ShapeError, text))
        for shape, attributes, text in [
            (ints(1, 2), {}, "shape is int64[2], but there are 3 axes"),
            (ints(1, 2, -1), {}, "shape=[1, 2, -1] has a negative size"),
            (ints(LOW, 1, 1), {}, "has a negative size"),
            (ints(HIGH, HIGH, 1), {}, "larger than what can be addressed"),
            (ints(1), {"axes": [3]}, "axes=3 is not in [-3, 2]"),
            (ints(1, 1), {"axes": [0, -3]}, "names an axis twice"),
        ]
    ),
]

CASES = [*SLICE, *TRILU, *CENTER]
