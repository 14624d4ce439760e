"""A server that refuses, is away, or is restarted during writes."""

import asyncio
import signal
from pathlib import Path

import pytest
from sqlalchemy import column, func, select, table

from postgresql.conftest import open_storage
from testbed import ports
from testbed.certificates import Authority
from testbed.instances import Instance
from testbed.postgresql import PostgreSQL
from topicschema.cluster.errors import ConflictError
from topicschema.core.topics import Topic, TopicKey
from topicschema.settings import InvalidSettingError, Settings
from topicschema.storage.errors import StorageRefusedError, StorageUnavailableError
from topicschema.storage.plugins import StorageUrl
from topicschema.storage.postgresql.database import Database
from topicschema.storage.postgresql.storage import PostgresStorage
from topicschema.testing.storage_contract import Text, add_version, append, text

KEY = TopicKey("pulsar", Topic("shop", "orders", "created"))
WRITERS, WRITES = 4, 25


def key(local_name: str) -> TopicKey:
    return TopicKey("pulsar", Topic("shop", "orders", local_name))


async def error_of(storage: PostgresStorage) -> Exception:
    with pytest.raises((StorageRefusedError, StorageUnavailableError)) as caught:
        await storage.get_history(KEY)
    await storage.aclose()
    return caught.value


async def test_a_refused_connection_is_a_sentence_without_the_password(server: PostgreSQL, tmp_path: Path) -> None:
    other = Authority.at(tmp_path).certificate
    wrong = server.url().replace(server.password, "let-me-in")
    latin = server.create_database("TEMPLATE template0 ENCODING 'LATIN1'")
    expected = {
        wrong: 'password authentication failed for user "admin"; correct TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL',
        server.url("missing"): 'database "missing" does not exist; correct TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL',
        server.url(sslmode="verify-full", sslrootcert=str(other)): "certificate verify failed; correct",
        server.url(latin): "the database has the encoding LATIN1: create it with ENCODING 'UTF8'",
    }
    for url, message in expected.items():
        error = await error_of(open_storage(url))
        assert isinstance(error, StorageRefusedError)
        assert error.reason == "StorageRefused"
        assert message in error.message
        assert not any(secret in repr(error) for secret in ("let-me-in", server.password))


async def test_a_connection_is_encrypted_and_verified_by_the_parameters_of_libpq(
    server: PostgreSQL, schema_url: str
) -> None:
    storage = open_storage(f"{schema_url}&sslmode=verify-full&sslrootcert={server.ca}")
    await append(storage, KEY, text("one"))
    async with storage._database.reading() as connection:
        query = select(column("ssl")).select_from(table("pg_stat_ssl")).where(column("pid") == func.pg_backend_pid())
        assert await connection.scalar(query) is True
    await storage.aclose()


async def test_the_first_of_several_hosts_that_accepts_writes_is_used(server: PostgreSQL, schema_url: str) -> None:
    hosts = f"127.0.0.1:1,127.0.0.1:{server.port}"
    storage = open_storage(f"{schema_url}&target_session_attrs=read-write".replace(f"127.0.0.1:{server.port}", hosts))
    assert (await append(storage, KEY, text("one"))).history.next_version == 1
    await storage.aclose()


async def test_a_server_that_is_away_is_a_reason_to_wait(server: PostgreSQL) -> None:
    error = await error_of(open_storage(server.url().replace(f":{server.port}/", ":1/")))
    assert isinstance(error, StorageUnavailableError)
    assert error.reason == "StorageUnavailable"
    assert "Connection refused" in error.message
    assert server.password not in error.message


