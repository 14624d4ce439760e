"""The stores that the tests of the controller run on: one in objects of a fake API server, and one in memory."""

import asyncio
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pytest

from support.kubernetes.api_server import FakeApiServer
from support.kubernetes.memory_storage import Memory, MemoryStorage
from testbed.product import NAMESPACE as SYSTEM
from topicschema.api import store
from topicschema.api.kinds import PULSAR_NAMESPACE_CLAIM, SCHEMA_HISTORY, SCHEMA_VERSION
from topicschema.cluster.client import ApiClient
from topicschema.core.topics import PulsarNamespaceKey, TopicKey
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.protocol import SchemaStorage


class Store(Protocol):
    """A store, and what other clients do to it."""

    @property
    def writes(self) -> int:
        """The number of writes, beside those that are counted at the API server."""

    @property
    def payload_writes(self) -> int:
        """The number of attempts to write a payload."""

    def client(self) -> SchemaStorage:
        """Return a new client of the store, with nothing in memory."""

    def lose(self, key: TopicKey) -> None:
        """Delete a topic's history and payloads."""

    def lose_payloads(self, key: TopicKey) -> None:
        """Delete a topic's payloads."""

    def damage(self, key: PulsarNamespaceKey) -> None:
        """Change a claim so that it cannot be read."""


class KubernetesStore:
    writes = 0

    def __init__(self, api: FakeApiServer, client: ApiClient) -> None:
        self._api = api
        self._client = client

    @property
    def payload_writes(self) -> int:
        return len([each for each in self._api.requests if each.startswith("POST") and "/schemaversions" in each])

    def client(self) -> SchemaStorage:
        return KubernetesStorage(self._client, SYSTEM)

    def lose(self, key: TopicKey) -> None:
        self.lose_payloads(key)
        self._api.delete(SCHEMA_HISTORY, SYSTEM, store.history_name(key))

    def lose_payloads(self, key: TopicKey) -> None:
        for name in self._api.names(SCHEMA_VERSION, SYSTEM):
            if name.startswith(store.history_name(key)):
                self._api.delete(SCHEMA_VERSION, SYSTEM, name)

    def damage(self, key: PulsarNamespaceKey) -> None:
        path = f"/{PULSAR_NAMESPACE_CLAIM.plural}/{store.claim_name(key)}"
        self._api.change(path, lambda claim: claim["spec"].pop("pulsarNamespace"))


class MemoryStore:
    def __init__(self, *_: object) -> None:
        self._memory = Memory()

    @property
    def writes(self) -> int:
        return self._memory.writes

    @property
    def payload_writes(self) -> int:
        return self._memory.payload_writes

    def client(self) -> SchemaStorage:
        return MemoryStorage(self._memory)

    def lose(self, key: TopicKey) -> None:
        self._memory.lose(key)

    def lose_payloads(self, key: TopicKey) -> None:
        self._memory.lose_payloads(key)

    def damage(self, key: PulsarNamespaceKey) -> None:
        self._memory.damaged.add(key)


class ObservedStorage:
    """A client of a store. `calls` has its methods as they are called, `most` how often one runs at once at most."""

    def __init__(self, storage: SchemaStorage) -> None:
        self.calls: list[str] = []
        self.was_called = asyncio.Event()
        self.most: Counter[str] = Counter()
        self._running: Counter[str] = Counter()
        self._error_of: Callable[..., Exception | None] = _accept
        self._storage = storage

    @contextmanager
    def refusing(self, error_of: Callable[..., Exception | None]) -> Iterator[None]:
        """Fail the calls for whose method and arguments `error_of` returns an error."""
        self._error_of = error_of
        yield
        self._error_of = _accept

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._storage, name)
        if not inspect.iscoroutinefunction(method):
            return method

        async def call(*arguments: Any, **named: Any) -> Any:
            self.calls.append(name)
            self.was_called.set()
            error = self._error_of(name, *arguments)
            if error is not None:
                raise error
            self._running[name] += 1
            self.most |= self._running
            try:
                await asyncio.sleep(0)  # also a store in memory lets other tasks run
                return await method(*arguments, **named)
            finally:
                self._running[name] -= 1

        return call


on_both_stores = pytest.mark.parametrize("store", [MemoryStore, KubernetesStore], indirect=True)
"""Tests that run on both stores. Other tests of reconciles run on that in memory."""


def _accept(*_: object) -> None:
    return None
