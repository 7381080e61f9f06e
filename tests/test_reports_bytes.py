"""Tensors in files that public runtimes got wrong and their users reported, by their numbers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from conformance_data import cast_model, halves_as_uint16, write_case
from onnx import TensorProto, helper, numpy_helper
from protos import model, node, value

import minirt
from minirt.conformance import find_cases, run_case
from minirt.data.packing import pack
from minirt.data.tensors import from_proto, to_proto, to_public, to_storage
from minirt.dtypes import BY_NAME, TABLE, Kind
from models import session

# For each type codes, and the bytes that hold them: low bits first, the last filled with zeros.
PACKED = {
    "int4": ([1, 8, 7, 15, 0], "81f700"),
    "uint4": ([3, 15, 9, 0, 1], "f30901"),
    "float4e2m1": ([1, 15, 3, 7, 8], "f17308"),
    "int2": ([2, 3, 0, 1, 2], "4e02"),
    "uint2": ([3, 0, 2, 1, 3], "6303"),
}


@pytest.mark.parametrize(("name", "codes", "data"), [(n, *c) for n, c in PACKED.items()])
def test_b071_packed_elements_are_the_same_in_both_fields(name, codes, data):
    code, raw = BY_NAME[name].code, bytes.fromhex(data)
    for payload in ({"raw_data": raw}, {"int32_data": list(raw)}):
        array = from_proto(TensorProto(data_type=code, dims=[5], **payload))
        assert (array.shape, array.tolist()) == ((5,), codes)


@pytest.mark.parametrize(
    ("values", "name", "data"),
    [
        ([1, -8, 7], "int4", "8107"),
        ([0.5, -6, 1.5], "float4e2m1", "f103"),
        ([3, 0, 2, 1, 3], "uint2", "6303"),
        ([-2, -1, 0, 1], "int2", "4e"),
    ],
)
def test_b072_an_odd_number_of_packed_elements(values, name, data):
    dtype = BY_NAME[name]
    storage = to_storage(np.array(values).astype(dtype.public), dtype)
    assert pack(storage, dtype).tobytes().hex() == data


@pytest.mark.parametrize("name", ["int8", "float16", "bool", "bfloat16", "float8e5m2"])
def test_b074_narrow_elements_are_one_an_entry(name):
    tensor = TensorProto(data_type=BY_NAME[name].code, dims=[32], int32_data=[0] * 4)
    with pytest.raises(minirt.ParseError, match=r"\[32\], 32 elements, but int32_data has 4$"):
        from_proto(tensor)


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ([128], r"declares int8\[128\], 128 elements, but it has no data"),
        ([2], r"declares int8\[2\], 2 bytes, but raw_data has 1"),
        ([-1], r"declares int8\[-1\]; a dimension is not negative"),
        ([-1, -1], r"declares int8\[-1,-1\]; a dimension is not negative"),
        ([-(2**63), 0], r"; a dimension is not negative"),
    ],
)
def test_b075_dimensions_are_not_trusted(dims, message):
    payload = {} if dims == [128] else {"raw_data": b"\0"}
    with pytest.raises(minirt.ParseError, match=message):
        from_proto(TensorProto(data_type=TensorProto.INT8, dims=dims, **payload))


def test_b077_a_packed_constant():
    tensor = TensorProto(data_type=TensorProto.UINT2, dims=[5], raw_data=b"\x63\x03")
    nodes = [node("Constant", "", "k", value=tensor), node("Cast", "k", "y", to=TensorProto.UINT8)]
    proto = model(nodes, [], ["y", "k"], opsets={"": 25}, ir_version=13)
    y, k = minirt.run(proto, {})
    assert y.tolist() == [3, 0, 2, 1, 3]
    assert (k.dtype, k.astype(int).tolist()) == (ml_dtypes.uint2, [3, 0, 2, 1, 3])


@pytest.mark.parametrize("number", [float("inf"), float("nan"), 1e300, 9, 2**100])
def test_b079_numbers_that_small_integers_do_not_have(number):
    taker = session("int4[1] x", "int4[1] y", "y = Identity(x)")
    with pytest.raises(minirt.InputError, match="not exactly representable as int4"):
        taker.run([[number]])


def test_b079_casts_of_them():
    caster = session("float[3] x", "int4[3] y", "y = Cast<to=22>(x)")
    y = caster.run([np.array([np.inf, np.nan, 9], np.float32)])["y"]
    assert y.astype(int).tolist() == [0, 0, -7]


@pytest.mark.parametrize(
    ("name", "entries", "values"),
    [
        ("bool", [1, 0, 1], [1, 0, 1]),
        ("bool", [2, -1, 0], [1, 1, 0]),
        ("float16", [0x3C00], [1]),
        ("bfloat16", [0x3F80], [1]),
        ("float8e4m3fn", [0x38], [1]),
        ("int8", [-1, 255], [-1, -1]),
    ],
)
def test_b084_what_int32_data_holds(name, entries, values):
    dtype = BY_NAME[name]
    tensor = TensorProto(data_type=dtype.code, dims=[len(entries)], int32_data=entries)
    assert to_public(from_proto(tensor), dtype).astype(float).tolist() == values


def test_b087_six_bit_elements():
    dtype, codes = BY_NAME["float6e2m3"], [1, 8, 31, 33, 22]
    for payload in ({"raw_data": bytes.fromhex("01f28516")}, {"int32_data": codes}):
        tensor = TensorProto(data_type=dtype.code, dims=[5], **payload)
        values = to_public(from_proto(tensor), dtype).astype(float)
        assert values.tolist() == [0.125, 1, 7.5, -0.125, 3.5]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2,), (3,), (5,), (2, 0, 3)])
@pytest.mark.parametrize("dtype", [d for d in TABLE if d.kind is not Kind.STRING], ids=repr)
def test_b088_every_type_through_onnx_and_back(dtype, shape):
    count = int(np.prod(shape))
    codes = np.frombuffer(np.random.default_rng(1).bytes(16 * count), np.uint8)
    codes = codes[: count * dtype.storage.itemsize].view(dtype.storage).reshape(shape)
    if dtype.is_packed or dtype.kind is Kind.BOOL:
        codes = codes & np.uint8(min(dtype.code_mask, 1 if dtype.kind is Kind.BOOL else 255))
    written = numpy_helper.from_array(to_public(codes, dtype))
    for tensor in (written, to_proto(codes, dtype)):
        back = from_proto(TensorProto.FromString(tensor.SerializeToString()))
        assert (back.shape, back.tobytes()) == (shape, codes.tobytes())


def test_b089_bfloat16_bits_in_a_tensor_of_uint16(tmp_path):
    x = np.array([1, -2, 0.5], np.float32)
    bits = halves_as_uint16([0x3F80, 0xC000, 0x3F00])
    data = {"input_0": x, "output_0": bits}
    case = write_case(tmp_path / "old", cast_model("FLOAT", "BFLOAT16", 3), data)
    assert run_case(find_cases([case])[0]).bit_exact


@pytest.mark.parametrize(("raw", "truth"), [(b"\0", False), (b"\1", True)])
def test_b091_a_bool_without_dimensions(raw, truth):
    tensor = TensorProto(name="w", data_type=TensorProto.BOOL, dims=[], raw_data=raw)
    (w,) = minirt.run(model([], [], ["w"], initializer=[tensor]), {})
    assert (w.shape, w.dtype, bool(w)) == ((), np.bool_, truth)


def test_b092_an_operand_of_a_type_that_the_operator_does_not_have():
    """Reported of ConvInteger, which is yet to come; schemas are held against every operator."""
    proto = model([node("Identity", "x", "y", "copy")], [value("x", TensorProto.INT4, [2])], ["y"],
                  opsets={"": 19})  # fmt: skip
    with pytest.raises(minirt.SchemaError) as error:
        minirt.load(proto)
    assert str(error.value).startswith(
        "Identity 'copy' (node 0): input input is int4, but Identity-19 allows float, uint8, "
    )


def test_b094_a_type_that_came_later():
    info = helper.make_tensor_value_info("x", 99, [1])
    with pytest.raises(minirt.UnsupportedError) as error:
        minirt.load(model([], [info], ["x"]))
    assert "has element type 99, which neither minirt (it knows 1 to 28) nor onnx 1." in str(
        error.value
    )
