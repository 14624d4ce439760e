"""The changes between two schemas: parts are compared by their names, whatever their places."""

import pytest

from topicschema import protoc
from topicschema.cli.changes import changes
from topicschema.core import formats
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.protoc import ProtobufSources

ID, NOTE = '{"name": "id", "type": "long"}', '{"name": "note", "type": ["null", "string"], "default": null}'
STATES = '{"name": "s", "type": {"type": "enum", "name": "S", "symbols": [%s]}}'


def avro(*fields: str) -> SchemaInfo:
    return SchemaInfo(SchemaType.AVRO, f'{{"type": "record", "name": "R", "fields": [{", ".join(fields)}]}}'.encode())


def proto(fields: str) -> SchemaInfo:
    sources = ProtobufSources("R", {"r.proto": f'syntax = "proto3"; message R {{ {fields} }}'})
    return SchemaInfo(SchemaType.PROTOBUF_NATIVE, protoc.compile_envelope(sources))


def pair(key: str) -> SchemaInfo:
    text = f'{{"key": {key}, "value": "string"}}'
    return formats.as_stored(SchemaInfo(SchemaType.KEY_VALUE, text.encode(), {"key.schema.type": "AVRO"}))


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (
            avro(ID),
            avro(NOTE, ID),
            ['+ $.fields[0] note: {"name": "note"'],
        ),
        (avro(ID, NOTE), avro(NOTE, ID), ['~ $.fields order: ["id", "note"] -> ["note", "id"]']),
        (avro(ID), avro(ID.replace("long", "int")), ['~ $.fields[0].type: "long" -> "int"']),
        (avro(NOTE), avro(NOTE.replace('"string"]', '"string", "int"]')), ['+ $.fields[0].type[2]: "int"']),
        (avro(STATES % '"A", "B"'), avro(STATES % '"A"'), ['- $.fields[0].type.symbols[1]: "B"']),
        (
            avro(ID),
            SchemaInfo(SchemaType.STRING),
            ['~ type: "AVRO" -> "STRING"', '- $: {"type": "record", "name": "R"'],
        ),
        (pair('"long"'), pair('"int"'), ['~ $.key: "long" -> "int"']),
        (
            proto("int32 a = 1;"),
            proto("int64 a = 1;"),
            ['~ $.fileDescriptorSet[0].messageType[0].field[0].type: "TYPE_INT32" -> "TYPE_INT64"'],
        ),
        (SchemaInfo(SchemaType.STRING), SchemaInfo(SchemaType.STRING, b"", {"o": "a"}), ['+ properties.o: "a"']),
        (avro(ID), avro(ID), []),
    ],
)
def test_each_change_has_its_place(before: SchemaInfo, after: SchemaInfo, lines: list[str]) -> None:
    shown = list(map(str, changes(before, after)))
    assert len(shown) == len(lines)
    assert all(line.startswith(start) for line, start in zip(shown, lines, strict=True)), shown
