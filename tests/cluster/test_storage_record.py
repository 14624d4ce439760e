"""The record fulfils the contract of a SchemaStorage on a real API server; and facts of the record alone."""

import asyncio
import base64
import json
import zlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from typing_extensions import override

from support.kubernetes.storage_contract import OWNER, SchemaStorageContract, Text, append, following, newest, text
from testbed import install
from testbed.cluster import Cluster
from topicschema.api import record
from topicschema.api.kinds import SCHEMA_HISTORY, SCHEMA_VERSION, Kind
from topicschema.cluster.client import ApiClient, Object
from topicschema.cluster.connection import Connection
from topicschema.cluster.errors import ConflictError
from topicschema.core.errors import StalledError
from topicschema.core.history import History, Owner
from topicschema.core.remote import NamespaceSettings, Setting
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.storage.claims import Claims, StoredClaim
from topicschema.storage.garbage_collection import GarbageCollector
from topicschema.storage.protocol import Stored
from topicschema.storage.record import RecordStorage

KEY = TopicKey("pulsar", Topic("shop", "orders", "created"))
CLAIM = PulsarNamespaceKey("pulsar", "shop", "orders")
ANOTHER = Owner("else", "where", "00000000-0000-0000-0000-000000000000")


@pytest.fixture(scope="module")
def api(cluster: Cluster) -> Cluster:
    install.install_crds(cluster)
    return cluster


@pytest.fixture
async def client(api: Cluster) -> AsyncIterator[ApiClient]:
    async with ApiClient(Connection.load(str(api.kubeconfig))) as client:
        yield client


@pytest.fixture
def storage(client: ApiClient, namespace: str) -> RecordStorage:
    return RecordStorage(client, namespace)


async def payload_names(client: ApiClient, namespace: str) -> list[str]:
    return [wire["metadata"]["name"] for wire in await client.list(SCHEMA_VERSION, namespace)]


class TestRecordStorage(SchemaStorageContract):
    @override
    def forgetful(self, storage: RecordStorage) -> RecordStorage:
        return RecordStorage(storage._client, storage._namespace)

    @override
    async def lose_payloads(self, storage: RecordStorage, key: TopicKey) -> None:
        for name in await payload_names(storage._client, storage._namespace):
            await storage._client.delete(SCHEMA_VERSION, storage._namespace, name)


async def test_deleting_a_history_leaves_no_payload(client: ApiClient, storage: RecordStorage, namespace: str) -> None:
    await append(storage, KEY, text("one"))
    stored = await append(storage, KEY, text("two"))
    assert len(await payload_names(client, namespace)) == 2
    await storage.delete(stored)
    assert await payload_names(client, namespace) == []


async def test_what_others_put_into_a_historys_metadata_stays(
    client: ApiClient, storage: RecordStorage, namespace: str
) -> None:
    await append(storage, KEY, text("one"))
    labels = {"metadata": {"labels": {"backup": "nightly"}, "annotations": {"note": "note of a user"}}}
    await client.patch(SCHEMA_HISTORY, namespace, KEY.history_name, labels)
    await append(storage, KEY, text("two"))
    metadata = (await client.get(SCHEMA_HISTORY, namespace, KEY.history_name))["metadata"]
    assert metadata["labels"]["backup"] == "nightly"
    assert metadata["annotations"]["note"] == "note of a user"


async def _replace_version(client: ApiClient, namespace: str, change: dict[str, object]) -> None:
    """Put another payload under the name of the only one, as a client with all rights could."""
    (wire,) = await client.list(SCHEMA_VERSION, namespace)
    await client.delete(SCHEMA_VERSION, namespace, wire["metadata"]["name"])
    metadata = {key: wire["metadata"][key] for key in ("name", "namespace", "labels")}
    await client.create(SCHEMA_VERSION, namespace, {**wire, "metadata": metadata, "spec": {**wire["spec"], **change}})


@pytest.mark.parametrize(
    "change",
    [
        {"payload": base64.b64encode(zlib.compress(b"other")).decode()},
        {"payload": "bm90IHpsaWI="},
        {"payload": "%"},
        {"type": "JSON"},
        {"properties": {"owner": "another"}},
        {"format": 2},
    ],
    ids=lambda change: json.dumps(change)[:24],
)
async def test_a_payload_that_was_tampered_with_is_damage(
    client: ApiClient, storage: RecordStorage, namespace: str, change: dict[str, object]
) -> None:
    stored = await append(storage, KEY, text("one"))
    await _replace_version(client, namespace, change)
    with pytest.raises(StalledError) as caught:
        await newest(RecordStorage(client, namespace), stored)
    assert caught.value.reason == "RecordDamaged"


async def test_another_topics_history_under_our_name_is_damage(
    client: ApiClient, storage: RecordStorage, namespace: str
) -> None:
    other = TopicKey("pulsar", Topic("shop", "orders", "other"))
    wire = record.history_to_wire(History(other), namespace=namespace, resource_version=None)
    wire["metadata"]["name"] = KEY.history_name
    await client.create(SCHEMA_HISTORY, namespace, wire)
    with pytest.raises(StalledError) as caught:
        await storage.get_history(KEY)
    assert caught.value.reason == "RecordDamaged"


