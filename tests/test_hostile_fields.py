"""Every field of every message in turn: text that is not UTF-8, and numbers that no one means.

Protobuf does not mind, and hands out bytes for such a text.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest
from fuzz import check
from fuzz_seeds import Seed, handcrafted
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from onnx import MapProto, ModelProto, OptionalProto, SequenceProto

from minirt.data.containers import value_from_proto
from minirt.dtypes import BY_NAME
from minirt.errors import MinirtError
from minirt.ops.schemas import find_schema
from minirt.types import MapType, OptionalType, SequenceType, TensorType

MARK, WRONG = "REPLACED", b"\xff\xfe\xc3(\xa0\xa1\x80\xbf"

FLOAT = TensorType(BY_NAME["float"])


def messages(message: Message, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple, Message]]:
    """``message`` and those in it, each with the fields that lead to it."""
    yield path, message
    for field, content in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for item in content if field.is_repeated else [content]:
                yield from messages(item, (*path, field.name))


def fields(descriptor: Descriptor, *types: int) -> list[FieldDescriptor]:
    return [f for f in descriptor.fields if f.type in types]


TEXTS = (FieldDescriptor.TYPE_STRING,)
INTEGERS = (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64)


def cases(types: tuple[int, ...], content: str | int) -> dict[str, Seed]:
    """Each place of such a field in the models once, with other contents there."""
    found: dict[str, Seed] = {}
    for seed in handcrafted():
        model = ModelProto.FromString(seed.model)
        for path, message in messages(model):
            for field in fields(message.DESCRIPTOR, *types):
                place = ".".join([*path, field.name])
                if place not in found:
                    data = damaged(model, message, field, content).replace(MARK.encode(), WRONG)
                    found[place] = Seed(seed.name, data, seed.files)
    return found


def damaged(model: Message, message: Message, field: FieldDescriptor, content: str | int) -> bytes:
    """The bytes of ``model`` with ``content`` in a field of ``message``, which is in it."""
    before = type(message)()
    before.CopyFrom(message)
    message.ClearField(field.name)
    if field.is_repeated:
        getattr(message, field.name).extend([*getattr(before, field.name)[1:], content])
    else:
        setattr(message, field.name, content)
    data = model.SerializeToString()
    message.CopyFrom(before)
    return data


WITH_WRONG_TEXT = cases(TEXTS, MARK)
NUMBERS = (0, -1, 2**31 - 1, -(2**31), 2**31, 2**62, 2**63 - 1, -(2**63))
WITH_NUMBERS = {
    f"{place}={number}": seed
    for number in NUMBERS
    for place, seed in cases(INTEGERS[number.bit_length() > 31 :], number).items()
}

OUTCOMES = {
    "loads", "runs", "ParseError", "SchemaError", "ShapeError", "UnsupportedError", "InputError"
}  # fmt: skip


@pytest.mark.parametrize("types", [TEXTS, INTEGERS])
def test_every_field_of_a_model_is_among_the_cases(types):
    pending, known = [ModelProto.DESCRIPTOR], set()
    for descriptor in pending:
        if descriptor.full_name not in known:
            known.add(descriptor.full_name)
            pending += [f.message_type for f in descriptor.fields if f.message_type]
    wanted = {(d.name, f.name) for d in pending for f in fields(d, *types)}
    found = {
        (message.DESCRIPTOR.name, field.name)
        for seed in handcrafted()
        for _, message in messages(ModelProto.FromString(seed.model))
        for field in fields(message.DESCRIPTOR, *types)
    }
    assert found >= wanted


@pytest.fixture
def without_kernels(monkeypatch):
    monkeypatch.setattr("minirt.kernels.convert", lambda *_, **__: lambda source, target: None)


@pytest.mark.parametrize("place", WITH_WRONG_TEXT)
def test_text_that_is_not_utf8(place, tmp_path, without_kernels):
    assert WRONG in WITH_WRONG_TEXT[place].model
    assert check(WITH_WRONG_TEXT[place], tmp_path) in OUTCOMES


@pytest.mark.parametrize("place", WITH_NUMBERS)
def test_numbers_that_no_one_means(place, tmp_path, without_kernels):
    assert check(WITH_NUMBERS[place], tmp_path) in OUTCOMES


def test_schemas_of_an_opset_beyond_what_onnx_can_be_asked_for():
    assert find_schema("", "Cast", 2**31 - 1) is not None
    assert find_schema("", "Cast", 2**31) is None


@pytest.mark.parametrize("number", [n for n in NUMBERS if n > 28])
@pytest.mark.parametrize("name", ["casts", "functions", "subgraphs", "old"])
def test_opsets_that_no_one_means(name, number, tmp_path):
    seed = next(seed for seed in handcrafted() if seed.name == name)
    model = ModelProto.FromString(seed.model)
    for item in model.opset_import:
        item.version = number
    outcome = check(replace(seed, model=model.SerializeToString()), tmp_path)
    assert outcome == "UnsupportedError"


@pytest.mark.parametrize(
    ("message", "type_"),
    [
        (SequenceProto(name=MARK, elem_type=1), SequenceType(FLOAT)),
        (OptionalProto(name=MARK, elem_type=1), OptionalType(FLOAT)),
        (MapProto(name=MARK, key_type=8, string_keys=[b"a"]), MapType(BY_NAME["string"], FLOAT)),
        (MapProto(key_type=8, string_keys=[MARK.encode()]), MapType(BY_NAME["string"], FLOAT)),
    ],
    ids=["sequence", "optional", "map", "keys"],
)
def test_values_with_text_that_is_not_utf8(message, type_):
    data = message.SerializeToString().replace(MARK.encode(), WRONG)
    try:
        assert value_from_proto(data, type_) in ([], None, {})
    except MinirtError as error:
        assert str(error).isprintable()


def test_protobuf_without_c():
    """It refuses such texts when it reads them, by an exception of Python's."""
    (data, *_) = [seed.model for seed in WITH_WRONG_TEXT.values()]
    script = (
        "import sys, minirt\n"
        "for read in (minirt.load, minirt.infer):\n"
        "    try: read(sys.stdin.buffer.read() or b'\\xff')\n"
        "    except minirt.ParseError as error: print(error)"
    )
    environment = os.environ | {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, input=data, capture_output=True, env=environment)
    message = "the model is not an ONNX model; it is cut off or damaged"
    assert (done.stdout.decode().splitlines(), done.stderr) == ([message] * 2, b"")
