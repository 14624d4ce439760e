"""The client of a broker's admin REST, call by call, at a real broker. Responses of failing ones: tests/unit/broker."""

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from pulsar import Client
from pulsar.schema import StringSchema

from support.pulsar.fake_broker import LOOPBACK, ManualClock
from testbed.pulsar import HAS_JSON_SCHEMAS, PULSAR_VERSION, Pulsar
from topicschema.broker import wire
from topicschema.broker.broker import Broker
from topicschema.broker.errors import (
    NamespaceNotFoundError,
    RefusedByBrokerError,
    TenantNotFoundError,
    TopicNotFoundError,
)
from topicschema.broker.transport import ClientConfig
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import Encoding, KeyValue, Part
from topicschema.core.remote import BrokerSettings, ListedTopic, NamespaceSettings, TopicSettings
from topicschema.core.schemas import PRIMITIVES, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic

pytestmark = pytest.mark.broker

EMPTY = '{"type":"record","name":"A","fields":[]}'
X = '{"type":"record","name":"A","fields":[{"name":"x","type":"int"}]}'
NO_AVRO = (
    (500, "Can not resolve JsonSchema") if HAS_JSON_SCHEMAS else (422, "Invalid schema definition data for JSON schema")
)
SECRET = "a-default-that-must-not-be-repeated"  # noqa: S105 - it stands for a schema


def avro(text: str, **properties: str) -> SchemaInfo:
    return SchemaInfo(SchemaType.AVRO, text.encode(), properties)


def native() -> SchemaInfo:
    file = FileDescriptorProto(name="m.proto", package="p", syntax="proto3")
    file.message_type.add(name="M").field.add(name="x", number=1, type=5, label=1)
    encoded = base64.b64encode(FileDescriptorSet(file=[file]).SerializeToString()).decode()
    text = {"fileDescriptorSet": encoded, "rootMessageTypeName": "p.M", "rootFileDescriptorName": "m.proto"}
    return SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(text).encode(), {"é": "ü"})


def pair(key: SchemaInfo, value: SchemaInfo, encoding: Encoding = Encoding.SEPARATED) -> SchemaInfo:
    return key_value.encode(KeyValue(Part(key, "Key"), Part(value, "Value"), encoding), {"owner": "a"})


def spelt(number: str) -> SchemaInfo:
    field = f'{{"name":"x","type":"double","default":{number}}}'
    return pair(SchemaInfo(SchemaType.STRING), avro(EMPTY.replace("[]", f"[{field}]")))


EVERY = [
    *(SchemaInfo(kind) for kind in sorted(PRIMITIVES)),
    SchemaInfo(SchemaType.STRING, b"null", {"__charset": "UTF-8"}),
    SchemaInfo(SchemaType.NONE, b"whatever"),
    avro(f"// é 𝄞 \\u00e9\n  {EMPTY} \n", **{"é": "1", "a\nb": "", "__alwaysAllowNull": "true"}),
    SchemaInfo(SchemaType.JSON, f" {X}\n".encode()),
    SchemaInfo(SchemaType.PROTOBUF, X.encode()),
    native(),
    pair(SchemaInfo(SchemaType.STRING), SchemaInfo(SchemaType.INT64)),
    pair(avro(EMPTY, a="b"), SchemaInfo(SchemaType.JSON, X.encode()), Encoding.INLINE),
    pair(SchemaInfo(SchemaType.STRING), SchemaInfo(SchemaType.PROTOBUF_NATIVE, native().schema.replace(b" ", b""))),
    spelt("1.5"),
]


@pytest.fixture
async def broker(pulsar: Pulsar) -> AsyncIterator[Broker]:
    access = ClientConfig(pulsar.admin_url, LOOPBACK)
    broker = Broker(access, ManualClock().as_clock())  # without its slower rate after many missing things
    yield broker
    await broker.close()


