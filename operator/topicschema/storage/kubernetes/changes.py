"""Stream of the histories that other clients change: a list and a watch of their metadata."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any, Final

from topicschema.api import store
from topicschema.api.kinds import SCHEMA_HISTORY
from topicschema.cluster.client import ApiClient
from topicschema.core.errors import TopicSchemaError
from topicschema.core.topics import TopicKey

_LOG = logging.getLogger(__name__)
_RETRY_SECONDS: Final = 1.0

_Metadata = Mapping[str, Any]


class Changes:
    """Changes of the histories in one namespace. Own writes are recorded only while `stream` runs."""

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._own: set[str] | None = None
        self._writing: Counter[str] = Counter()
        self._written = asyncio.Event()

    @contextmanager
    def writing(self, history: str) -> Iterator[None]:
        """Hold back the events of a history during a write, because they may arrive before its answer."""
        self._writing[history] += 1
        try:
            yield
        finally:
            self._writing[history] -= 1
            self._writing += Counter()  # drops what is 0
            self._written.set()

    def record(self, revision: str) -> None:
        """Record the revision of an own write, within `writing`."""
        if self._own is not None:
            self._own.add(revision)

    async def stream(self) -> AsyncIterator[TopicKey]:
        """Yield the topic of each history that another client writes, or that any client deletes."""
        self._own = set()
        async for metadata, is_deleted in self._events():
            if is_deleted or not await self._is_own(self._own, metadata):
                key = await topic_of(self._client, metadata)
                if key is not None:
                    yield key

    async def _is_own(self, own: set[str], metadata: _Metadata) -> bool:
        while metadata["resourceVersion"] not in own and metadata["name"] in self._writing:
            self._written.clear()
            await self._written.wait()
        is_own = metadata["resourceVersion"] in own
        own.discard(metadata["resourceVersion"])
        return is_own

    async def _events(self) -> AsyncIterator[tuple[_Metadata, bool]]:
        """Yield the metadata of each changed history, and True if it was deleted. It lists again after each failure.

        The first list is a change of all: this process may have read one of them shortly before.
        """
        known: dict[str, _Metadata] = {}
        logged = ""
        while True:
            try:
                listed, since = await self._client.list_metadata(SCHEMA_HISTORY, self._namespace)
                now = {metadata["name"]: _needed(metadata) for metadata in listed}
                before, known = known, now
                for name, metadata in (before | now).items():
                    if before.get(name) != now.get(name):
                        yield metadata, name not in now
                async for metadata, is_deleted in self._watched(since):
                    known.pop(metadata["name"], None)
                    if not is_deleted:
                        known[metadata["name"]] = _needed(metadata)
                    yield metadata, is_deleted
            except TopicSchemaError as error:
                if error.message != logged:
                    logged = error.message
                    _LOG.warning("changes of histories are not observed: %s", logged)
                await asyncio.sleep(_RETRY_SECONDS)

    async def _watched(self, since: str) -> AsyncIterator[tuple[_Metadata, bool]]:
        """Yield the same for the events after `since`. When the API server ends a watch, the next one continues."""
        while True:
            async with aclosing(self._client.watch(SCHEMA_HISTORY, self._namespace, since)) as events:
                async for kind, metadata in events:
                    since = metadata["resourceVersion"]
                    if kind != "BOOKMARK":
                        yield metadata, kind == "DELETED"
            await asyncio.sleep(_RETRY_SECONDS)


async def topic_of(client: ApiClient, metadata: _Metadata) -> TopicKey | None:
    """Return the topic of a listed history. One without its annotation is read; None if it is gone or damaged."""
    key = store.topic_of(metadata)
    if key is not None:
        return key
    try:
        return store.history_from_wire(await client.get(SCHEMA_HISTORY, metadata["namespace"], metadata["name"])).key
    except TopicSchemaError as error:
        _LOG.warning("the history %s is left out: %s", metadata["name"], error.message)
        return None


def _needed(metadata: _Metadata) -> _Metadata:
    """Return the part of the metadata that stays in memory."""
    return {name: metadata.get(name) for name in ("namespace", "name", "resourceVersion", "annotations")}
