"""Text that is not UTF-8 in every field of every message: protobuf hands it out as bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fuzz import check
from fuzz_seeds import Seed, handcrafted
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from onnx import MapProto, ModelProto, OptionalProto, SequenceProto

from minirt.containers import value_from_proto
from minirt.dtypes import BY_NAME
from minirt.errors import MinirtError
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


def texts(descriptor: Descriptor) -> list[FieldDescriptor]:
    return [f for f in descriptor.fields if f.type == FieldDescriptor.TYPE_STRING]


def replacements() -> Iterator[tuple[str, bytes, Seed]]:
    """Each place of a text in the models once: its path, the damaged model, and its seed."""
    seen = set()
    for seed in handcrafted():
        model = ModelProto.FromString(seed.model)
        for path, message in messages(model):
            for field in texts(message.DESCRIPTOR):
                place = ".".join([*path, field.name])
                if place not in seen:
                    seen.add(place)
                    yield place, damaged(model, message, field), seed


def damaged(model: Message, message: Message, field: FieldDescriptor) -> bytes:
    """The bytes of ``model``, of which ``message`` is a part, with wrong text in one field."""
    before = type(message)()
    before.CopyFrom(message)
    message.ClearField(field.name)
    if field.is_repeated:
        getattr(message, field.name).extend([*getattr(before, field.name)[1:], MARK])
    else:
        setattr(message, field.name, MARK)
    data = model.SerializeToString().replace(MARK.encode(), WRONG)
    message.CopyFrom(before)
    return data


CASES = {place: Seed(seed.name, data, seed.files) for place, data, seed in replacements()}


def test_every_field_of_a_model_is_among_the_cases():
    pending, known = [ModelProto.DESCRIPTOR], set()
    for descriptor in pending:
        if descriptor.full_name not in known:
            known.add(descriptor.full_name)
            pending += [f.message_type for f in descriptor.fields if f.message_type]
    wanted = {(d.name, f.name) for d in pending for f in texts(d)}
    found = {
        (message.DESCRIPTOR.name, field.name)
        for seed in handcrafted()
        for _, message in messages(ModelProto.FromString(seed.model))
        for field in texts(message.DESCRIPTOR)
    }
    assert found >= wanted


@pytest.mark.parametrize("place", CASES)
def test_text_that_is_not_utf8(place, tmp_path, monkeypatch):
    monkeypatch.setattr("minirt.kernels.convert", lambda *_, **__: lambda source, target: None)
    assert WRONG in CASES[place].model
    assert check(CASES[place], tmp_path) in {
        "loads", "runs", "ParseError", "SchemaError", "UnsupportedError"
    }  # fmt: skip


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
