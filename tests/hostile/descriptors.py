"""Hostile PROTOBUF_NATIVE envelopes: files that import in circles, endless messages, very many names."""

import base64
import json
from collections.abc import Callable
from random import Random
from typing import Final

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from support.schemas import protobuf_schemas

_OPTIONAL: Final = FieldDescriptorProto.LABEL_OPTIONAL
_INT32: Final = FieldDescriptorProto.TYPE_INT32
_MESSAGE: Final = FieldDescriptorProto.TYPE_MESSAGE


def envelope(rng: Random, size: int) -> bytes:
    """Return an envelope around one of the sets below or around other bytes, sometimes damaged itself."""
    if rng.random() < 0.25 and size < 100_000:
        content = protobuf_schemas.random_envelope(rng, 3)
    else:
        files, root = rng.choice(_SETS)(rng, size * 3 // 4)
        inner = (
            _spoilt(rng, files.SerializePartialToString()) if rng.random() < 0.3 else files.SerializePartialToString()
        )
        encoded = rng.choice((base64.b64encode, base64.urlsafe_b64encode))(inner).decode()
        written = {"fileDescriptorSet": encoded, "rootMessageTypeName": root, "rootFileDescriptorName": "0.proto"}
        content = json.dumps(written).encode()
    return _spoilt(rng, content) if rng.random() < 0.15 else content


def _spoilt(rng: Random, content: bytes) -> bytes:
    changed = bytearray(content or b"\0")
    roll = rng.random()
    if roll < 0.3:
        return bytes(changed[: rng.randrange(len(changed))])
    if roll < 0.5:
        return bytes(changed) * 2
    for _ in range(rng.randint(1, 4)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _file(files: FileDescriptorSet, name: str = "0.proto", package: str = "p") -> FileDescriptorProto:
    return files.file.add(name=name, package=package, syntax="proto3")


def _field(message: DescriptorProto, number: int, type_name: str = "") -> FieldDescriptorProto:
    field = message.field.add(name=f"f{number}", number=number, label=_OPTIONAL, type=_MESSAGE if type_name else _INT32)
    if type_name:
        field.type_name = type_name
    return field


def _imports(rng: Random, size: int) -> tuple[FileDescriptorSet, str]:
    """Files that import each other: in a row, in a circle, in diamonds, all of them all others."""
    files = FileDescriptorSet()
    count = max(2, min(size // 60, rng.choice((2, 3, 40, 499, 501, 700, 50_000))))
    for index in range(count):
        file = _file(files, f"{index}.proto", rng.choice(("p", "q", f"p.q{index}")))
        file.message_type.add(name=f"M{index}")
        reach = rng.choice((1, 2, 2, min(count, 300, size // count // 12)))
        ahead = [each for each in range(index + 1, index + 1 + reach) if each < count]
        if rng.random() < 0.02:
            ahead = [rng.randrange(count)]
        file.dependency.extend(f"{each}.proto" for each in ahead)
        file.public_dependency.extend(range(len(ahead)))
    return files, f"{files.file[0].package}.M0"


def _circles(rng: Random, size: int) -> tuple[FileDescriptorSet, str]:
    """Messages that hold the next one twice, and at the end the first."""
    files = FileDescriptorSet()
    file = _file(files)
    count = max(1, min(size // 60, rng.choice((1, 2, 30, 200_000))))
    for index in range(count):
        message = file.message_type.add(name=f"M{index}")
        following = (index + 1) % count if rng.random() < 0.98 else rng.randrange(count)
        for number in range(1, rng.randint(2, 4)):
            _field(message, number, rng.choice((".p.M", "M", "p.M")) + str(following))
    return files, "p.M0"


def _nested(rng: Random, size: int) -> tuple[FileDescriptorSet, str]:
    """Messages in messages, as deep as the limit and deeper, with types that are resolved from the inside out."""
    files = FileDescriptorSet()
    name = rng.choice(("M", "M", "N" * 30))
    message = _file(files, package=rng.choice(("p", "p." * 30 + "p", ""))).message_type.add(name=name)
    for _ in range(min(max(1, size // 80), rng.choice((30, 47, 60, 95)))):
        message = message.nested_type.add(name=name)
    for number in range(1, max(2, min(size // 60, 20_000))):
        _field(message, number, rng.choice((name, f"{name}.{name}", "p", "Z")) if rng.random() < 0.9 else "")
    return files, rng.choice(
        ("p.M", "M", f"p.{name}.{name}", "p." + "M." * 40 + "M", "." * 1_000, "M" * max(1, size // 8))
    )


def _flood(rng: Random, size: int) -> tuple[FileDescriptorSet, str]:
    """Very many of one thing."""
    files = FileDescriptorSet()
    file = _file(files, package=rng.choice(("p", "p", "a." * 63 + "a", "p" * 500, "." * max(1, size // 9))))
    message = file.message_type.add(name="M0")
    add, unit = rng.choice(_THINGS)
    for index in range(1, max(2, size // unit)):
        add(file, message, index)
    return files, f"{file.package}.M0"


def _add_enum(file: FileDescriptorProto, _: DescriptorProto, index: int) -> None:
    file.enum_type.add(name=f"E{index}").value.add(name="A", number=0)


def _add_value(file: FileDescriptorProto, _: DescriptorProto, index: int) -> None:
    enum = file.enum_type[0] if file.enum_type else file.enum_type.add(name="E")
    enum.value.add(name=f"V{index}", number=index)


def _add_extension(file: FileDescriptorProto, message: DescriptorProto, index: int) -> None:
    message.extension_range.add(start=1_000 + index, end=1_001 + index)
    file.extension.add(name=f"x{index}", number=1_000 + index, label=_OPTIONAL, type=_INT32, extendee=".p.M0")


def _add_service(file: FileDescriptorProto, _: DescriptorProto, index: int) -> None:
    file.service.add(name=f"S{index}").method.add(name="call", input_type="M0", output_type=".p.M0")


def _add_default(_: FileDescriptorProto, message: DescriptorProto, index: int) -> None:
    _field(message, index).default_value = "1" * 40


_THINGS: Final[tuple[tuple[Callable[[FileDescriptorProto, DescriptorProto, int], object], int], ...]] = (
    (lambda file, _, index: file.message_type.add(name=f"M{index}"), 11),
    (lambda _, message, index: message.field.add(name=f"f{index}", number=index, label=_OPTIONAL, type=_INT32), 18),
    (lambda _, message, index: _field(message, index, "M0"), 24),
    (lambda _, message, index: message.nested_type.add(name=f"N{index}"), 11),
    (lambda _, message, index: message.oneof_decl.add(name=f"o{index}"), 11),
    (lambda _, message, index: message.reserved_range.add(start=index, end=index + 1), 9),
    (lambda _, message, index: message.reserved_name.append(f"r{index}"), 9),
    (lambda file, _, index: file.dependency.append(f"{index % 3}.proto"), 10),
    (_add_enum, 22),
    (_add_value, 14),
    (_add_extension, 42),
    (_add_service, 32),
    (_add_default, 60),
)


def _one_long_thing(rng: Random, size: int) -> tuple[FileDescriptorSet, str]:
    """Return a descriptor with a name, a default or a type's name that fills the envelope."""
    files = FileDescriptorSet()
    file = _file(files)
    message = file.message_type.add(name="M")
    field = _field(message, 1)
    long = rng.choice(("a", "a.", ".", "\\", "0", "9", "é", "\\x41")) * max(1, size // 4)
    kind = rng.choice((FieldDescriptorProto.TYPE_BYTES, FieldDescriptorProto.TYPE_FLOAT, _INT32, _MESSAGE))
    field.type = kind
    spot, name = rng.choice(
        ((field, "default_value"), (field, "type_name"), (field, "name"), (message, "name"), (file, "name"))
    )
    setattr(spot, name, long)
    return files, rng.choice(("p.M", long))


_SETS: Final = (_imports, _circles, _nested, _flood, _flood, _one_long_thing)
