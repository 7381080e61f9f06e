"""Concat, Split, Expand, Tile. Expected: NumPy's own functions."""

from __future__ import annotations

import numpy as np
from case_data import allowed, opsets, type_name
from case_elements import elements
from cases import Case

from minirt.errors import SchemaError, ShapeError

LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max
X = elements(np.float32, 2, 3, 4)


def ints(*values):
    return np.array(values, np.int64)


# Concat


def concat(*inputs, axis):
    return np.concatenate(inputs, axis)


def concat_by_default(*inputs):
    return np.concatenate(inputs, 1)


CONCAT = [
    *(
        Case("Concat", (elements(dtype, 2, 3), elements(dtype, 1, 3)), concat, {"axis": 0},
             id=type_name(dtype))
        for dtype in allowed("Concat")
    ),
    *(Case("Concat", (X, X + 1, X[:, :1]), concat, {"axis": axis}) for axis in (1, -2)),
    *(Case("Concat", (X, X[:1]), concat, {"axis": axis}) for axis in (0, -3)),
    *(Case("Concat", (X, X[..., 1:]), concat, {"axis": axis}) for axis in (2, -1)),
    Case("Concat", (X,), concat, {"axis": 1}),
    Case("Concat", (X, X, X), concat, {"axis": 0}, id="one thrice"),
    Case("Concat", (X[:0], X, X[:0]), concat, {"axis": 0}),
    Case("Concat", (X[:, :0], X[:, :0]), concat, {"axis": 2}),
    Case("Concat", (elements(np.uint8, 40, 3), elements(np.uint8, 40, 5)), concat, {"axis": 1}),
    *(Case("Concat", (X, X), concat, {"axis": 0}, opset=v) for v in opsets("Concat")),
    *(Case("Concat", (X, X), concat_by_default, opset=v) for v in (1, 3)),
    *(
        Case("Concat", inputs, attributes={"axis": axis}, raises=(ShapeError, text))
        for inputs, axis, text in [
            ((X, X[0]), 0, "float[2,3,4] and float[3,4] do not fit together along axis 0"),
            ((X, X[:, :2]), 0, "float[2,3,4] and float[2,2,4] do not fit together along axis 0"),
            ((X, X), 3, "axis=3 is not in [-3, 2]"),
            ((X, X), -4, "axis=-4 is not in [-3, 2]"),
            ((X, X), HIGH, f"axis={HIGH} is not in"),
            ((X[0, 0, 0], X[0, 0, 0]), 0, "axis=0 is not in a tensor without dimensions"),
        ]
    ),
    Case("Concat", (X, X), opset=4, raises=(SchemaError, "attribute axis is missing")),
    Case("Concat", (X, X.astype(np.int32)), attributes={"axis": 0}, raises=(SchemaError, "int32")),
]  # fmt: skip

# Split


def split(x, sizes, *, axis=0):
    return tuple(np.split(x, np.cumsum(sizes)[:-1].astype(int), axis))


def parts(*sizes, axis=0):
    """An expected result that does not depend on operands other than the first."""
    return lambda x, *_, **__: split(x, sizes, axis=axis)


S = elements(np.float32, 6, 4)

SPLIT = [
    *(
        Case("Split", (elements(dtype, 2, 5), ints(1, 3, 1)), split, {"axis": 1},
             id=type_name(dtype))
        for dtype in allowed("Split")
    ),
    *(Case("Split", (S, ints(*sizes)), split) for sizes in ((2, 4), (6,), (0, 6), (1, 0, 5, 0))),
    Case("Split", (S, ints(1, 3)), split, {"axis": -1}),
    Case("Split", (S[:0], ints(0, 0)), split),
    *(
        Case("Split", (S,), parts(*sizes), {"num_outputs": len(sizes)})
        for sizes in ((6,), (3, 3), (2, 2, 2), (2, 2, 2, 0), (1,) * 6)
    ),
    Case("Split", (S,), parts(2, 2, axis=1), {"num_outputs": 2, "axis": -1}),
    Case("Split", (X,), parts(2, 1, axis=1), {"num_outputs": 2, "axis": 1}),
    *(Case("Split", (S,), parts(2, 2, 2), opset=v) for v in (1, 2, 11, 13, 17)),
    *(Case("Split", (S,), parts(1, 5), {"split": [1, 5]}, opset=v) for v in (1, 2, 11)),
    Case("Split", (S,), parts(1, 3, axis=1), {"split": [1, 3], "axis": 1}, opset=11),
    Case("Split", (S, np.float32([1, 5])), parts(1, 5), opset=1),
    Case("Split", (S.astype(np.float16), np.float16([1, 5])), parts(1, 5), opset=1),
    Case("Split", (S, ints(1, 5)), split, opset=13),
    *(
        Case("Split", operands, attributes=attributes, opset=opset, outputs=2, raises=error)
        for opset, operands, attributes, error in [
            (18, (S, ints(1, 4)), {}, (ShapeError, "split=[1, 4] does not divide axis 0")),
            (18, (S, ints(7, -1)), {}, (ShapeError, "split=[7, -1] does not divide")),
            (18, (S, ints(HIGH, LOW + 7)), {}, (ShapeError, "does not divide")),
            (18, (S, ints(1, 2, 3)), {}, (ShapeError, "but the node has 2 outputs")),
            (18, (S, ints(1, 5)), {"axis": 2}, (ShapeError, "axis=2 is not in [-2, 1]")),
            (18, (S, ints(1, 5)), {"num_outputs": 2}, (SchemaError, "has both of split and")),
            (18, (S,), {}, (SchemaError, "has neither of split and num_outputs")),
            (18, (S,), {"num_outputs": 3}, (SchemaError, "num_outputs=3, but the node has 2")),
            (18, (S[0, 0], ints(1, 5)), {}, (ShapeError, "without dimensions")),
            (13, (S[:5],), {}, (ShapeError, "cannot be split evenly into 2 parts")),
            (11, (S,), {"split": [6]}, (ShapeError, "but the node has 2 outputs")),
            (1, (S, np.float32([1.5, 4.5])), {}, (ShapeError, "split=[1.5, 4.5] has to be int")),
            (1, (S, np.float32([np.nan, np.inf])), {}, (ShapeError, "has to be integers")),
            (1, (S, np.float32([1, 5])), {"split": [1, 5]}, (SchemaError, "both an attribute")),
        ]
    ),
    Case("Split", (S[:5],), attributes={"num_outputs": 4}, outputs=4,
         raises=(ShapeError, "cannot be split into 4 parts")),
]  # fmt: skip

