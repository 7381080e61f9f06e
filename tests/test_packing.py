"""Packed bytes, against bytes worked out by hand and a bit-by-bit oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirt.data import packing
from minirt.data.packing import pack, unpack
from minirt.dtypes import BY_NAME
from minirt.errors import ParseError

#: The specification's formulas and published examples: codes and the bytes they become.
CASES = [
    ("int4", [1, 8, 7], "81 07"),  # 1, -8, 7
    ("int4", [0, 15], "f0"),
    ("uint4", [15], "0f"),
    ("uint4", [1, 2, 3, 4], "21 43"),
    ("float4e2m1", [1, 15, 3], "f1 03"),  # 0.5, -6, 1.5
    ("uint2", [3, 0, 2, 1, 3], "63 03"),
    ("int2", [2, 3, 0, 1], "4e"),  # -2, -1, 0, 1
    ("int2", [2], "02"),
    ("float6e2m3", [1, 8, 31, 33, 22], "01 f2 85 16"),
    ("float6e2m3", [63], "3f"),
    ("float6e3m2", [63, 63], "ff 0f"),
    ("float6e3m2", [0, 0, 63], "00 f0 03"),
    ("float6e3m2", [0, 0, 0, 63], "00 00 fc"),
    ("float6e2m3", [], ""),
]

PACKED = ["uint2", "int2", "uint4", "int4", "float4e2m1", "float6e2m3", "float6e3m2"]


def bits_to_bytes(codes: list[int], bits: int) -> bytes:
    """All codes as one long binary number, the first code in its lowest bits."""
    number = sum(code << (bits * i) for i, code in enumerate(codes))
    return number.to_bytes(-(-len(codes) * bits // 8), "little")


@pytest.mark.parametrize(("name", "codes", "data"), CASES)
def test_bytes_of_known_codes(name, codes, data):
    dtype = BY_NAME[name]
    packed = pack(np.array(codes, np.uint8), dtype)
    assert packed.tobytes() == bytes.fromhex(data)
    assert packed.dtype == np.uint8
    assert unpack(bytes.fromhex(data), dtype, len(codes)).tolist() == codes


@pytest.mark.parametrize("name", PACKED)
@given(data=st.data())
def test_any_codes_as_the_oracle_packs_them(name, data):
    dtype = BY_NAME[name]
    codes = data.draw(st.lists(st.integers(0, dtype.code_mask), max_size=70))
    expected = bits_to_bytes(codes, dtype.bits)
    assert pack(np.array(codes, np.uint8), dtype).tobytes() == expected
    assert unpack(expected, dtype, len(codes)).tolist() == codes


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("extra", [-5, -1, 0, 1, 2, 3, 2 * packing._BLOCK + 7])
def test_lengths_around_the_block(name, extra):
    dtype = BY_NAME[name]
    rng = np.random.default_rng(extra + 5)
    block = packing._BLOCK // 4 * dtype.pack_group
    codes = rng.integers(0, dtype.code_mask + 1, block + extra).astype(np.uint8)
    bits = np.unpackbits(codes[:, None], axis=1, count=dtype.bits, bitorder="little")
    expected = np.packbits(bits.ravel(), bitorder="little")
    assert np.array_equal(pack(codes, dtype), expected)
    assert np.array_equal(unpack(expected, dtype, codes.size), codes)


@pytest.mark.parametrize("name", PACKED)
def test_bits_above_the_width_are_ignored(name):
    dtype = BY_NAME[name]
    codes = np.arange(256, dtype=np.uint8)
    assert np.array_equal(pack(codes, dtype), pack(codes & dtype.code_mask, dtype))


@pytest.mark.parametrize("name", PACKED)
def test_what_follows_the_last_code_is_ignored(name):
    dtype = BY_NAME[name]
    for count in range(9):
        assert unpack(b"\xff" * 9, dtype, count).tolist() == [dtype.code_mask] * count
        padded = pack(np.full(count, dtype.code_mask, np.uint8), dtype)
        assert int.from_bytes(padded.tobytes(), "little") == 2 ** (dtype.bits * count) - 1


@pytest.mark.parametrize("name", PACKED)
def test_any_shape_and_layout_is_taken_in_c_order(name):
    dtype = BY_NAME[name]
    codes = (np.arange(42, dtype=np.uint8) & dtype.code_mask).reshape(2, 3, 7)
    expected = bits_to_bytes(codes.ravel().tolist(), dtype.bits)
    assert pack(codes, dtype).tobytes() == expected
    assert pack(np.asfortranarray(codes), dtype).tobytes() == expected
    assert pack(codes[0, 0, 1], dtype).tobytes() == b"\x01"
    shifted = np.concatenate([[0], codes.ravel()]).astype(np.uint8)[1:]  # at an odd address
    assert pack(shifted, dtype).tobytes() == expected
    packed = np.concatenate([[0], np.frombuffer(expected, np.uint8)]).astype(np.uint8)[1:]
    assert np.array_equal(unpack(packed, dtype, 42), codes.ravel())


@pytest.mark.parametrize("name", PACKED)
def test_neither_way_writes_to_its_argument(name):
    dtype = BY_NAME[name]
    codes = np.arange(9, dtype=np.uint8) & dtype.code_mask
    codes.flags.writeable = False
    packed = pack(codes, dtype)
    packed.flags.writeable = False
    codes_again = unpack(packed, dtype, 9)
    assert codes_again.flags.writeable
    assert np.array_equal(codes_again, codes)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda b: np.frombuffer(b, "u1")])
def test_any_buffer_unpacks(kind):
    assert unpack(kind(b"\x63\x03"), BY_NAME["uint2"], 5).tolist() == [3, 0, 2, 1, 3]


def test_too_little_data():
    with pytest.raises(ParseError) as caught:
        unpack(b"\x81", BY_NAME["int4"], 3)
    assert str(caught.value) == "3 elements of int4 take 2 bytes, not 1"
