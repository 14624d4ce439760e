"""A sweep reads only histories that have changed since the last one, several at once."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from typing_extensions import override

from support.kubernetes.api_server import FakeApiServer
from support.kubernetes.storage_contract import add_version, append, text
from topicschema.api.kinds import SCHEMA_HISTORY, Kind, Object
from topicschema.api.store import history_name
from topicschema.cluster.client import ApiClient
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.kubernetes.garbage_collection import GarbageCollector
from topicschema.storage.kubernetes.storage import KubernetesStorage

NAMESPACE = "topicschema-system"
ONE, TWO = (TopicKey("pulsar", Topic("shop", "orders", name)) for name in ("one", "two"))
LATER = datetime(2100, 1, 1, tzinfo=UTC)


class Sweeping(ApiClient):
    """A client that remembers which histories it read, and how many at once at most."""

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

    async def sweep(self) -> tuple[int, list[str]]:
        """Number of payloads that a sweep removed, and the histories that it read, in order."""
        self._names.clear()
        return await self.collector.collect(LATER), sorted(self._names)

    async def abandon(self, key: TopicKey, content: str) -> None:
        """Leave a payload that no history names."""
        history = add_version((await self.storage.get_history(key)).history, text(content))
        await self.storage.keep(history, [(history.entries[-1], text(content).info)])


@pytest.fixture
async def sweeping() -> AsyncIterator[Sweeping]:
    async with FakeApiServer().running() as api, Sweeping(api) as client:
        for key in (ONE, TWO):
            await append(client.storage, key, text("first"))
        yield client


async def test_histories_are_read_again_only_if_they_changed(sweeping: Sweeping) -> None:
    names = sorted(history_name(key) for key in (ONE, TWO))
    assert await sweeping.sweep() == (0, names)
    assert await sweeping.sweep() == (0, [])
    await append(sweeping.storage, TWO, text("second"))
    assert await sweeping.sweep() == (0, [history_name(TWO)])
    sweeping.api.delete(SCHEMA_HISTORY, NAMESPACE, history_name(ONE))
    assert await sweeping.sweep() == (1, [history_name(ONE)])
    assert await sweeping.sweep() == (0, [])


async def test_a_payload_without_a_history_is_found_beside_histories_that_did_not_change(sweeping: Sweeping) -> None:
    await sweeping.sweep()
    await sweeping.abandon(ONE, "left behind")
    assert await sweeping.sweep() == (1, [history_name(ONE)])
    assert await sweeping.sweep() == (0, [])


async def test_a_payload_that_could_not_be_removed_is_removed_by_the_next_sweep(sweeping: Sweeping) -> None:
    await sweeping.abandon(ONE, "left behind")
    sweeping.api.refusals["DELETE"] = 409
    assert (await sweeping.sweep())[0] == 0
    sweeping.api.refusals.clear()
    assert await sweeping.sweep() == (1, [history_name(ONE)])


async def test_several_histories_are_read_at_once(sweeping: Sweeping) -> None:
    await sweeping.sweep()
    assert sweeping.most == 2
