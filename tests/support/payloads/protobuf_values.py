"""Random protobuf schemas that a compiler would write, values of them, and their payloads, whole and broken."""

import base64
import json
import random
from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from support.schemas import protobuf_schemas
from topicschema import payload
from topicschema.core import formats
from topicschema.core.formats.protobuf_native import Kind, ProtobufNativeSchema
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.payload import numbers, varints
from topicschema.payload.protobuf_native import FieldPlan, MessagePlan, kinds

_SCALARS = [each for each in range(1, 19) if each not in (10, 11)]
_MESSAGE, _GROUP, _ENUM, _STRING = 11, 10, 14, 9
_KEYS = (3, 4, 5, 6, 7, 8, 9, 13, 15, 16, 17, 18)
_NUMBERS = (1, 2, 3, 4, 5, 15, 16, 100, 2047, 2048, 20_000, (1 << 29) - 1)
_TEXTS = ("", "text", "é", "€", "\U0001f600", "\0")
_SYNTAXES = ("proto2", "proto3", "proto3", "editions")


def envelope(rng: random.Random) -> bytes:
    """Return an envelope of one file with a few messages that refer to each other."""
    file = FileDescriptorProto(name="a.proto", package=rng.choice(("", "p", "p.q")), syntax=rng.choice(_SYNTAXES))
    if rng.random() < 0.2:
        file.options.java_string_check_utf8 = True
    prefix = f".{file.package}" if file.package else ""
    enum = file.enum_type.add(name="E")
    for number, name in enumerate(("ZERO", "ONE", "TWO")):
        enum.value.add(name=name, number=number * rng.choice((1, 1, -7)))
    names = [f"M{index}" for index in range(rng.randint(1, 3))]
    for name in names:
        _message(rng, file, file.message_type.add(name=name), [f"{prefix}.{each}" for each in names], f"{prefix}.E")
    files = FileDescriptorSet(file=[file])
    root = f"{prefix}.M0"[1:]
    return json.dumps(protobuf_schemas.envelope(files, root, "a.proto")).encode()


def schema(rng: random.Random) -> ProtobufNativeSchema:
    """Such an envelope, parsed."""
    parsed = formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, envelope(rng)))
    assert isinstance(parsed, ProtobufNativeSchema)
    return parsed


def _message(
    rng: random.Random, file: FileDescriptorProto, message: DescriptorProto, messages: list[str], enum: str
) -> None:
    is_old = file.syntax == "proto2"
    oneof = rng.random() < 0.4
    if oneof:
        message.oneof_decl.add(name="choice")
    for index, number in enumerate(rng.sample(_NUMBERS, rng.randint(1, 7))):
        field = message.field.add(name=f"f{index}", number=number, label=1)
        if rng.random() < 0.15:
            _map(rng, message, field, messages, enum)
            continue
        _type(rng, field, messages, enum, allows_group=is_old)
        _label(rng, field, oneof=oneof, is_old=is_old)
    if oneof and not any(field.HasField("oneof_index") for field in message.field):
        del message.oneof_decl[:]


def _label(rng: random.Random, field: FieldDescriptorProto, *, oneof: bool, is_old: bool) -> None:
    roll = rng.random()
    if roll < 0.3:
        field.label = FieldDescriptorProto.LABEL_REPEATED
        if field.type not in (9, 10, 11, 12) and rng.random() < 0.5:
            field.options.packed = rng.random() < 0.5
    elif oneof and roll < 0.5:
        field.oneof_index = 0
    elif is_old and roll < 0.57 and field.type not in (10, 11):
        field.label = FieldDescriptorProto.LABEL_REQUIRED


def _type(
    rng: random.Random, field: FieldDescriptorProto, messages: list[str], enum: str, *, allows_group: bool = False
) -> None:
    if rng.random() < 0.25:
        field.type_name = rng.choice(messages)
        field.type = _GROUP if allows_group and rng.random() < 0.3 else _MESSAGE
        return
    field.type = rng.choice(_SCALARS)  # type: ignore[assignment]  # the stubs have their own type for enums
    if field.type == _ENUM:
        field.type_name = enum


