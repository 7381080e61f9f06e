"""What the fuzzers start from: valid models, with the files that belong to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper
from protos import graph, model, node, value

from minirt.data.containers import value_to_proto
from minirt.data.sparse import SparseTensor, sparse_to_proto
from minirt.data.tensors import to_proto
from minirt.dtypes import BY_NAME, TABLE, Kind
from minirt.types import MapType, OptionalType, SequenceType, SparseTensorType, TensorType, Type

__all__ = ["Seed", "handcrafted", "read_seed"]

FLOAT, INT64, STRING = (BY_NAME[name] for name in ("float", "int64", "string"))


@dataclass(frozen=True)
class Seed:
    """A folder: the contents of ``model.onnx``, and of other files by their path in it."""

    name: str
    model: bytes
    files: dict[str, bytes] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Write it below ``folder``; the path of the model."""
        for name, data in {**self.files, "model.onnx": self.model}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return folder / "model.onnx"


def read_seed(folder: Path) -> Seed:
    """What is in ``folder``, which has a ``model.onnx``."""
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return Seed(folder.name, files.pop("model.onnx"), files)


def handcrafted() -> Iterator[Seed]:
    """Small models that between them have everything that a file can have."""
    for name, proto in {
        "casts": _casts(),
        "functions": _functions(),
        "subgraphs": _subgraphs(),
        "sparse": _sparse(),
        "attributes": _attributes(),
        "described": _described(),
        "old": _old(),
        "opaque": _opaque(),
    }.items():
        yield Seed(name, proto.SerializeToString())
    yield from _every_type()
    yield _external()
    yield from _containers()
    yield _data_set()


def _casts() -> onnx.ModelProto:
    return model(
        [
            node("Cast", "x", "h", "narrow", to=TensorProto.FLOAT16, saturate=0),
            node("CastLike", "h k", "y"),
            node("Cast", "y", "s", to=TensorProto.STRING),
            node("Cast", "t", "n", to=TensorProto.INT32),
            node("Identity", "n", "z"),
        ],
        [value("x", 1, ["N", 3]), value("k", 1, []), value("t", TensorProto.STRING, ["N"])],
        [value("s", TensorProto.STRING, ["N", 3]), "z"],
        initializer=[helper.make_tensor("k", 1, [], [2.0])],
        opsets={"": 25},
    )


def _functions() -> onnx.ModelProto:
    cast = helper.make_node("Cast", ["a"], ["b"])
    cast.attribute.add(name="to", ref_attr_name="to", type=AttributeProto.INT)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("local", 1)]
    inner = helper.make_function("local", "F", ["a"], ["b"], [cast], opsets, ["to"])
    inner.attribute_proto.append(helper.make_attribute("unused", 1.5))
    calls = [node("F", "p", "q", domain="local", to=10), node("Identity", "q", "r")]
    outer = helper.make_function("local", "G", ["p", "o"], ["r", "p"], calls, opsets)
    outer.overload = "two"
    branch = helper.make_node("If", ["c"], ["d"], then_branch=graph([], [], ["c"]))
    branch.attribute.add(name="else_branch", ref_attr_name="g", type=AttributeProto.GRAPH)
    choice = helper.make_function("local", "H", ["c"], ["d"], [branch], opsets, ["g"])
    call = node("G", "x", "y z", domain="local")
    call.overload = "two"
    body = graph([node("Identity", "c", "e")], [], ["e"])
    return model(
        [call, node("H", "c", "w", domain="local", g=body)],
        ["x", value("c", TensorProto.BOOL, [])],
        ["y", "z"],
        functions=[inner, outer, choice],
        opsets={"": 21, "local": 1},
    )


def _subgraphs() -> onnx.ModelProto:
    inner = graph([node("Identity", "x", "i")], [], ["i"], initializer=[_tensor("u")])
    body = graph(
        [
            node("If", "c", "t", then_branch=inner, else_branch=graph([], [], ["w"])),
            node("Loop", "n c t", "l", body=graph([], ["i", "c", "t"], ["c", "t"])),
        ],
        ["step"],
        ["l"],
        initializer=[_tensor("w")],
    )
    many = helper.make_node("Cases", ["x"], ["v"], domain="vendor", cases=[inner, body])
    return model(
        [many, node("Scan", "x", "y", num_scan_inputs=1, body=body)],
        ["x", value("c", TensorProto.BOOL, []), value("n", TensorProto.INT64, [])],
        ["y"],
        opsets={"": 21, "vendor": 2},
    )


