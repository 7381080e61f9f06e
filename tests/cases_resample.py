"""Upsample and Col2Im. Expected: the rules on ONNX's pages, element by element."""

from __future__ import annotations

from fractions import Fraction
from math import floor, prod

import numpy as np
from case_data import allowed, numbers, rounded, type_name
from case_elements import elements
from cases import Case

from minirt.errors import SchemaError, ShapeError, UnsupportedError

LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def ints(*values):
    return np.array(values, np.int64)


def floats(*values):
    return np.array(values, np.float32)


# Upsample


def nearest(x, scales, **_):
    shape = [floor(n * Fraction(float(s))) for n, s in zip(x.shape, scales, strict=True)]
    y = np.empty(shape, x.dtype)
    for i in np.ndindex(*shape):
        y[i] = x[tuple(floor(np.float32(k) / s) for k, s in zip(i, scales, strict=True))]
    return y


def linear(x, scales, **_):
    """Of the two neighbours on each axis, each by how near it is: exact, then rounded."""
    shape = [floor(n * Fraction(float(s))) for n, s in zip(x.shape, scales, strict=True)]
    y = np.zeros(shape, np.float64)
    for i in np.ndindex(*shape):
        for corner in np.ndindex(*(2,) * x.ndim):
            weight, source = 1.0, []
            for k, scale, size, side in zip(i, scales, x.shape, corner, strict=True):
                place = np.float32(k) / scale
                share = float(place) - floor(place)
                weight *= share if side else 1 - share
                source.append(min(floor(place) + side, size - 1))
            y[i] += weight * float(x[tuple(source)])
    return rounded(y, x.dtype)


IMAGE = elements(np.float32, 1, 2, 3, 4)
UP = floats(1, 1, 2, 3)

UPSAMPLE = [
    *(
        Case("Upsample", (elements(dtype, 2, 3), floats(2, 3)), nearest, opset=9,
             id=type_name(dtype))
        for dtype in allowed("Upsample", 9)
    ),
    *(
        Case("Upsample", (elements(np.uint8, 3, 5), floats(*scales)), nearest, opset=9)
        for scales in ((1, 1), (1.5, 1), (1, 2.25), (1.3, 7), (4, 1.9))
    ),
    *(
        Case("Upsample", (numbers(dtype, 3, 4), floats(2, 2)), linear, {"mode": "linear"}, opset=9,
             id=type_name(dtype))
        for dtype in (np.float16, np.float32, np.float64)
    ),
    *(
        Case("Upsample", (numbers(np.float32, 3, 5), floats(*scales)), linear, {"mode": "linear"},
             opset=9, ulp=4)
        for scales in ((1, 1), (1.5, 1), (1, 2.25), (1.3, 7))
    ),
    # 12, as the scale is a little less than 1.3; in float32 the product would be 13.
    Case("Upsample", (elements(np.uint8, 10), floats(1.3)), nearest, opset=9),
    Case("Upsample", (IMAGE[:0], UP), nearest, opset=9),
    Case("Upsample", (np.float32(3), floats()), nearest, opset=9),
    *(Case("Upsample", (IMAGE,), nearest(IMAGE, UP), {"scales": UP.tolist(), "mode": "nearest"},
           opset=opset) for opset in (7, 8)),
    *(
        Case("Upsample", (IMAGE,), function(IMAGE, UP),
             {"height_scale": 2.0, "width_scale": 3.0, "mode": mode}, opset=opset, ulp=1)
        for mode, function in (("nearest", nearest), ("bilinear", linear))
        for opset in (1, 6)
    ),
    *(
        Case("Upsample", (x, scales), attributes=attributes, opset=9, raises=error)
        for x, scales, attributes, error in [
            (IMAGE, floats(1, 2), {}, (ShapeError, "scales is float[2], but X is float[1,2,3,4]")),
            (IMAGE, UP[None], {}, (ShapeError, "should have one dimension")),
            (IMAGE, floats(1, 1, 0.5, 1), {}, (ShapeError, "has to be 1 and more")),
            (IMAGE, floats(1, 1, np.nan, 1), {}, (ShapeError, "has to be 1 and more")),
            (IMAGE, floats(1, 1, np.inf, 1), {}, (ShapeError, "has to be 1 and more")),
            (IMAGE, floats(1, 1, 1e30, 1), {}, (ShapeError, "larger than what can be addressed")),
            (IMAGE, UP, {"mode": "cubic"}, (SchemaError, "mode='cubic' is neither")),
            (ints(1, 2), floats(2), {"mode": "linear"}, (UnsupportedError, "mode='linear' of int")),
        ]
    ),
    Case("Upsample", (IMAGE, UP), opset=10, raises=(SchemaError, "opset 10 deprecates it")),
]  # fmt: skip

# Col2Im


