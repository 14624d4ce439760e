"""A real broker's decisions before schemas are compared: the effective strategy, and schemas that it cannot read."""

import itertools
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from support.kubernetes.memory_storage import MemoryStorage
from support.pulsar.fake_broker import ManualClock
from support.pulsar.rest_topic import RestTopic, optional, record
from testbed.pulsar import HAS_JSON_SCHEMAS, PULSAR_VERSION, Pulsar
from topicschema.api.brokers import PulsarSpec
from topicschema.api.metadata import Metadata
from topicschema.api.policies import NamespaceSchemaPolicy, NamespaceSchemaPolicySpec, NamespaceSchemaPolicyStatus
from topicschema.broker.broker import Broker
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.transport import ClientConfig
from topicschema.core import formats
from topicschema.core.history import History, NumberedBy
from topicschema.core.imports import entry_of
from topicschema.core.policy import BrokerProfile, Policy, effective_strategy
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.core.verdict import Candidate, Verdict
from topicschema.judging.judge import Judge
from topicschema.judging.policy_rules import policy_of
from topicschema.reconcile.policy.namespace_settings import observed
from topicschema.storage.protocol import Stored

pytestmark = pytest.mark.broker

_VERSION = PulsarVersion(PULSAR_VERSION)
_GOOD, _OTHER = record(optional("a")), record(optional("a"), optional("b"))
_WRONG_DEFAULT = record('{"name": "a", "type": "string", "default": null}')
# To Avro 1.12, "object" is a name to resolve, for which a broker of 4.1 refuses the text.
_JACKSON = json.dumps({"type": "object" if PULSAR_VERSION == "4.0" else "array", "id": "urn:jsonschema:R"})


@pytest.fixture
async def strict_broker(strict_pulsar: Pulsar) -> AsyncIterator[Broker]:
    broker = Broker(ClientConfig(strict_pulsar.admin_url, AllowedHosts.parse("127.0.0.1")), ManualClock().as_clock())
    yield broker
    await broker.close()


@pytest.mark.parametrize(
    ("strategy", "older", "own"),
    [*itertools.product((None, "FORWARD"), (None, "AutoUpdateDisabled", "BackwardTransitive"), (None, "FULL"))],
)
async def test_the_effective_strategy_is_the_one_that_the_broker_judges_by(
    strict_pulsar: Pulsar, strict_broker: Broker, strategy: str | None, older: str | None, own: str | None
) -> None:
    topic = RestTopic(strict_pulsar, strict_pulsar.create_namespace())
    namespace, key = f"/namespaces/{topic.namespace}", PulsarNamespaceKey.parse("main", topic.namespace)
    strict_pulsar.call("PUT", topic.itself)
    if strategy is not None:
        strict_pulsar.call("PUT", f"{namespace}/schemaCompatibilityStrategy", body=strategy)
    if older is not None:
        strict_pulsar.call("PUT", f"{namespace}/schemaAutoUpdateCompatibilityStrategy", body=older)
    if own is not None:
        strict_pulsar.call("PUT", f"{topic.itself}/schemaCompatibilityStrategy", body=own)
    current = observed(await strict_broker.namespace_settings(key), await strict_broker.broker_settings())
    spec = NamespaceSchemaPolicySpec(
        pulsar_cluster="main", pulsar_namespace=topic.namespace, pulsar=PulsarSpec(admin_url=strict_pulsar.admin_url)
    )
    resource = NamespaceSchemaPolicy(
        metadata=Metadata(name="orders"), spec=spec, status=NamespaceSchemaPolicyStatus(observed=current)
    )
    there = await strict_broker.topic_settings(Topic(key.tenant, key.namespace, topic.name), "persistent")
    policy = replace(policy_of(resource), unmanaged_strategy=there.strategy)
    applied = topic.compatibility(_GOOD).json["schemaCompatibilityStrategy"]
    assert effective_strategy(policy, None).value == applied


CANDIDATES = [(_GOOD, "AVRO"), (_OTHER, "JSON"), (_GOOD, "PROTOBUF"), ("", "STRING"), ("", "INT32")]


FLAWED = [(_WRONG_DEFAULT, "AVRO"), (_WRONG_DEFAULT, "JSON")]
if HAS_JSON_SCHEMAS:  # later brokers refuse what they cannot read
    FLAWED.append((_JACKSON, "JSON"))


@pytest.mark.parametrize(("flawed", "kind"), FLAWED)
@pytest.mark.parametrize("strategy", ["ALWAYS_COMPATIBLE", "FULL", "BACKWARD_TRANSITIVE", "ALWAYS_INCOMPATIBLE"])
async def test_what_a_broker_cannot_read_is_a_no_where_it_is_an_error_there(
    topic: RestTopic, flawed: str, kind: str, strategy: str
) -> None:
    topic.pulsar.call("PUT", f"/namespaces/{topic.namespace}/schemaCompatibilityStrategy", body=strategy)
    for number, (text, type_) in enumerate(CANDIDATES):
        one = replace(topic, name=f"topic-{number}")
        one.upload_version(flawed, kind)
        verdict = await _judged(one, Strategy(strategy), SchemaInfo(SchemaType(type_), text.encode()))
        answer = one.upload(text, type_)
        rules = [each.rule for each in verdict.incompatibilities]
        assert (answer.status == 200) is verdict.is_compatible, (type_, answer.text, rules)
        assert (answer.status == 500) is (rules == ["INVALID_HISTORY"]), (type_, answer.text, rules)


async def _judged(topic: RestTopic, strategy: Strategy, candidate: SchemaInfo) -> Verdict:
    """Return our verdict after the broker's versions."""
    broker = Broker(ClientConfig(topic.pulsar.admin_url, AllowedHosts.parse("127.0.0.1")), ManualClock().as_clock())
    tenant, namespace = topic.namespace.split("/")
    key = TopicKey("main", Topic(tenant, namespace, topic.name))
    versions = [each async for each in broker.versions(key.topic)]
    versions.sort(key=lambda each: each.schema_version)
    await broker.close()
    entries = tuple(entry_of(each, _VERSION) for each in versions)
    history, storage = History(key, None, 0, entries, NumberedBy.BROKER), MemoryStorage()
    await storage.put(Stored(History(key)), history, [each.info for each in versions])
    judge, policy = Judge(storage), Policy(strategy, profile=BrokerProfile(_VERSION))
    try:
        return await judge.judge(Candidate(formats.parse(candidate, _VERSION)), history, policy)
    finally:
        judge.close()
