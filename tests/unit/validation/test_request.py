"""A question is the same value before and after it was written down; what is none is refused with its place."""

import json
import lzma
from typing import Any

import pytest

from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.validation import request
from topicschema.validation.errors import InvalidRequestError
from topicschema.validation.request import (
    Columns,
    FileFormat,
    FileSource,
    OAuth2Flow,
    PulsarSource,
    Sample,
    Tolerance,
    ValidationRequest,
)

STRING = SchemaInfo(SchemaType.STRING)
OF_FILES = ValidationRequest(
    SchemaInfo(SchemaType.AVRO, '"lo\u00f1g"'.encode(), {"owner": "team"}),
    {0: STRING, 41: SchemaInfo(SchemaType.KEY_VALUE, b"\x00\xff\xed\xa0\x80")},
    "persistent://shop/orders/created",
    files=FileSource(("s3://bucket/a",), FileFormat.AVRO, Columns(payload="body"), 3),
    sample=Sample(10, 5, 3600, 77),
    tolerance=Tolerance(12),
    include_values=True,
    labels={"revalidate": "1"},
)
OF_PULSAR = ValidationRequest(
    STRING,
    {},
    "persistent://a/b/c",
    pulsar=PulsarSource("http://a", "pulsar://b", oauth2=OAuth2Flow("https://i", "aud", "/k")),
    executors=3,
    max_executors=8,
    event_log="s3://audit/spark-events",
)


@pytest.mark.parametrize("written", [OF_FILES, OF_PULSAR])
def test_a_request_is_read_back_from_its_text_and_its_packed_form(written: ValidationRequest) -> None:
    assert request.read(written.text) == written == request.read(written.pack().content)
    assert request.read(written.pack().content).sha256 == written.sha256


WRONG: dict[str, Any] = {
    "request.candidate: is required": {"candidate": ...},
    "request.executors: must be a whole number, not a text": {"executors": "3"},
    "request: executors and maxExecutors must be from 0 to 64": {"executors": 65},
    "request: one source is needed: files or pulsar": {"files": ...},
    "request.sample: percent must be from 1 to 100": {"sample": {"percent": 0}},
    "request.sample.seed: must be a whole number": {"sample": {"seed": True}},
    "request.includeValues: must be true or false": {"includeValues": 1},
    f"request.pulsarVersion: must be one of {', '.join(PulsarVersion)}": {"pulsarVersion": "5"},
    "request.files.uris[0]: must be a text": {"files": {"uris": [1]}},
    "request.files.uris: must be a list": {"files": {"uris": "x"}},
    "request.versions[x]: must be named by a number": {"versions": {"x": {}}},
    "request.versions[0].schema: must be a text": {"versions": {"0": {"type": "AVRO", "schema": 1}}},
    "request.versions[0].schema: must be Unicode text": {"versions": {"0": {"type": "AVRO", "schema": "\ud800"}}},
    "request.candidate.type: write AVRO, not 'Avro'": {"candidate": {"type": "Avro", "schema": ""}},
    "request: format 2 is not known here": {"format": 2},
}


@pytest.mark.parametrize("message", WRONG)
def test_an_invalid_request_is_reported_with_its_path(message: str) -> None:
    members = json.loads(OF_FILES.text) | WRONG[message]
    members = {name: value for name, value in members.items() if value is not ...}
    with pytest.raises(InvalidRequestError) as raised:
        request.read(json.dumps(members).encode())
    assert raised.value.message.startswith(message)


@pytest.mark.parametrize(
    "content", [b"", b"[", b"[]", b"\xff", OF_FILES.pack().content[:-9], b"\xfd7zXZ\0nothing", b"[" * 10_000]
)
def test_bytes_that_hold_none_are_refused(content: bytes) -> None:
    with pytest.raises(InvalidRequestError):
        request.read(content)


def test_a_packed_one_that_unpacks_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "MAX_BYTES", 1024 * 1024)
    with pytest.raises(InvalidRequestError, match="not whole, or larger"):
        request.read(lzma.compress(b" " * (2 * 1024 * 1024), preset=0))
