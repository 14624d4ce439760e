"""Pairs that a broker shows in another form than it stores: the text `null` of a STRING part, and 1.00 as 1.0."""

from dataclasses import replace

import pytest

from support.kubernetes.topic import KEY, TOPIC, World
from support.pulsar.schema_service import Entry
from support.schemas.examples import record
from topicschema.api.schemas import KeyValueSpec, PartSpec
from topicschema.core import formats
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import Encoding, KeyValue, Part
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.judging import schema_source

VALUE = '{"type":"record","name":"R","fields":[{"name":"a","type":"double","default":%s}]}'
NULL, NONE = "null", ""
FIELD = '{"name":"x","type":"double","default":%s}'


def set_pair(world: World, key: str, number: str = "1.00") -> Schema:
    """Set the resource's schema to a pair whose STRING key has that text, and return the pair."""
    string = PartSpec(type=SchemaType.STRING, schema=key)
    value = PartSpec(type=SchemaType.AVRO, schema=VALUE % number)
    world.set_schema(formats.parse(SchemaInfo(SchemaType.KEY_VALUE, b"\0" * 8)))
    spec = replace(
        world.resource.spec, schema="", key_value=KeyValueSpec(encoding=Encoding.INLINE, key=string, value=value)
    )
    world.resource = replace(world.resource, spec=spec)
    return formats.parse(schema_source.info_of(spec))


async def are_stored(world: World, *pairs: Schema) -> bool:
    """Return True if history and broker have just these versions."""
    hashes = [each.content_hash for each in (await world.history()).entries]
    return await world.is_recorded() and hashes == [each.info.content_hash for each in pairs]


@pytest.mark.parametrize("key", [NULL, NONE])
@pytest.mark.parametrize("is_adopted", [False, True])
async def test_a_pair_is_registered_once_with_as_many_requests_as_other_schemas(
    world: World, key: str, *, is_adopted: bool
) -> None:
    pair = set_pair(world, key)
    if is_adopted:
        world.upload(pair)
    assert await world.settle() == ""
    assert await are_stored(world, pair)
    assert world.broker.calls.count("POST schema") == int(not is_adopted)
    world.broker.calls.clear()
    assert await world.settle() == ""
    assert is_adopted or world.broker.calls == ["GET schema"]


@pytest.mark.parametrize(("theirs", "ours"), [(NULL, NONE), (NONE, NULL)])
async def test_a_pair_that_is_shown_alike_is_another_version(world: World, theirs: str, ours: str) -> None:
    there = set_pair(world, theirs)
    world.upload(there)
    desired = set_pair(world, ours)
    assert await world.settle() == ""
    assert await are_stored(world, there, desired)
    assert (await world.observe()).loaded.query.confirmed.schema_version == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(("before", "after"), [(NULL, NONE), (NONE, NULL)])
async def test_a_broker_that_lost_a_pair_and_got_one_that_is_shown_alike_has_lost_it(
    world: World, before: str, after: str
) -> None:
    set_pair(world, before)
    assert await world.settle() == ""
    world.broker.schemas.force_delete(TOPIC)
    world.upload(set_pair(world, after))
    assert await world.reason() == "HistoryLost"


async def test_older_pairs_are_recorded_as_the_broker_has_them(world: World) -> None:
    pairs = [set_pair(world, key, number) for number in ("1", "2") for key in (NULL, NONE)]
    world.upload(*pairs)
    assert await world.settle() == ""
    assert await are_stored(world, *pairs)


def pair(*defaults: str, doc: str = "") -> Schema:
    """Return a pair whose value has a double for each default, spelled so."""
    fields = ",".join((FIELD % each).replace('"x"', f'"x{number}"') for number, each in enumerate(defaults))
    text = f'{{"type":"record","name":"Price","doc":"{doc}","fields":[{fields}]}}'
    value = Part(SchemaInfo(SchemaType.AVRO, text.encode()))
    encoded = KeyValue(Part(SchemaInfo(SchemaType.STRING)), value, Encoding.SEPARATED)
    return formats.parse(key_value.encode(encoded))


@pytest.mark.parametrize("size", [0, 3 << 20], ids=["in memory", "requested again"])
async def test_a_new_incarnation_begins_with_a_pair_as_it_was_sent_though_the_broker_shows_other_fractions(
    world: World, size: int
) -> None:
    doc = "x" * size
    sent = (pair("1.00", doc=doc), pair("1.00", "2.50", doc=doc))
    await world.store_versions(*sent, pair("1.00", "2.50", "3.0"))
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
