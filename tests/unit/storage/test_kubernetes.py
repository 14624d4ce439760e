"""Requests of the store in Kubernetes: garbage collection reads only changed histories, several at once."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import reduce

import pytest
from typing_extensions import override

from support.kubernetes.api_server import FakeApiServer
from topicschema.api.kinds import SCHEMA_HISTORY, Kind, Object
from topicschema.api.store import history_name
from topicschema.cluster.client import ApiClient
from topicschema.core.history import History
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.kubernetes.garbage_collection import GarbageCollector
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.protocol import Stored
from topicschema.testing.storage_contract import add_version, append, text

NAMESPACE = "topicschema-system"
ONE, TWO = (TopicKey("pulsar", Topic("shop", "orders", name)) for name in ("one", "two"))
LATER = datetime(2100, 1, 1, tzinfo=UTC)


class Collecting(ApiClient):
    """A client that records the histories that it read, and how many at once at most."""

    def __init__(self, api: FakeApiServer) -> None:
        super().__init__(api.connection)
        self.api = api
        self.storage = KubernetesStorage(self, NAMESPACE)
        self.collector = GarbageCollector(self, NAMESPACE)
        self.most = 0
        self._reading = 0
        self._names: list[str] = []

    @override
    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        self._names += [name] if kind is SCHEMA_HISTORY else []
        self._reading += 1
        self.most = max(self.most, self._reading)
        try:
            return await super().get(kind, namespace, name)
        finally:
            self._reading -= 1

    async def collect(self) -> tuple[int, list[str]]:
        """Collect garbage. Return the number of removed payloads, and the histories that were read, in order."""
        self._names.clear()
        return await self.collector.collect(LATER), sorted(self._names)

    async def abandon(self, key: TopicKey, content: str) -> None:
        """Leave a payload that no history names."""
        history = add_version((await self.storage.get_history(key)).history, text(content))
        await self.storage.keep(history, [(history.entries[-1], text(content).info)])


@pytest.fixture
async def client() -> AsyncIterator[Collecting]:
    async with FakeApiServer().running() as api, Collecting(api) as client:
        for key in (ONE, TWO):
            await append(client.storage, key, text("first"))
        yield client


async def test_histories_are_read_again_only_if_they_changed(client: Collecting) -> None:
    names = sorted(history_name(key) for key in (ONE, TWO))
    assert await client.collect() == (0, names)
    assert await client.collect() == (0, [])
    await append(client.storage, TWO, text("second"))
    assert await client.collect() == (0, [history_name(TWO)])
    client.api.delete(SCHEMA_HISTORY, NAMESPACE, history_name(ONE))
    assert await client.collect() == (1, [history_name(ONE)])
    assert await client.collect() == (0, [])


async def test_a_payload_without_a_history_is_removed_beside_unchanged_histories(client: Collecting) -> None:
    await client.collect()
    await client.abandon(ONE, "left behind")
    assert await client.collect() == (1, [history_name(ONE)])
    assert await client.collect() == (0, [])


async def test_a_payload_that_could_not_be_removed_is_removed_by_the_next_collection(client: Collecting) -> None:
    await client.abandon(ONE, "left behind")
    client.api.refusals["DELETE"] = 409
    assert (await client.collect())[0] == 0
    client.api.refusals.clear()
    assert await client.collect() == (1, [history_name(ONE)])


async def test_several_histories_are_read_at_once(client: Collecting) -> None:
    await client.collect()
    assert client.most == 2


async def test_a_list_of_topics_reads_no_history() -> None:
    keys = [TopicKey("pulsar", Topic("shop", "orders", name)) for name in ("one", "two")]
    async with FakeApiServer().running() as api, ApiClient(api.connection) as client:
        storage = KubernetesStorage(client, "system")
        for key in keys:
            await storage.put(
                Stored(History(key)), reduce(add_version, [text(f"{n}") for n in range(50)], History(key))
            )
        one, api.largest = api.largest, 0
        api.requests.clear()
        assert await storage.list_topics(keys[0].namespace_key) == tuple(keys)
        assert len(api.requests) == 1
        assert api.largest < one / 4
