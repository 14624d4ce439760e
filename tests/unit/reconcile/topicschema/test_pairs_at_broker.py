"""Pairs that a broker shows in another form than it has them: the text `null` of a STRING part, and 1.00 as 1.0."""

from dataclasses import replace

import pytest

from support.kubernetes.topic import TOPIC, World
from support.pulsar.schema_service import Entry
from support.schemas.examples import record
from topicschema.api.schemas import KeyValueSpec, PartSpec
from topicschema.core import formats
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import Encoding, KeyValue, Part
from topicschema.core.history import History, Origin
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.core.topics import Topic, TopicKey
from topicschema.judging import schema_source
from topicschema.storage.protocol import Stored

VALUE = '{"type":"record","name":"R","fields":[{"name":"a","type":"double","default":%s}]}'
NULL, NONE = "null", ""
KEY = TopicKey("pulsar", Topic("shop", "orders", TOPIC))
FIELD = '{"name":"x","type":"double","default":%s}'


def wants(world: World, key: str, number: str = "1.00") -> Schema:
    """The resource is to be a pair whose STRING key has that text; the pair."""
    string = PartSpec(type=SchemaType.STRING, schema=key)
    value = PartSpec(type=SchemaType.AVRO, schema=VALUE % number)
    world.set_schema(formats.parse(SchemaInfo(SchemaType.KEY_VALUE, b"\0" * 8)))
    spec = replace(
        world.resource.spec, schema="", key_value=KeyValueSpec(encoding=Encoding.INLINE, key=string, value=value)
    )
    world.resource = replace(world.resource, spec=spec)
    return formats.parse(schema_source.info_of(spec))


async def told(world: World) -> list[tuple[int, str]]:
    """Number and hash of each version on record, which the broker must have so."""
    assert await world.is_recorded()
    return [(each.schema_version, each.content_hash) for each in (await world.history()).entries]


@pytest.mark.parametrize("key", [NULL, NONE])
@pytest.mark.parametrize("is_adopted", [False, True])
async def test_a_pair_is_registered_once_with_as_many_requests_as_others(
    world: World, key: str, *, is_adopted: bool
) -> None:
    pair = wants(world, key)
    if is_adopted:
        world.upload(pair)
    assert await world.settle() == ""
    assert await told(world) == [(0, pair.info.content_hash)]
    assert world.broker.calls.count("POST schema") == int(not is_adopted)
    world.broker.calls.clear()
    assert await world.settle() == ""
    assert is_adopted or world.broker.calls == ["GET schema"]


@pytest.mark.parametrize(("theirs", "ours"), [(NULL, NONE), (NONE, NULL)])
async def test_a_pair_that_is_shown_alike_is_another_version(world: World, theirs: str, ours: str) -> None:
    there = wants(world, theirs)
    world.upload(there)
    wanted = wants(world, ours)
    assert await world.settle() == ""
    assert await told(world) == [(0, there.info.content_hash), (1, wanted.info.content_hash)]
    assert (await world.observe()).loaded.query.confirmed.schema_version == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(("before", "after"), [(NULL, NONE), (NONE, NULL)])
async def test_a_broker_that_lost_a_pair_and_got_one_that_is_shown_alike_has_lost_it(
    world: World, before: str, after: str
) -> None:
    wants(world, before)
    assert await world.settle() == ""
    world.broker.schemas.force_delete(TOPIC)
    world.upload(wants(world, after))
    assert await world.reason() == "HistoryLost"


async def test_older_pairs_are_recorded_as_the_broker_has_them(world: World) -> None:
    pairs = [wants(world, key, number) for number in ("1", "2") for key in (NULL, NONE)]
    world.upload(*pairs)
    assert await world.settle() == ""
    assert await told(world) == [(number, pair.info.content_hash) for number, pair in enumerate(pairs)]


def pair(*defaults: str, doc: str = "") -> Schema:
    """A pair whose value has a double for each default, spelled so."""
    fields = ",".join((FIELD % each).replace('"x"', f'"x{number}"') for number, each in enumerate(defaults))
    text = f'{{"type":"record","name":"Price","doc":"{doc}","fields":[{fields}]}}'
    value = Part(SchemaInfo(SchemaType.AVRO, text.encode()))
    encoded = KeyValue(Part(SchemaInfo(SchemaType.STRING)), value, Encoding.SEPARATED)
    return formats.parse(key_value.encode(encoded))


async def holds(world: World, *schemas: Schema) -> None:
    """These are on record, registered without a broker."""
    history = History(KEY)
    for schema in schemas:
        history = history.with_version(schema, Origin.SPEC, "2026-11-20T00:00:00Z")
    await world.ctx.storage.put(Stored(History(KEY)), history, tuple(schema.info for schema in schemas))


@pytest.mark.parametrize("size", [0, 3 << 20], ids=["in memory", "asked for again"])
async def test_a_new_count_begins_with_a_pair_as_it_was_sent_whatever_the_broker_makes_of_its_fractions(
    world: World, size: int
) -> None:
    doc = "x" * size
    sent = (pair("1.00", doc=doc), pair("1.00", "2.50", doc=doc))
    await holds(world, *sent, pair("1.00", "2.50", "3.0"))
    there = (*sent, pair("1.0", "2.5", "4.0", doc=doc))
    world.broker.schemas.entries[TOPIC] = tuple(
        Entry(number, schema.info, "2026-11-21T01:00:00Z") for number, schema in enumerate(there)
    )
    world.set_schema(record("id"))
    for _ in range(2):
        assert await world.reason() == "Incompatible"
        assert "POST schema" not in world.broker.calls
    history = await world.history()
    assert (history.incarnation, len(history.entries)) == (1, 3)
    for entry, schema in zip(history.entries, there, strict=True):
        assert (await world.ctx.storage.get(KEY, 1, entry)).schema == schema.info.schema
