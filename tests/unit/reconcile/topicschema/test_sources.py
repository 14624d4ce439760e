"""What unchanged sources were compiled to stays, whatever a newer compiler would make of them."""

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
        spec=NamespaceSchemaPolicySpec(pulsar_cluster="pulsar", pulsar_namespace="shop/orders"),
    ),
    BACKWARD,
)


def spec(text: str, **members: Any) -> TopicSchemaSpec:
    protobuf = {"message": "shop.Order", "files": {"shop/order.proto": text}}
    wire = {"topic": "persistent://shop/orders/created", "type": "PROTOBUF_NATIVE", "protobuf": protobuf, **members}
    return decode(TopicSchemaSpec, wire)


def hash_of(wanted: TopicSchemaSpec) -> str:
    sources = sources_of(wanted)
    assert sources is not None
    return sources.source_hash


def by_an_older_compiler(wanted: TopicSchemaSpec) -> Schema:
    """What another release of protoc might have made of the sources: the same descriptors, in other bytes."""
    sources = sources_of(wanted)
    assert sources is not None
    envelope = compile_envelope(sources).replace(b'","', b'", "')
    return formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, envelope))


async def on_record(*texts: str) -> tuple[MemoryStorage, History]:
    storage, stored = MemoryStorage(), Stored(History(KEY, ME))
    for text in texts:
        schema = by_an_older_compiler(spec(text))
        history = stored.history.with_version(schema, Origin.SPEC, NOW, hash_of(spec(text)))
        stored = await storage.put(stored, history, (schema.info,), hash_of(spec(text)))
    return storage, stored.history


async def seen(storage: MemoryStorage, history: History, wanted: TopicSchemaSpec) -> Judged:
    """What a pass over the resource sees."""
    judge = Judge(storage)
    schema = await judge.schema_of(wanted, PulsarVersion.V4_0, history)
    candidate = Candidate(schema, wanted.schema_compatibility_strategy)
    verdict = await judge.judge(candidate, history, BACKWARD)
    judge.close()
    resource = TopicSchema(metadata=Metadata(name=ME.name, namespace=ME.namespace, uid=ME.uid), spec=wanted)
    return Judged(Loaded(resource, POLICY, Stored(history, "1"), schema), verdict)


@pytest.mark.parametrize(("texts", "members"), [((ORDER,), {}), ((ORDER, PLUS), {}), ((ORDER,), {"owner": "b"})])
async def test_unchanged_sources_are_their_version_whatever_a_newer_compiler_makes_of_them(
    texts: tuple[str, ...], members: dict[str, str]
) -> None:
    storage, history = await on_record(*texts)
    found = await seen(storage, history, spec(ORDER, properties=members))
    assert found.verdict is not None
    assert (found.verdict.outcome, found.verdict.schema_version) == (Outcome.EQUAL_VERSION, 0)
    assert found.loaded.schema.info.properties == members
    assert found.planned == ()


class Counting(CompiledEnvelopes):
    """Counts how often sources are compiled."""

    compiled = 0

    async def get(self, sources: ProtobufSources, pulsar_version: PulsarVersion) -> bytes:
        self.compiled += 1
        return await super().get(sources, pulsar_version)


async def test_sources_that_no_line_could_take_are_compiled_once() -> None:
    judge = Judge(MemoryStorage())
    judge._envelopes = counting = Counting()
    with pytest.raises(InvalidSchemaError) as raised:
        await judge.require_supported_version(spec("message"))
    assert (raised.value.rule, counting.compiled) == ("INVALID_PROTO", 1)
    await judge.require_supported_version(spec(ORDER))
    judge.close()


async def test_without_the_mark_it_would() -> None:
    storage, history = await on_record()
    schema = by_an_older_compiler(spec(ORDER))
    stored = await storage.put(Stored(history), history.with_version(schema, Origin.SPEC, NOW), (schema.info,))
    found = await seen(storage, stored.history, spec(ORDER))
    assert found.planned == (plan.Register(ME),)


async def test_sources_that_differ_in_comments_alone_are_remembered_with_the_version_they_are() -> None:
    storage, stored = MemoryStorage(), Stored(History(KEY, ME))
    judge = Judge(storage)
    schema = await judge.schema_of(spec(ORDER), PulsarVersion.V4_0, None)
    judge.close()
    history = stored.history.with_version(schema, Origin.SPEC, NOW, hash_of(spec(ORDER)))
    stored = await storage.put(stored, history, (schema.info,))
    commented = spec(ORDER + "// what a customer ordered\n")
    found = await seen(storage, stored.history, commented)
    assert found.verdict is not None
    assert found.verdict.outcome is Outcome.EQUAL_VERSION
    assert found.planned == (plan.ClaimTopic(ME),)
    stored = await storage.put(stored, stored.history.with_source(0, hash_of(commented)))
    assert (await seen(storage, stored.history, commented)).planned == ()


async def test_what_the_record_tells_and_has_lost_is_not_compiled_anew() -> None:
    storage, history = await on_record(ORDER)
    await storage.delete(await storage.get_history(KEY))
    await storage.put(Stored(History(KEY)), history)
    with pytest.raises(StalledError) as caught:
        await seen(storage, history, spec(ORDER))
    assert caught.value.reason == "HistoryDamaged"


def test_a_mark_is_found_among_the_versions_that_count() -> None:
    schema = formats.parse(SchemaInfo(SchemaType.STRING))
    history = History(KEY).with_version(schema, Origin.SPEC, NOW, digest(b"a"))
    history = history.with_version(schema, Origin.SPEC, NOW, digest(b"b")).with_version(schema, Origin.SPEC, NOW)
    numbers = [entry and entry.schema_version for entry in map(history.compiled_from, map(digest, (b"a", b"b", b"c")))]
    assert numbers == [0, 1, None]