# Expand and Tile


def expand(x, shape):
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape.reshape(-1))))


EXPANDS = [
    ((1,), (5,)),
    ((3, 1), (3, 4)),
    ((1, 3), (70, 3)),
    ((3,), (2, 4, 3)),
    ((), (2, 3)),
    ((), ()),
    ((3, 4), (1,)),
    ((3, 4), ()),
    ((2, 1, 3, 1), (2, 5, 3, 7)),
    ((2, 1, 6), (3, 1)),
    ((1, 3), (0, 3)),
    ((0, 1), (1, 5)),
    ((3, 1), (3, 0)),
]

EXPAND = [
    *(
        Case("Expand", (elements(dtype, 2, 1, 3), ints(2, 1, 4, 1)), expand, id=type_name(dtype))
        for dtype in allowed("Expand")
    ),
    *(Case("Expand", (elements(np.int32, *old), ints(*new)), expand) for old, new in EXPANDS),
    *(Case("Expand", (X, ints(3, 1, 1, 1)), expand, opset=v) for v in opsets("Expand")),
    *(
        Case("Expand", (X, shape), raises=(ShapeError, text))
        for shape, text in [
            (ints(5, 3, 4), "cannot be broadcast together"),
            (ints(0), "cannot be broadcast together"),
            (ints(-1, 3, 4), "shape=[-1, 3, 4] has a negative size"),
            (ints(LOW), "has a negative size"),
            (ints(HIGH, 1, 1, 1), "larger than what can be addressed"),
            (ints(2**31, 2**31, 2, 1, 1), "larger than what can be addressed"),
            (ints(2, 3, 4)[None], "should have one dimension"),
        ]
    ),
]


def tile(x, repeats):
    return np.tile(x, repeats)


TILES = [
    ((), ()),
    ((5,), (3,)),
    ((5,), (1,)),
    ((2, 3), (3, 2)),
    ((2, 3), (1, 7)),
    ((2, 3), (7, 1)),
    ((1, 3), (50, 1)),
    ((3, 1), (1, 50)),
    ((1, 1), (5, 6)),
    ((2, 1, 3), (2, 3, 1)),
    ((2, 3, 4), (2, 1, 3)),
    ((2, 3, 4), (1, 2, 1)),
    ((2, 3), (0, 2)),
    ((2, 0), (3, 2)),
]

TILE = [
    *(
        Case("Tile", (elements(dtype, 2, 3), ints(2, 3)), tile, id=type_name(dtype))
        for dtype in allowed("Tile")
    ),
    *(Case("Tile", (elements(np.uint8, *shape), ints(*times)), tile) for shape, times in TILES),
    *(Case("Tile", (X, ints(2, 1, 3)), tile, opset=v) for v in opsets("Tile")[1:]),
    *(
        Case("Tile", (x, np.array(tiles, x.dtype), np.array(axis, x.dtype)), y, opset=1)
        for x in (X, X.astype(np.float16), X.astype(np.float64))
        for tiles, axis, y in [
            (3, 1, np.tile(x, (1, 3, 1))),
            ([2], [-1], np.tile(x, (1, 1, 2))),
            (0, 0, x[:0]),
        ]
    ),
    *(
        Case("Tile", operands, opset=opset, raises=(ShapeError, text))
        for opset, operands, text in [
            (13, (X, ints(1, 2)), "repeats is int64[2], but input float[2,3,4] has 3 axes"),
            (13, (X, ints(1, 2, -1)), "repeats=[1, 2, -1] has a negative number"),
            (13, (X, ints(1, LOW, 1)), "has a negative number"),
            (13, (X, ints(HIGH, 1, 1)), "larger than what can be addressed"),
            (13, (X, ints(2**30, 2**30, 2**30)), "larger than what can be addressed"),
            (1, (X, np.float32(-1), np.float32(0)), "tiles=[-1, 1, 1] has a negative number"),
            (1, (X, np.float32(1.5), np.float32(0)), "tiles=[1.5] has to be integers"),
            (1, (X, np.float32(2), np.float32(3)), "axis=3 is not in [-3, 2]"),
            (1, (X, np.float32([1, 2]), np.float32(0)), "have to be one number each"),
        ]
    ),
]

CASES = [*CONCAT, *SPLIT, *EXPAND, *TILE]
