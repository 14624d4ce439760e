"""`topicschema storage copy` between a real API server and a real PostgreSQL, and back."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from postgresql.conftest import open_storage
from testbed import install
from testbed.cluster import Cluster
from testbed.postgresql import PostgreSQL
from testbed.product import NAMESPACE as SYSTEM
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection
from topicschema.core.history import History
from topicschema.core.remote import NamespaceSettings, Setting
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.postgresql.storage import PostgresStorage
from topicschema.storage.protocol import SchemaStorage, Stored
from topicschema.testing.storage_contract import LATER, OWNER, SETTINGS, add_version, append, text

KEYS = [TopicKey("pulsar", Topic("shop", "orders", name)) for name in ("created", "deleted", "заказ")]


@pytest.fixture
async def in_kubernetes(cleared: Cluster) -> AsyncIterator[KubernetesStorage]:
    async with ApiClient(ApiConnection.load(str(cleared.kubeconfig))) as client:
        yield KubernetesStorage(client, SYSTEM)


@pytest.fixture
async def in_database(storage: PostgresStorage) -> PostgresStorage:
    return storage


def copy(cluster: Cluster, url: str, *stores: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL": url}
    command = [sys.executable, "-m", "topicschema", "storage", "copy", *stores]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


async def fill(storage: SchemaStorage) -> None:
    """Store versions, properties, an announcement, a deleted incarnation, settings and a claim."""
    for key in KEYS:
        await append(storage, key, text("one"))
        await append(storage, key, text("two\x00", {"owner": "team-a"}))
    stored = await storage.get_history(KEYS[1])
    await storage.put(stored, stored.history.after_deletion())
    stored = await append(storage, KEYS[1], text("three"))
    await storage.announce(add_version(stored.history, text("four")), text("four").info)
    stored = await storage.get_history(KEYS[0])
    await storage.put(stored, replace(stored.history.claimed_by(OWNER), topic_settings=SETTINGS))
    claim = await storage.put_claim(await storage.get_claim(KEYS[0].namespace_key), OWNER, "broker:8080")
    await storage.put_settings(claim, NamespaceSettings(), (Setting.STRATEGY,))


async def content(storage: SchemaStorage) -> list[object]:
    """Return all that a store has of the topics, without revisions."""
    found: list[object] = [replace(await storage.get_claim(KEYS[0].namespace_key), revision="")]
    found.append(await storage.used_bytes(KEYS[0].namespace_key))
    for key in KEYS:
        stored = await storage.get_history(key)
        found.append(replace(stored, revision=""))
        blocks = [(stored.history.incarnation, stored.history.entries)]
        blocks += [(each.incarnation, each.entries) for each in stored.history.deleted]
        found += [await storage.get(key, number, entry) for number, entries in blocks for entry in entries]
    stored = await storage.get_history(KEYS[1])
    assert await storage.is_announced(stored.history, text("four").info)
    return found


async def test_a_record_is_copied_and_copied_back_as_it_was(
    cleared: Cluster, in_kubernetes: KubernetesStorage, schema_url: str, server: PostgreSQL
) -> None:
    await fill(in_kubernetes)
    before = await content(in_kubernetes)
    done = copy(cleared, schema_url, "kubernetes", "postgresql")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "copied 12 objects, the others were there; 12 are equal in both stores\n"
    database = open_storage(schema_url)
    assert await content(database) == before

    install.clear_record(cleared, SYSTEM)
    with install.guards(cleared):
        done = copy(cleared, schema_url, "postgresql", "kubernetes")
    assert done.stdout == "copied 12 objects, the others were there; 12 are equal in both stores\n", done.stderr
    assert await content(KubernetesStorage(in_kubernetes._client, SYSTEM)) == before
    assert await database.collect_garbage(LATER) == 1, "what was announced, and nothing that a history names"
    await database.aclose()


async def test_an_interrupted_copy_continues_and_another_content_is_never_overwritten(
    cleared: Cluster, in_kubernetes: KubernetesStorage, in_database: PostgresStorage, schema_url: str
) -> None:
    await fill(in_kubernetes)
    # As a copy leaves it that was killed: an older history, and a payload that no history names yet.
    first = text("one")
    stored = await in_database.put(Stored(History(KEYS[0])), add_version(History(KEYS[0]), first), (first.info,))
    entry = (await in_kubernetes.get_history(KEYS[2])).history.entries[0]
    await in_database.keep(History(KEYS[2], entries=(entry,)), [(entry, first.info)])
    older = (await in_kubernetes.get_history(KEYS[0])).history.entries[:1]
    await in_database.put(stored, replace(stored.history, entries=older))
    done = copy(cleared, schema_url, "kubernetes", "postgresql")
    assert done.stdout == "copied 10 objects, the others were there; 12 are equal in both stores\n", done.stderr
    done = copy(cleared, schema_url, "kubernetes", "postgresql")
    assert done.stdout == "copied 0 objects, the others were there; 12 are equal in both stores\n", done.stderr

    alone = TopicKey("pulsar", Topic("shop", "orders", "alone"))
    await append(in_database, alone, text("one"))
    newer = await append(in_database, KEYS[0], text("newer"))
    done = copy(cleared, schema_url, "kubernetes", "postgresql")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{in_database.name_of(alone)} is in the target only: delete it there first" in done.stderr
    assert f"{in_database.name_of(KEYS[0])} in the target is newer, or differs" in done.stderr
    assert await in_database.get_history(KEYS[0]) == newer
