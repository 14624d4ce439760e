"""Pairs whose STRING part has the text `null`: a broker shows none, and compares what it has."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from support.kubernetes.topic import TOPIC, World, opened
from topicschema.api.schemas import KeyValueSpec, PartSpec
from topicschema.core import formats
from topicschema.core.formats.key_value import Encoding
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.judging import schema_source

VALUE = '{"type":"record","name":"R","fields":[{"name":"a","type":"double","default":%s}]}'
NULL, NONE = "null", ""


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as world:
        yield world


def wants(world: World, key: str, number: str = "1.00") -> Schema:
    """The resource is to be a pair whose STRING key has that text; the pair."""
    string = PartSpec(type=SchemaType.STRING, schema=key)
    value = PartSpec(type=SchemaType.AVRO, schema=VALUE % number)
    world.wants(formats.parse(SchemaInfo(SchemaType.KEY_VALUE, b"\0" * 8)))
    spec = replace(
        world.resource.spec, schema="", key_value=KeyValueSpec(encoding=Encoding.INLINE, key=string, value=value)
    )
    world.resource = replace(world.resource, spec=spec)
    return formats.parse(schema_source.info_of(spec))


async def told(world: World) -> list[tuple[int, str]]:
    """Number and hash of each version on record, which the broker must have so."""
    assert await world.agrees()
    return [(each.schema_version, each.content_hash) for each in (await world.history()).entries]


@pytest.mark.parametrize("key", [NULL, NONE])
async def test_a_pair_is_registered_once_and_no_more_is_asked_of_it_than_of_others(world: World, key: str) -> None:
    pair = wants(world, key)
    assert await world.settle() == ""
    assert await told(world) == [(0, pair.info.content_hash)]
    assert world.broker.calls.count("POST schema") == 1
    world.broker.calls.clear()
    assert await world.settle() == ""
    assert world.broker.calls == ["GET schema"]


@pytest.mark.parametrize("key", [NULL, NONE])
async def test_the_very_pair_that_is_there_is_adopted(world: World, key: str) -> None:
    pair = wants(world, key)
    world.there(pair)
    assert await world.settle() == ""
    assert await told(world) == [(0, pair.info.content_hash)]
    assert "POST schema" not in world.broker.calls


@pytest.mark.parametrize(("theirs", "ours"), [(NULL, NONE), (NONE, NULL)])
async def test_a_pair_that_is_shown_alike_is_another_version(world: World, theirs: str, ours: str) -> None:
    there = wants(world, theirs)
    world.there(there)
    wanted = wants(world, ours)
    assert await world.settle() == ""
    assert await told(world) == [(0, there.info.content_hash), (1, wanted.info.content_hash)]
    assert (await world.seen()).loaded.query.counted.schema_version == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(("before", "after"), [(NULL, NONE), (NONE, NULL)])
async def test_a_broker_that_lost_a_pair_and_got_one_that_is_shown_alike_has_lost_it(
    world: World, before: str, after: str
) -> None:
    wants(world, before)
    assert await world.settle() == ""
    world.broker.schemas.force_delete(TOPIC)
    world.there(wants(world, after))
    assert await world.reason() == "HistoryLost"


async def test_older_pairs_are_recorded_as_the_broker_has_them(world: World) -> None:
    pairs = [wants(world, key, number) for number in ("1", "2") for key in (NULL, NONE)]
    world.there(*pairs)
    assert await world.settle() == ""
    assert await told(world) == [(number, pair.info.content_hash) for number, pair in enumerate(pairs)]