def col2im(x, image, block, *, strides=None, dilations=None, pads=None):
    rank = len(image)
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    pads = pads or [0] * (2 * rank)
    counts = [
        (image[i] + pads[i] + pads[i + rank] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1
        for i in range(rank)
    ]
    depth = x.shape[1] // prod(map(int, block))
    x = x.reshape(x.shape[0], depth, *block, *counts)
    y = np.zeros((x.shape[0], depth, *image), object if x.dtype.kind in "iu" else np.complex128)
    for tap in np.ndindex(*block):
        for at in np.ndindex(*counts):
            place = [
                a * s + t * d - p
                for a, s, t, d, p in zip(at, strides, tap, dilations, pads, strict=False)
            ]
            if all(0 <= p < n for p, n in zip(place, image, strict=True)):
                y[(slice(None), slice(None), *place)] += x[(slice(None), slice(None), *tap, *at)]
    return y.astype(x.dtype) if x.dtype.kind == "c" else rounded(
        y if y.dtype == object else y.real, x.dtype)  # fmt: skip


COLUMNS = [
    *(
        Case("Col2Im", (numbers(dtype, 1, 8, 6), ints(3, 4), ints(2, 2)), col2im,
             id=type_name(dtype))
        for dtype in allowed("Col2Im")
        if np.dtype(dtype) != np.bool_ and np.dtype(dtype) != object
    ),
    *(
        Case("Col2Im", (numbers(np.float32, 2, channels, columns), ints(*image), ints(*block)),
             col2im, attributes)
        for channels, columns, image, block, attributes in [
            (10, 5, (5, 5), (1, 5), {}),
            (9, 4, (5, 5), (3, 3), {"strides": [2, 2]}),
            (9, 9, (5, 5), (3, 3), {"strides": [2, 2], "pads": [1, 1, 2, 2]}),
            (4, 25, (6, 7), (2, 2), {"dilations": [1, 2]}),
            (4, 4, (5, 5), (2, 2), {"dilations": [3, 3], "pads": [0, 1, 1, 0], "strides": [2, 2]}),
            (2, 16, (3,), (2,), {"pads": [7, 7]}),
            (10, 12, (3, 4, 5), (1, 1, 5), {}),
            (1, 1, (1, 1), (1, 1), {"pads": [2**40] * 4, "strides": [2**60] * 2}),
        ]
    ),
    Case("Col2Im", (numbers(np.float32, 0, 4, 6), ints(3, 4), ints(2, 2)), col2im),
    Case("Col2Im", (numbers(np.float32, 2, 0, 6), ints(3, 4), ints(2, 2)), col2im),
    *(
        Case("Col2Im", (x, image, block), attributes=attributes, raises=error)
        for x, image, block, attributes, error in [
            (np.zeros((1, 4, 5), "f"), ints(3, 4), ints(2, 2), {},
             (ShapeError, "input is float[1,4,5], but 2 x 3 blocks fit in")),
            (np.zeros((1, 3, 6), "f"), ints(3, 4), ints(2, 2), {}, (ShapeError, "multiple of 4")),
            (np.zeros((4, 6), "f"), ints(3, 4), ints(2, 2), {}, (ShapeError, "[N,C*taps,L]")),
            (np.zeros((1, 4, 6), "f"), ints(3, 4), ints(2), {}, (ShapeError, "different lengths")),
            (np.zeros((1, 4, 6), "f"), ints(3, 4), ints(2, 2), {"pads": [1, 1]},
             (ShapeError, "different lengths")),
            (np.zeros((1, 4, 6), "f"), ints(3, 4), ints(2, 2), {"strides": [0, 1]},
             (SchemaError, "strides=[0, 1]")),
            (np.zeros((1, 4, 6), "f"), ints(3, 4), ints(2, 2), {"dilations": [1, LOW]},
             (SchemaError, "dilations=[1, ")),
            (np.zeros((1, 4, 6), "f"), ints(3, 4), ints(2, 2), {"pads": [0, -1, 0, 0]},
             (SchemaError, "pads=[0, -1, 0, 0]")),
            (np.zeros((1, 4, 6), "f"), ints(3, 4), ints(0, 2), {}, (ShapeError, "bad sizes")),
            (np.zeros((1, 4, 6), "f"), ints(-3, 4), ints(2, 2), {}, (ShapeError, "bad sizes")),
            (np.zeros((1, 4, 6), "f"), ints(1, 1), ints(2, 2), {}, (ShapeError, "0 x 0 blocks")),
            (np.zeros((1, 4, 6), "f"), ints(3, 4), ints(HIGH, 1), {}, (ShapeError, "multiple of")),
            (np.zeros((1, 4, 6), bool), ints(3, 4), ints(2, 2), {},
             (UnsupportedError, "sums of bool")),
        ]
    ),
]  # fmt: skip

CASES = [*UPSAMPLE, *COLUMNS]
