"""Connections to the database, its errors in the product's terms, and its migrations."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier
from sqlalchemy import Connection, Engine, create_engine, func, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import TopicSchemaError
from topicschema.storage.errors import StorageRefusedError, StorageUnavailableError
from topicschema.storage.plugins import StorageUrl, UnusableStorageError
from topicschema.storage.postgresql.tables import CHANNEL, MIGRATION_TABLE

_DIALECT: Final = "postgresql+psycopg://"
_FORM: Final = "postgresql://USER:PASSWORD@HOST:5432/DATABASE?sslmode=verify-full"
_LOCK: Final = 0x746F706963  # "topic": one process migrates at a time
_CONNECTIONS: Final = 16
_WAIT_SECONDS: Final = 8.0  # less than the API server waits for the webhook
_DEFAULTS: Final = {
    "application_name": "topicschema",
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}
"""Parameters of libpq, which find a dead connection within seconds. Those of the URL replace them."""
_REFUSALS: Final = re.compile(
    r"password|does not exist|pg_hba\.conf|not permitted|certificate|does not support SSL|authentication failed"
)
"""Words of a refused connection that an administrator must fix. libpq reports no SQLSTATE before it is connected."""
_ROLLED_BACK: Final = "40"
_TRANSIENT: Final = ("08", "25006", "53", "55", "57", "58")
"""SQLSTATEs, or their first letters, of a server that is away, overloaded, ending, a standby or out of disk."""
_SHOWN: Final = 300


def parameters_of(url: StorageUrl) -> dict[str, Any]:
    """Return libpq's parameters. Raises UnusableStorageError, without the URL, if it is missing or no URL of libpq."""
    text = url.read()
    try:
        return {**_DEFAULTS, **conninfo_to_dict(text)}
    except psycopg.Error:  # its message repeats parts of the URL
        raise UnusableStorageError(f"the URL of the database is not valid: write {_FORM}") from None


class Database:
    """A pool of connections to one database. The first use migrates its tables.

    Each method may raise StorageUnavailableError or StorageRefusedError, and ConflictError if another transaction won.
    """

    def __init__(self, url: StorageUrl) -> None:
        self._url = url
        self._engine = create_async_engine(
            _DIALECT,
            async_creator=self._connect,
            hide_parameters=True,
            max_overflow=0,
            pool_pre_ping=True,  # replaces connections that a restart of the server closed
            pool_size=_CONNECTIONS,
            pool_timeout=_WAIT_SECONDS,
        )
        self._migrating = asyncio.Lock()
        self._is_migrated = False

    async def _connect(self) -> psycopg.AsyncConnection[Any]:
        """Connect with the current URL: a Secret may have changed."""
        return await psycopg.AsyncConnection.connect(**parameters_of(self._url))

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """Yield a connection on which each statement is a transaction."""
        with translated():
            await self._migrate()
            async with self._engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
                yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """Yield a connection in a transaction, which an error rolls back."""
        with translated():
            await self._migrate()
            async with self._engine.begin() as connection:
                yield connection

    @asynccontextmanager
    async def notifications(self) -> AsyncIterator[AsyncIterator[str]]:
        """Yield the payloads of the channel's notifications from now on."""
        with translated():
            await self._migrate()
            connection = await self._connect()
            try:
                await connection.set_autocommit(True)
                ((channel,),) = await (await connection.execute(f"SELECT {CHANNEL}")).fetchall()
                await connection.execute(SQL("LISTEN {}").format(Identifier(channel)))
                yield (each.payload async for each in connection.notifies())
            finally:
                await connection.close()

    async def _migrate(self) -> None:
        async with self._migrating:
            if not self._is_migrated:
                async with self._engine.begin() as connection:
                    await connection.run_sync(migrate)
                self._is_migrated = True

    async def aclose(self) -> None:
        """Close all connections."""
        await self._engine.dispose()


@contextmanager
def synchronous(url: StorageUrl) -> Iterator[Engine]:
    """Yield an engine for a command, its tables migrated. Raises as Database."""
    parameters = parameters_of(url)
    engine = create_engine(_DIALECT, creator=lambda: psycopg.connect(**parameters), hide_parameters=True)
    try:
        with translated():
            with engine.begin() as connection:
                migrate(connection)
            yield engine
    finally:
        engine.dispose()


def migrate(connection: Connection) -> None:
    """Create the tables, or bring those of an earlier release up to date, in the connection's transaction.

    Raises StorageRefusedError if a newer release migrated them, or if the database cannot store all characters.
    """
    connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise StorageRefusedError(f"the database has the encoding {encoding}: create it with ENCODING 'UTF8'")
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    known = {each.revision for each in ScriptDirectory.from_config(config).walk_revisions()}
    current = MigrationContext.configure(connection, opts={"version_table": MIGRATION_TABLE}).get_current_heads()
    if not known.issuperset(current):
        raise StorageRefusedError(
            f"a newer release migrated the tables (to {', '.join(current)}): upgrade topicschema, or restore the "
            "database's backup from before that upgrade"
        )
    command.upgrade(config, "head")


@contextmanager
def translated() -> Iterator[None]:
    """Raise the product's errors in place of those of the database. They contain no statement, value or password."""
    try:
        yield
    except UnusableStorageError as error:
        raise StorageRefusedError(str(error)) from None
    except TimeoutError:
        raise StorageUnavailableError("PostgreSQL does not answer in time") from None
    except (SQLAlchemyError, psycopg.Error, OSError) as error:
        raise _translated(error.orig if isinstance(error, DBAPIError) else error) from None


def _translated(error: BaseException | None) -> TopicSchemaError:
    state = (error.sqlstate if isinstance(error, psycopg.Error) else None) or ""
    # Not the whole text of an error with an SQLSTATE: its details may have values of rows.
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) and state else str(error)
    reason = " ".join((primary or type(error).__name__).split())[:_SHOWN]
    if state.startswith(_ROLLED_BACK):
        return ConflictError(f"another transaction of PostgreSQL was first: {reason}")
    if state.startswith(_TRANSIENT):
        return StorageUnavailableError(f"PostgreSQL cannot serve the request now: {reason}")
    if state:
        return StorageRefusedError(f"PostgreSQL refuses the request: {reason} (SQLSTATE {state})")
    if _REFUSALS.search(reason):
        return StorageRefusedError(
            f"PostgreSQL refuses the connection: {reason}; correct TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL"
        )
    return StorageUnavailableError(f"PostgreSQL is not reachable: {reason}")
