"""Random messages and their readings: google.protobuf's dynamic messages are the judge, not ours."""

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message

from protobuf_evolution.random_files import F

_TEXTS = ("", "a", "été", "0", "true", "x" * 200)
_BYTES = (b"", b"a", b"\x00\xff\xfe", b"\xc3\xa9", b"\x08\x96\x01")
_INTEGERS = (0, 1, 2, 3, -1, -2, 127, 128, 1 << 31, (1 << 31) - 1, -(1 << 31), (1 << 32) - 1, 1 << 32)
_WIDE = (1 << 62, (1 << 63) - 1, -(1 << 63), 1 << 63, (1 << 64) - 1)
_FLOATS = (0.0, -0.0, 1.5, -2.0, float("inf"), float("nan"), 1e30)


Knows = Callable[[str, int], bool]


def filled(random: Random, kind: type[Message], knows: Knows = lambda *_: True) -> Message:
    """Return a random message. An enum's number is only used if `knows` accepts it with the enum's name."""
    message = kind()
    _fill(random, message, 3, knows)
    return message


def _fill(random: Random, message: Message, depth: int, knows: Knows) -> None:
    for field in _fields(message):
        if not field.is_required and random.random() < 0.3:
            continue
        if field.is_repeated:
            _fill_list(random, message, field, depth, knows)
        elif field.message_type is not None:
            if depth or field.is_required:
                inner = getattr(message, field.name)
                inner.SetInParent()
                _fill(random, inner, depth - 1, knows)
        elif field.is_extension:
            _extensions(message)[field] = _scalar(random, field, knows)
        else:
            setattr(message, field.name, _scalar(random, field, knows))


def _fill_list(random: Random, message: Message, field: FieldDescriptor, depth: int, knows: Knows) -> None:
    target = getattr(message, field.name)
    kind = field.message_type
    for _ in range(random.randint(0, 3)):
        if kind is None:
            target.append(_scalar(random, field, knows))
        elif not is_map(field):
            if depth:
                _fill(random, target.add(), depth - 1, knows)
        else:
            key, value = kind.fields_by_number[1], kind.fields_by_number[2]
            at = _scalar(random, key, knows)
            if value.message_type is None:
                target[at] = _scalar(random, value, knows)
            elif depth:
                _fill(random, target[at], depth - 1, knows)


def _scalar(random: Random, field: FieldDescriptor, knows: Knows) -> Any:
    if field.enum_type is not None:
        known = [value.number for value in field.enum_type.values if knows(field.enum_type.full_name, value.number)]
        strange = [] if field.enum_type.is_closed else [77]
        return random.choice([*(known or [field.default_value]), *strange])
    if field.type == F.TYPE_STRING:
        return random.choice(_TEXTS)
    if field.type == F.TYPE_BYTES:
        return random.choice(_BYTES)
    if field.type in (F.TYPE_FLOAT, F.TYPE_DOUBLE):
        return random.choice(_FLOATS)
    if field.type == F.TYPE_BOOL:
        return random.random() < 0.5
    low, high = _RANGES[field.type]
    return random.choice([each for each in (*_INTEGERS, *_WIDE) if low <= each <= high])


_RANGES: Mapping[int, tuple[int, int]] = {
    **dict.fromkeys((F.TYPE_INT32, F.TYPE_SINT32, F.TYPE_SFIXED32), (-(1 << 31), (1 << 31) - 1)),
    **dict.fromkeys((F.TYPE_INT64, F.TYPE_SINT64, F.TYPE_SFIXED64), (-(1 << 63), (1 << 63) - 1)),
    **dict.fromkeys((F.TYPE_UINT32, F.TYPE_FIXED32), (0, (1 << 32) - 1)),
    **dict.fromkeys((F.TYPE_UINT64, F.TYPE_FIXED64), (0, (1 << 64) - 1)),
}


def is_map(field: FieldDescriptor) -> bool:
    """Return True if the field is a map."""
    return field.is_repeated and field.message_type is not None and field.message_type.GetOptions().map_entry


def _fields(message: Message) -> list[FieldDescriptor]:
    kind: Any = message.DESCRIPTOR
    extensions = sorted(kind.file.pool.FindAllExtensions(kind), key=lambda each: each.number)  # in no order
    return [*kind.fields, *(each for each in extensions if not each.is_repeated)]


def on_the_wire(written: Message, reader: type[Message]) -> Message | None:
    """Return the message as the reader has it, or None if it rejects the bytes."""
    message = reader()
    try:
        message.ParseFromString(written.SerializePartialToString(deterministic=True))
    except DecodeError:
        return None
    return message if message.IsInitialized() or not written.IsInitialized() else None


def in_json(written: Message, reader: type[Message]) -> Message | None:
    """Return the message as the reader of the writer's JSON has it, without unknown fields."""
    message = reader()
    text = json_format.MessageToJson(written, descriptor_pool=_pool(written))
    try:
        json_format.Parse(text, message, ignore_unknown_fields=True, descriptor_pool=_pool(message))
    except json_format.ParseError:
        return None
    return message


def _pool(message: Message) -> Any:
    return message.DESCRIPTOR.file.pool


def losses(read: Message, written: Message) -> Iterator[str]:
    """Yield the fields that both have, by number, and whose values differ."""
    known = {field.number: field for field in _fields(read)}
    for field in _fields(written):
        other = known.get(field.number)
        if other is None:
            continue
        if not _are_alike((read, other), (written, field)):
            yield field.full_name


_Place = tuple[Message, FieldDescriptor]


def _are_alike(read: _Place, written: _Place) -> bool:
    if read[1].has_presence and written[1].has_presence and _is_set(*read) != _is_set(*written):
        return False
    values, before = _values(*read), _values(*written)
    if read[1].is_repeated and not written[1].is_repeated:
        before = before if _is_sent(*written) else []
    elif written[1].is_repeated and not read[1].is_repeated:
        values = values if _is_sent(*read) else []
    return len(values) == len(before) and all(_is_value(one, other) for one, other in zip(values, before, strict=True))


def _is_set(message: Message, field: FieldDescriptor) -> bool:
    return field in _extensions(message) if field.is_extension else message.HasField(field.name)


def _extensions(message: Message) -> Any:
    """Return the message's extensions, of which the stubs only know those that a compiler generated."""
    return message.Extensions


def _is_sent(message: Message, field: FieldDescriptor) -> bool:
    return _is_set(message, field) if field.has_presence else any(each is field for each, _ in message.ListFields())


def _values(message: Message, field: FieldDescriptor) -> list[Any]:
    value = _extensions(message)[field] if field.is_extension else getattr(message, field.name)
    if is_map(field):
        return [(key, value[key]) for key in sorted(value, key=repr)]
    if field.is_repeated and field.message_type is not None and _is_pair(field.message_type):
        return sorted(((each.key, each.value) for each in value), key=lambda pair: repr(pair[0]))
    if field.is_repeated:
        return list(value)
    return [value] if field.message_type is None or _is_set(message, field) else []


def _is_pair(kind: Descriptor) -> bool:
    return [field.name for field in kind.fields] == ["key", "value"]


def _is_value(read: Any, written: Any) -> bool:
    if isinstance(written, tuple):
        return isinstance(read, tuple) and all(map(_is_value, read, written))
    if isinstance(written, Message) and isinstance(read, Message):
        return next(losses(read, written), None) is None
    read, written = (
        each.encode()
        if isinstance(each, str)
        else each.SerializePartialToString(deterministic=True)
        if isinstance(each, Message)
        else each
        for each in (read, written)
    )
    return read == written or repr(read) == repr(written)  # NaN
