"""`topicschema export`: the history and payloads that kubectl prints, as uploads in the order of the versions."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support import command_line
from support.schemas.recorded_versions import ID, KEY, NOTE, schema
from topicschema.api import store
from topicschema.core import formats
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import Encoding, KeyValue, Part
from topicschema.core.history import History, Origin
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType

WHEN = "2026-11-21T05:30:00Z"
PAIR = key_value.encode(
    KeyValue(Part(SchemaInfo(SchemaType.STRING)), Part(SchemaInfo(SchemaType.AVRO, b'"long"')), Encoding.INLINE)
)


def stored(*schemas: Schema) -> tuple[History, list[dict[str, Any]]]:
    """Return the history of these versions, and its payloads as the API server has them."""
    history, payloads = History(KEY), []
    for each in schemas:
        history = history.with_version(each, Origin.SPEC, WHEN)
        payloads.append(store.version_to_wire(history, each.info, namespace="s"))
    return history, payloads


def export(history: History, payloads: list[dict[str, Any]]) -> subprocess.CompletedProcess[str]:
    """Export both, printed as kubectl does: an object, and a list."""
    first = store.history_to_wire(history, namespace="s", resource_version="1")
    return run(json.dumps(first, indent=4) + "\n" + json.dumps({"kind": "List", "items": payloads}) + "\n")


def run(stdin: str) -> subprocess.CompletedProcess[str]:
    return command_line.run(Path.cwd(), "export", stdin=stdin)


def test_the_versions_are_bodies_of_uploads_in_the_order_of_their_numbers() -> None:
    first, pair = schema(ID), formats.parse(PAIR)
    history, payloads = stored(first, schema(ID, NOTE), pair)
    done = export(history, payloads[::-1])
    assert (done.returncode, done.stderr) == (0, "")
    bodies = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["type"] for each in bodies] == ["AVRO", "AVRO", "KEY_VALUE"]
    assert bodies[0] == {"type": "AVRO", "schema": first.info.schema.decode(), "properties": {}}
    assert json.loads(bodies[2]["schema"]) == {"key": "", "value": "long"}
    assert bodies[2]["properties"]["value.schema.type"] == "AVRO"


def test_a_payload_of_another_incarnation_does_not_belong_to_the_history() -> None:
    history, payloads = stored(schema(ID))
    done = export(replace(history, incarnation=1), payloads)
    assert (done.returncode, done.stdout) == (2, "")
    assert "SchemaVersion h-" in done.stderr


@pytest.mark.parametrize(
    ("change", "words"),
    [({"is_tombstone": True}, "version 1 is a deletion"), ({"schema_version": 2}, "there is no version 1 in")],
    ids=["deletion", "gap"],
)
def test_numbers_that_no_upload_gives_are_an_error_and_nothing_is_printed(change: dict[str, Any], words: str) -> None:
    history, payloads = stored(schema(ID), schema(ID, NOTE))
    first, second = history.entries
    done = export(replace(history, entries=(first, replace(second, **change))), payloads)
    assert (done.returncode, done.stdout) == (1, "")
    assert words in done.stderr


NO_HISTORY = [
    "",
    "{",
    "[]",
    "7",
    "Error from server",
    '{"kind": "List", "items": []}',
    '{"kind": "List"}',
    '{"kind": "List", "items": [7]}',
    '{"kind": "SchemaHistory"}',
    '{"kind": "SchemaHistory", "spec": [], "metadata": []}',
    "[" * 100_000,
]


@pytest.mark.parametrize("stdin", NO_HISTORY, ids=lambda each: each[:40])
def test_what_is_no_history_is_wrong_input(stdin: str) -> None:
    done = run(stdin)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert any(each in done.stderr for each in ("kubectl", "one is needed", "cannot be read"))


def test_a_payload_without_a_name_does_not_belong_to_the_history() -> None:
    history, payloads = stored(schema(ID))
    for metadata in (None, [], {"name": ["a"]}):
        done = export(history, [{**payloads[0], "metadata": metadata}])
        assert (done.returncode, "is missing" in done.stderr) == (2, True), done.stderr
