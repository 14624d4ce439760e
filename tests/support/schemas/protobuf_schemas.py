"""Random PROTOBUF_NATIVE envelopes, valid and slightly invalid ones."""

import base64
import json
from collections.abc import Sequence
from random import Random
from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

_PACKAGES = ("", "p", "p.q", "shop", "p.A")
_EDITIONS = (1000, 1002, 1001, 0)  # 2023, 2026, 2024, and none
_NAMES = ("A", "B", "C", "a", "b", "c", "d", "p", "q", "shop")
_ODD_NAMES = ("", "1a", "é", "a.b", "a-b", "x y", "A")
_TYPE_NAMES = (".p.A", "p.A", "A", "B", "A.B", ".p.A.B", "q.A", ".p.q.C", "shop", ".shop.A", "", ".", "p", "a", ".Z")
_DEFAULTS = (
    *("0", "-1", "+5", "007", "08", "0x1F", "-0x80000000", "2147483648", "4294967296", "9223372036854775808", "-0"),
    *("18446744073709551615", "18446744073709551616", "1.5", "inf", "-inf", "nan", "-nan", "NaN", "Infinity", " 1 "),
    *("1e5f", "1e", ".5", "5.", "true", "TRUE", "no", "", "A", "B", "V"),
    *("\\", "\\n", "\\x", "\\xf", "\\777", "\\9", "é"),
    *("\\u00e9", "\\ud800", "\\U0001F600", "\\U00110000", "\\U0000D800", "\\?", "- 1", "1_000", "0x", "00", "+", "-"),
)
_SCALARS = [each for each in range(1, 19) if each not in (10, 11, 14)]
_MESSAGE, _GROUP, _ENUM = 11, 10, 14


def envelope(files: FileDescriptorSet, root: str, file: str) -> dict[str, str]:
    """Return an envelope as the Java client writes it."""
    content = base64.b64encode(files.SerializeToString()).decode()
    return {"fileDescriptorSet": content, "rootMessageTypeName": root, "rootFileDescriptorName": file}


def random_envelope(random: Random, mistakes: int) -> bytes:
    """Return an envelope of up to four files, with up to `mistakes` edits that may break it."""
    files = FileDescriptorSet()
    for index in range(random.randint(1, 4)):
        _file(random, files, index)
    for _ in range(random.randint(0, mistakes)):
        _spoil(random, files)
    last = files.file[-1]
    root = random.choice(last.message_type).name if last.message_type else "A"
    if random.random() < 0.2:
        root = f"{root}.{random.choice(_NAMES)}"
    full_name = f"{last.package}.{root}" if last.package and random.random() < 0.9 else root
    text = json.dumps(envelope(files, full_name, last.name), ensure_ascii=random.random() < 0.5)
    return text.encode()


def spoilt(random: Random, content: bytes) -> bytes:
    """Return the envelope after an edit in its files, with the same root message. The edit may break it."""
    written = json.loads(content)
    files = FileDescriptorSet.FromString(base64.b64decode(written["fileDescriptorSet"]))
    _spoil(random, files)
    return json.dumps(envelope(files, written["rootMessageTypeName"], written["rootFileDescriptorName"])).encode()


def _file(random: Random, files: FileDescriptorSet, index: int) -> None:
    file = files.file.add(name=f"{index}.proto", package=random.choice(_PACKAGES))
    if random.random() < 0.7:
        file.syntax = random.choice(("proto2", "proto3", "editions", "proto9"))
        file.edition = _EDITIONS[index % len(_EDITIONS)]
    for other in range(index):
        if random.random() < 0.6:
            file.dependency.append(f"{other}.proto")
            if random.random() < 0.4:
                file.public_dependency.append(len(file.dependency) - 1)
    _define(random, file)
    known = _types([file, *(files.file[int(name.partition(".")[0])] for name in file.dependency)])
    for message in _messages(file):
        for field in message.field:
            _settle(random, field, known)
    if random.random() < 0.3:
        _extend(random, file, known)
    _serve(random, file, known)


def _serve(random: Random, file: FileDescriptorProto, known: dict[str, int]) -> None:
    if random.random() < 0.2:
        method = file.service.add(name="Service").method.add(name="call")
        method.input_type, method.output_type = random.choice([*known, "A"]), random.choice([*known, "A"])


def _define(random: Random, file: FileDescriptorProto) -> None:
    names = random.sample(_NAMES, 5)
    for name in names[: random.randint(1, 3)]:
        _message(random, file.message_type.add(name=name), depth=2)
    for name in names[3 : random.randint(3, 5)]:
        _enum(random, file.enum_type.add(name=name))


def _message(random: Random, message: DescriptorProto, depth: int) -> None:
    names = random.sample(_NAMES, 6)
    _fields(random, message, names[: random.randint(0, 4)])
    if depth:
        for name in names[4 : random.randint(4, 6)]:
            _message(random, message.nested_type.add(name=name), depth - 1)
    if random.random() < 0.2:
        _enum(random, message.enum_type.add(name="E"))
    if random.random() < 0.3:
        message.extension_range.add(start=100, end=200)
    if random.random() < 0.2:
        message.reserved_range.add(start=50, end=60)