@pytest.fixture
def key(pulsar_namespace: str) -> PulsarNamespaceKey:
    return PulsarNamespaceKey.parse("main", pulsar_namespace)


@pytest.fixture
def topic(key: PulsarNamespaceKey) -> Topic:
    return Topic(key.tenant, key.namespace, "a+b%é~")


@pytest.mark.parametrize("info", EVERY, ids=lambda info: info.type.value)
async def test_every_type_comes_back_to_the_byte(broker: Broker, topic: Topic, info: SchemaInfo) -> None:
    assert await broker.upload(topic, info) == 0
    read = await broker.latest(topic)
    assert read is not None
    assert read.info.content_hash == info.content_hash
    assert await broker.number_of(topic, info) == 0
    assert await broker.upload(topic, info) == 0
    assert [each async for each in broker.versions(topic)] == [read]
    assert read.registered_at.startswith("20")


@pytest.mark.parametrize("number", ["1.00", "1E2", "12345678901234567890", "1e400", "0.1e-9", "-0.0", "123456789.123"])
async def test_a_pair_whose_numbers_are_respelt_is_the_same_pair(broker: Broker, topic: Topic, number: str) -> None:
    sent = spelt(number)
    await broker.upload(topic, sent)
    read = await broker.latest(topic)
    assert read is not None
    assert wire.same_content(sent, read.info)
    assert not wire.same_content(spelt("7.0"), read.info)
    assert await broker.number_of(topic, sent) == 0


async def test_a_topic_without_schemas_has_no_version_no_index_and_no_number(broker: Broker, topic: Topic) -> None:
    assert await broker.latest(topic) is None
    assert await broker.version(topic, 0) is None
    assert [each async for each in broker.versions(topic)] == []
    assert await broker.index(topic) == ()
    assert await broker.number_of(topic, avro(EMPTY)) is None


async def test_versions_are_numbered_and_listed_and_an_older_one_returns_its_number(
    broker: Broker, topic: Topic
) -> None:
    with_default = avro(X.replace('"int"', '"int","default":0'), owner="a")
    assert [await broker.upload(topic, each) for each in (avro(EMPTY), with_default, avro(EMPTY))] == [0, 1, 0]
    latest = await broker.latest(topic)
    assert latest is not None
    assert (latest.schema_version, latest.info) == (1, with_default)
    assert sorted([each.schema_version async for each in broker.versions(topic)]) == [0, 1]
    assert await broker.index(topic) == (0, 1)
    assert await broker.version(topic, 2) is None
    assert await broker.number_of(topic, avro(f" {EMPTY}")) is None  # to the byte
    assert await broker.upload(topic, avro(f" {EMPTY}")) == 0  # by structure


async def test_a_soft_deletion_hides_all_before_it_and_numbers_go_on(broker: Broker, topic: Topic) -> None:
    await broker.upload(topic, avro(EMPTY))
    assert await broker.soft_delete(topic) == 1
    assert await broker.latest(topic) is None
    assert await broker.version(topic, 0) is None
    assert [each async for each in broker.versions(topic)] == []
    assert await broker.index(topic) == (0, 1)
    assert await broker.number_of(topic, avro(EMPTY)) is None
    assert await broker.upload(topic, SchemaInfo(SchemaType.STRING)) == 2
    assert await broker.soft_delete(topic) == 3
    assert await broker.soft_delete(topic) == 4


