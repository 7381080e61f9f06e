"""Transpose, DepthToSpace, SpaceToDepth, ReverseSequence, by the rules on ONNX's pages."""

from __future__ import annotations

import itertools

import numpy as np
from case_data import allowed, opsets, type_name
from case_elements import elements
from cases import Case

from minirt.errors import ExecutionError, SchemaError, ShapeError

LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def ints(*values):
    return np.array(values, np.int64)


# Transpose


def transpose(x, *, perm=None):
    return x.transpose(perm)


#: Shapes in which planes have tiles, rests of tiles, more than a strip of them, or neither.
TRANSPOSES = [
    ((), []),
    ((5,), [0]),
    ((7, 9), [1, 0]),
    ((16, 33), [1, 0]),
    ((70, 130), [1, 0]),
    ((3, 600), [1, 0]),
    ((600, 3), [1, 0]),
    ((2, 9, 5, 3), [0, 3, 1, 2]),
    ((2, 3, 9, 5), [0, 2, 3, 1]),
    ((3, 4, 5), [2, 1, 0]),
    ((3, 4, 5), [1, 0, 2]),
    ((2, 3, 4, 5, 6), [3, 0, 4, 2, 1]),
    ((2, 3, 1, 2, 1, 3), [4, 3, 0, 2, 5, 1]),
    ((1, 3, 1, 4), [2, 1, 0, 3]),
    ((3, 0, 4), [2, 0, 1]),
]

TRANSPOSE = [
    *(
        Case("Transpose", (elements(dtype, 5, 3, 19),), transpose, {"perm": [2, 0, 1]},
             id=type_name(dtype))
        for dtype in allowed("Transpose")
    ),
    *(
        Case("Transpose", (elements(dtype, *shape),), transpose, {"perm": perm})
        for shape, perm in TRANSPOSES
        for dtype in (np.uint8, np.uint16, np.float32, np.float64, np.complex128, np.object_)
    ),
    *(
        Case("Transpose", (elements(np.int32, 2, 3, 4, 5),), transpose, {"perm": list(perm)})
        for perm in itertools.permutations(range(4))
    ),
    *(Case("Transpose", (elements(np.float32, 2, 3, 4),), transpose, opset=v)
      for v in opsets("Transpose")),
    *(
        Case("Transpose", (elements(np.float32, 2, 3),), attributes={"perm": perm}, raises=error)
        for perm, error in [
            ([0], (ShapeError, "perm=[0] has 1 axes, but data is float[2,3]")),
            ([0, 1, 2], (ShapeError, "has 3 axes")),
            ([0, 0], (SchemaError, "perm=[0, 0] has not each of 0 to 1 once")),
            ([0, -1], (SchemaError, "perm=[0, -1]")),
            ([1, 2], (SchemaError, "perm=[1, 2]")),
            ([0, HIGH], (SchemaError, "has not each of 0 to 1 once")),
        ]
    ),
]  # fmt: skip

# Depth and space