def _fields(random: Random, message: DescriptorProto, names: list[str]) -> None:
    oneofs = random.randint(0, 2)
    for index in range(oneofs):
        message.oneof_decl.add(name=f"o{index}")
    for number, name in enumerate(names, 1):
        field = message.field.add(name=name, number=number, label=random.choice((1, 1, 1, 2, 3)))
        if oneofs and field.label == FieldDescriptorProto.LABEL_OPTIONAL and random.random() < 0.5:
            field.oneof_index = random.randrange(oneofs)
            field.proto3_optional = random.random() < 0.05


def _enum(random: Random, enum: EnumDescriptorProto) -> None:
    for number, name in enumerate(random.sample(("A", "V", "W", "a"), random.randint(1, 3))):
        enum.value.add(name=name, number=number)


def _settle(random: Random, field: FieldDescriptorProto, known: dict[str, int]) -> None:
    """Gives the field a type, mostly one that it may have."""
    if known and random.random() < 0.4:
        field.type_name = random.choice(list(known)) if random.random() < 0.995 else random.choice(_TYPE_NAMES)
        kind = known.get(field.type_name, _MESSAGE)
        if random.random() < 0.99:
            field.type = kind  # type: ignore[assignment]  # the stubs have their own type for enums
    else:
        field.type = random.choice(_SCALARS)  # type: ignore[assignment]
        if field.label != FieldDescriptorProto.LABEL_REPEATED and random.random() < 0.3:
            field.default_value = random.choice(("1", "0") if random.random() < 0.93 else _DEFAULTS)
        if field.label == FieldDescriptorProto.LABEL_REPEATED and field.type not in (9, 12):
            field.options.packed = random.random() < 0.5


def _extend(random: Random, file: FileDescriptorProto, known: dict[str, int]) -> None:
    place: Any = random.choice([file, *file.message_type])
    extension = place.extension.add(name="ext", number=random.choice((100, 150, 99, 200)), label=1)
    extension.extendee = random.choice(list(known)) if known else "A"
    _settle(random, extension, known)


def _spoil(random: Random, files: FileDescriptorSet) -> None:
    file = random.choice(files.file)
    messages = list(_messages(file))
    fields = [field for message in messages for field in message.field]
    enums = [*file.enum_type, *(enum for message in messages for enum in message.enum_type)]
    named: list[Any] = [*messages, *fields, *enums, *(value for enum in enums for value in enum.value)]
    edits: list[Any] = [
        lambda: _rename(random, _one(random, named)),
        lambda: file.dependency.append(random.choice(("0.proto", "1.proto", "9.proto"))),
        lambda: file.public_dependency.append(random.choice((-1, 0, 7))),
        lambda: setattr(file, "package", random.choice((*_PACKAGES, "p.A.B", "p-q", "p..q", "A"))),
        lambda: setattr(_one(random, messages).options, "message_set_wire_format", True),
        lambda: _one(random, messages).oneof_decl.add(name=random.choice(_NAMES)),
        lambda: _one(random, messages).extension_range.add(start=100, end=101),
        lambda: enums[0].value.pop(0),
        *[lambda: _spoil_field(random, _one(random, fields))] * 6,
    ]
    try:
        random.choice(edits)()
    except (IndexError, ValueError):  # nothing of that sort in the file; Hypothesis' own chance raises the latter
        return


def _one(random: Random, candidates: Sequence[Any]) -> Any:
    """Return a random candidate. Raise IndexError if there is none, before hypothesis' own random fails."""
    return candidates[random.randrange(len(candidates))] if candidates else candidates[0]


def _rename(random: Random, named: Any) -> None:
    named.name = random.choice((*_NAMES, *_ODD_NAMES))


def _spoil_field(random: Random, field: FieldDescriptorProto) -> None:
    attribute, value = random.choice(
        [
            ("number", random.choice((0, -1, 1, 2, 536870911, 19000))),
            ("type", random.randint(1, 18)),
            ("label", random.randint(1, 3)),
            ("type_name", random.choice(_TYPE_NAMES)),
            ("oneof_index", random.choice((0, 1, -1, 5))),
            ("default_value", random.choice(_DEFAULTS)),
            ("extendee", ".p.A"),
            ("proto3_optional", True),
            ("packed", True),
            ("", "type"),
        ]
    )
    if attribute == "packed":
        field.options.packed = True
    elif attribute:
        setattr(field, attribute, value)
    else:
        field.ClearField("type")


def _messages(file: FileDescriptorProto) -> list[DescriptorProto]:
    messages = list(file.message_type)
    for message in messages:
        messages.extend(message.nested_type)  # the list grows while it is walked
    return messages


def _types(files: list[FileDescriptorProto]) -> dict[str, int]:
    """Return the full names of the messages and enums in the files, each with its field type."""
    kinds: dict[str, int] = {}
    for file in files:
        prefix = f".{file.package}" if file.package else ""
        waiting: list[tuple[str, Any]] = [(prefix, file)]
        while waiting:
            scope, holder = waiting.pop()
            inner = holder.message_type if holder is file else holder.nested_type
            kinds.update({f"{scope}.{enum.name}": _ENUM for enum in holder.enum_type})
            kinds.update({f"{scope}.{message.name}": _MESSAGE for message in inner})
            waiting += [(f"{scope}.{message.name}", message) for message in inner]
    return kinds
