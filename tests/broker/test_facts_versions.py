"""Unexpected facts of a real broker about new versions, and about schemas that are equal to an earlier one."""

import json
import re
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from support.pulsar.rest_topic import RestTopic, optional, record
from support.schemas import protobuf_schemas
from testbed.pulsar import HAS_JSON_SCHEMAS, PULSAR_VERSION, Pulsar
from topicschema.core.broker_errors import BrokerError
from topicschema.core.clients import Client, TopicState, connect
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

_FIRST = record(optional("a"))
_SECOND = record(optional("a"), optional("b"))
_INVALID_DEFAULT = record('{"name": "a", "type": "string", "default": null}')
_KEY_VALUE = {"key.schema.type": "AVRO", "value.schema.type": "STRING", "kv.encoding.type": "INLINE"}


def _envelope() -> dict[str, str]:
    file = FileDescriptorProto(name="m.proto", package="p", syntax="proto3")
    file.message_type.add(name="M")
    return protobuf_schemas.envelope(FileDescriptorSet(file=[file]), "p.M", "m.proto")


def test_an_invalid_default_is_taken_first_and_then_blocks_the_topic(topic: RestTopic) -> None:
    assert topic.upload_version(_INVALID_DEFAULT) == 0

    for text in (_INVALID_DEFAULT, _FIRST):
        answer = topic.upload(text)
        assert answer.status == 500
        assert "Invalid default for field" in answer.json["reason"]
    assert topic.upload("", "STRING").status == 409
    assert topic.compatibility(_INVALID_DEFAULT).status == 202
    assert topic.version_of(_INVALID_DEFAULT) == 0


def test_an_invalid_default_that_comes_second_is_refused_and_does_no_harm(topic: RestTopic) -> None:
    topic.upload_version(_FIRST)

    assert topic.upload(_INVALID_DEFAULT).status == 500

    assert topic.upload_version(_SECOND) == 1


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
@pytest.mark.parametrize("change", ["doc", "properties", "layout"])
def test_dedupe_retains_the_old_text_and_properties(topic: RestTopic, kind: str, change: str) -> None:
    text = record(optional("a"), doc="second") if change == "doc" else _FIRST
    text = json.dumps(json.loads(text), indent=2) if change == "layout" else text
    topic.upload_version(_FIRST, kind, {"owner": "first"})

    assert topic.upload_version(text, kind, {"owner": "second"} if change == "properties" else {}) == 0

    stored = topic.read().json
    assert (stored["version"], stored["data"], stored["properties"]) == (0, _FIRST, {"owner": "first"})


def test_a_key_value_schema_is_known_byte_for_byte_but_for_the_space_between(topic: RestTopic) -> None:
    parts = {"key": json.loads(_FIRST), "value": ""}
    again = {"key": json.loads(record(optional("a"), doc="second")), "value": ""}
    assert topic.upload_version(json.dumps(parts), "KEY_VALUE", _KEY_VALUE) == 0

    assert topic.upload_version(json.dumps(parts, indent=3), "KEY_VALUE", _KEY_VALUE) == 0
    assert topic.upload_version(json.dumps(again), "KEY_VALUE", _KEY_VALUE) == 1


def test_types_and_encoding_of_a_key_value_schema_are_not_part_of_its_identity(topic: RestTopic) -> None:
    text = json.dumps({"key": "", "value": ""})
    first = {"key.schema.type": "INT64", "value.schema.type": "BOOLEAN", "kv.encoding.type": "INLINE"}
    second = {"key.schema.type": "STRING", "value.schema.type": "INT32", "kv.encoding.type": "SEPARATED"}
    topic.upload_version(text, "KEY_VALUE", first)

    assert topic.upload_version(text, "KEY_VALUE", second) == 0

    assert topic.read().json["properties"] == first


def test_a_protobuf_native_schema_is_known_byte_for_byte_and_returned_as_sent(topic: RestTopic) -> None:
    text = json.dumps(_envelope())
    assert topic.upload_version(text, "PROTOBUF_NATIVE") == 0
    assert topic.upload_version(text, "PROTOBUF_NATIVE") == 0

    assert topic.upload_version(f"{text} ", "PROTOBUF_NATIVE") == 1

    assert topic.read(0).json["data"] == text
    assert topic.read(1).json["data"] == f"{text} "


def test_a_protobuf_native_schema_is_judged_by_the_name_of_its_message_only(topic: RestTopic) -> None:
    topic.upload_version(json.dumps(_envelope()), "PROTOBUF_NATIVE")
    other = FileDescriptorProto(name="m.proto", package="p", syntax="proto3")
    other.message_type.add(name="N")

    answer = topic.upload(
        json.dumps(protobuf_schemas.envelope(FileDescriptorSet(file=[other]), "p.N", "m.proto")), "PROTOBUF_NATIVE"
    )

    assert answer.status == 409
    assert "Protobuf root message change is not allowed" in answer.json["message"]


def test_bytes_is_stored_as_none_and_blocks_the_topic(topic: RestTopic) -> None:
    assert topic.upload_version("", "BYTES") == 0
    assert topic.read().json["type"] == "NONE"

    assert topic.upload("", "BYTES").status == 409
    assert topic.upload(_FIRST).status == 409


def test_an_empty_string_schema_and_the_python_clients_are_two_versions(topic: RestTopic) -> None:
    assert topic.upload_version("null", "STRING") == 0
    assert topic.upload_version("", "STRING") == 1
    assert topic.upload("text", "STRING").status == 422


