"""KubernetesStorage fulfills the contract of SchemaStorage on a real API server; and what holds for it alone."""

import base64
import json
import zlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from typing_extensions import override

from testbed.cluster import Cluster
from topicschema.api import store
from topicschema.api.kinds import SCHEMA_HISTORY, SCHEMA_VERSION, Kind, Object
from topicschema.api.store import history_name
from topicschema.cluster.client import ApiClient, Objects, Selection
from topicschema.cluster.connection import ApiConnection
from topicschema.core.errors import StalledError
from topicschema.core.history import History
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.protocol import Stored
from topicschema.testing.storage_contract import SchemaStorageContract, Text, add_version, append, newest, text

KEY = TopicKey("pulsar", Topic("shop", "orders", "created"))
CLAIM = PulsarNamespaceKey("pulsar", "shop", "orders")


@pytest.fixture
def storage(installed: Cluster, client: ApiClient, namespace: str) -> KubernetesStorage:
    return KubernetesStorage(client, namespace)


async def payload_names(client: ApiClient, namespace: str) -> list[str]:
    return [wire["metadata"]["name"] for wire in await client.list(SCHEMA_VERSION, namespace)]


class TestKubernetesStorage(SchemaStorageContract):
    @override
    def another(self, storage: KubernetesStorage) -> KubernetesStorage:
        return KubernetesStorage(storage._client, storage._namespace)

    @override
    async def lose_payloads(self, storage: KubernetesStorage, key: TopicKey) -> None:
        for name in await payload_names(storage._client, storage._namespace):
            await storage._client.delete(SCHEMA_VERSION, storage._namespace, name)


async def test_deleting_a_history_leaves_no_payload(
    client: ApiClient, storage: KubernetesStorage, namespace: str
) -> None:
    await append(storage, KEY, text("one"))
    stored = await append(storage, KEY, text("two"))
    assert len(await payload_names(client, namespace)) == 2
    await storage.delete(stored)
    assert await payload_names(client, namespace) == []


async def test_what_others_put_into_a_historys_metadata_stays(
    client: ApiClient, storage: KubernetesStorage, namespace: str
) -> None:
    await append(storage, KEY, text("one"))
    labels = {"metadata": {"labels": {"backup": "nightly"}, "annotations": {"note": "note of a user"}}}
    await client.patch(SCHEMA_HISTORY, namespace, history_name(KEY), labels)
    await append(storage, KEY, text("two"))
    metadata = (await client.get(SCHEMA_HISTORY, namespace, history_name(KEY)))["metadata"]
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
    client: ApiClient, storage: KubernetesStorage, namespace: str, change: dict[str, object]
) -> None:
    stored = await append(storage, KEY, text("one"))
    await _replace_version(client, namespace, change)
    with pytest.raises(StalledError) as caught:
        await newest(KubernetesStorage(client, namespace), stored)
    assert caught.value.reason == "HistoryDamaged"


async def test_another_topics_history_under_our_name_is_damage(
    client: ApiClient, storage: KubernetesStorage, namespace: str
) -> None:
    other = TopicKey("pulsar", Topic("shop", "orders", "other"))
    wire = store.history_to_wire(History(other), namespace=namespace, resource_version=None)
    wire["metadata"]["name"] = history_name(KEY)
    await client.create(SCHEMA_HISTORY, namespace, wire)
    with pytest.raises(StalledError) as caught:
        await storage.get_history(KEY)
    assert caught.value.reason == "HistoryDamaged"


async def test_a_damaged_history_does_not_hide_the_others_from_a_list(
    client: ApiClient, storage: KubernetesStorage, namespace: str
) -> None:
    good = await append(storage, KEY, text("one"))
    bad = TopicKey("pulsar", Topic("shop", "orders", "bad"))
    await append(storage, bad, text("one"))
    await client.patch(SCHEMA_HISTORY, namespace, history_name(bad), {"spec": {"versions": ["gibberish"]}})
    await client.patch(SCHEMA_HISTORY, namespace, history_name(KEY), {"metadata": {"annotations": None}})
    assert await storage.list_topics(CLAIM) == (bad, KEY)
    assert (await storage.get_history(KEY)).history == good.history
    await client.patch(SCHEMA_HISTORY, namespace, history_name(bad), {"metadata": {"annotations": None}})
    assert await storage.list_topics(CLAIM) == (KEY,)


