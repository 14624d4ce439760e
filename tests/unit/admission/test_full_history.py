"""Edits of a topic whose history is full, or almost full, or whose policy's record is full."""

import pytest

from support.kubernetes.admission import ID, KEY, NOTE, NOTE_WITH_DEFAULT, TIME, V0, World, avro, record_schema
from topicschema.core import formats
from topicschema.core.history import MAX_VERSIONS, WARNED_FROM, History, Origin, VersionEntry
from topicschema.core.schemas import NEWEST, SchemaType, digest
from topicschema.storage.protocol import Stored

NEXT, INCOMPATIBLE = record_schema(ID, NOTE_WITH_DEFAULT), record_schema(ID, NOTE)


async def store(world: World, count: int) -> None:
    """Store that number of versions, V0 as the newest."""
    constraints = {"allowedDeletionPolicies": ["Delete"]}
    await world.policy(schemaCompatibilityStrategy="BACKWARD", constraints=constraints)
    hashes = [digest(b"%d" % number) for number in range(count - 1)]
    entries = tuple(
        VersionEntry(n, SchemaType.AVRO, each, each, Origin.SPEC, TIME, pulsar_version=NEWEST)
        for n, each in enumerate(hashes)
    )
    newest = formats.parse(avro(V0))
    history = History(KEY, entries=entries).with_version(newest, Origin.SPEC, TIME).parsed_by(NEWEST)
    await world.storage.put(Stored(History(KEY)), history, (newest.info,))


async def test_a_full_history_refuses_only_another_version(world: World) -> None:
    await store(world, MAX_VERSIONS)
    (cause,) = (await world.create(NEXT)).causes
    assert cause["field"] == "spec.topic"
    assert cause["message"].startswith("HistoryFull: the history of topic shop/orders/created has 10,000 versions")
    assert "use another topic" in cause["message"]
    assert "deletionPolicy: Delete" in cause["message"]
    assert (await world.create(INCOMPATIBLE)).rules == ["FIELD_WITHOUT_DEFAULT"]
    assert (await world.create(V0)).is_allowed
    edited = await world.edit(world.resource(schema=NEXT), deletionPolicy="Delete")
    assert "the schema would be refused: HistoryFull" in edited.warnings[0]


@pytest.mark.parametrize(
    ("count", "schema", "words"),
    [
        (WARNED_FROM - 1, NEXT, []),
        (WARNED_FROM, V0, []),
        (WARNED_FROM, NEXT, ["9,000 versions; after this one it takes 999 more"]),
        (MAX_VERSIONS - 1, NEXT, ["9,999 versions; after this one it takes 0 more"]),
    ],
)
async def test_from_nine_tenths_on_a_warning_has_the_number_of_versions_left(
    world: World, count: int, schema: str, words: list[str]
) -> None:
    await store(world, count)
    reply = await world.create(schema)
    assert reply.is_allowed
    assert len(reply.warnings) == len(words)
    assert all(part in warning for part, warning in zip(words, reply.warnings, strict=True))


@pytest.mark.parametrize(("used", "is_refused"), [(1000, True), (990, False)])
async def test_a_policy_whose_histories_take_all_bytes_refuses_only_other_versions(
    world: World, used: int, *, is_refused: bool
) -> None:
    await world.policy(
        schemaCompatibilityStrategy="BACKWARD", status={"registry": {"limitBytes": 1000}, "recordBytes": used}
    )
    await world.versions(V0)
    reply = await world.create(NEXT)
    assert reply.is_allowed is not is_refused
    assert (await world.create(V0)).is_allowed
    new = await world.create(NEXT, topic="persistent://shop/orders/new")
    assert new.is_allowed is not is_refused
    if is_refused:
        (cause,) = reply.causes
        assert cause["field"] == "spec.topic"
        assert cause["message"].startswith(
            "RecordFull: topic shop/orders/created can get no further version: the histories of policy orders take "
            "1,000 bytes of 1,000 (spec.limits.bytes of registry pulsar)"
        )
