"""Schemas and settings as the broker writes them, and back."""

import pytest

from topicschema.broker import wire
from topicschema.broker.errors import BrokerUnavailableError, RefusedByBrokerError
from topicschema.core.errors import InvalidSchemaError, StalledError
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import Encoding, KeyValue, Part
from topicschema.core.remote import BrokerSettings, NamespaceSettings, Producer
from topicschema.core.schemas import PRIMITIVES, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic

RECORD = '{"type":"record","name":"A","fields":[{"name":"x","type":"double","default":%s}]}'


def pair(value: str, **properties: str) -> SchemaInfo:
    parts = KeyValue(
        Part(SchemaInfo(SchemaType.STRING), "String"),
        Part(SchemaInfo(SchemaType.AVRO, value.encode()), "A"),
        Encoding.SEPARATED,
    )
    return key_value.encode(parts, properties)


def answer(info: SchemaInfo, number: int = 3) -> dict[str, object]:
    body = wire.written(info)
    return {"version": number, "timestamp": 1700000000999, "data": body.pop("schema"), **body}


EVERY = [
    *(SchemaInfo(kind) for kind in sorted(PRIMITIVES)),
    SchemaInfo(SchemaType.STRING, b"null"),
    SchemaInfo(SchemaType.NONE, b"whatever"),
    *(
        SchemaInfo(kind, b' {"type": "string"} // \xc3\xa9', {"a": "b"})
        for kind in (SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF)
    ),
    SchemaInfo(SchemaType.PROTOBUF_NATIVE, b'{"fileDescriptorSet":"eA=="}'),
    pair('{"type":"record","name":"A","fields":[],"doc":"\xe9 \\u2028"}', owner="team"),
    pair(RECORD % "1.00"),
]


@pytest.mark.parametrize("info", EVERY, ids=lambda info: info.type)
def test_every_type_comes_back_as_it_was_sent(info: SchemaInfo) -> None:
    read = wire.version_of(answer(info))
    assert (read.schema_version, read.registered_at) == (3, "2023-11-14T22:13:20Z")
    assert read.info.content_hash == info.content_hash
    assert wire.same_content(info, read.info)


@pytest.mark.parametrize("kind", [SchemaType.BYTES, SchemaType.AUTO_CONSUME, SchemaType.AUTO_PUBLISH])
def test_what_would_block_a_topic_is_never_sent(kind: SchemaType) -> None:
    with pytest.raises(RefusedByBrokerError, match="never sent"):
        wire.written(SchemaInfo(kind))


def test_a_pair_in_a_pair_and_a_text_that_is_not_utf_8_are_never_sent() -> None:
    properties = {"key.schema.type": "KEY_VALUE", "value.schema.type": "STRING"}
    with pytest.raises(InvalidSchemaError, match="cannot be sent"):
        wire.written(SchemaInfo(SchemaType.KEY_VALUE, bytes(8), properties))
    with pytest.raises(RefusedByBrokerError, match="UTF-8"):
        wire.written(SchemaInfo(SchemaType.AVRO, b"\xff"))


@pytest.mark.parametrize(
    ("sent", "shown", "is_same"),
    [
        ("1.00", "1.0", True),
        ("1E2", "100.0", True),
        ("1e-7", "1.0E-7", True),
        ("123456789.123456789123", "1.2345678912345679E8", True),
        ("1e400", '"Infinity"', True),
        ("-1e400", '"-Infinity"', True),
        ("12345678901234567890", "12345678901234567890", True),
        ("12345678901234567", "12345678901234568", False),
        ("1.0", "1.5", False),
        ("1.0", '"1.0"', False),
    ],
)
def test_a_pair_is_the_same_if_only_the_spelling_of_numbers_differs(sent: str, shown: str, *, is_same: bool) -> None:
    assert wire.same_content(pair(RECORD % sent), pair(RECORD % shown)) is is_same


def test_contents_differ_by_type_properties_order_and_spelling() -> None:
    base = SchemaInfo(SchemaType.AVRO, b'"string"', {"a": "b"})
    assert wire.same_content(base, base)
    assert not wire.same_content(base, SchemaInfo(SchemaType.JSON, b'"string"', {"a": "b"}))
    assert not wire.same_content(base, SchemaInfo(SchemaType.AVRO, b'"string"'))
    assert not wire.same_content(base, SchemaInfo(SchemaType.AVRO, b' "string"', {"a": "b"}))
    assert not wire.same_content(pair('{"a":1,"b":2.50}'), pair('{"b":2.5,"a":1}'))
    assert not wire.same_content(pair("{}"), SchemaInfo(SchemaType.KEY_VALUE, b"", pair("{}").properties))


