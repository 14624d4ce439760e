"""Who may connect: texts that cannot be read, and comparisons that break down."""

import json
from dataclasses import replace

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from support.pulsar.connections import (
    CHOKES,
    ID,
    INCOMPATIBLE,
    NEEDS,
    UNKNOWN,
    consumer,
    producer,
    refused,
    rules,
    topic,
)
from support.schemas.protobuf_schemas import envelope
from topicschema.core.broker_errors import BrokerError
from topicschema.core.formats.key_value import KeyValue, Part, Side, encode
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

JSON = replace(ID, type=SchemaType.JSON)
LEGACY = SchemaInfo(SchemaType.JSON, b'{"type": "object", "id": "x"}')
SAME_ID = SchemaInfo(SchemaType.JSON, b'{"type": "object", "id": "x", "title": "t"}')
OTHER_ID = SchemaInfo(SchemaType.JSON, b'{"type": "object", "id": "y"}')
WITHOUT_ID = SchemaInfo(SchemaType.JSON, b'{"type": "object"}')
BROKEN_RECORD = SchemaInfo(SchemaType.JSON, b'{"type": "record", "name": "R"}')
NO_JSON = SchemaInfo(SchemaType.JSON, b"{")
JSON_PAIRS = [
    (JSON, LEGACY, None),
    (LEGACY, JSON, None),
    (LEGACY, SAME_ID, None),
    (LEGACY, OTHER_ID, INCOMPATIBLE),
    (LEGACY, WITHOUT_ID, INCOMPATIBLE),
    (WITHOUT_ID, LEGACY, UNKNOWN),
    (JSON, NO_JSON, INCOMPATIBLE),
    (JSON, BROKEN_RECORD, UNKNOWN),
    (NO_JSON, JSON, None),
]


@pytest.mark.parametrize(("known", "sent", "error"), JSON_PAIRS)
def test_json_schemas_of_old_clients_pass_a_look_at_the_latest_and_fail_where_all_versions_are_looked_at(
    known: SchemaInfo, sent: SchemaInfo, error: BrokerError | None
) -> None:
    assert consumer(sent, topic(known, strategy=Strategy.FORWARD)).error is error
    found = consumer(sent, topic(known, strategy=Strategy.BACKWARD_TRANSITIVE))
    assert refused(found, INCOMPATIBLE)
    assert len(rules(found)) == 1


@pytest.mark.parametrize("side", Side)
def test_the_parts_of_a_pair_are_asked_as_they_would_be_alone(side: Side) -> None:
    def pair(part: SchemaInfo) -> SchemaInfo:
        other = Part(SchemaInfo(SchemaType.BYTES))
        return encode(KeyValue(Part(part), other) if side is Side.KEY else KeyValue(other, Part(part)))

    taken = producer(pair(LEGACY), topic())
    assert (taken.may_connect, [(each.rule, each.path) for each in taken.warnings]) == (
        True,
        [("LEGACY_JSON_SCHEMA", f"$.{side}")],
    )
    assert refused(producer(pair(BROKEN_RECORD), topic()), BrokerError.NO_ANSWER)
    found = producer(pair(NO_JSON), topic())
    assert refused(found, INCOMPATIBLE)
    assert found.incompatibilities[0].path.startswith(f"$.{side}")


def test_files_that_import_each_other_overflow_the_brokers_stack_whatever_is_asked() -> None:
    files = FileDescriptorSet()
    files.file.add(name="m.proto", syntax="proto3", dependency=["m.proto"]).message_type.add(name="M")
    looping = SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(envelope(files, "M", "m.proto")).encode())
    assert refused(producer(looping, topic()), BrokerError.NO_ANSWER)
    assert refused(consumer(looping, topic()), UNKNOWN)
    for strategy in (Strategy.FORWARD, Strategy.BACKWARD_TRANSITIVE):
        other = replace(looping, schema=looping.schema + b" ")
        assert refused(consumer(looping, topic(other, strategy=strategy)), UNKNOWN)


def test_two_avro_schemas_of_type_json_are_compared_as_avro_and_their_defaults_left_unread() -> None:
    needs, chokes = replace(NEEDS, type=SchemaType.JSON), replace(CHOKES, type=SchemaType.JSON)
    found = consumer(needs, topic(JSON, strategy=Strategy.FULL))
    assert refused(found, INCOMPATIBLE, "Error during schema compatibility check with strategy BACKWARD: ")
    assert rules(found) == ["FIELD_WITHOUT_DEFAULT"]
    assert consumer(needs, topic(chokes, strategy=Strategy.FULL)).may_connect


@pytest.mark.parametrize("text", [b"null", b'{"type": "any"}'])
def test_what_jackson_takes_is_stored_as_json_with_a_warning_and_under_no_other_type(text: bytes) -> None:
    found = producer(SchemaInfo(SchemaType.JSON, text), topic())
    assert (found.may_connect, len(found.warnings)) == (True, 1)
    assert refused(producer(SchemaInfo(SchemaType.AVRO, text), topic()), INCOMPATIBLE, "Invalid schema definition data")
