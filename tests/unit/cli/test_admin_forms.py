"""Schemas in the forms of Pulsar's admin tools are read by every command, with their own type and properties."""

import json
from pathlib import Path

import pytest

from support.command_line import run_line

SCHEMA = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
TEXT = json.dumps(SCHEMA)
NEXT = TEXT.replace("}]", '}, {"name": "note", "type": "string", "default": ""}]')
REST = {"version": 0, "type": "AVRO", "timestamp": 1, "data": TEXT, "properties": {}}
INFO = {"name": "created", "schema": SCHEMA, "type": "AVRO", "timestamp": 1, "properties": {"owner": "a"}}
FORMS = {
    "upload.json": {"type": "AVRO", "schema": TEXT, "properties": {}},
    "get.json": {"version": 3, "schemaInfo": INFO},
    "info.json": INFO,
    "rest.json": REST,
    "all.json": {"getSchemaResponses": [REST]},
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for name, form in FORMS.items():
        (tmp_path / name).write_text(json.dumps(form, indent=2))
    several = [{**REST, "version": 1, "data": NEXT}, REST]
    (tmp_path / "several.json").write_text(json.dumps({"getSchemaResponses": several}))
    (tmp_path / "several.list.json").write_text(json.dumps(several))
    (tmp_path / "upload.yaml").write_text(f"type: AVRO\nschema: |\n  {TEXT}\nproperties: {{}}\n")
    (tmp_path / "string.json").write_text('{"type": "STRING", "schema": "", "properties": {}}')
    (tmp_path / "pair.json").write_text('{"type": "KEY_VALUE", "schema": "{\\"key\\": \\"\\", \\"value\\": \\"\\"}"}')
    (tmp_path / "broken.json").write_text('{"type": "AVRO", "schema": 5}')
    (tmp_path / "plain.avsc").write_text(TEXT)
    (tmp_path / "next.avsc").write_text(NEXT)
    (tmp_path / "union.avsc").write_text('[{"type": "enum", "name": "schema", "symbols": ["data"]}]')
    return tmp_path


@pytest.mark.parametrize("name", [*FORMS, "upload.yaml"])
def test_each_form_is_the_schema_in_it(here: Path, name: str) -> None:
    assert run_line(here, f"fingerprint {name}").stdout == run_line(here, "fingerprint plain.avsc").stdout
    done = run_line(here, f"check --history {name} next.avsc")
    assert f"may follow version 0 ({name})" in done.stdout


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("check string.json", 0, "string.json is compatible"),
        ("check --type STRING --history get.json", 1, "version 0 has type AVRO, the candidate STRING"),
        ("check --history get.json --type JSON plain.avsc", 1, "version 0 has type AVRO, the candidate JSON"),
        ("check --type JSON get.json", 2, "get.json has its own type AVRO: remove --type"),
        ("check broken.json", 2, "broken.json: its schema must be a text or an object"),
        ("check union.avsc", 1, "UNION_AT_TOP"),
        ("check --history several.json next.avsc", 0, "equals version 1 (several.json, version 1)"),
        ("check --history several.list.json plain.avsc", 0, "equals version 0 (several.list.json, version 0)"),
        ("check several.json", 2, "several.json has 2 versions: give it as --history"),
        ("can-connect producer --history several.json get.json", 0, "it uses version 0 (several.json, version 0)"),
        ("can-connect producer --type STRING --history get.json", 1, "exists schema type AVRO, new schema type STRING"),
        ("manifest --topic persistent://a/b/c get.json", 0, "  properties:\n    owner: a\n"),
        ("manifest --topic persistent://a/b/c string.json", 0, "type: STRING"),
        ("encode --schema rest.json --hex -", 0, "0a"),
        ("decode --schema get.json --writer upload.json --hex -", 1, "the payload ends inside a long"),
        ("decode --schema get.json --writer string.json --hex -", 2, "string.json has STRING"),
    ],
)
def test_every_command_reads_them(here: Path, line: str, code: int, words: str) -> None:
    done = run_line(here, line, '{"id": 5}' if line.startswith("encode") else "")
    assert done.returncode == code, done.stderr
    assert words in done.stdout + done.stderr or words in " ".join(done.stdout.split())


def test_a_form_on_standard_input_is_read(here: Path) -> None:
    done = run_line(here, "check --history - next.avsc", (here / "several.json").read_text())
    assert "equals version 1 (standard input, version 1)" in done.stdout
