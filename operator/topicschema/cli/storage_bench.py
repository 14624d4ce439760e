"""Speed of a store: topics of a registry that does not exist are written, read and removed again."""

import asyncio
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from topicschema.core import formats
from topicschema.core.errors import TopicSchemaError
from topicschema.core.history import History, Origin
from topicschema.core.schemas import NEWEST, Schema, SchemaInfo, SchemaType
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.judging.clock import utc_now
from topicschema.storage.protocol import SchemaStorage, Stored

REGISTRY: Final = "topicschema-storage-bench"
TOPICS: Final = 8
VERSIONS: Final = 25
BYTES: Final = 2_000
_NAMESPACE: Final = PulsarNamespaceKey(REGISTRY, "topicschema", "storage-bench")
_FIELDS: Final = 20


class OccupiedError(Exception):
    """The registry `REGISTRY` exists, or the store has topics of it. Nothing was written."""


class RemainingTopicsError(Exception):
    """The store gave an error for the removal of the topics. `__cause__` is that error."""


@dataclass(frozen=True, slots=True)
class OperationTimes:
    """Times of one operation: `seconds` of each, in any order, and `elapsed` seconds for all of them."""

    operation: str
    seconds: Sequence[float]
    elapsed: float

    @property
    def per_second(self) -> float:
        """Operations a second."""
        return len(self.seconds) / self.elapsed

    def percentile(self, percent: int) -> float:
        """Return the milliseconds in which `percent` of 100 operations end."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1000


class StorageBench:
    """A measurement of `store`, which has no payloads in memory (`cache_bytes=0`), so that it reads each one.

    `stop` ends it early. Each method raises the errors of the store.
    """

    def __init__(self, store: SchemaStorage, stop: asyncio.Event) -> None:
        self._store = store
        self._stop = stop

    async def run(self) -> list[OperationTimes]:
        """Return the times of puts, gets and histories: TOPICS at once, VERSIONS times. Then remove the topics.

        An empty list means that `stop` ended it. Raises OccupiedError and RemainingTopicsError.
        """
        if await self._store.list_topics(_NAMESPACE):
            raise OccupiedError(
                f"the store has topics of the registry {REGISTRY}: another bench runs, or one was killed; then run "
                "topicschema storage bench --remove"
            )
        try:
            return await self._measure()
        finally:
            await self.remove()

    async def remove(self) -> int:
        """Remove the topics of this or another run. Return their number. Raises RemainingTopicsError."""
        try:
            topics = await self._store.list_topics(_NAMESPACE)
            for key in topics:
                await self._store.delete(await self._store.get_history(key))
        except TopicSchemaError as error:
            raise RemainingTopicsError from error
        return len(topics)

    async def _measure(self) -> list[OperationTimes]:
        keys = [
            TopicKey(REGISTRY, Topic(_NAMESPACE.tenant, _NAMESPACE.namespace, f"topic-{each}"))
            for each in range(TOPICS)
        ]
        stored = [Stored(History(each)) for each in keys]

        async def put(topic: int, version: int) -> None:
            schema = schemas[topic][version]
            history = stored[topic].history.with_version(schema, Origin.SPEC, utc_now())
            stored[topic] = await self._store.put(stored[topic], history, (schema.info,))

        async def get(topic: int, version: int) -> None:
            history = stored[topic].history
            await self._store.get(history.key, history.incarnation, history.entries[version])

        async def history(topic: int, _: int) -> None:
            await self._store.get_history(keys[topic])

        schemas = [[_schema() for _ in range(VERSIONS + 1)] for _ in keys]
        results = [await self._timed(name, do) for name, do in (("put", put), ("get", get), ("history", history))]
        return [] if self._stop.is_set() else results

    async def _timed(self, name: str, do: Callable[[int, int], Awaitable[None]]) -> OperationTimes:
        """Time the operation for each topic and version. Version 0 does not count: it opens the connections."""
        seconds = list[float]()

        async def work(topic: int, versions: range) -> None:
            for version in versions:
                if self._stop.is_set():
                    return
                start = time.perf_counter()
                await do(topic, version)
                seconds.append(time.perf_counter() - start)

        await _all(work(topic, range(1)) for topic in range(TOPICS))
        seconds.clear()
        start = time.perf_counter()
        await _all(work(topic, range(1, VERSIONS + 1)) for topic in range(TOPICS))
        return OperationTimes(name, seconds, time.perf_counter() - start)


async def _all(tasks: Iterator[Awaitable[None]]) -> None:
    """Await all, then raise the first error: no task writes any more when the topics are removed."""
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


def _schema() -> Schema:
    """Return a record of about BYTES bytes that no other one equals."""
    fields: list[dict[str, Any]] = [
        {"name": f"field{number}", "type": ["null", "string"], "default": None, "doc": secrets.token_hex(10)}
        for number in range(_FIELDS)
    ]
    fields.append({"name": f"only{secrets.token_hex(8)}", "type": "string"})
    text = json.dumps({"type": "record", "name": "Bench", "fields": fields})
    return formats.parse(SchemaInfo(SchemaType.AVRO, text.encode()), NEWEST)
