"""Reader of valid PROTOBUF_NATIVE messages by google.protobuf, which is many times faster than the codec.

The two read a valid message alike, but not every descriptor. So the codec reads the messages of files with an edition,
of descriptors that google.protobuf refuses or understands otherwise, and those that google.protobuf cannot parse.
"""

from collections.abc import Callable
from typing import Any, Final

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from topicschema.core.formats.protobuf_native import Kind, ProtobufNativeSchema, envelope
from topicschema.payload.arrow.singles import Read
from topicschema.payload.finding import PayloadFinding
from topicschema.payload.protobuf_native import FieldPlan, MessagePlan

_Convert = Callable[[Any], Any]
_SYNTAXES: Final = frozenset({"proto2", "proto3"})


class _DifferentError(Exception):
    """A descriptor that google.protobuf understands otherwise."""


def reader_of(schema: ProtobufNativeSchema, plan: MessagePlan, codec: Read) -> Read:
    """Return the reader of a schema's messages; `codec` is the one that always works."""
    try:
        kind = _class_of(schema)
        convert = _message(plan, kind.DESCRIPTOR)
    except (TypeError, ValueError, KeyError, DecodeError, _DifferentError):
        return codec

    def read(payload: bytes, findings: list[PayloadFinding]) -> Any:
        try:
            message = kind.FromString(payload)
        except DecodeError:
            return codec(payload, findings)
        return convert(message)

    return read


def _class_of(schema: ProtobufNativeSchema) -> Any:
    if not {each.syntax for each in schema.descriptors.files.values()} <= _SYNTAXES:
        raise _DifferentError
    content = envelope.read(schema.info.schema)
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(content.file_descriptor_set).file:
        pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName(schema.descriptors.root.full_name))


def _message(plan: MessagePlan, descriptor: Any) -> _Convert:
    """Return the conversion of a message to a dict. It is not recursive, because a column's type is not."""
    fields = [
        (each.name, _checked(each, descriptor.fields_by_number[each.number]))
        for each in plan.read.values()
        if not each.is_passed_by
    ]
    always = [(name, convert) for name, (convert, has_presence) in fields if not has_presence]
    perhaps = [(name, convert) for name, (convert, has_presence) in fields if has_presence]

    def convert(message: Any) -> dict[str, Any]:
        value = {name: convert(getattr(message, name)) for name, convert in always}
        for name, convert in perhaps:
            if message.HasField(name):
                value[name] = convert(getattr(message, name))
        return value

    return convert


def _checked(field: FieldPlan, descriptor: Any) -> tuple[_Convert, bool]:
    """Return the conversion of a field, and whether it may be absent. Raises _DifferentError."""
    pair = field.pair
    is_map = descriptor.message_type is not None and descriptor.message_type.GetOptions().map_entry
    ours = field.name, field.is_repeated, field.has_presence, pair is not None
    if ours != (descriptor.name, descriptor.is_repeated, descriptor.has_presence, is_map) or hasattr(
        Message, field.name
    ):
        raise _DifferentError
    if pair is not None:
        key, value = (_single(pair.read[number], descriptor.message_type.fields_by_number[number]) for number in (1, 2))
        return lambda entries: {key(name): value(entries[name]) for name in entries}, False
    single = _single(field, descriptor)
    if not field.is_repeated:
        return single, field.has_presence
    return list if single is _same else lambda values: [*map(single, values)], False


def _single(field: FieldPlan, descriptor: Any) -> _Convert:
    if field.message_name:
        return _message(field.message, descriptor.message_type)
    return field.names.__getitem__ if field.kind is Kind.ENUM else _same


def _same(value: Any) -> Any:
    return value
