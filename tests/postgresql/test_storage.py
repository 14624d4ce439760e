"""PostgresStorage fulfills the contract of SchemaStorage on a real server; and what holds for it alone."""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, column, delete, table, update
from typing_extensions import override

from postgresql.conftest import new_schema, open_storage
from testbed.postgresql import PostgreSQL
from topicschema.cluster.errors import ConflictError, NotLeadingError
from topicschema.core.errors import StalledError
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.errors import StorageRefusedError
from topicschema.storage.postgresql.changes import changes
from topicschema.storage.postgresql.storage import PostgresStorage
from topicschema.storage.postgresql.tables import HISTORY, METADATA, MIGRATION_TABLE, VERSION
from topicschema.storage.protocol import StoredClaim
from topicschema.testing import storage_contract as contract
from topicschema.testing.storage_contract import SchemaStorageContract, add_version, append, newest

KEY = TopicKey("pulsar", Topic("shop", "orders", "created"))
MIGRATIONS = table(MIGRATION_TABLE, column("version_num"))
ONE, TWO = contract.text("one"), contract.text("two")


class TestPostgresStorage(SchemaStorageContract):
    @override
    def another(self, storage: PostgresStorage) -> PostgresStorage:
        return PostgresStorage(storage._database, lambda: None)

    @override
    async def lose_payloads(self, storage: PostgresStorage, key: TopicKey) -> None:
        async with storage._database.writing() as connection:
            await connection.execute(delete(VERSION))


async def test_processes_that_start_at_once_migrate_once_to_the_tables_of_the_code(schema_url: str) -> None:
    stores = [open_storage(schema_url) for _ in range(4)]
    await asyncio.gather(*(each.get_history(KEY) for each in stores))

    def differences(connection: Connection) -> list[object]:
        return compare_metadata(MigrationContext.configure(connection), METADATA)

    async with stores[0]._database.reading() as connection:
        found = [each for each in await connection.run_sync(differences) if MIGRATION_TABLE not in str(each)]
    assert found == []
    for each in stores:
        await each.aclose()


async def test_tables_of_a_newer_release_are_refused_until_they_are_those_of_this_one(schema_url: str) -> None:
    newer, later = open_storage(schema_url), open_storage(schema_url)
    await append(newer, KEY, ONE)
    async with newer._database.writing() as connection:
        await connection.execute(update(MIGRATIONS).values(version_num="later"))
    await append(newer, KEY, TWO)  # a process that runs during an upgrade continues
    with pytest.raises(StorageRefusedError, match=r"a newer release migrated the tables \(to later\): upgrade"):
        await later.get_history(KEY)
    async with newer._database.writing() as connection:
        await connection.execute(update(MIGRATIONS).values(version_num="1"))
    assert (await later.get_history(KEY)).history.next_version == 2
    await newer.aclose()
    await later.aclose()


async def test_another_operators_record_in_the_same_database_has_other_notifications(
    storage: PostgresStorage, server: PostgreSQL
) -> None:
    other, theirs = open_storage(new_schema(server)), replace(KEY, registry="theirs")
    another = PostgresStorage(storage._database, lambda: None)
    await append(another, KEY, ONE)
    async with aclosing(changes(storage._database, storage._writer)) as stream:
        assert await anext(stream) == KEY
        await append(other, theirs, ONE)
        await append(another, KEY, TWO)
        assert await anext(stream) == KEY, "and not what is in the other schema"
    await other.aclose()


async def test_a_process_that_does_not_lead_reads_and_never_writes(storage: PostgresStorage) -> None:
    stored = await append(storage, KEY, ONE)

    def fence() -> None:
        raise NotLeadingError

    follower = PostgresStorage(storage._database, fence)
    history = add_version(stored.history, TWO)
    for write in (
        follower.keep(history, [(history.entries[-1], TWO.info)]),
        follower.announce(history, TWO.info),
        follower.put(stored, stored.history.claimed_by(contract.OWNER)),
        follower.delete(stored),
        follower.put_claim(StoredClaim(KEY.namespace_key), contract.OWNER),
        follower.collect_garbage(contract.LATER),
    ):
        with pytest.raises(NotLeadingError):
            await write
    assert await follower.get_history(KEY) == stored
    assert await storage.get_claim(KEY.namespace_key) == StoredClaim(KEY.namespace_key)


async def test_characters_that_postgresql_has_no_text_for_are_stored(storage: PostgresStorage) -> None:
    schema = contract.text("\x00", {"nul\x00": "\x00"})
    stored = await append(storage, KEY, schema)
    assert await newest(PostgresStorage(storage._database, lambda: None), stored) == schema.info


async def test_another_topics_history_and_one_that_was_tampered_with_are_damage(storage: PostgresStorage) -> None:
    other = replace(KEY, registry="other")
    await append(storage, other, ONE)
    await append(storage, KEY, ONE)
    async with storage._database.writing() as connection:
        await connection.execute(delete(HISTORY).where(HISTORY.c.name == storage.name_of(KEY)))
        moved = update(HISTORY).where(HISTORY.c.name == storage.name_of(other))
        await connection.execute(moved.values(name=storage.name_of(KEY)))
    with pytest.raises(StalledError) as caught:
        await storage.get_history(KEY)
    assert caught.value.reason == "HistoryDamaged"


async def test_a_payload_that_was_removed_before_its_history_was_written_is_a_conflict(
    storage: PostgresStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = await append(storage, KEY, ONE)
    put_payloads = storage._put_payloads

    async def put_and_lose(*arguments: object, **named: object) -> None:
        await put_payloads(*arguments, **named)
        assert await PostgresStorage(storage._database, lambda: None).collect_garbage(contract.LATER) == 1

    monkeypatch.setattr(storage, "_put_payloads", put_and_lose)
    with pytest.raises(ConflictError):
        await append(storage, KEY, TWO)
    assert await storage.get_history(KEY) == stored
    monkeypatch.undo()
    assert await newest(storage, await append(storage, KEY, TWO)) == TWO.info
