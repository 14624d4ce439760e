"""Pairs at a broker, which shows their fractions in another spelling (1.00 as 1.0) than they were sent in."""

from collections.abc import AsyncIterator

import pytest

from support.kubernetes.topic import TOPIC, World, opened
from support.pulsar.schema_service import Entry
from support.schemas.examples import record
from topicschema.core import formats
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import Encoding, KeyValue, Part
from topicschema.core.history import History, Origin
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.protocol import Stored

KEY = TopicKey("pulsar", Topic("shop", "orders", TOPIC))
AT = "2026-11-20T00:00:00Z"
FIELD = '{"name":"x","type":"double","default":%s}'


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as world:
        yield world


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
        history = history.with_version(schema, Origin.SPEC, AT)
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
    world.wants(record("id"))
    for _ in range(2):
        assert await world.reason() == "Incompatible"
        assert "POST schema" not in world.broker.calls
    history = await world.history()
    assert (history.incarnation, len(history.entries)) == (1, 3)
    for entry, schema in zip(history.entries, there, strict=True):
        assert (await world.ctx.storage.get(KEY, 1, entry)).schema == schema.info.schema