def depth_to_space(x, *, blocksize, mode="DCR"):
    """Element by element: which channel the block's row and column come from."""
    batch, channels, height, width = x.shape
    depth = channels // blocksize**2
    y = np.empty((batch, depth, height * blocksize, width * blocksize), x.dtype)
    for d, h, w in np.ndindex(*y.shape[1:]):
        row, column = h % blocksize, w % blocksize
        place = row * blocksize + column
        channel = place * depth + d if mode == "DCR" else d * blocksize**2 + place
        y[:, d, h, w] = x[:, channel, h // blocksize, w // blocksize]
    return y


def space_to_depth(x, *, blocksize, mode="DCR"):
    batch, channels, height, width = x.shape
    shape = batch, channels * blocksize**2, height // blocksize, width // blocksize
    y = np.empty(shape, x.dtype)
    for c, h, w in np.ndindex(*x.shape[1:]):
        place = h % blocksize * blocksize + w % blocksize
        depth = place * channels + c if mode == "DCR" else c * blocksize**2 + place
        y[:, depth, h // blocksize, w // blocksize] = x[:, c, h, w]
    return y


def blocks(op, function, shape, wrong):
    for dtype in allowed(op):
        x = elements(dtype, *shape)
        yield Case(op, (x,), function, {"blocksize": 2}, id=type_name(dtype))
    for opset in opsets(op):
        yield Case(op, (elements(np.float32, *shape),), function, {"blocksize": 2}, opset)
    x = elements(np.float32, 2, 18, 6, 9)
    for size, mode in itertools.product((1, 3), ("DCR", "CRD")):
        yield Case(op, (x,), function, {"blocksize": size, "mode": mode})
    yield Case(op, (x[:0],), function, {"blocksize": 3})
    yield Case(op, (x[0],), attributes={"blocksize": 3}, raises=(ShapeError, "[N,C,H,W]"))
    yield Case(op, (x,), attributes={"blocksize": 4}, raises=(ShapeError, wrong))
    for size in (0, -1, LOW):
        error = SchemaError, f"blocksize={size} is not positive"
        yield Case(op, (x,), attributes={"blocksize": size}, raises=error)
    yield Case(op, (x,), attributes={"blocksize": HIGH}, raises=(ShapeError, "not a multiple of"))
    error = SchemaError, "mode='RCD' is none of DCR, CRD"
    yield Case(op, (x,), attributes={"blocksize": 1, "mode": "RCD"}, raises=error)


# ReverseSequence


def reverse_sequence(x, lengths, *, batch_axis=1, time_axis=0):
    y = x.copy()
    for b, length in enumerate(lengths):
        for t in range(length):
            place, source = [b, b], [b, b]
            place[time_axis], source[time_axis] = t, length - 1 - t
            y[tuple(place)] = x[tuple(source)]
    return y


SEQUENCES = elements(np.float32, 4, 3, 2)
TURNED = {"batch_axis": 0, "time_axis": 1}

REVERSE = [
    *(
        Case("ReverseSequence", (elements(dtype, 4, 3), ints(4, 0, 2)), reverse_sequence,
             id=type_name(dtype))
        for dtype in allowed("ReverseSequence")
    ),
    Case("ReverseSequence", (SEQUENCES, ints(1, 3, 4)), reverse_sequence),
    Case("ReverseSequence", (SEQUENCES, ints(1, 3, 2, 0)), reverse_sequence, TURNED),
    Case("ReverseSequence", (SEQUENCES[:0], ints(0, 0, 0)), reverse_sequence),
    Case("ReverseSequence", (SEQUENCES[:0], ints()), reverse_sequence, TURNED),
    *(
        Case("ReverseSequence", (SEQUENCES, ints(1, 3, 2)), reverse_sequence, opset=v)
        for v in opsets("ReverseSequence")
    ),
    *(
        Case("ReverseSequence", (x, lengths), attributes=attributes, raises=error)
        for x, lengths, attributes, error in [
            (SEQUENCES, ints(1, 2, 5), {}, (ExecutionError, "sequence_lens[2]=5 is not in [0, 4]")),
            (SEQUENCES, ints(1, -1, 5), {}, (ExecutionError, "sequence_lens[1]=-1 is not in")),
            (SEQUENCES, ints(LOW, 1, 1), {}, (ExecutionError, "sequence_lens[0]=")),
            (SEQUENCES, ints(HIGH, 1, 1), {}, (ExecutionError, "sequence_lens[0]=")),
            (SEQUENCES, ints(1, 2), {}, (ShapeError, "sequence_lens is int64[2]")),
            (SEQUENCES, np.int64(1), {}, (ShapeError, "sequence_lens is int64[]")),
            (SEQUENCES, ints(1, 2, 3)[None], {}, (ShapeError, "sequence_lens is int64[1,3]")),
            (SEQUENCES[0, 0], ints(1, 1), {}, (ShapeError, "needs a batch and a time axis")),
            (SEQUENCES, ints(1, 2, 3), {"time_axis": 1}, (SchemaError, "time_axis=1")),
            (SEQUENCES, ints(1, 2), {"batch_axis": 2}, (SchemaError, "batch_axis=2")),
        ]
    ),
]  # fmt: skip

CASES = [
    *TRANSPOSE,
    *blocks("DepthToSpace", depth_to_space, (2, 8, 2, 3), "18 channels, not a multiple of 16"),
    *blocks("SpaceToDepth", space_to_depth, (2, 2, 4, 6), "6 rows, not a multiple of 4"),
    *REVERSE,
]
