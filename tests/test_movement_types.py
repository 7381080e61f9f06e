"""What is known of shapes before a run: symbols go through what only moves elements."""

from __future__ import annotations

import pytest

import minirt
from minirt.errors import ShapeError
from models import model

#: Inputs, the initializers that decide shapes, the node, and the types of its outputs.
TYPES = [
    # Reshape
    ("float[N,3,4] x", "int64[2] s = {0, -1}", "Reshape(x, s)", "float[N,12]"),
    ("float[N,3,4] x", "int64[2] s = {-1, 12}", "Reshape(x, s)", "float[N,12]"),
    ("float[N,3,4] x", "int64[2] s = {-1, 6}", "Reshape(x, s)", "float[?,6]"),
    ("float[N,3,4] x", "int64[1] s = {-1}", "Reshape(x, s)", "float[?]"),
    ("float[N,M,4] x", "int64[3] s = {0, 4, -1}", "Reshape(x, s)", "float[N,4,M]"),
    ("float[N,M,4] x", "int64[2] s = {-1, 4}", "Reshape(x, s)", "float[?,4]"),
    ("float[N,3,4] x", "int64[2] s = {5, 7}", "Reshape(x, s)", "float[5,7]"),
    ("float[] x, int64[3] s", "", "Reshape(x, s)", "float[?,?,?]"),
    ("float[2] x, int64[N] s", "", "Reshape(x, s)", "float[...]"),
    # Flatten
    ("float[N,3,4] x", "", "Flatten(x)", "float[N,12]"),
    ("float[N,3,4] x", "", "Flatten<axis=-1>(x)", "float[?,4]"),
    ("float[N,3,4] x", "", "Flatten<axis=0>(x)", "float[1,?]"),
    # Squeeze and Unsqueeze
    ("float[1,N,1] x", "int64[2] a = {0, -1}", "Squeeze(x, a)", "float[N]"),
    ("float[N,3] x", "int64[1] a = {0}", "Squeeze(x, a)", "float[3]"),
    ("float[1,3] x", "", "Squeeze(x)", "float[3]"),
    ("float[1,N] x", "", "Squeeze(x)", "float[...]"),
    ("float[1,N,3] x, int64[2] a", "", "Squeeze(x, a)", "float[?]"),
    ("float[N] x, int64[M] a", "", "Squeeze(x, a)", "float[...]"),
    ("float[N] x", "int64[2] a = {0, -1}", "Unsqueeze(x, a)", "float[1,N,1]"),
    ("float[N] x, int64[2] a", "", "Unsqueeze(x, a)", "float[?,?,?]"),
    ("float[N] x, int64[M] a", "", "Unsqueeze(x, a)", "float[...]"),
    # Transpose
    ("float[N,3,M] x", "", "Transpose(x)", "float[M,3,N]"),
    ("float[N,3,M] x", "", "Transpose<perm=[1,0,2]>(x)", "float[3,N,M]"),
    # Concat
    ("float[N,3] x, float[N,4] y", "", "Concat<axis=1>(x, y)", "float[N,7]"),
    ("float[N,3] x, float[M,3] y", "", "Concat<axis=0>(x, y)", "float[?,3]"),
    ("float[N,3] x, float[0,3] y", "", "Concat<axis=0>(x, y)", "float[N,3]"),
    ("float[N,3] x, float[2,4] y", "", "Concat<axis=1>(x, y)", "float[2,7]"),
    ("float[?,3] x, float[N,3] y", "", "Concat<axis=-1>(x, y)", "float[N,6]"),
    # Split
    ("float[N,6] x", "int64[2] s = {2, 4}", "Split<axis=1>(x, s)", "float[N,2] float[N,4]"),
    ("float[N,6] x", "int64[2] s = {2, 4}", "Split(x, s)", "float[2,6] float[4,6]"),
    ("float[N,6] x, int64[2] s", "", "Split<axis=1>(x, s)", "float[N,?] float[N,?]"),
    ("float[N,6] x, int64[M] s", "", "Split<axis=1>(x, s)", "float[N,?] float[N,?]"),
    ("float[N,7] x", "", "Split<axis=1,num_outputs=2>(x)", "float[N,4] float[N,3]"),
    ("float[N,7] x", "", "Split<num_outputs=2>(x)", "float[?,7] float[?,7]"),
    ("float[N,7] x", "", "Split<num_outputs=1>(x)", "float[N,7]"),
    # Slice
    ("float[N,6] x", "int64[1] s = {0}, int64[1] e = {9223372036854775807}", "Slice(x, s, e)",
     "float[N,6]"),
    ("float[N,6] x", "int64[1] s = {0}, int64[1] e = {2147483647}", "Slice(x, s, e)",
     "float[N,6]"),
    ("float[N,6] x", "int64[1] s = {0}, int64[1] e = {3}", "Slice(x, s, e)", "float[?,6]"),
    ("float[N,6] x", "int64[1] s = {1}, int64[1] e = {2147483647}", "Slice(x, s, e)",
     "float[?,6]"),
    ("float[N,6] x", "int64[1] s = {1}, int64[1] e = {3}, int64[1] a = {-1}", "Slice(x, s, e, a)",
     "float[N,2]"),
    ("float[N,6] x", "int64[1] s = {-1}, int64[1] e = {-2147483648}, int64[1] a = {0}, "
     "int64[1] t = {-1}", "Slice(x, s, e, a, t)", "float[N,6]"),
    ("float[N,6] x, int64[1] s", "int64[1] e = {3}, int64[1] a = {1}", "Slice(x, s, e, a)",
     "float[N,?]"),
    ("float[N,6] x, int64[1] s, int64[1] e", "", "Slice(x, s, e)", "float[?,6]"),
    ("float[N,6] x, int64[K] s, int64[K] e", "", "Slice(x, s, e)", "float[?,?]"),
    ("float[N,6] x, int64[1] a", "int64[1] s = {0}, int64[1] e = {3}", "Slice(x, s, e, a)",
     "float[?,?]"),
    # Pad
    ("float[N,3] x", "int64[4] p = {0, 1, 0, 2}", "Pad(x, p)", "float[N,6]"),
    ("float[N,3] x", "int64[4] p = {1, 0, 0, 0}", "Pad(x, p)", "float[?,3]"),
    ("float[N,3] x, int64[4] p", "", "Pad(x, p)", "float[?,?]"),
    ("float[] x, int64[4] p", "", "Pad(x, p)", "float[?,?]"),
    ("float[N,3] x, int64[2] p", "int64[1] a = {1}", "Pad(x, p, , a)", "float[N,?]"),
    ("float[N,3] x", "int64[1] s = {5}", "CenterCropPad<axes=[0]>(x, s)", "float[5,3]"),
    ("float[N,3] x, int64[2] s", "", "CenterCropPad(x, s)", "float[?,?]"),
    # Tile and Expand
    ("float[N,3] x", "int64[2] r = {1, 2}", "Tile(x, r)", "float[N,6]"),
    ("float[N,3] x", "int64[2] r = {2, 1}", "Tile(x, r)", "float[?,3]"),
    ("float[N,3] x", "int64[2] r = {0, 1}", "Tile(x, r)", "float[0,3]"),
    ("float[N,3] x, int64[2] r", "", "Tile(x, r)", "float[?,?]"),
    ("float[] x, int64[2] r", "", "Tile(x, r)", "float[?,?]"),
    ("float[N,1] x", "int64[3] s = {2, 1, 4}", "Expand(x, s)", "float[2,N,4]"),
    ("float[N,1] x, int64[3] s", "", "Expand(x, s)", "float[?,?,?]"),
    ("float[N,1] x, int64[K] s", "", "Expand(x, s)", "float[...]"),
    # the others
    ("float[N,8,H,W] x", "", "DepthToSpace<blocksize=2>(x)", "float[N,2,?,?]"),
    ("float[N,C,4,W] x", "", "SpaceToDepth<blocksize=2>(x)", "float[N,?,2,?]"),
    ("float[N,C,4,W] x", "", "SpaceToDepth<blocksize=1>(x)", "float[N,C,4,W]"),
    ("float[] x", "", "DepthToSpace<blocksize=2>(x)", "float[?,?,?,?]"),
    ("float[T,N] x, int64[N] l", "", "ReverseSequence(x, l)", "float[T,N]"),
    ("float[N,M] x", "", "Trilu(x)", "float[N,M]"),
    ("float[N] x", "", "BitCast<to=6>(x)", "int32[N]"),
    ("float[N,3] x", "", "Shape(x)", "int64[2]"),
    ("float[] x", "", "Shape(x)", "int64[?]"),
    ("float[] x", "", "Size(x)", "int64[]"),
]  # fmt: skip


