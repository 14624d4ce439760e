"""Who may connect: what stands beside the two tables. Errors, exceptions, texts that cannot be read."""

import base64
import json
from dataclasses import replace

import pytest
from google.protobuf import descriptor_pb2

from support.pulsar.connections import (
    AUTO_CONSUME,
    AUTO_PRODUCE,
    BROKEN,
    CHOKES,
    ID,
    INCOMPATIBLE,
    MORE,
    NEEDS,
    NO_VERSION,
    NONE,
    NOT_FOUND,
    REGISTERS,
    STRANGER,
    STRING,
    UNION,
    UNKNOWN,
    avro,
    consumer,
    field,
    producer,
    refused,
    rules,
    topic,
)
from topicschema.core.broker_errors import BrokerError
from topicschema.core.schemas import PRIMITIVES, SchemaInfo, SchemaType
from topicschema.core.strategies import Direction, Strategy, UpgradeFirst

NOT_ALWAYS = [s for s in Strategy if not s.startswith("ALWAYS")]

# Producers.


def test_neither_messages_nor_consumers_play_a_role_for_producers() -> None:
    assert producer(ID, topic(is_in_use=True)) == producer(ID, topic())
    assert producer(STRANGER, topic(ID, is_in_use=True)) == producer(STRANGER, topic(ID))


INVALID = {
    "AVRO": (BROKEN, "Invalid schema definition data for AVRO schema"),
    "JSON": (SchemaInfo(SchemaType.JSON, b"{"), "Invalid schema definition data for JSON schema"),
    "a union": (UNION, "Avro schema typed [UNION] is not supported"),
    "PROTOBUF_NATIVE": (SchemaInfo(SchemaType.PROTOBUF_NATIVE, b"{}"), "deserialize ProtobufNative Schema failed"),
    "STRING": (SchemaInfo(SchemaType.STRING, b"x"), "Invalid schema definition data for string schema"),
    "INT32": (SchemaInfo(SchemaType.INT32, b"x"), "Invalid schema definition data for primitive schemas"),
    "AUTO_CONSUME": (AUTO_CONSUME, "Schema AUTO_CONSUME is a client-side schema type"),
}


@pytest.mark.parametrize(("sent", "message"), INVALID.values(), ids=INVALID)
def test_a_schema_is_validated_where_it_may_be_registered_and_only_there(sent: SchemaInfo, message: str) -> None:
    for state in (topic(), topic(ID, strategy=Strategy.ALWAYS_COMPATIBLE)):
        found = producer(sent, state)
        assert refused(found, INCOMPATIBLE, message)
        assert len(rules(found)) == 1
    assert refused(producer(sent, topic(allows_auto_update=False)), INCOMPATIBLE, NOT_FOUND)


def test_without_auto_update_an_unparsable_text_is_an_unknown_error_where_there_is_something_to_search() -> None:
    found = producer(BROKEN, topic(ID, allows_auto_update=False))
    assert refused(found, UNKNOWN)
    assert rules(found) == ["SYNTAX"]
    assert found.incompatibilities[0].message.startswith("line 1, column ")


def test_without_auto_update_a_text_that_never_is_parsed_is_only_not_found() -> None:
    sent = SchemaInfo(SchemaType.KEY_VALUE, b"\0")
    assert refused(producer(sent, topic(ID, allows_auto_update=False)), INCOMPATIBLE, NOT_FOUND)


@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF])
def test_a_bad_default_comes_in_first_and_chokes_all_that_follow_itself_included(kind: SchemaType) -> None:
    bad, good = replace(CHOKES, type=kind), replace(ID, type=kind)
    first = producer(bad, topic())
    assert (first.outcome, first.schema_version) == (REGISTERS, 0)
    assert [each.rule for each in first.warnings] == ["INVALID_DEFAULT"]
    for sent in (bad, good, AUTO_PRODUCE):
        assert refused(producer(sent, topic(bad)), UNKNOWN)
    assert rules(producer(good, topic(bad))) == ["INVALID_HISTORY"]
    assert rules(producer(bad, topic(good))) == ["INVALID_DEFAULT"]