async def test_refusals_are_reported_without_the_schemas(broker: Broker, topic: Topic) -> None:
    await broker.upload(topic, avro(EMPTY))
    large = ",".join(f'{{"name":"f{each}","type":"int","doc":"{SECRET}"}}' for each in range(3000))
    for info, status, message in (
        (avro(X), 409, "strategy FULL: SchemaValidationException: Unable to read schema"),
        (avro(EMPTY.replace("[]", f"[{large}]")), 409, ""),
        (SchemaInfo(SchemaType.JSON, X.encode()), 409, "exists schema type AVRO, new schema type JSON"),
        (avro('{"type":"record","name":"A"}'), 422, "Invalid schema definition data for AVRO schema"),
        (SchemaInfo(SchemaType.STRING, SECRET.encode()), 422, "Invalid schema definition data for string schema"),
        (avro(X.replace('"int"', f'"int","default":"{SECRET}"')), 500, "Invalid default for field x"),
        (SchemaInfo(SchemaType.JSON, b'{"type":"record","name":"A"}'), *NO_AVRO),
    ):
        with pytest.raises(RefusedByBrokerError) as caught:
            await broker.upload(topic, info)
        assert caught.value.status == status
        assert message in caught.value.message
        assert SECRET not in caught.value.message
        assert len(caught.value.message) < 400
    assert await broker.index(topic) == (0,)


async def test_what_is_set_on_a_namespace_is_read_back_and_the_rest_stays(
    broker: Broker, key: PulsarNamespaceKey, pulsar: Pulsar
) -> None:
    before = await broker.namespace_settings(key)
    unset = NamespaceSettings(  # the broker's, shown as if set here
        allows_auto_update=True,
        enforces_validation=False,
        allows_replicators=before.allows_replicators,
        replication_clusters=("testbed",),
    )
    transitive = replace(unset, strategy=Strategy.BACKWARD_TRANSITIVE)
    assert before == unset
    await broker.set_namespace(key, NamespaceSettings(strategy=Strategy.BACKWARD_TRANSITIVE))
    assert await broker.namespace_settings(key) == transitive
    await broker.set_namespace(key, NamespaceSettings(allows_auto_update=False, enforces_validation=True))
    locked = replace(transitive, allows_auto_update=False, enforces_validation=True)
    assert await broker.namespace_settings(key) == locked
    await broker.set_namespace(key, NamespaceSettings(strategy=Strategy.UNDEFINED))
    pulsar.call("PUT", f"/namespaces/{key.pulsar_namespace}/schemaAutoUpdateCompatibilityStrategy", "Full")
    assert await broker.namespace_settings(key) == replace(locked, strategy=None, auto_update_strategy="Full")


@pytest.mark.parametrize("strategy", [each for each in Strategy if each is not Strategy.UNDEFINED])
async def test_every_name_of_a_strategy_is_one_that_the_broker_stores(
    broker: Broker, key: PulsarNamespaceKey, strategy: Strategy
) -> None:
    await broker.set_namespace(key, NamespaceSettings(strategy=strategy))
    assert (await broker.namespace_settings(key)).strategy is strategy


@pytest.mark.parametrize("is_partitioned", [False, True])
async def test_what_is_set_on_a_topic_is_read_back(
    broker: Broker, pulsar: Pulsar, key: PulsarNamespaceKey, *, is_partitioned: bool
) -> None:
    topic = Topic(key.tenant, key.namespace, "e+f%g")
    path = f"/persistent/{key.pulsar_namespace}/e%2Bf%25g"
    pulsar.call("PUT", f"{path}/partitions" if is_partitioned else path, 2 if is_partitioned else None)
    assert await broker.exists(topic, "persistent")
    assert await broker.topic_settings(topic, "persistent") == TopicSettings(None, enforces_validation=False)
    await broker.set_topic(topic, "persistent", TopicSettings(Strategy.FULL, enforces_validation=True))
    assert await broker.topic_settings(topic, "persistent") == TopicSettings(Strategy.FULL, enforces_validation=True)
    await broker.set_topic(topic, "persistent", TopicSettings(strategy=Strategy.UNDEFINED))
    assert await broker.topic_settings(topic, "persistent") == TopicSettings(None, enforces_validation=True)


async def test_a_topic_that_has_only_a_schema_is_missing_and_is_not_created(
    broker: Broker, key: PulsarNamespaceKey, topic: Topic
) -> None:
    await broker.upload(topic, avro(EMPTY))
    for domain in ("persistent", "non-persistent"):
        assert not await broker.exists(topic, domain)
        with pytest.raises(TopicNotFoundError, match="not found"):
            await broker.topic_settings(topic, domain)
        with pytest.raises(TopicNotFoundError):
            await broker.set_topic(topic, domain, TopicSettings(Strategy.FULL))
    assert await broker.topics(key) == ()


