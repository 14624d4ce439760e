"""The tables, and the conversion between their rows and the objects of `api.store`.

A row has the name and the spec of an object. Its other columns are copies of what statements need.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from sqlalchemy import (
    JSON,
    TIMESTAMP,
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    MetaData,
    RowMapping,
    Sequence,
    Table,
    Text,
    TextClause,
    and_,
    any_,
    func,
    literal,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate

from topicschema.api import store
from topicschema.api.kinds import PULSAR_NAMESPACE_CLAIM, SCHEMA_HISTORY, SCHEMA_VERSION, Kind
from topicschema.core.topics import PulsarNamespaceKey, TopicKey
from topicschema.storage.kubernetes.storage import ANNOUNCED_ANNOTATION

MIGRATION_TABLE: Final = "topicschema_migration"
CHANNEL: Final = "'topicschema_' || 'topicschema_history'::regclass::oid"
"""The channel of the notifications about histories, as SQL. Another schema of the same database has another one."""
METADATA: Final = MetaData()
REVISION: Final = Sequence("topicschema_revision", data_type=BigInteger, metadata=METADATA)
"""Revisions of histories and claims. None repeats, not even after a deletion."""

HISTORY: Final = Table(
    "topicschema_history",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("registry", Text, nullable=False),
    Column("pulsar_namespace", Text, nullable=False),
    Column("local_name", Text, nullable=False),
    Column("incarnation", Integer, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("spec", JSON, nullable=False),
    Index("topicschema_history_namespace", "registry", "pulsar_namespace"),
)
VERSION: Final = Table(
    "topicschema_version",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("history", Text, nullable=False),
    Column("incarnation", Integer, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("written", TIMESTAMP(timezone=True), nullable=False),
    Column("is_announced", Boolean, nullable=False),
    Column("is_named", Boolean, nullable=False),
    Column("spec", JSON, nullable=False),
    Index("topicschema_version_history", "history"),
    Index("topicschema_version_unnamed", "written", postgresql_where=text("NOT is_named")),
)
CLAIM: Final = Table(
    "topicschema_claim",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("registry", Text, nullable=False),
    Column("pulsar_namespace", Text, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("spec", JSON, nullable=False),
    Index("topicschema_claim_namespace", "pulsar_namespace"),
)
TABLES: Final[Mapping[str, Table]] = {
    SCHEMA_HISTORY.name: HISTORY,
    SCHEMA_VERSION.name: VERSION,
    PULSAR_NAMESPACE_CLAIM.name: CLAIM,
}
"""The table of each kind of `api.store`, by its name."""


def row_of(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of an object, but its revision."""
    spec = wire["spec"]
    row = {"name": wire["metadata"]["name"], "spec": spec}
    if wire["kind"] == SCHEMA_VERSION.name:
        return {
            **row,
            "history": spec["history"],
            "incarnation": spec["incarnation"],
            "bytes": store.version_bytes(wire),
            "is_announced": ANNOUNCED_ANNOTATION in (wire["metadata"].get("annotations") or {}),
            "is_named": False,
            "written": func.clock_timestamp(),
        }
    row |= {"registry": spec["registry"], "pulsar_namespace": spec["pulsarNamespace"]}
    if wire["kind"] == SCHEMA_HISTORY.name:
        row |= {"local_name": spec["localName"], "incarnation": spec["incarnation"], "bytes": store.used_bytes(wire)}
    return row


def object_of(kind: Kind, row: RowMapping) -> dict[str, Any]:
    """Return the object of a row, with the metadata that it would have in Kubernetes."""
    spec, metadata = row["spec"], {"name": row["name"], "namespace": ""}
    if kind is SCHEMA_VERSION:
        metadata |= {"labels": {store.HISTORY_LABEL: row["history"]}}
        if row["is_announced"]:
            metadata |= {"annotations": {ANNOUNCED_ANNOTATION: spec["contentHash"]}}
    if kind is SCHEMA_HISTORY:
        key = PulsarNamespaceKey(row["registry"], *row["pulsar_namespace"].split("/", 1))
        metadata |= {
            "labels": {store.PULSAR_NAMESPACE_LABEL: store.claim_name(key)},
            "annotations": {store.TOPIC_ANNOTATION: f"{row['registry']}/{row['pulsar_namespace']}/{row['local_name']}"},
        }
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, "spec": spec}


def swap(table: Table, wire: Mapping[str, Any], expected: str) -> ReturningInsert[Any] | ReturningUpdate[Any]:
    """Return the statement that inserts the row (`expected` is ""), or replaces that of the revision `expected`.

    Its result is the new revision, or nothing if the row changed or is gone.
    """
    row = {**row_of(wire), "revision": REVISION.next_value()}
    if not expected:
        return insert(table).values(row).on_conflict_do_nothing().returning(table.c.revision)
    here = and_(table.c.name == row["name"], table.c.revision == int(expected))
    return update(table).where(here).values(row).returning(table.c.revision)


def name_versions(names: Collection[str]) -> ReturningUpdate[Any]:
    """Return the statement that marks payloads as named by their history. Its result has `name` and `bytes` of each."""
    named = update(VERSION).where(VERSION.c.name == any_(literal(sorted(names)))).values(is_named=True)
    return named.returning(VERSION.c.name, VERSION.c.bytes)


def notification(key: TopicKey, writer: str, revision: int | None) -> TextClause:
    """Return the statement that announces a write of a history, or with None its deletion, once it is committed."""
    topic = key.topic
    parts = [writer, key.registry, topic.tenant, topic.namespace, topic.local_name, revision]
    statement = text(f"SELECT pg_notify({CHANNEL}, :payload)")
    return statement.bindparams(payload=json.dumps(parts, ensure_ascii=False))
