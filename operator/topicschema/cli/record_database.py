"""The objects of the operator's record in a PostgreSQL database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, select
from sqlalchemy.dialects.postgresql import insert

from topicschema.api import store
from topicschema.api.kinds import SCHEMA_HISTORY, SCHEMA_VERSION, Kind
from topicschema.cli.inputs.files import UsageError
from topicschema.cli.record import Object
from topicschema.cluster.errors import ConflictError
from topicschema.settings import storage_url
from topicschema.storage.plugins import UnusableStorageError
from topicschema.storage.postgresql import tables
from topicschema.storage.postgresql.database import synchronous, translated

_PAGE = 100


class RecordDatabase:
    """The record in one database. See RecordStore."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def listed(self, kind: Kind) -> Iterator[Object]:
        """See RecordStore."""
        table = tables.TABLES[kind.name]
        with translated(), self._engine.connect() as connection:
            rows = connection.execution_options(yield_per=_PAGE).execute(select(table).order_by(table.c.name))
            for row in rows.mappings():
                wire = tables.object_of(kind, row)
                wire["metadata"]["resourceVersion"] = str(row.get("revision", ""))
                yield wire

    def get(self, kind: Kind, name: str) -> Object | None:
        """Return the object of that name, or None."""
        table = tables.TABLES[kind.name]
        with translated(), self._engine.connect() as connection:
            row = connection.execute(select(table).where(table.c.name == name)).mappings().first()
        return None if row is None else tables.object_of(kind, row)

    def create(self, kind: Kind, saved: Object) -> None:
        """See RecordStore."""
        with translated(), self._engine.begin() as connection:
            if kind is SCHEMA_VERSION:
                created = insert(tables.VERSION).values(tables.row_of(saved)).on_conflict_do_nothing()
                if not connection.execute(created).rowcount:
                    raise _conflict(saved)
            else:
                _swap(connection, kind, saved, "")

    def replace(self, kind: Kind, known: Object, spec: Any) -> None:
        """See RecordStore."""
        with translated(), self._engine.begin() as connection:
            _swap(connection, kind, {**known, "spec": spec}, known["metadata"]["resourceVersion"])


def _swap(connection: Connection, kind: Kind, wire: Object, expected: str) -> None:
    revision = connection.scalar(tables.swap(tables.TABLES[kind.name], wire, expected))
    if revision is None:
        raise _conflict(wire)
    if kind is SCHEMA_HISTORY:
        history = store.history_from_wire(wire)
        names = [store.version_name(history.key, history.incarnation, *each.identity) for each in history.entries]
        connection.execute(tables.name_versions(names))
        connection.execute(tables.notification(history.key, "", revision))


def _conflict(wire: Object) -> ConflictError:
    return ConflictError(f"{wire['kind']} {wire['metadata']['name']} was written in the meantime")


@contextmanager
def connect() -> Iterator[RecordDatabase]:
    """Yield the record in the database of the environment. Raise UsageError if the environment names none."""
    try:
        with synchronous(storage_url()) as engine:
            yield RecordDatabase(engine)
    except UnusableStorageError as error:
        raise UsageError(str(error)) from None