async def test_a_missing_namespace_and_a_missing_tenant_are_different_errors(
    broker: Broker, key: PulsarNamespaceKey
) -> None:
    no_namespace = PulsarNamespaceKey("main", key.tenant, "nope")
    no_tenant = PulsarNamespaceKey("main", "nope-nope", "nope")
    for missing, error in ((no_namespace, NamespaceNotFoundError), (no_tenant, TenantNotFoundError)):
        topic = Topic(missing.tenant, missing.namespace, "x")
        with pytest.raises(error):
            await broker.namespace_settings(missing)
        with pytest.raises(error):
            await broker.set_namespace(missing, NamespaceSettings(strategy=Strategy.FULL))
        with pytest.raises(error):
            await broker.upload(topic, avro(EMPTY))
        with pytest.raises(NamespaceNotFoundError):
            await broker.topic_settings(topic, "persistent")
        with pytest.raises(NamespaceNotFoundError):
            await broker.topics(missing)
        assert await broker.latest(topic) is None  # as of a topic that never had one
        assert await broker.number_of(topic, avro(EMPTY)) is None
        assert await broker.index(topic) == ()
    with pytest.raises(TenantNotFoundError):
        await broker.soft_delete(Topic("nope-nope", "nope", "x"))


async def test_topics_of_both_domains_are_listed_once_by_their_own_names(
    broker: Broker, pulsar: Pulsar, key: PulsarNamespaceKey
) -> None:
    for name in ("plain", "a%2Bb%25", "%C3%A9"):
        pulsar.call("PUT", f"/persistent/{key.pulsar_namespace}/{name}")
    pulsar.call("PUT", f"/persistent/{key.pulsar_namespace}/parted/partitions", 3)
    pulsar.call("PUT", f"/non-persistent/{key.pulsar_namespace}/fleeting/partitions", 2)
    topic = Topic(key.tenant, key.namespace, "plain")
    await broker.set_topic(topic, "persistent", TopicSettings(Strategy.FULL))  # makes __change_events
    assert await broker.topics(key) == (
        ListedTopic("a+b%"),
        ListedTopic("fleeting", "non-persistent", is_partitioned=True),
        ListedTopic("parted", is_partitioned=True),
        ListedTopic("plain"),
        ListedTopic("é"),
    )


async def test_producers_are_those_that_are_connected_to_the_topic_or_its_partitions(
    broker: Broker, pulsar: Pulsar, key: PulsarNamespaceKey
) -> None:
    pulsar.call("PUT", f"/persistent/{key.pulsar_namespace}/plain")
    pulsar.call("PUT", f"/persistent/{key.pulsar_namespace}/parted/partitions", 2)
    for listed in await broker.topics(key):
        assert await broker.producers(key, listed) == ()
        client = Client(pulsar.service_url)
        try:
            name = f"persistent://{key.pulsar_namespace}/{listed.local_name}"
            client.create_producer(name, producer_name="billing", schema=StringSchema())
            producers = await broker.producers(key, listed)
        finally:
            client.close()
        assert {each.name.partition("-")[0] for each in producers} == {"billing"}
        assert all(each.address and each.client_version for each in producers)
    with pytest.raises(TopicNotFoundError):
        await broker.producers(key, ListedTopic("nope"))


async def test_the_broker_reports_its_own_settings_and_its_version(broker: Broker) -> None:
    settings = await broker.broker_settings()
    assert settings is not None
    expected = BrokerSettings(strategy=Strategy.FULL, allows_auto_update=True, enforces_validation=False)
    assert settings == expected
    assert (await broker.release() or "").startswith(f"{PULSAR_VERSION}.")