def test_an_unknown_type_is_reported_with_its_name() -> None:
    with pytest.raises(StalledError, match="'EXTERNAL' as version 7") as caught:
        wire.version_of({"version": 7, "type": "EXTERNAL", "data": "", "timestamp": 1})
    assert caught.value.reason == "UnsupportedSchemaType"


@pytest.mark.parametrize(
    "broken",
    [
        None,
        [],
        {},
        {"version": "x"},
        {"version": 1, "type": "AVRO"},
        {"version": 1, "type": "KEY_VALUE", "data": "{"},
        {"version": -1, "type": "STRING", "data": ""},
        {"version": 10**9, "type": "STRING", "data": ""},
    ],
)
def test_what_is_no_schema_is_no_broker(broken: object) -> None:
    with pytest.raises(BrokerUnavailableError, match="the answer is not"):
        wire.version_of(broken)
    with pytest.raises(BrokerUnavailableError):
        list(map(wire.version_of, wire.listed_of(broken)))
    with pytest.raises(BrokerUnavailableError):
        wire.number_of({"version": None})


def test_an_index_has_tombstones_too_and_no_answer_means_no_storage() -> None:
    assert wire.index_of({"index": [{"version": 1}, {"version": 0}, {"version": 2}]}) == (0, 1, 2)
    assert wire.index_of(None) == ()
    for broken in (None, [{"version": float("inf")}], [{"version": -1}]):
        with pytest.raises(BrokerUnavailableError):
            wire.index_of({"index": broken})


def test_names_are_encoded_as_often_as_the_broker_decodes_them() -> None:
    topic = Topic("t", "n", "a+b %é")
    assert wire.schemas_path(topic, "schema") == "/admin/v2/schemas/t/n/a%252Bb%2520%2525%25C3%25A9/schema"
    assert wire.topic_path(topic, "persistent", "x") == "/admin/v2/persistent/t/n/a%2Bb%20%25%C3%A9/x"
    assert wire.namespace_path(PulsarNamespaceKey("c", "t=1", "n")) == "/admin/v2/namespaces/t%3D1/n"


def test_a_namespaces_settings_are_what_is_set_there() -> None:
    assert wire.namespace_settings_of({"schema_compatibility_strategy": "UNDEFINED"}) == NamespaceSettings()
    shown = {
        "schema_compatibility_strategy": "FULL",
        "schema_auto_update_compatibility_strategy": "Backward",
        "is_allow_auto_update_schema": False,
        "is_allow_auto_update_schema_with_replicator": True,
        "schema_validation_enforced": True,
        "replication_clusters": ["west", "east"],
    }
    assert wire.namespace_settings_of(shown) == NamespaceSettings(
        strategy=Strategy.FULL,
        auto_update_strategy="Backward",
        allows_auto_update=False,
        enforces_validation=True,
        allows_replicators=True,
        replication_clusters=("east", "west"),
    )


def test_a_brokers_configuration_is_all_texts() -> None:
    shown = {"schemaCompatibilityStrategy": "FULL", "isAllowAutoUpdateSchemaEnabled": "true"}
    shown["isSchemaValidationEnforced"] = "False"
    assert wire.broker_settings_of(shown) == BrokerSettings(
        strategy=Strategy.FULL, allows_auto_update=True, enforces_validation=False
    )


def test_producers_are_those_of_the_stats_by_name() -> None:
    shown = [
        {"producerName": "b", "clientVersion": "Pulsar-Java-v4.0.7", "address": "/10.0.0.3:41210", "producerId": 3},
        {"producerName": "a", "clientVersion": None},
        {"producerName": "a"},
    ]
    assert wire.producers_of({"publishers": shown}) == (
        Producer("a"),
        Producer("b", "Pulsar-Java-v4.0.7", "/10.0.0.3:41210"),
    )
    partitions = {f"t-partition-{n}": {"publishers": [{"producerName": f"c-partition-{n}"}]} for n in range(3)}
    assert wire.producers_of({"publishers": [{}], "partitions": partitions}) == (Producer("c"),)
    for broken in (None, {}, {"publishers": ["a"]}, {"partitions": [1]}):
        with pytest.raises(BrokerUnavailableError, match="the answer is not a topic's stats"):
            wire.producers_of(broken)


def test_partitions_are_their_topic_and_the_brokers_own_topics_are_left_out() -> None:
    names = ["a+b", "p-partition-0", "p-partition-12", "__change_events", "__change_events-partition-0"]
    names += ["__transaction_buffer_snapshot", "x-sub__transaction_pending_ack", "__consumer_offsets", "_ours"]
    urls = [*(f"persistent://t/n/{each}" for each in names), "non-persistent://t/n/g%h"]
    assert list(wire.local_names(urls)) == ["a+b", "p", "p", "_ours", "g%h"]