def test_a_union_at_the_top_is_refused_as_avro_and_taken_as_json(topic: RestTopic) -> None:
    assert topic.upload('["null", "string"]').status == 422
    assert topic.upload_version('["null", "string"]', "JSON") == 0


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("{}", 422),
        ("true", 422),
        ('{"type": "record", "name": "R"}', 500),
        ('{"type": "fixed", "name": "F", "size": "4"}', 500),
        ('{"type": "fixed", "name": "F", "size": -1}', 422),
        (record('{"name": "a", "type": "int", "order": "weird"}'), 422),
        ('{"type": "record", "name": "int", "fields": []}', 422),
        ('{"type": "array", "items": [1]}', 422),
        ('{"type": "array", "items": {"type": "record"}}', 422),
        ('{"type": "object", "properties": {"a": {}}}', 422),
        ('{"type": "object", "properties": {"a": {"type": "number", "maximum": "high"}}}', 422),
        ("[1]", 500),
        ('["record", {}]', 500),
        ('["object", {}]', 200),
        ('{"type": "array", "maxItems": "7", "required": 1}', 200),
    ],
)
def test_json_that_avro_does_not_parse_is_refused_in_two_ways_or_accepted_and_can_connect_knows_which(
    topic: RestTopic, text: str, status: int
) -> None:
    status = status if HAS_JSON_SCHEMAS else 422
    assert topic.upload(text, "JSON").status == status
    state = TopicState((), Strategy.FULL, pulsar_version=PulsarVersion(PULSAR_VERSION))
    sent = connect(Client.PRODUCER, SchemaInfo(SchemaType.JSON, text.encode()), state)
    assert sent.error is {200: None, 422: BrokerError.INCOMPATIBLE_SCHEMA, 500: BrokerError.NO_ANSWER}[status]


def test_null_is_taken_as_json_and_then_blocks_the_topic(topic: RestTopic) -> None:
    assert topic.upload("null").status == 422
    if not HAS_JSON_SCHEMAS:
        assert topic.upload("null", "JSON").status == 422
        return
    assert topic.upload_version("null", "JSON") == 0
    for text in ("null", _FIRST):
        assert topic.upload(text, "JSON").status == 500


def test_another_type_is_taken_under_always_compatible_only(topic: RestTopic) -> None:
    topic.upload_version(_FIRST)
    assert topic.upload("", "STRING").status == 409

    topic.pulsar.call("PUT", f"/namespaces/{topic.namespace}/schemaCompatibilityStrategy", "ALWAYS_COMPATIBLE")

    assert topic.upload_version("", "STRING") == 1


def test_uploads_at_a_time_of_one_schema_are_one_version_and_of_many_take_consecutive_ones(topic: RestTopic) -> None:
    many = [record(*(optional(f"f{index}") for index in range(count))) for count in range(8)]
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(topic.upload_version, [many[0]] * 8)) == {0}

        assert sorted(threads.map(topic.upload_version, many[1:])) == list(range(1, 8))


def test_of_uploads_at_a_time_that_do_not_read_each_other_one_is_taken(topic: RestTopic) -> None:
    texts = [record(f'{{"name": "f{each}", "type": "string"}}') for each in range(8)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(topic.upload, texts))

    assert sorted(each.status for each in answers) == [200, *[409] * 7]
    assert topic.index() == [0]


def _lookups(topic: RestTopic) -> int:
    """Return the number of ledgers that the broker opened so far; each version of a schema has a ledger of its own."""
    with urllib.request.urlopen(f"{topic.pulsar.admin_url}/metrics/") as answer:  # noqa: S310 - a broker of the tests
        match = re.search(r'\ncaffeine_cache_requests_total\{[^}]*"serde"[^}]*\} (\S+)\n', answer.read().decode())
    assert match is not None
    return int(float(match[1]))


def _cost(topic: RestTopic, request: Callable[[], object]) -> int:
    """Return the number of ledgers that it opens for one request."""
    before = _lookups(topic)
    request()
    return _lookups(topic) - before


def test_an_upload_reads_all_versions_even_of_a_known_schema_and_a_request_of_the_latest_does_not(
    strict_pulsar: Pulsar,
) -> None:
    topic = RestTopic(strict_pulsar, strict_pulsar.create_namespace())  # no other test uses that broker
    for count in range(1, 41):
        topic.upload_version(record(*(optional(f"f{each}") for each in range(count))))

    assert _cost(topic, lambda: topic.upload_version(record(optional("f0")))) >= 40
    assert _cost(topic, topic.read) < 20  # one, or two in 4.2
    assert _cost(topic, topic.index) < 20  # none


def test_a_key_value_schema_without_its_types_is_taken_and_shown_without_its_parts(topic: RestTopic) -> None:
    assert topic.upload_version(json.dumps({"key": json.loads(_FIRST), "value": ""}), "KEY_VALUE") == 0

    assert json.loads(topic.read().json["data"]) == {"key": "", "value": ""}


def test_a_key_value_schema_may_have_an_encoding_that_is_none_but_no_part_of_an_unknown_type(topic: RestTopic) -> None:
    text = json.dumps({"key": json.loads(_FIRST), "value": ""})
    unknown = {**_KEY_VALUE, "kv.encoding.type": "NEITHER"}

    assert topic.upload(text, "KEY_VALUE", {**_KEY_VALUE, "value.schema.type": "NOPE"}).status == 500
    assert topic.upload_version(text, "KEY_VALUE", unknown) == 0

    assert topic.read().json["properties"] == unknown


@pytest.mark.parametrize(("size", "status"), [(5_242_454, 200), (5_242_754, 500)])
def test_the_largest_text_is_a_little_smaller_than_a_message_may_be(
    strict_pulsar: Pulsar, size: int, status: int
) -> None:
    """Use a broker that no other test uses meanwhile: a text of this size may make it refuse other requests, too."""
    topic = RestTopic(strict_pulsar, strict_pulsar.create_namespace())
    text = record(doc="x" * (size - len(record(doc=""))))

    assert topic.upload(text).status == status
