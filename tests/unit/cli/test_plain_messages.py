"""Frequent mistakes in inputs are named, with what to write instead."""

import gzip
from pathlib import Path

import pytest

from support import command_line
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType

PROTO = (
    '// one\nsyntax = "proto3";\npackage fleet;\nmessage Line { string id = 1; }\nmessage Order { string id = 1; }\n'
)
AVRO = '"string"'


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for name in ("ORDER.PROTO", "two.proto", "größe.proto", "order.txt"):
        (tmp_path / name).write_text(PROTO)
    (tmp_path / "missing.proto").write_text('syntax = "proto3";\nimport "other.proto";\nmessage A {}\n')
    (tmp_path / "a.avsc").write_text(AVRO)
    (tmp_path / "a.avsc.gz").write_bytes(gzip.compress(AVRO.encode()))
    (tmp_path / "v1.proto").write_text('syntax = "proto3";\nmessage A { reserved 2 to 4; int32 a = 1; }\n')
    (tmp_path / "enum.proto").write_text('syntax = "proto3";\nenum A { NONE = 0; }\n')
    (tmp_path / "v2.proto").write_text('syntax = "proto3";\nmessage A { int32 a = 1; int32 b = 2; }\n')
    return tmp_path


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("check ORDER.PROTO", 2, "ORDER.PROTO is a protobuf source: its name must end with .proto"),
        ("check order.txt", 2, "its name must end with .proto"),
        ("check -", 2, "standard input is a protobuf source: write --type PROTOBUF_NATIVE"),
        ("check a.avsc.gz", 2, "a.avsc.gz: compressed files are not read: unpack it"),
        ("decode --schema a.avsc.gz -", 2, "compressed files are not read: unpack it"),
        ("check two.proto", 2, "UNKNOWN_MESSAGE at two.proto"),
        ("check two.proto", 2, "fleet.Line, fleet.Order; --message names it"),
        ("check enum.proto", 2, "a schema needs one What a rule means"),
        ("check missing.proto", 2, "-I names the folder that imports are relative to, --import a file in any place"),
        ("check größe.proto", 2, "'größe.proto' cannot be a file's name"),
        ("check --history v1.proto v2.proto", 0, "reserves 2 to 4, the candidate gives 2 to b and frees 3 to 4"),
        (
            "check --type INT32 --history a.avsc",
            2,
            "a.avsc cannot be an earlier version: name their type with --history-type",
        ),
        ("can-connect producer --type STRING --history a.avsc", 2, "name their type with --history-type"),
        (
            "check --type STRING --history-type AVRO --history a.avsc",
            1,
            "version 0 has type AVRO, the candidate STRING",
        ),
        ("check --history-type STRING --history a.avsc a.avsc", 2, "a version of type STRING has no text"),
    ],
)
def test_the_cause_and_the_remedy_are_named(here: Path, line: str, code: int, words: str) -> None:
    done = command_line.run(here, *line.split(), stdin=PROTO)
    assert done.returncode == code, done.stdout + done.stderr
    assert words in " ".join((done.stdout + done.stderr).split())


def test_a_version_of_a_primitive_type_with_a_text_is_no_history_in_a_batch(here: Path) -> None:
    line = '{"type": "INT32", "candidate": {}, "history": [{"type": "INT32", "schema": "\\"int\\""}]}\n'
    done = command_line.run(here, "check", "--batch", stdin=line)
    assert '"reason":"INVALID_HISTORY"' in done.stdout
    assert "PRIMITIVE_HAS_SCHEMA" in done.stdout


@pytest.mark.parametrize(
    ("written", "rule", "words"),
    [
        ('"{\\"type\\": \\"record\\"}"', "INVALID_NAME", "encoded twice: remove the quotes around it"),
        ('["null", "[\\"int\\"]"]', "INVALID_NAME", "encoded twice"),
        ('"record"', "UNDEFINED_NAME", 'write "type": {"type": "record", ...}'),
        ('"fixed"', "UNDEFINED_NAME", 'write "type": {"type": "fixed", ...}'),
        ('"timestamp-millis"', "INVALID_NAME", 'write {"type": "long", "logicalType": "timestamp-millis"}'),
        ('["null", "long.timestamp-micros"]', "INVALID_NAME", '"logicalType": "timestamp-micros"'),
        ('{"type": "local-timestamp-nanos"}', "INVALID_NAME", '"logicalType": "local-timestamp-nanos"'),
        ('"date"', "UNDEFINED_NAME", 'write {"type": "int", "logicalType": "date"}'),
        ('{"type": "decimal"}', "UNKNOWN_TYPE", '"logicalType": "decimal", "precision": 9, "scale": 2'),
        ('"uuid"', "UNDEFINED_NAME", '{"type": "string", "logicalType": "uuid"}'),
        ('"integer"', "UNDEFINED_NAME", "Avro's type is 'int'"),
        ('"object"', "UNDEFINED_NAME", "Avro's type is 'record' with its fields, or 'map'"),
        ('{"type": "number"}', "UNKNOWN_TYPE", "Avro's type is 'double'"),
        ('"bool"', "UNDEFINED_NAME", "Avro's type is 'boolean'"),
        ('"String"', "UNDEFINED_NAME", "the type is spelled 'string'"),
        ('"some-thing"', "INVALID_NAME", "may not contain '-'"),
    ],
)
def test_a_mistake_in_avro_is_named(written: str, rule: str, words: str) -> None:
    text = f'{{"type": "record", "name": "R", "fields": [{{"name": "f", "type": {written}}}]}}'
    with pytest.raises(InvalidSchemaError) as raised:
        formats.parse(SchemaInfo(SchemaType.AVRO, text.encode()), PulsarVersion.V4_0)
    assert raised.value.rule == rule
    assert words in raised.value.message