def test_a_bad_default_leaves_other_families_and_those_without_a_schema_alone() -> None:
    assert refused(producer(STRING, topic(CHOKES)), INCOMPATIBLE, "Incompatible schema: exists schema type AVRO")
    assert producer(None, topic(CHOKES)).outcome is NO_VERSION
    assert consumer(ID, topic(CHOKES, strategy=Strategy.BACKWARD)).outcome is NO_VERSION


def test_what_is_equal_before_the_version_that_chokes_is_found() -> None:
    assert producer(ID, topic(ID, CHOKES)).schema_version == 0
    assert refused(producer(MORE, topic(ID, CHOKES)), UNKNOWN)


def test_a_json_schema_comes_in_first_as_json_and_chokes_all_that_follow() -> None:
    legacy = SchemaInfo(SchemaType.JSON, b'{"type": "object", "id": "x"}')
    first = producer(legacy, topic())
    assert (first.outcome, [each.rule for each in first.warnings]) == (REGISTERS, ["LEGACY_JSON_SCHEMA"])
    assert refused(producer(legacy, topic(legacy)), UNKNOWN)


def test_the_broker_never_answers_to_a_pair_that_it_cannot_take_apart() -> None:
    properties = {"key.schema.type": "STRING", "value.schema.type": "STRING"}
    found = producer(SchemaInfo(SchemaType.KEY_VALUE, b"\0\0", properties), topic())
    assert refused(found, BrokerError.NO_ANSWER)
    assert rules(found) == ["KEY_VALUE_PAYLOAD"]


def test_an_exception_of_the_check_is_an_unknown_error_but_where_all_versions_are_checked() -> None:
    conflict = avro(field("id", aliases=["old"]), field("note", default=""))
    earlier = avro(field("id"), field("old"))
    assert refused(producer(conflict, topic(earlier, strategy=Strategy.BACKWARD)), UNKNOWN)
    assert rules(producer(conflict, topic(earlier, strategy=Strategy.BACKWARD))) == ["ALIAS_CONFLICT"]
    found = producer(conflict, topic(earlier, strategy=Strategy.BACKWARD_TRANSITIVE))
    assert refused(found, INCOMPATIBLE, "Error during schema compatibility check with strategy BACKWARD_TRANSITIVE")


def test_a_stack_that_overflows_is_an_unknown_error_everywhere() -> None:
    endless, other = avro(field("self", "R")), avro(field("self", "R"), field("id", default=""))
    for strategy in (Strategy.BACKWARD, Strategy.BACKWARD_TRANSITIVE):
        found = producer(other, topic(endless, strategy=strategy))
        assert refused(found, UNKNOWN)
        assert "INFINITE_RECORD" in rules(found)


def test_every_version_of_another_type_is_told_under_a_transitive_strategy_and_the_first_is_the_brokers() -> None:
    state = topic(STRING, NONE, ID, strategy=Strategy.BACKWARD_TRANSITIVE)
    found = producer(MORE, state)
    assert refused(found, INCOMPATIBLE, "Incompatible schema: exists schema type STRING, new schema type AVRO")
    assert [each.schema_version for each in found.incompatibilities] == [1, 0]
    assert producer(MORE, replace(state, strategy=Strategy.BACKWARD)).may_connect


def test_a_string_written_by_python_is_another_version_than_one_by_java() -> None:
    python = SchemaInfo(SchemaType.STRING, b"null")
    assert producer(STRING, topic(python, strategy=Strategy.FULL)).schema_version == 1
    found = producer(STRING, topic(python, strategy=Strategy.ALWAYS_INCOMPATIBLE))
    assert refused(found, INCOMPATIBLE, "Schema compatibility strategy is ALWAYS_INCOMPATIBLE")


# Consumers.


def test_a_consumer_with_a_registered_version_must_still_read_the_latest() -> None:
    for strategy in (Strategy.BACKWARD, Strategy.FORWARD, Strategy.FULL, Strategy.FORWARD_TRANSITIVE):
        found = consumer(NEEDS, topic(NEEDS, ID, strategy=strategy))
        assert refused(found, INCOMPATIBLE, "Error during schema compatibility check with strategy BACKWARD: ")
        assert [(each.rule, each.direction, each.schema_version) for each in found.incompatibilities] == [
            ("FIELD_WITHOUT_DEFAULT", Direction.BACKWARD, 1)
        ]


