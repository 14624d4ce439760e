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
    avro,
    consumer,
    field,
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
BROKEN_TEXT = SchemaInfo(SchemaType.JSON, b'{"name": "R", "type": "enum", symbols}')
NUMBERED = SchemaInfo(SchemaType.JSON, b'{"type": 1}')
IN_ARRAY = SchemaInfo(SchemaType.JSON, b"[1]")
TWICE_IN_UNION = replace(avro(field("a", ["int", "int"])), type=SchemaType.JSON)
BROKEN_BEFORE = SchemaInfo(SchemaType.JSON, b'{"a": NaN, "type": "enum"}')
NO_JSON = SchemaInfo(SchemaType.JSON, b"{")
ENDED_OTHERWISE = [  # by exceptions of Avro that are not its own for texts that it does not parse
    SchemaInfo(SchemaType.JSON, text)
    for text in (
        b'{"type": "fixed", "name": "F", "size": -1}',
        b'{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "order": "weird"}]}',
        b'{"type": "record", "name": "int", "fields": []}',
    )
]
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


def test_the_broker_never_answers_a_producer_whose_json_is_a_broken_avro_record() -> None:
    for broken in (
        BROKEN_RECORD,
        BROKEN_TEXT,
        NUMBERED,
        IN_ARRAY,
    ):  # Jackson looks for the type before it reads the rest
        assert refused(producer(broken, topic()), BrokerError.NO_ANSWER)
    for broken in (NO_JSON, BROKEN_BEFORE, TWICE_IN_UNION, *ENDED_OTHERWISE):
        assert refused(producer(broken, topic()), INCOMPATIBLE, "Invalid schema definition data for JSON schema")


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


def test_what_ends_avros_parser_otherwise_is_an_unknown_error_in_a_look_at_the_latest_alone() -> None:
    for broken in ENDED_OTHERWISE:
        assert refused(consumer(broken, topic(JSON, strategy=Strategy.FULL)), UNKNOWN)
        assert refused(consumer(broken, topic(JSON, strategy=Strategy.FULL_TRANSITIVE)), INCOMPATIBLE)


def test_texts_that_make_a_checker_throw_are_unknown_errors_in_a_look_at_the_latest_alone() -> None:
    twice = avro(field("a"), field("a"))
    envelopes = (SchemaInfo(SchemaType.PROTOBUF_NATIVE, b"{}"), SchemaInfo(SchemaType.PROTOBUF_NATIVE, b"{ }"))
    for known, sent in ((ID, twice), (twice, ID), envelopes):
        assert refused(consumer(sent, topic(known, strategy=Strategy.FULL)), UNKNOWN)
        assert refused(consumer(sent, topic(known, strategy=Strategy.FULL_TRANSITIVE)), INCOMPATIBLE)


def test_a_field_without_a_default_ends_the_reading_of_its_record_before_anything_is_thrown() -> None:
    sent = avro(field("must"), field("at", "int", default="soon"))
    found = consumer(sent, topic(ID, strategy=Strategy.BACKWARD))
    assert refused(found, INCOMPATIBLE, "Error during schema compatibility check")
    assert rules(found) == ["FIELD_WITHOUT_DEFAULT", "INVALID_DEFAULT"]


def test_a_record_that_is_left_early_beside_one_record_is_read_on_beside_another() -> None:
    """Each branch is tried for a record of another name: there the field without a default is written."""
    must, chokes = {"name": "must", "type": "int"}, {"name": "at", "type": "int", "default": "soon"}
    choosy = {"type": "record", "name": "A", "fields": [must, chokes]}
    bare, giving = ({"type": "record", "name": name, "fields": fields} for name, fields in (("A", []), ("B", [must])))
    known, sent = (avro(field("one", [first, giving])) for first in (bare, choosy))
    assert refused(consumer(sent, topic(known, strategy=Strategy.BACKWARD)), UNKNOWN)


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


@pytest.mark.parametrize("text", [b"1", b'""', b"{}", b'{"type": ["object"]}', b"[" * 100_000, b"\xff"])
def test_what_neither_avro_nor_jackson_takes_is_refused(text: bytes) -> None:
    assert refused(producer(SchemaInfo(SchemaType.JSON, text), topic()), INCOMPATIBLE, "Invalid schema definition data")


def test_a_consumer_with_a_producers_setting_is_told_that_it_is_the_clients() -> None:
    found = consumer(SchemaInfo(SchemaType.AUTO_PUBLISH), topic())
    assert refused(found, INCOMPATIBLE, "Schema AUTO_PUBLISH is a client-side schema type")