def _sparse() -> onnx.ModelProto:
    values, where = np.array([3, 4], np.float32), np.array([1, 3], np.int64)
    flat = sparse_to_proto(SparseTensor(values, where, (5,)), FLOAT, "flat")
    grid = SparseTensor(values, np.array([[0, 1], [1, 2]]), (2, 3))
    texts = SparseTensor(np.array(["a", "b"], object), where, (2, 2))
    return model(
        [
            node("Constant", "", "k", sparse_value=sparse_to_proto(grid, FLOAT)),
            node("Cast", "flat", "y", to=TensorProto.DOUBLE),
            node("Cast", "names", "z", to=TensorProto.BOOL),
        ],
        [],
        ["k", "y", "z"],
        sparse_initializer=[flat, sparse_to_proto(texts, STRING, "names")],
    )


def _attributes() -> onnx.ModelProto:
    type_ = helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, ["N", None, 3]))
    kinds = {"f": 1.0, "i": -1, "s": "text", "t": _tensor("t"), "floats": [1.0, 2.0]}
    lists = {"ints": [1, 2], "strings": ["a", "b"], "tensors": [_tensor("t")] * 2}
    types = {"type": type_, "types": [type_, type_], "g": graph([], [], [])}
    return model(
        [
            node("Everything", "x", "y", domain="vendor", **kinds, **lists, **types),
            node("Constant", "", "a", value_ints=[1, 2, 3]),
            node("Constant", "", "b", value_strings=["one", "two"]),
            node("Constant", "", "c", value_float=0.1),
        ],
        ["x"],
        ["a", "b", "c"],
        opsets={"": 21, "vendor": 1},
    )


def _described() -> onnx.ModelProto:
    proto = model(
        [node("Identity", "x", "y", "only")],
        [value("x", 1, ["N", 2])],
        [value("y", 1, ["N", None])],
        value_info=[value("gone", 1, [1])],
    )
    proto.producer_name, proto.producer_version, proto.model_version = "maker", "1.0", 7
    proto.domain, proto.doc_string = "org.example", "A model."
    helper.set_model_props(proto, {"license": "none", "long": "x" * 50})
    proto.graph.doc_string = proto.graph.node[0].doc_string = "Some text."
    proto.graph.input[0].doc_string = "The input."
    proto.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    annotation = proto.graph.quantization_annotation.add(tensor_name="y")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    proto.graph.node[0].metadata_props.add(key="k", value="v")
    proto.training_info.add().algorithm.name = "adam"
    proto.configuration.add(name="two", num_devices=2, device=["cpu:0", "cpu:1"])
    devices = proto.graph.node[0].device_configurations.add(configuration_id="two")
    sharding = devices.sharding_spec.add(tensor_name="x", device=[0, 1])
    sharding.index_to_device_group_map.add(key=0, value=[0, 1])
    sharding.sharded_dim.add(axis=0).simple_sharding.add(dim_param="N", num_shards=2)
    return proto


def _opaque() -> onnx.ModelProto:
    """Of a type that no one knows, with a part of a tensor."""
    info = onnx.ValueInfoProto(name="x")
    info.type.opaque_type.domain, info.type.opaque_type.name = "org.example", "Image"
    part = _tensor("w")
    part.segment.begin, part.segment.end = 0, 2
    return model([], [info], ["x"], initializer=[part])


def _old() -> onnx.ModelProto:
    """IR version 3: initializers are inputs; Cast-1 names the type; an untyped attribute."""
    proto = model(
        [node("Cast", "x", "y", to="FLOAT16"), node("Softmax", "w", "z", axis=0)],
        ["x", value("w", 1, [2])],
        ["y"],
        initializer=[_tensor("w")],
        opsets={"": 5},
        ir_version=3,
    )
    proto.graph.node[0].attribute[0].ClearField("type")
    return proto