def test_full_transitive_asks_consumers_to_be_read_as_well_which_no_other_strategy_does() -> None:
    nothing = avro()
    for strategy in (Strategy.FULL, Strategy.BACKWARD_TRANSITIVE, Strategy.FORWARD, Strategy.FORWARD_TRANSITIVE):
        assert consumer(nothing, topic(ID, ID, strategy=strategy)).may_connect
    found = consumer(nothing, topic(ID, strategy=Strategy.FULL_TRANSITIVE))
    assert refused(found, INCOMPATIBLE, "Error during schema compatibility check with strategy FULL_TRANSITIVE: ")
    assert {each.direction for each in found.incompatibilities} == {Direction.FORWARD}


ONE_OF_EACH = {
    "AVRO": (ID, "Error during schema compatibility check with strategy ALWAYS_INCOMPATIBLE: "),
    "JSON": (replace(ID, type=SchemaType.JSON), "Error during schema compatibility check with strategy"),
    "PROTOBUF": (replace(ID, type=SchemaType.PROTOBUF), "Schema compatibility strategy is ALWAYS_INCOMPATIBLE"),
    "PROTOBUF_NATIVE": (SchemaInfo(SchemaType.PROTOBUF_NATIVE, b"{}"), "Unknown SchemaCompatibilityStrategy."),
    "KEY_VALUE": (SchemaInfo(SchemaType.KEY_VALUE, bytes(8)), ""),
    **{str(kind): (SchemaInfo(kind), "Schema compatibility strategy is") for kind in sorted(PRIMITIVES)},
}


@pytest.mark.parametrize(("sent", "message"), ONE_OF_EACH.values(), ids=ONE_OF_EACH)
def test_always_incompatible_refuses_a_consumer_even_with_the_identical_schema(sent: SchemaInfo, message: str) -> None:
    found = consumer(sent, topic(sent, strategy=Strategy.ALWAYS_INCOMPATIBLE))
    assert refused(found, INCOMPATIBLE, message)
    assert rules(found) == ["ALWAYS_INCOMPATIBLE"]
    assert found.upgrade_first is UpgradeFirst.NONE


OF_TYPE_ALONE = [
    (STRING, SchemaInfo(SchemaType.STRING, b"null")),
    (STRING, SchemaInfo(SchemaType.STRING, b"not even valid")),
    (replace(ID, type=SchemaType.PROTOBUF), replace(STRANGER, type=SchemaType.PROTOBUF)),
    (replace(ID, type=SchemaType.PROTOBUF), replace(BROKEN, type=SchemaType.PROTOBUF)),
    (NONE, SchemaInfo(SchemaType.NONE, b"something else")),
    *((SchemaInfo(kind), SchemaInfo(kind)) for kind in sorted(PRIMITIVES)),
]


@pytest.mark.parametrize("strategy", NOT_ALWAYS)
@pytest.mark.parametrize(("known", "sent"), OF_TYPE_ALONE)
def test_a_type_that_nobody_compares_needs_only_the_type(
    known: SchemaInfo, sent: SchemaInfo, strategy: Strategy
) -> None:
    assert consumer(sent, topic(known, strategy=strategy)).outcome is NO_VERSION


@pytest.mark.parametrize("strategy", NOT_ALWAYS)
def test_a_consumer_of_another_type_than_the_latest_is_refused(strategy: Strategy) -> None:
    found = consumer(STRING, topic(STRING, ID, strategy=strategy))
    assert refused(found, INCOMPATIBLE, "Incompatible schema: exists schema type AVRO, new schema type STRING")
    assert rules(found) == ["TYPE_CHANGED"]


def test_a_consumer_of_another_type_than_an_older_version_is_refused_where_all_are_looked_at() -> None:
    for strategy, may in {Strategy.FORWARD_TRANSITIVE: True, Strategy.BACKWARD_TRANSITIVE: False}.items():
        assert consumer(ID, topic(STRING, ID, strategy=strategy)).may_connect is may


@pytest.mark.parametrize("strategy", NOT_ALWAYS)
@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON])
def test_a_consumers_schema_is_not_validated_but_must_be_read_to_be_compared(
    kind: SchemaType, strategy: Strategy
) -> None:
    found = consumer(replace(BROKEN, type=kind), topic(replace(ID, type=kind), strategy=strategy))
    assert refused(found, INCOMPATIBLE)
    assert rules(found) == ["SYNTAX"]


