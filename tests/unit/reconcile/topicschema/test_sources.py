"""Unchanged sources stay the version that they were compiled to, whatever a newer compiler would produce."""

from typing import Any

import pytest

from support.kubernetes.memory_storage import MemoryStorage
from support.schemas.examples import KEY, ME, NOW
from topicschema.api.metadata import Metadata
from topicschema.api.policies import NamespaceSchemaPolicy, NamespaceSchemaPolicySpec
from topicschema.api.topicschemas import TopicSchema, TopicSchemaSpec
from topicschema.api.wire import decode
from topicschema.core import formats, plan
from topicschema.core.errors import InvalidSchemaError, StalledError
from topicschema.core.history import History, Origin
from topicschema.core.policy import Policy
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType, digest
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Candidate, Outcome
from topicschema.judging.judge import Judge
from topicschema.judging.policies import ActivePolicy
from topicschema.judging.schema_source import CompiledEnvelopes, sources_of
from topicschema.protoc import ProtobufSources, compile_envelope
from topicschema.reconcile.topicschema.observe import Judged, Loaded
from topicschema.storage.protocol import Stored

ORDER = 'syntax = "proto3";\npackage shop;\nmessage Order { string id = 1; }\n'
PLUS = ORDER.replace("}", "int32 count = 2; }")
BACKWARD = Policy(Strategy.BACKWARD)
POLICY = ActivePolicy(
    NamespaceSchemaPolicy(
        metadata=Metadata(name="orders"),
        spec=NamespaceSchemaPolicySpec(registry="pulsar", pulsar_namespace="shop/orders"),
    ),
    BACKWARD,
)


def spec(text: str, **members: Any) -> TopicSchemaSpec:
    protobuf = {"message": "shop.Order", "files": {"shop/order.proto": text}}
    wire = {"topic": "persistent://shop/orders/created", "type": "PROTOBUF_NATIVE", "protobuf": protobuf, **members}
    return decode(TopicSchemaSpec, wire)


def sources(desired: TopicSchemaSpec) -> ProtobufSources:
    result = sources_of(desired)
    assert result is not None
    return result


def by_an_older_compiler(desired: TopicSchemaSpec) -> Schema:
    """Return the schema as of another release of protoc: the same descriptors, in other bytes."""
    envelope = compile_envelope(sources(desired)).replace(b'","', b'", "')
    return formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, envelope))


async def stored_versions(*texts: str) -> tuple[MemoryStorage, History]:
    storage, stored = MemoryStorage(), Stored(History(KEY, ME))
    for text in texts:
        schema = by_an_older_compiler(spec(text))
        history = stored.history.with_version(schema, Origin.SPEC, NOW, sources(spec(text)).source_hash)
        stored = await storage.put(stored, history, (schema.info,), sources(spec(text)).source_hash)
    return storage, stored.history


async def judged(storage: MemoryStorage, history: History, desired: TopicSchemaSpec) -> Judged:
    """Return what a reconcile of the resource observes."""
    judge = Judge(storage)
    schema = await judge.schema_of(desired, PulsarVersion.V4_0, history)
    candidate = Candidate(schema)
    verdict = await judge.judge(candidate, history, BACKWARD)
    judge.close()
    resource = TopicSchema(metadata=Metadata(name=ME.name, namespace=ME.namespace, uid=ME.uid), spec=desired)
    return Judged(Loaded(resource, POLICY, Stored(history, "1"), schema), verdict)


@pytest.mark.parametrize(("texts", "members"), [((ORDER,), {}), ((ORDER, PLUS), {}), ((ORDER,), {"owner": "b"})])
async def test_unchanged_sources_are_their_version_whatever_a_newer_compiler_produces(
    texts: tuple[str, ...], members: dict[str, str]
) -> None:
    storage, history = await stored_versions(*texts)
    result = await judged(storage, history, spec(ORDER, properties=members))
    assert result.verdict is not None
    assert (result.verdict.outcome, result.verdict.schema_version) == (Outcome.EQUAL_VERSION, 0)
    assert result.loaded.schema.info.properties == members
    assert result.planned == ()


class CountingEnvelopes(CompiledEnvelopes):
    """Envelopes that count how often sources are compiled."""

    compiled = 0

    async def get(self, sources: ProtobufSources, pulsar_version: PulsarVersion) -> bytes:
        self.compiled += 1
        return await super().get(sources, pulsar_version)


async def test_sources_that_no_line_could_take_are_compiled_once() -> None:
    judge = Judge(MemoryStorage())
    judge._envelopes = counting = CountingEnvelopes()
    with pytest.raises(InvalidSchemaError) as raised:
        await judge.require_supported_version(spec("message"))
    assert (raised.value.rule, counting.compiled) == ("INVALID_PROTO", 1)
    await judge.require_supported_version(spec(ORDER))
    judge.close()


async def test_without_the_hash_of_their_sources_they_are_another_version() -> None:
    storage, history = MemoryStorage(), History(KEY, ME)
    schema = by_an_older_compiler(spec(ORDER))
    stored = await storage.put(Stored(history), history.with_version(schema, Origin.SPEC, NOW), (schema.info,))
    result = await judged(storage, stored.history, spec(ORDER))
    assert result.planned == (plan.Register(ME),)


async def test_sources_that_differ_only_in_comments_are_stored_with_the_version_that_they_are() -> None:
    storage, stored = MemoryStorage(), Stored(History(KEY, ME))
    judge = Judge(storage)
    schema = await judge.schema_of(spec(ORDER), PulsarVersion.V4_0, None)
    judge.close()
    history = stored.history.with_version(schema, Origin.SPEC, NOW, sources(spec(ORDER)).source_hash)
    stored = await storage.put(stored, history, (schema.info,))
    commented = spec(ORDER + "// what a customer ordered\n")
    result = await judged(storage, stored.history, commented)
    assert result.verdict is not None
    assert result.verdict.outcome is Outcome.EQUAL_VERSION
    assert result.planned == (plan.ClaimTopic(ME),)
    stored = await storage.put(stored, stored.history.with_source(0, sources(commented).source_hash))
    assert (await judged(storage, stored.history, commented)).planned == ()


async def test_a_version_whose_payload_is_lost_is_not_compiled_again() -> None:
    storage, history = await stored_versions(ORDER)
    await storage.delete(await storage.get_history(KEY))
    await storage.put(Stored(History(KEY)), history)
    with pytest.raises(StalledError) as caught:
        await judged(storage, history, spec(ORDER))
    assert caught.value.reason == "HistoryDamaged"


def test_sources_are_recognized_by_the_hash_of_any_version() -> None:
    schema = formats.parse(SchemaInfo(SchemaType.STRING))
    history = History(KEY).with_version(schema, Origin.SPEC, NOW, digest(b"a"))
    history = history.with_version(schema, Origin.SPEC, NOW, digest(b"b")).with_version(schema, Origin.SPEC, NOW)
    numbers = [entry and entry.schema_version for entry in map(history.compiled_from, map(digest, (b"a", b"b", b"c")))]
    assert numbers == [0, 1, None]
