"""The changes between two schemas: parts are compared by their names, whatever their places."""

import json

import pytest
import yaml

from topicschema import protoc
from topicschema.cli import printing
from topicschema.cli.changes import changes
from topicschema.core import formats
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.protoc import ProtobufSources

ID, NOTE = '{"name": "id", "type": "long"}', '{"name": "note", "type": ["null", "string"], "default": null}'
ONE = '{"name": "n", "type": "int", "default": 1}'
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
        (avro(NOTE.replace(', "default": null', "")), avro(NOTE), ["+ $.fields[0].default: null"]),
        (
            avro(NOTE),
            avro(NOTE.replace("null}", '"\\u001b[2J\u009b"}')),
            ['~ $.fields[0].default: null -> "\\u001b[2J\ufffd"'],
        ),
        (avro(ID), avro(f'{ID[:-1]}, "\\u001b[2J": 1}}'), ["+ $.fields[0].\ufffd[2J: 1"]),
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
        (avro(ONE), avro(ONE.replace("1", "1.0")), ["~ $.fields[0].default: 1 -> 1.0"]),
        (avro(ONE), avro(ONE.replace("1", "true")), ["~ $.fields[0].default: 1 -> true"]),
        (avro(ONE), avro(ONE.replace("1", "[{}]")), ["~ $.fields[0].default: 1 -> [{}]"]),
        (
            avro(ONE.replace("1", "[[1]]")),
            avro(ONE.replace("1", "[[1.0]]")),
            ["~ $.fields[0].default: [[1]] -> [[1.0]]"],
        ),
    ],
)
def test_each_change_has_its_place(before: SchemaInfo, after: SchemaInfo, lines: list[str]) -> None:
    shown = list(map(str, changes(before, after)))
    assert len(shown) == len(lines)
    assert all(line.startswith(start) for line, start in zip(shown, lines, strict=True)), shown


def test_a_missing_side_has_no_member_and_null_is_a_value() -> None:
    path = "$.fields[0].default"
    without, empty = (NOTE.replace(', "default": null', text) for text in ("", ', "default": ""'))
    (added,), (changed,) = changes(avro(without), avro(NOTE)), changes(avro(empty), avro(NOTE))
    assert added.wire == {"path": path, "change": "added", "after": None}
    assert changed.wire == {"path": path, "change": "changed", "before": "", "after": None}


def test_output_obeys_no_terminal_and_stays_the_same_value(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"doc": "größe \u009b31m \u202e \U000e0001 \x7f"}
    for form, read in (("json", json.loads), ("yaml", yaml.safe_load)):
        printing.write(value, form)
        output = capsys.readouterr().out
        assert read(output) == value
        assert "\u009b" not in output
        assert "größe" in output
