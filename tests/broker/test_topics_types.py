"""Schemas of every type at a real broker: what is registered comes back as it was, what others left is recorded."""

import json
from typing import Any

import pytest

from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.brokered_topic import ONE, TWO, BrokeredTopic
from testbed.pulsar import HAS_JSON_SCHEMAS, PULSAR_VERSION
from topicschema.core.history import Flaw

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]

ORDER = 'syntax = "proto3";\npackage shop;\nmessage Order { string id = 1; }\n'
PRICED = json.dumps({"type": "record", "name": "Priced", "fields": [{"name": "price", "type": "double", "default": 0}]})

NOTE = '{"name": "note", "type": "string", "default": ""}'
_DASHED, _DOLLAR = ONE.replace("{", '{"namespace": "my-shop", ', 1), ONE.replace('"name": "', '"name": "$', 1)
_AHEAD = ONE.replace(
    "]", ', {"name": "a", "type": "F"}, {"name": "b", "type": {"type": "fixed", "name": "F", "size": 1}}]'
)
# Another version than that of the tests' brokers, and a text that only these brokers read.
ONLY_HERE = {"4.0": ("4.1", _DASHED), "4.1": ("4.0", _AHEAD)}.get(PULSAR_VERSION, ("4.0", _DOLLAR))


KINDS = {
    "key.schema.name": "Id",
    "key.schema.type": "STRING",
    "key.schema.properties": "{}",
    "value.schema.name": "Priced",
    "value.schema.type": "AVRO",
    "value.schema.properties": "{}",
    "kv.encoding.type": "SEPARATED",
}


@pytest.fixture
async def governed(shop: BrokeredShop) -> BrokeredShop:
    """Return a namespace whose policy is Ready at the broker."""
    shop.govern(schemaCompatibilityStrategy="FULL")
    await shop.policy_ready("Active")
    shop.proxy.clear()
    return shop


def with_key(text: str) -> dict[str, Any]:
    key = {"name": "Id", "type": "STRING", "schema": text}
    value = {"name": "Priced", "type": "AVRO", "schema": PRICED}
    return {"type": "KEY_VALUE", "keyValue": {"encoding": "SEPARATED", "key": key, "value": value}}


def sources(content: str) -> dict[str, Any]:
    return {"type": "PROTOBUF_NATIVE", "protobuf": {"message": "shop.Order", "files": {"shop/order.proto": content}}}


def text_of(key: str) -> str:
    return f'{{"key":{key},"value":{PRICED}}}'


@pytest.mark.parametrize(("key", "theirs", "ours"), [("", "null", '""'), ("null", '""', "null")])
async def test_a_pair_that_the_broker_shows_alike_becomes_the_version_that_it_is(
    governed: BrokeredShop, key: str, theirs: str, ours: str
) -> None:
    topic = BrokeredTopic(governed)
    assert topic.rest.upload_version(text_of(theirs), "KEY_VALUE", KINDS) == 0
    topic.put("", **with_key(key))
    assert (await topic.ready())["schemaVersion"] == 1
    assert [topic.rest.version_of(text_of(each), "KEY_VALUE", KINDS) for each in (theirs, ours)] == [0, 1]
    assert await topic.writes_of_a_reconcile() == []


async def test_sources_are_registered_as_their_envelope_and_are_not_compiled_again(governed: BrokeredShop) -> None:
    topic = BrokeredTopic(governed)
    topic.put("", **sources(ORDER))
    await topic.ready()
    assert json.loads(topic.rest.read(0).json["data"])["rootMessageTypeName"] == "shop.Order"
    assert await topic.writes_of_a_reconcile() == []
    (entry,) = (await topic.history()).entries
    assert entry.source_mark
    topic.put("", **sources(ORDER + "// as ordered\n"))
    assert (await topic.ready())["schemaVersion"] == 0
    assert await topic.writes_of_a_reconcile() == []
    topic.put("", **sources(ORDER.replace("}", "int32 count = 2; }")))
    assert (await topic.ready())["schemaVersion"] == 1
    envelope = topic.rest.read(1).json["data"]
    other = BrokeredTopic(governed, "other")
    other.put(envelope, type="PROTOBUF_NATIVE")
    await other.ready()
    assert other.rest.read(0).json["data"] == envelope
    assert await other.writes_of_a_reconcile() == []


UNREADABLE = [(ONE.replace('"type": "string"}', '"type": "string", "default": null}'), "AVRO", Flaw.INVALID_DEFAULT)]
if HAS_JSON_SCHEMAS:  # later brokers refuse what they cannot read
    left = '{"type": "object", "id": "x"}' if PULSAR_VERSION == "4.0" else '{"type": "array", "id": "x"}'
    UNREADABLE.append((left, "JSON", Flaw.UNPARSABLE))


@pytest.mark.parametrize(("left", "kind", "flaw"), UNREADABLE)
async def test_what_a_broker_itself_cannot_read_is_recorded_and_nothing_is_sent_to_it(
    governed: BrokeredShop, left: str, kind: str, flaw: Flaw
) -> None:
    topic = BrokeredTopic(governed)
    topic.rest.upload_version(left, kind)
    topic.put(TWO, type=kind)
    status = await topic.ready("Incompatible")
    assert [each["rule"] for each in status["incompatibilities"]] == ["INVALID_HISTORY"]
    assert [entry.flaw for entry in (await topic.history()).entries] == [flaw]
    assert topic.rest.upload(TWO, kind).status == 500
    assert topic.broker_writes == []
    assert await topic.writes_of_a_reconcile() == []
    topic.rest.delete()
    assert (await topic.ready())["schemaVersion"] == 2
    assert await topic.assert_recorded() == [2]


async def test_plain_bytes_that_block_a_topic_are_recorded_as_they_are(governed: BrokeredShop) -> None:
    topic = BrokeredTopic(governed)
    topic.rest.upload_version("", "BYTES")
    topic.put(ONE)
    status = await topic.ready("Incompatible")
    assert [(v["type"], v["origin"]) for v in status["versions"]] == [("NONE", "Broker")]
    assert topic.broker_writes == []
    assert await topic.writes_of_a_reconcile() == []


async def test_the_broker_s_version_judges_whatever_the_policy_names(governed: BrokeredShop) -> None:
    topic, (another, left) = BrokeredTopic(governed), ONLY_HERE
    governed.apply(schemaCompatibilityStrategy="FULL", brokerProfile={"pulsarVersion": another})
    await governed.policy_ready("PulsarVersionMismatch")
    topic.rest.upload_version(left, "AVRO")
    topic.put(left)
    assert (await topic.ready())["schemaVersion"] == 0
    governed.apply(schemaCompatibilityStrategy="FULL")
    await governed.policy_ready("Active")
    topic.put(left.replace("]", f", {NOTE}]"))
    assert (await topic.ready())["schemaVersion"] == 1
    assert [entry.flaw for entry in (await topic.history()).entries] == [Flaw.NONE, Flaw.NONE]
    assert await topic.assert_recorded() == [0, 1]
    assert await topic.writes_of_a_reconcile() == []