def _every_type() -> Iterator[Seed]:
    """An initializer of each element type, in ``raw_data`` and in its typed field."""
    for dtype in TABLE:
        codes = np.zeros(5, dtype.storage)
        if dtype.kind is Kind.STRING:
            codes = np.array(["", "a", "é", "1e5", "\U0001f600"], object)
        raw = to_proto(codes, dtype, "raw")
        typed = TensorProto(name="typed", data_type=dtype.code, dims=[3])
        count = {Kind.COMPLEX: 6}.get(dtype.kind, 3)
        count = dtype.packed_size(3) if dtype.bits in (2, 4) else count
        entry = b"x" if dtype.kind is Kind.STRING else 1
        getattr(typed, dtype.proto_field).extend([entry] * count)
        alike = [node("CastLike", "raw typed", "y")] if dtype.kind is not Kind.COMPLEX else []
        proto = model(
            alike,
            [value("x", dtype.code, ["N", 5])],
            ["x", "raw", "typed"],
            initializer=[raw, typed],
            opsets={"": 28},
            ir_version=14,
        )
        yield Seed(f"type_{dtype}", proto.SerializeToString())


def _external() -> Seed:
    tensors = []
    entries = {"offset": "8", "length": "12", "checksum": "0" * 40}
    for name, keys in {"w": ["offset", "length"], "v": ["offset"], "u": []}.items():
        tensor = TensorProto(name=name, data_type=1, dims=[3])
        tensor.data_location = TensorProto.EXTERNAL
        for key in ("location", *keys):
            tensor.external_data.add(key=key, value=entries.get(key, "weights/w.bin"))
        tensors.append(tensor)
    nodes = [node("Cast", "w", "y", to=TensorProto.INT8)]
    proto = model(nodes, [], ["y", "v"], initializer=tensors)
    return Seed("external", proto.SerializeToString(), {"weights/w.bin": bytes(range(48))})


def _containers() -> Iterator[Seed]:
    """Inputs of every kind of type, with a data set of values of it."""
    one, tensor = np.array([1, 2], np.float32), TensorType(FLOAT, (2,))
    sparse = SparseTensor(one, np.array([0, 2]), (4,))
    cases: dict[str, tuple[Type, object]] = {
        "sequence": (SequenceType(tensor), [one, one]),
        "nested": (SequenceType(SequenceType(tensor)), [[one], []]),
        "optional": (OptionalType(tensor), one),
        "map": (MapType(INT64, tensor), {1: one, -2: one}),
        "texts": (MapType(STRING, SequenceType(tensor)), {"a": [one]}),
        "sparse_value": (SparseTensorType(FLOAT, (4,)), sparse),
    }
    for name, (type_, content) in cases.items():
        info = helper.make_value_info("x", _type_proto(type_))
        proto = model([], [info], [info], opsets={"": 25})
        data = value_to_proto(content, type_).SerializeToString()
        files = {f"test_data_set_0/{end}_0.pb": data for end in ("input", "output")}
        yield Seed(name, proto.SerializeToString(), files)


def _type_proto(type_: Type) -> onnx.TypeProto:
    match type_:
        case TensorType(dtype=dtype, shape=shape):
            return helper.make_tensor_type_proto(dtype.code, shape)
        case SparseTensorType(dtype=dtype, shape=shape):
            return helper.make_sparse_tensor_type_proto(dtype.code, shape)
        case SequenceType(element=element):
            return helper.make_sequence_type_proto(_type_proto(element))
        case OptionalType(element=element):
            return helper.make_optional_type_proto(_type_proto(element))
    return helper.make_map_type_proto(type_.key.code, _type_proto(type_.element))


def _data_set() -> Seed:
    """A test directory, whose output is wrong by little."""
    proto = model(
        [node("Cast", "x", "y", to=TensorProto.INT8)],
        [value("x", 1, [3])],
        [value("y", TensorProto.INT8, [3])],
    )
    x, y = np.array([1.5, -2, 100], np.float32), np.array([1, -2, 101], np.int8)
    files = {
        "test_data_set_0/input_0.pb": to_proto(x, FLOAT, "x").SerializeToString(),
        "test_data_set_0/output_0.pb": to_proto(y, BY_NAME["int8"], "y").SerializeToString(),
        "data.json": b'{"rtol": 0.001, "atol": 1e-07}',
    }
    return Seed("data_set", proto.SerializeToString(), files)


def _tensor(name: str) -> TensorProto:
    return helper.make_tensor(name, 1, [2], [1.0, 2.0])