async def test_a_damaged_history_does_not_hide_the_others_from_a_list(
    client: ApiClient, storage: RecordStorage, namespace: str
) -> None:
    good = await append(storage, KEY, text("one"))
    bad = TopicKey("pulsar", Topic("shop", "orders", "bad"))
    await append(storage, bad, text("one"))
    await client.patch(SCHEMA_HISTORY, namespace, bad.history_name, {"spec": {"versions": ["gibberish"]}})
    names = await storage.history_names(CLAIM)
    assert names == tuple(sorted(key.history_name for key in (KEY, bad)))
    histories = [await storage.read_history(CLAIM, name) for name in names]
    assert [each for each in histories if each] == [good]


async def test_a_claim_that_was_freed_can_be_taken_by_one_of_many(client: ApiClient, namespace: str) -> None:
    claims = Claims(client, namespace)
    taken = await claims.put_claim(await claims.get_claim(CLAIM), OWNER)
    freed = await claims.put_claim(taken, None)
    assert (await claims.get_claim(CLAIM)).owner is None
    owners = [Owner("n", f"policy-{n}", f"uid-{n}") for n in range(16)]
    results = await asyncio.gather(*(claims.put_claim(freed, owner) for owner in owners), return_exceptions=True)
    (winner,) = [result for result in results if isinstance(result, StoredClaim)]
    assert sum(isinstance(result, ConflictError) for result in results) == 15
    assert await claims.get_claim(CLAIM) == winner


async def test_the_settings_before_the_first_write_stay_when_the_claim_changes_its_owner(
    client: ApiClient, namespace: str
) -> None:
    claims = Claims(client, namespace)
    taken = await claims.put_claim(await claims.get_claim(CLAIM), OWNER)
    original = NamespaceSettings(Strategy.FULL, "Full", allows_auto_update=True)
    noted = await claims.put_settings(taken, original, (Setting.STRATEGY,))
    assert await claims.get_claim(CLAIM) == noted == StoredClaim(CLAIM, OWNER, noted.revision, original, noted.managed)
    with pytest.raises(ConflictError):
        await claims.put_settings(taken, NamespaceSettings(), (Setting.AUTO_UPDATE,))
    passed = await claims.put_claim(await claims.put_claim(noted, None), ANOTHER)
    assert (passed.owner, passed.original, passed.managed) == (ANOTHER, original, (Setting.STRATEGY,))
    assert await claims.get_claim(CLAIM) == passed


LATER = timedelta(hours=2)


async def abandon_payload(storage: RecordStorage, schema: Text) -> Stored:
    """Store the history of KEY, with a payload for its next version that no history names."""
    moved = await TestRecordStorage().crashed_before_history(storage, KEY, schema)
    assert len(await payload_names(storage._client, storage._namespace)) == 2
    return moved


async def test_a_payload_left_by_a_crash_is_collected_after_an_hour_and_nothing_else(
    client: ApiClient, storage: RecordStorage, namespace: str
) -> None:
    stored = await abandon_payload(storage, text("two"))
    assert await GarbageCollector(client, namespace).collect(datetime.now(UTC)) == 0
    assert await GarbageCollector(client, namespace).collect(datetime.now(UTC) + LATER) == 1
    assert len(await payload_names(client, namespace)) == 1
    assert await newest(RecordStorage(client, namespace), stored) == text("one").info


async def test_payloads_of_a_history_that_was_deleted_are_collected(
    client: ApiClient, storage: RecordStorage, namespace: str
) -> None:
    await append(storage, KEY, text("one"))
    await client.delete(SCHEMA_HISTORY, namespace, KEY.history_name)
    assert await GarbageCollector(client, namespace).collect(datetime.now(UTC) + LATER) == 1
    assert await payload_names(client, namespace) == []


async def test_payloads_of_a_history_that_cannot_be_read_stay(
    client: ApiClient, storage: RecordStorage, namespace: str
) -> None:
    await abandon_payload(storage, text("two"))
    await client.patch(SCHEMA_HISTORY, namespace, KEY.history_name, {"spec": {"format": 2}})
    assert await GarbageCollector(client, namespace).collect(datetime.now(UTC) + LATER) == 0
    assert len(await payload_names(client, namespace)) == 2


async def test_payloads_of_an_earlier_incarnation_stay(
    client: ApiClient, storage: RecordStorage, namespace: str
) -> None:
    stored = await append(storage, KEY, text("one"))
    await storage.put(stored, History(KEY, incarnation=1))
    assert await GarbageCollector(client, namespace).collect(datetime.now(UTC) + LATER) == 0
    assert len(await payload_names(client, namespace)) == 1


class InterruptingClient(ApiClient):
    """A client that writes a version once, between the list of payloads and the next request."""

    def __init__(self, connection: Connection, storage: RecordStorage, stored: Stored) -> None:
        super().__init__(connection)
        self._writer = storage
        self._stored = stored
        self.interruptions = 0

    @override
    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        answer = await super().get(kind, namespace, name)
        if kind is SCHEMA_HISTORY and not self.interruptions:
            self.interruptions += 1
            two = text("two")
            await self._writer.put(self._stored, following(self._stored.history, two), (two.info,))
        return answer


async def test_a_payload_that_is_used_during_its_collection_stays(
    api: Cluster, storage: RecordStorage, namespace: str
) -> None:
    stored = await abandon_payload(storage, text("two"))
    connection = Connection.load(str(api.kubeconfig))
    async with InterruptingClient(connection, RecordStorage(storage._client, namespace), stored) as interrupting:
        assert await GarbageCollector(interrupting, namespace).collect(datetime.now(UTC) + LATER) == 0
        assert interrupting.interruptions == 1
    current = await storage.get_history(KEY)
    assert current.history.next_version == 2
    assert await newest(RecordStorage(storage._client, namespace), current) == text("two").info
