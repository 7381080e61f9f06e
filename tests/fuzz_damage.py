"""Ways to damage a model: its bytes, its protobuf structure, the files beside it.

Each takes a ``random.Random``, which may be one of Hypothesis, and returns the result. What
comes out is often still valid, and as often wrong in one place: bytes at random would hardly
ever get past the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from fuzz_seeds import Seed
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, EncodeError, Message
from onnx import ModelProto

__all__ = ["damaged"]

NUMBERS = (0, 1, 2, 3, 7, 16, 63, 64, 65, 255, 2**15, 2**31 - 1, 2**31, 2**32, 2**40)
INTEGERS = (*NUMBERS, 2**62, 2**63 - 1, *(-n for n in NUMBERS), -(2**63))
FLOATS = (0.0, -0.0, 0.5, 1e-45, 3e38, -1e308, float("inf"), float("nan"))
TEXTS = (
    "", "ai.onnx", "Cast", "Identity", "CastLike", "Constant", "If", "x", "y", "to", "value", "N",
    "../../etc/passwd", "/dev/zero", "weights/w.bin", "location", "offset", "\x1b[2J\n", "\0",
    "\u202e", "\U0001f600", "-1", "99999999999999999999", "x" * 300,
)  # fmt: skip
CHUNKS = (b"", b"\0", b"\xff", b"\xff" * 9 + b"\1", b"\x80\x80\x80\x80\x10", b"\x00" * 64)

Change = Callable[[Random, Any], None]


def damaged(random: Random, seeds: Sequence[Seed]) -> Seed:
    """One of ``seeds``, damaged in one to four places."""
    seed = random.choice(seeds)
    other = random.choice(seeds)
    for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
        how = random.random()
        if how < 0.75:
            seed = replace(seed, model=_restructured(random, seed.model, other.model))
        elif how < 0.87 or not seed.files:
            seed = replace(seed, model=_rewritten(random, seed.model, other.model))
        else:
            seed = replace(seed, files=_other_files(random, seed.files, other.files))
    return seed


# Files


def _other_files(
    random: Random, files: dict[str, bytes], others: dict[str, bytes]
) -> dict[str, bytes]:
    changed, name = dict(files), random.choice(list(files))
    if random.random() < 0.1:
        del changed[name]
    elif others and random.random() < 0.2:
        changed[name] = random.choice(list(others.values()))
    else:
        changed[name] = _rewritten(random, files[name], random.choice(list(files.values())))
    return changed


# Bytes


def _rewritten(random: Random, data: bytes, other: bytes) -> bytes:
    """``data`` with a place cut out, put in, turned over, or taken from ``other``."""
    start = random.randrange(len(data) + 1)
    size = random.choice((0, 1, 1, 2, 4, 8, random.randrange(len(data) + 1)))
    before, here, after = data[:start], data[start : start + size], data[start + size :]
    match random.choice((0, 0, 0, 1, 1, 2, 3, 4, 5)):
        case 0:  # one bit
            flipped = data[start] ^ (1 << random.randrange(8)) if after or here else 0
            return before + bytes([flipped]) + data[start + 1 :]
        case 1:
            return before + bytes(random.randrange(256) for _ in here[:8]) + here[8:] + after
        case 2:
            return before + random.choice(CHUNKS) + after
        case 3:
            return before + here * 2 + after
        case 4:
            cut = random.randrange(len(other) + 1)
            return before + other[cut : cut + size] + after
    return before + after


# Structure


def _restructured(random: Random, data: bytes, other: bytes) -> bytes:
    try:
        model = ModelProto.FromString(data)
        donor = ModelProto.FromString(other)
    except (DecodeError, UnicodeDecodeError):
        return _rewritten(random, data, other)
    for _ in range(8):  # as protobuf, or the message, may have no place for a change
        try:
            random.choice(CHANGES)(random, (_any_message(random, model), donor))
            changed = model.SerializeToString()
        except (ValueError, TypeError, EncodeError):
            continue
        return _without_utf8(random, changed) if random.random() < 0.05 else changed
    return _rewritten(random, data, other)


def _messages(message: Message) -> Iterator[Message]:
    """``message`` and those in it, at any depth."""
    found = [message]
    for item in found:
        yield item
        for field, content in item.ListFields():
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                found += content if _is_repeated(field) else [content]


def _any_message(random: Random, message: Message) -> Message:
    return random.choice(list(_messages(message)))


def _is_repeated(field: FieldDescriptor) -> bool:
    return bool(field.is_repeated)


def _any_field(random: Random, message: Message, wanted: Callable[[FieldDescriptor], bool]) -> Any:
    fields = [field for field in message.DESCRIPTOR.fields if wanted(field)]
    if not fields:
        raise ValueError("no such field")
    present = [field for field, _ in message.ListFields() if field in fields]
    return random.choice(present if present and random.random() < 0.7 else fields)


def _is_message(field: FieldDescriptor) -> bool:
    return bool(field.type == FieldDescriptor.TYPE_MESSAGE)


def _set(random: Random, place: tuple[Message, Message]) -> None:
    """Another number or text; of a list, one more, one less, or very many."""
    message, donor = place
    field = _any_field(random, message, lambda f: not _is_message(f))
    item = _scalar(random, field, donor)
    if not _is_repeated(field):
        setattr(message, field.name, item)
        return
    items = getattr(message, field.name)
    if items and random.random() < 0.5:
        items[random.randrange(len(items))] = item
    elif items and random.random() < 0.5:
        items.pop(random.randrange(len(items)))
    else:
        items.extend([item] * random.choice((1, 1, 1, 2, 70, 3000)))


def _scalar(random: Random, field: FieldDescriptor, donor: Message) -> Any:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING if field.type == FieldDescriptor.TYPE_STRING:
            names = re.findall(rb"[\w./]{1,30}", donor.SerializeToString())
            known = random.choice(names).decode() if names else ""
            return random.choice((random.choice(TEXTS), known))
        case FieldDescriptor.CPPTYPE_STRING:
            return random.choice((*CHUNKS, b"text", b"1e400", b"\xc3"))
        case FieldDescriptor.CPPTYPE_FLOAT | FieldDescriptor.CPPTYPE_DOUBLE:
            return random.choice(FLOATS)
        case FieldDescriptor.CPPTYPE_ENUM:
            return random.choice(field.enum_type.values).number
    return random.choice((random.choice(INTEGERS), random.randrange(30)))


def _clear(random: Random, place: tuple[Message, Message]) -> None:
    message, _ = place
    fields = message.ListFields()
    if fields:
        message.ClearField(random.choice(fields)[0].name)


def _rename(random: Random, place: tuple[Message, Message]) -> None:
    """Two names in the model become one."""
    message, _ = place
    names = [(m, f.name) for m in _messages(message) for f, _ in m.ListFields()
             if f.type == FieldDescriptor.TYPE_STRING and not _is_repeated(f)]  # fmt: skip
    if names:
        (target, field), (source, other) = random.choice(names), random.choice(names)
        setattr(target, field, getattr(source, other))


def _copy(random: Random, place: tuple[Message, Message]) -> None:
    """A message in a field from anywhere in the donor, or in the message itself."""
    message, donor = place
    field = _any_field(random, message, _is_message)
    wanted = field.message_type.full_name
    sources = [m for m in (*_messages(message), *_messages(donor))
               if m.DESCRIPTOR.full_name == wanted]  # fmt: skip
    copied = field.message_type._concrete_class()
    if sources:
        copied.CopyFrom(random.choice(sources))
    if _is_repeated(field):
        getattr(message, field.name).extend([copied] * random.choice((1, 1, 2, 50)))
    else:
        getattr(message, field.name).CopyFrom(copied)


def _reorder(random: Random, place: tuple[Message, Message]) -> None:
    """One of a list is gone, twice there, or elsewhere."""
    message, _ = place
    field = _any_field(random, message, _is_repeated)
    items = list(getattr(message, field.name))
    if items:
        item = items.pop(random.randrange(len(items)))
        for _ in range(random.choice((0, 1, 1, 2))):
            items.insert(random.randrange(len(items) + 1), item)
        message.ClearField(field.name)
        getattr(message, field.name).extend(items)


def _nest(random: Random, place: tuple[Message, Message]) -> None:
    """A graph in an attribute of a node of its own, several times."""
    message, donor = place
    graphs = [m for m in _messages(donor) if m.DESCRIPTOR.name == "GraphProto"]
    nodes = [m for m in _messages(message) if m.DESCRIPTOR.name == "NodeProto"]
    if not graphs or not nodes:
        raise ValueError("nothing to nest")
    inner = type(graphs[0])()
    inner.CopyFrom(random.choice(graphs))
    for _ in range(random.choice((1, 2, 4, 20, 40))):
        outer = type(inner)(name="nested", output=inner.output)
        wrapper = outer.node.add(op_type="If", input=["x"], output=["y"])
        wrapper.attribute.add(name="then_branch", type=5).g.CopyFrom(inner)
        inner = outer
    random.choice(nodes).attribute.add(name="else_branch", type=5).g.CopyFrom(inner)


CHANGES: tuple[Change, ...] = (_set, _set, _set, _clear, _rename, _copy, _copy, _reorder, _nest)


def _without_utf8(random: Random, data: bytes) -> bytes:
    """A text in ``data`` is one no longer."""
    texts = list(re.finditer(rb"[\w./]{2,}", data))
    if not texts:
        return data
    start, end = random.choice(texts).span()
    place = random.randrange(start, end)
    return data[:place] + b"\xff" + data[place + 1 :]