def _map(
    rng: random.Random, message: DescriptorProto, field: FieldDescriptorProto, messages: list[str], enum: str
) -> None:
    entry = message.nested_type.add(name=f"F{field.name[1:]}Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=1, type=rng.choice(_KEYS))  # type: ignore[arg-type]  # as above
    _type(rng, entry.field.add(name="value", number=2, label=1), messages, enum)
    field.label, field.type = FieldDescriptorProto.LABEL_REPEATED, _MESSAGE
    field.type_name = f"{messages[0].rpartition('.')[0]}.{message.name}.{entry.name}"


def value(rng: random.Random, plan: MessagePlan, depth: int = 3) -> dict[str, Any]:
    """Return a value of the message with all required fields."""
    members: dict[str, Any] = {}
    for field in plan.written:
        taken = any(name in members for name in field.rivals)
        if field.is_required or (not taken and rng.random() < 0.6 and (depth or not field.message_name)):
            members[field.name] = _of(rng, field, depth)
    return members


def _of(rng: random.Random, field: FieldPlan, depth: int) -> Any:
    if field.pair is not None:
        key, held = field.pair.written
        return {_single(rng, key, depth): _single(rng, held, depth) for _ in range(rng.randint(0, 3))}
    if field.is_repeated:
        return [_single(rng, field, depth) for _ in range(rng.randint(0, 3))]
    return _single(rng, field, depth)


def _single(rng: random.Random, field: FieldPlan, depth: int) -> Any:
    if field.message_name:
        return value(rng, field.message, depth - 1) if depth else value(rng, field.message, 0)
    if field.kind in kinds.RANGES:
        allowed = kinds.RANGES[field.kind]
        near = (allowed[0], allowed[-1], 0, 1, 127, 128)
        return rng.choice(near) if rng.random() < 0.6 else rng.randrange(allowed.start, allowed.stop)
    if field.kind is Kind.ENUM:
        assert field.enum is not None
        return rng.choice([*field.enum.values, *([] if field.is_closed else [77])])
    return _OTHERS[field.kind](rng)


_OTHERS: dict[Kind, Callable[[random.Random], Any]] = {
    Kind.FLOAT: lambda rng: numbers.float_of(rng.choice((0, 1 << 31, 0x7FC00001, 0xFF800001, rng.getrandbits(32)))),
    Kind.DOUBLE: lambda rng: numbers.double_of(rng.choice((0, 1 << 63, 0x7FF8 << 48, rng.getrandbits(64)))),
    Kind.BOOL: lambda rng: rng.random() < 0.5,
    Kind.STRING: lambda rng: rng.choice(_TEXTS),
    Kind.BYTES: lambda rng: rng.randbytes(rng.randint(0, 4)),
}


def broken(rng: random.Random, content: bytes) -> bytes:
    """Return the bytes truncated, with flipped bits or with inserted bytes."""
    out = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        if not out or rng.random() < 0.3:
            piece = rng.choice(
                (b"\x0b\x0c", b"\x0b", b"\x0c", b"\xff" * 10, b"\x00", b"\x0a\x02\xff\xfe", rng.randbytes(3))
            )
            at = rng.randint(0, len(out))
            out[at:at] = piece
        else:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out[: rng.randint(0, len(out))] if rng.random() < 0.15 else out)


def odd(rng: random.Random, plan: MessagePlan) -> bytes:
    """Bytes that go by the numbers of the message's fields, if by nothing else."""
    known = [field.number for field in plan.written] or [1]
    out = b""
    for _ in range(rng.randint(1, 6)):
        number, wire = rng.choice((*known, *known, 1, 100, 150)), rng.choice((0, 0, 1, 2, 2, 2, 3, 5))
        inner = rng.choice((b"", b"\x01", b"\x08\x01", b"\x08\x01\x12\x00", b"\x0a\x01\xff", b"\x80\x01"))
        content = {0: b"\x01", 1: rng.randbytes(8), 2: bytes([len(inner)]) + inner, 5: bytes(4)}.get(wire)
        end = varints.encode(number << 3 | kinds.END_GROUP)
        out += varints.encode(number << 3 | wire) + (inner + end if content is None else content)
    return out


def several(rng: random.Random, parsed: ProtobufNativeSchema, plan: MessagePlan) -> bytes:
    """Payloads of two values, one behind the other, which is a payload too."""
    parts = [payload.encode(parsed, value(rng, plan)).payload or b"" for _ in range(2)]
    return b"".join(parts)


def shown(plan: MessagePlan, message: dict[str, Any]) -> list[Any]:
    """Return a value in the form of the Java client's oracle."""
    return [[field.number, _shown_field(field, message[field.name])] for field in plan.written if field.name in message]


def _shown_field(field: FieldPlan, of: Any) -> Any:
    if field.pair is not None:
        key, held = field.pair.written
        return [[[1, _shown(key, name)], [2, _shown(held, each)]] for name, each in of.items()]
    return [_shown(field, each) for each in of] if field.is_repeated else _shown(field, of)


def _shown(field: FieldPlan, of: Any) -> Any:
    if field.message_name:
        return shown(field.message, of)
    if field.kind is Kind.ENUM:
        assert field.enum is not None
        return str(field.enum.values[of] if isinstance(of, str) else of)
    if field.kind in kinds.FLOATS:
        return str(numbers.bits_of_float(of) if field.kind is Kind.FLOAT else numbers.bits_of_double(of))
    if field.kind is Kind.BYTES:
        return base64.b64encode(of).decode()
    return str(of).lower() if isinstance(of, bool) else _java(field, of)


def _java(field: FieldPlan, of: Any) -> str:
    """Java has no unsigned numbers: the upper half of them is negative there."""
    if not isinstance(of, int):
        return str(of)
    size = 32 if field.kind in (Kind.UINT32, Kind.FIXED32) else 64
    unsigned = field.kind in (Kind.UINT32, Kind.FIXED32, Kind.UINT64, Kind.FIXED64)
    return str(of - (1 << size) if unsigned and of >= 1 << (size - 1) else of)


def absent(field: FieldPlan) -> str:
    """Return the default of a single value in the form of the oracle."""
    return str(_shown(field, field.default))