class ListingClient(ApiClient):
    """A client that counts its lists of histories."""

    lists = 0

    @override
    async def pages(self, kind: Kind, namespace: str, selection: Selection) -> AsyncIterator[Objects]:
        self.lists += kind is SCHEMA_HISTORY
        async for page in super().pages(kind, namespace, selection):
            yield page


async def test_the_bytes_are_listed_again_only_after_a_change_of_another_client(
    client: ApiClient, storage: KubernetesStorage, namespace: str
) -> None:
    first = await append(storage, KEY, text("one"))
    async with ListingClient(client._connection) as listing:
        ours = KubernetesStorage(listing, namespace)
        stream = ours.changed()
        assert await anext(stream) == KEY
        assert await ours.used_bytes(CLAIM) == await storage.used_bytes(CLAIM) > 2 * 1024
        for content in ("two", "three"):
            await append(ours, TopicKey("pulsar", Topic("shop", "orders", "another")), text(content))
            assert await ours.used_bytes(CLAIM) == await storage.used_bytes(CLAIM)
        assert listing.lists == 1
        await storage.delete(first)
        assert await anext(stream) == KEY
        assert await ours.used_bytes(CLAIM) == await storage.used_bytes(CLAIM)
        assert listing.lists == 2


LATER = timedelta(hours=2)


async def abandon_payload(storage: KubernetesStorage, schema: Text) -> Stored:
    """Store the history of KEY, with a payload for its next version that no history names."""
    moved = await TestKubernetesStorage().crashed_before_history(storage, KEY, schema)
    assert len(await payload_names(storage._client, storage._namespace)) == 2
    return moved


async def test_payloads_of_a_history_that_was_deleted_are_collected(
    client: ApiClient, storage: KubernetesStorage, namespace: str
) -> None:
    await append(storage, KEY, text("one"))
    await client.delete(SCHEMA_HISTORY, namespace, history_name(KEY))
    assert await storage.collect_garbage(datetime.now(UTC) + LATER) == 1
    assert await payload_names(client, namespace) == []


async def test_payloads_of_a_history_that_cannot_be_read_stay(
    client: ApiClient, storage: KubernetesStorage, namespace: str
) -> None:
    await abandon_payload(storage, text("two"))
    await client.patch(SCHEMA_HISTORY, namespace, history_name(KEY), {"spec": {"format": 2}})
    assert await storage.collect_garbage(datetime.now(UTC) + LATER) == 0
    assert len(await payload_names(client, namespace)) == 2


class InterruptingClient(ApiClient):
    """A client that writes a version once, between the list of payloads and the next request."""

    def __init__(self, connection: ApiConnection, storage: KubernetesStorage, stored: Stored) -> None:
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
            await self._writer.put(self._stored, add_version(self._stored.history, two), (two.info,))
        return answer


async def test_a_payload_that_is_used_during_its_collection_stays(
    cluster: Cluster, storage: KubernetesStorage, namespace: str
) -> None:
    stored = await abandon_payload(storage, text("two"))
    connection = ApiConnection.load(str(cluster.kubeconfig))
    async with InterruptingClient(connection, KubernetesStorage(storage._client, namespace), stored) as interrupting:
        assert await KubernetesStorage(interrupting, namespace).collect_garbage(datetime.now(UTC) + LATER) == 0
        assert interrupting.interruptions == 1
    current = await storage.get_history(KEY)
    assert current.history.next_version == 2
    assert await newest(KubernetesStorage(storage._client, namespace), current) == text("two").info
