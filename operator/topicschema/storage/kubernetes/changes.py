"""Stream of the histories that other clients change."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from topicschema.api import store
from topicschema.api.kinds import SCHEMA_HISTORY
from topicschema.cluster.changes import ObjectMetadata, changes
from topicschema.cluster.client import ApiClient
from topicschema.core.errors import TopicSchemaError
from topicschema.core.topics import TopicKey

_LOG = logging.getLogger(__name__)


class Changes:
    """Changes of the histories in one namespace. Own writes are recorded only while `stream` runs."""

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._own: set[str] | None = None
        self._writing: Counter[str] = Counter()
        self._written = asyncio.Event()

    @property
    def are_streamed(self) -> bool:
        """True once the changes of other clients are yielded."""
        return self._own is not None

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
        async for metadata, is_deleted in changes(self._client, SCHEMA_HISTORY, self._namespace):
            if is_deleted or not await self._is_own(self._own, metadata):
                key = await topic_of(self._client, metadata)
                if key is not None:
                    yield key

    async def _is_own(self, own: set[str], metadata: ObjectMetadata) -> bool:
        while metadata["resourceVersion"] not in own and metadata["name"] in self._writing:
            self._written.clear()
            await self._written.wait()
        is_own = metadata["resourceVersion"] in own
        own.discard(metadata["resourceVersion"])
        return is_own


async def topic_of(client: ApiClient, metadata: ObjectMetadata) -> TopicKey | None:
    """Return the topic of a listed history. One without its annotation is read; None if it is gone or damaged."""
    key = store.topic_of(metadata)
    if key is not None:
        return key
    try:
        return store.history_from_wire(await client.get(SCHEMA_HISTORY, metadata["namespace"], metadata["name"])).key
    except TopicSchemaError as error:
        _LOG.warning("the history %s is left out: %s", metadata["name"], error.message)
        return None
