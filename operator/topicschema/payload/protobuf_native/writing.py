"""Writer of protobuf's binary encoding, like protobuf's Java library (3.25): fields by their numbers.

A map's entries have the order of the dict, and always a key and a value, even if these are the defaults, as in the
classes that protoc makes. A value of None is omitted.

Python's message classes are not used: they report no path, and write a map's entries in their own order.
"""

import struct
from collections.abc import Callable
from typing import Any, Final

from topicschema.core.formats.avro.graph.trampoline import Computation, run
from topicschema.core.formats.protobuf_native import Kind
from topicschema.payload import numbers, text
from topicschema.payload.codec import refused, wrong_type
from topicschema.payload.path import MapEntry, Path, shown
from topicschema.payload.primitives import checked, real
from topicschema.payload.protobuf_native import kinds
from topicschema.payload.protobuf_native.descriptors import FieldPlan, MessagePlan
from topicschema.payload.protobuf_native.wire import MAX_DEPTH
from topicschema.payload.varints import encode as varint
from topicschema.payload.varints import zigzag

_U64: Final = 0xFFFF_FFFF_FFFF_FFFF


def write(root: MessagePlan, value: Any) -> bytes:
    """Return the payload. Raises InvalidPayloadError with the path of the first value that does not fit."""
    return run(_message(root, value, None, 0))


def _message(plan: MessagePlan, value: Any, path: Path | None, depth: int) -> Computation[bytes]:
    if not isinstance(value, dict):
        raise wrong_type("a mapping for a message", value, shown(path))
    if depth > MAX_DEPTH:
        raise refused("TOO_DEEP", f"messages are nested more than {MAX_DEPTH} levels deep", shown(path))
    if not value.keys() <= plan.names.keys():
        raise refused("UNKNOWN_FIELD", f"there is more in it than the fields of {plan.full_name}", shown(path))
    out = bytearray()
    for field in plan.written:
        member = value.get(field.name)
        below = (path, field.name)
        if member is None:
            _demand_absent(field, below)
        else:
            _check_rivals(field, value, below)
            out += yield _field(field, member, below, depth)
    return bytes(out)


def _demand_absent(field: FieldPlan, path: Path) -> None:
    if field.is_required:
        raise refused("MISSING_FIELD", "the field is required", shown(path))


def _check_rivals(field: FieldPlan, value: dict[str, Any], path: Path) -> None:
    for name in value.keys() & field.rivals:
        if name != field.name and value[name] is not None:
            raise refused(
                "ONEOF_CONFLICT", f"{field.name} and {name} are of one oneof, which holds one of them", shown(path)
            )


def _field(field: FieldPlan, value: Any, path: Path, depth: int) -> Computation[bytes]:
    if field.pair is not None:
        entries: bytes = yield _map(field, field.pair, value, path, depth)
        return entries
    if not field.is_repeated:
        written: bytes = yield _one(field, value, path, depth)
        is_unsaid = not field.has_presence and written == (yield _one(field, field.default, path, depth))
        return b"" if is_unsaid else written
    if not isinstance(value, list):
        raise wrong_type("a list for a repeated field", value, shown(path))
    if field.is_packed and value:
        packed = b"".join(_single(field, each, (path, index)) for index, each in enumerate(value))
        return _tag(field.number, kinds.LENGTH) + varint(len(packed)) + packed
    out = bytearray()
    for index, each in enumerate(value):
        out += yield _one(field, each, (path, index), depth)
    return bytes(out)


def _map(field: FieldPlan, pair: MessagePlan, value: Any, path: Path, depth: int) -> Computation[bytes]:
    if not isinstance(value, dict):
        raise wrong_type("a mapping for a map", value, shown(path))
    out = bytearray()
    for number, (key, each) in enumerate(value.items()):
        below = (path, MapEntry(number))
        entry = (yield _one(pair.read[1], key, below, depth + 1)) + (yield _one(pair.read[2], each, below, depth + 1))
        out += _tag(field.number, kinds.LENGTH) + varint(len(entry)) + entry
    return bytes(out)


def _one(field: FieldPlan, value: Any, path: Path, depth: int) -> Computation[bytes]:
    """Write a value after its tag."""
    if not field.message_name:
        return _tag(field.number, field.wire) + _single(field, value, path)
    content: bytes = yield _message(field.message, value, path, depth + 1)
    if field.kind is Kind.GROUP:
        return _tag(field.number, kinds.GROUP) + content + _tag(field.number, kinds.END_GROUP)
    return _tag(field.number, kinds.LENGTH) + varint(len(content)) + content


def _single(field: FieldPlan, value: Any, path: Path) -> bytes:
    kind = field.kind
    if kind in kinds.RANGES:
        return _integer(kind, checked(value, "the field", kinds.RANGES[kind], shown(path)))
    if kind in kinds.FLOATS:
        return _float(kind, value, path)
    if kind is Kind.ENUM:
        return varint(_number(field, value, path) & _U64)
    return _OTHERS[kind](value, path)


def _integer(kind: Kind, value: int) -> bytes:
    if kind in kinds.FIXED:
        return struct.pack("<" + kinds.FIXED[kind][1], value)
    if kind in (Kind.SINT32, Kind.SINT64):
        return varint(zigzag(value))
    return varint(value & _U64)


def _float(kind: Kind, value: Any, path: Path) -> bytes:
    where = shown(path)
    number = real(value, "the field", where)
    if kind is Kind.FLOAT:
        return numbers.bits_of_float(number, where).to_bytes(4, "little")
    return numbers.bits_of_double(number).to_bytes(8, "little")


def _number(field: FieldPlan, value: Any, path: Path) -> int:
    names = field.enum.values if field.enum is not None else {}
    if isinstance(value, str):
        if value not in names:
            raise refused("UNKNOWN_SYMBOL", "the enum has no such value", shown(path))
        return names[value]
    number = checked(value, "an enum's number", kinds.ENUM_NUMBERS, shown(path))
    if field.is_closed and number not in field.names:
        raise refused("UNKNOWN_SYMBOL", "the enum has no value with this number", shown(path))
    return number


def _bool(value: Any, path: Path) -> bytes:
    if not isinstance(value, bool):
        raise wrong_type("a boolean", value, shown(path))
    return b"\1" if value else b"\0"


def _string(value: Any, path: Path) -> bytes:
    if not isinstance(value, str):
        raise wrong_type("a text", value, shown(path))
    content = text.encode(value)
    return varint(len(content)) + content


def _bytes(value: Any, path: Path) -> bytes:
    if not isinstance(value, bytes):
        raise wrong_type("bytes", value, shown(path))
    return varint(len(value)) + value


def _tag(number: int, wire: int) -> bytes:
    return varint(number << 3 | wire)


_OTHERS: Final[dict[Kind, Callable[[Any, Path], bytes]]] = {
    Kind.BOOL: _bool,
    Kind.STRING: _string,
    Kind.BYTES: _bytes,
}