@pytest.mark.parametrize(("inputs", "constants", "node", "expected"), TYPES)
def test_symbols(inputs, constants, node, expected):
    outputs = expected.split()
    names = [f"y{i}" for i in range(len(outputs))]
    declared = ", ".join(f"{t.split('[')[0]}[] {n}" for t, n in zip(outputs, names, strict=True))
    proto = model(
        inputs, declared, f"{', '.join(names)} = {node}", initializers=constants, opset=26
    )
    assert [str(value.type) for value in minirt.infer(proto).outputs] == outputs


def test_a_shape_of_which_a_part_is_known_is_a_constant():
    body = "s = Shape<start=1>(x)  y = Reshape(w, s)"
    proto = model("float[N,3,4] x, float[12] w", "float[] y", body)
    assert str(minirt.infer(proto).outputs[0].type) == "float[3,4]"


@pytest.mark.parametrize(
    ("inputs", "constants", "node", "message"),
    [
        ("float[N,3] x", "int64[2] s = {0, 2}", "Reshape<allowzero=1>(x, s)", None),
        ("float[N,3] x", "int64[2] s = {0, 5}", "Reshape(x, s)", None),
        ("float[N,3] x", "int64[3] s = {0, 2, -1}", "Reshape(x, s)", "a multiple of 2 elements"),
        ("float[N,3] x, float[N,4] w", "", "Concat<axis=0>(x, w)", "do not fit together"),
        ("float[N,3] x", "int64[2] s = {1, 1}", "Split<axis=1>(x, s)", "split=[1, 1] does not"),
        ("float[N,3] x", "int64[4] p = {0, 0, 0, -4}", "Pad(x, p)", "pads 0 and -4 cut off more"),
        ("float[N,3] x", "int64[2] s = {1, 4}", "Expand(x, s)", "cannot be broadcast"),
        ("float[N,3] x", "int64[1] a = {1}", "Squeeze(x, a)", "has size 3, not 1"),
        ("float[N,3,4,4] x", "", "DepthToSpace<blocksize=2>(x)", "3 channels, not a multiple of 4"),
    ],
)
def test_what_is_wrong_whatever_the_symbols_are(inputs, constants, node, message):
    proto = model(inputs, "float[] y", f"y{', z' * ('Split' in node)} = {node}", opset=26,
                  initializers=constants)  # fmt: skip
    if message is None:
        minirt.infer(proto)
        return
    with pytest.raises(ShapeError) as error:
        minirt.infer(proto)
    assert message in str(error.value)
