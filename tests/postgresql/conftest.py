"""A real PostgreSQL for the tests of its store: one server for the test run, and a schema for each test."""

import secrets
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from support import tiers
from testbed import install, postgresql
from testbed.cluster import Cluster
from testbed.errors import SourceMissingError
from testbed.instances import Instance
from testbed.postgresql import PostgreSQL
from testbed.product import NAMESPACE as SYSTEM
from testbed.progress import Progress
from topicschema.storage.plugins import StorageUrl
from topicschema.storage.postgresql.database import Database
from topicschema.storage.postgresql.storage import PostgresStorage


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests, before `-m` chooses."""
    for item in items:
        if "server" in getattr(item, "fixturenames", ()):
            item.add_marker("postgresql")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Install Debian's package before the first test if one will need it."""
    if session.config.option.collectonly or not any(item.get_closest_marker("postgresql") for item in session.items):
        return
    try:
        postgresql.find(Progress())
    except SourceMissingError as error:
        tiers.skip(session, "postgresql", str(error))


@pytest.fixture(scope="session")
def server(instance: Instance) -> PostgreSQL:
    """Return the server of the test run."""
    return PostgreSQL.start(instance)


@pytest.fixture
def schema_url(server: PostgreSQL) -> str:
    """Return the URL of a new schema for the test."""
    return new_schema(server)


def new_schema(server: PostgreSQL) -> str:
    """Return the URL of a new, empty schema."""
    name = f"t{secrets.token_hex(6)}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
    return server.url(options=f"-csearch_path%3D{name}")


@pytest.fixture
async def storage(schema_url: str) -> AsyncIterator[PostgresStorage]:
    """Yield a store without content."""
    storage = open_storage(schema_url)
    yield storage
    await storage.aclose()


@pytest.fixture
def cleared(cluster: Cluster) -> Iterator[Cluster]:
    """Yield the cluster with the product's kinds and no record."""
    with install.without_record(cluster, SYSTEM):
        yield cluster


def open_storage(url: str) -> PostgresStorage:
    """Return a client of the store in the database of that URL, with connections of its own."""
    return PostgresStorage(Database(StorageUrl(url)), lambda: None)