@pytest.mark.parametrize(("sent", "message"), INVALID.values(), ids=INVALID)
def test_the_first_consumer_is_let_in_with_an_invalid_schema_which_is_not_registered(
    sent: SchemaInfo, message: str
) -> None:
    found = consumer(sent, topic())
    assert found.outcome is NO_VERSION
    assert len(found.warnings) == (sent is not AUTO_CONSUME)
    assert refused(consumer(BROKEN, topic(allows_auto_update=False)), INCOMPATIBLE, NOT_FOUND)


def test_under_always_incompatible_a_consumer_is_refused_for_the_oldest_version_of_another_type() -> None:
    found = consumer(NONE, topic(ID, SchemaInfo(SchemaType.STRING), strategy=Strategy.ALWAYS_INCOMPATIBLE))
    assert refused(found, INCOMPATIBLE, "Incompatible schema: exists schema type AVRO, new schema type NONE")


def test_the_first_consumer_learns_of_a_pair_that_cannot_be_taken_apart_what_no_producer_does() -> None:
    short = SchemaInfo(SchemaType.KEY_VALUE, b"")
    assert refused(consumer(short, topic()), UNKNOWN)
    assert refused(producer(short, topic()), BrokerError.NO_ANSWER)


def test_a_consumer_may_have_a_union_at_the_top_where_a_producer_may_not() -> None:
    text = SchemaInfo(SchemaType.AVRO, b'"string"')
    assert consumer(UNION, topic(text, strategy=Strategy.BACKWARD)).outcome is NO_VERSION
    assert not producer(UNION, topic(text, strategy=Strategy.BACKWARD)).may_connect


def test_the_bytes_of_the_latest_version_pass_unread_unless_all_versions_are_looked_at() -> None:
    assert consumer(BROKEN, topic(BROKEN, strategy=Strategy.FULL)).may_connect
    assert refused(consumer(BROKEN, topic(BROKEN, strategy=Strategy.FULL_TRANSITIVE)), INCOMPATIBLE)


def test_a_version_that_cannot_be_read_is_told_as_the_reason() -> None:
    found = consumer(ID, topic(BROKEN, strategy=Strategy.BACKWARD))
    assert refused(found, INCOMPATIBLE)
    assert [(each.rule, each.schema_version) for each in found.incompatibilities] == [("INVALID_HISTORY", 0)]


def test_an_exception_of_the_check_is_an_unknown_error_to_consumers_too() -> None:
    reads = avro(field("id"), field("at", "int", default="soon"))
    assert refused(consumer(reads, topic(ID, strategy=Strategy.FORWARD)), UNKNOWN)
    assert refused(consumer(reads, topic(ID, strategy=Strategy.BACKWARD_TRANSITIVE)), INCOMPATIBLE)


def test_a_pair_is_compared_part_by_part() -> None:
    def pair(kind: SchemaType) -> SchemaInfo:
        properties = {"key.schema.type": "STRING", "value.schema.type": kind.value}
        return SchemaInfo(SchemaType.KEY_VALUE, bytes(8), properties)

    state = topic(pair(SchemaType.INT32), strategy=Strategy.BACKWARD_TRANSITIVE)
    found = consumer(pair(SchemaType.INT64), state)
    assert refused(found, INCOMPATIBLE, "Key schemas or Value schemas are different schema type")
    # The bytes are the same, and bytes are all that a search, and a look at the latest alone, compare.
    assert producer(pair(SchemaType.INT64), state).schema_version == 0
    assert consumer(pair(SchemaType.INT64), replace(state, strategy=Strategy.BACKWARD)).may_connect


def test_the_text_of_a_refused_protobuf_root_names_the_strategy() -> None:
    def envelope(package: str) -> SchemaInfo:
        file = descriptor_pb2.FileDescriptorProto(name="m.proto", package=package, syntax="proto3")
        file.message_type.add(name="M")
        files = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()
        members = {
            "fileDescriptorSet": base64.b64encode(files).decode(),
            "rootMessageTypeName": f"{package}.M",
            "rootFileDescriptorName": "m.proto",
        }
        return SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(members).encode())

    found = producer(envelope("b"), topic(envelope("a"), strategy=Strategy.FULL))
    assert refused(found, INCOMPATIBLE, "Protobuf root message change is not allowed under the 'FULL' strategy.")