async def test_a_corrected_secret_is_read_without_a_restart(schema_url: str, tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text(schema_url.replace("@", "x@") + "\n")
    storage = PostgresStorage(Database(StorageUrl(file=file)), lambda: None)
    with pytest.raises(StorageRefusedError):
        await storage.get_history(KEY)
    file.write_text(schema_url + "\n")
    assert (await storage.get_history(KEY)).revision == ""
    await storage.aclose()


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "or TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL_FILE to a file with it"),
        ({"TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL_FILE": "/nowhere"}, "the URL of the database cannot be read"),
        (
            {"TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL": "hidden=x"},
            "the database is not valid: write postgresql://USER:",
        ),
        ({"TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL": "postgresql://u:hidden@[h/d"}, "the database is not valid"),
    ],
)
def test_a_wrong_setting_ends_the_process_and_does_not_show_the_url(environment: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidSettingError) as refused:
        Settings.load({"TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE": "postgresql", **environment})
    assert message in str(refused.value)
    assert "hidden" not in str(refused.value)
    secret = {
        "TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE": "postgresql",
        "TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL": "postgresql://u:hidden@h/d",
    }
    assert "hidden" not in repr(Settings.load(secret))


class Writers:
    """Clients that append versions and retry as reconciles do. A commit whose answer is lost is in the history."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.failures = list[Exception]()
        self.written = 0
        self.are_half_done = asyncio.Event()

    async def run(self, number: int) -> None:
        storage = open_storage(self.url)
        for each in range(WRITES):
            while not await self.attempt(storage, text(f"{number} {each}")):
                pass
            self.written += 1
            if self.written == WRITERS * WRITES // 2:
                self.are_half_done.set()
        await storage.aclose()

    async def attempt(self, storage: PostgresStorage, schema: Text) -> bool:
        """Return True if the history has the version."""
        try:
            stored = await storage.get_history(KEY)
            if schema.info.content_hash not in {each.content_hash for each in stored.history.entries}:
                await storage.put(stored, add_version(stored.history, schema), (schema.info,))
        except ConflictError:
            return False
        except StorageUnavailableError as error:
            self.failures.append(error)
            await asyncio.sleep(0.05)
            return False
        return True


async def assert_whole(storage: PostgresStorage) -> None:
    """Assert that the history has each version of the writers once."""
    history = (await storage.get_history(KEY)).history
    assert [each.schema_version for each in history.entries] == list(range(WRITERS * WRITES))
    contents = [(await storage.get(KEY, 0, each)).schema.decode() for each in history.entries]
    assert sorted(contents) == sorted(f"{number} {each}" for number in range(WRITERS) for each in range(WRITES))


async def test_a_restart_during_writes_loses_nothing_and_writes_nothing_twice(
    server: PostgreSQL, schema_url: str
) -> None:
    writers, reader, another = Writers(schema_url), open_storage(schema_url), open_storage(schema_url)

    async def restart() -> None:
        await writers.are_half_done.wait()
        server.program.send(signal.SIGQUIT)  # as a crash: each connection ends at once
        await asyncio.to_thread(server.program.wait)
        await asyncio.to_thread(server.run)

    stream, before, late = reader.changed(), key("before"), key("late")
    await append(another, before, text("one"))
    assert await anext(stream) == before
    await asyncio.gather(restart(), *map(writers.run, range(WRITERS)))
    assert writers.failures

    await assert_whole(reader)
    await append(another, late, text("one"))
    expected = [KEY, late]  # the stream continues with what changed meanwhile
    while expected:
        if await anext(stream) == expected[0]:
            expected.pop(0)
    for closing in (stream, reader, another):
        await closing.aclose()


async def test_a_failover_to_a_standby_during_writes_loses_nothing_and_writes_nothing_twice(
    server: PostgreSQL, instance: Instance
) -> None:
    del server  # only marks the test: this one has two servers of its own
    primary = await asyncio.to_thread(PostgreSQL.start, instance)
    standby = await asyncio.to_thread(primary.start_standby, instance)
    both = f"{ports.LOOPBACK}:{primary.port},{ports.LOOPBACK}:{standby.port}"
    url = primary.url(target_session_attrs="read-write").replace(f"{ports.LOOPBACK}:{primary.port}", both)
    writers = Writers(url)

    async def fail_over() -> None:
        await writers.are_half_done.wait()
        primary.program.send(signal.SIGQUIT)
        await asyncio.to_thread(primary.program.wait)
        await asyncio.to_thread(standby.promote)

    await asyncio.gather(fail_over(), *map(writers.run, range(WRITERS)))
    assert writers.failures
    storage = open_storage(url)
    await assert_whole(storage)
    await storage.aclose()
    await asyncio.to_thread(standby.program.kill)
