"""Schemas and texts of stored versions. Large ones are parsed in a worker process."""

import asyncio
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeVar

from topicschema.core import broker_versions, compatibility, formats
from topicschema.core.comparison import Earlier
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.history import History, VersionEntry
from topicschema.core.imports import read_again
from topicschema.core.lru_cache import LruCache
from topicschema.core.schemas import PulsarVersion, ReadSchema, Schema, SchemaInfo, digest
from topicschema.judging import comparing, cpu_time
from topicschema.judging.comparing import Comparer
from topicschema.judging.cpu_time import OutOfTimeError
from topicschema.judging.workers import BEYOND_LIMITS, Workers
from topicschema.storage.protocol import SchemaStorage

T = TypeVar("T")

LARGE: Final = 64 * 1024
"""Bytes. A worker parses or compares texts of this size or more; smaller ones take a few milliseconds."""
SECONDS_HERE: Final = 0.25
"""The CPU time to parse or to compare smaller texts in this process. Beyond it a worker starts again."""
_READS_AT_ONCE: Final = 16
_FLAWS_BYTES: Final = 4 * 1024 * 1024
_BYTES_PER_FLAW: Final = 1_000
_TOO_COSTLY_BYTES: Final = 1024 * 1024
_BYTES_PER_TOO_COSTLY: Final = 500


class Versions:
    """Reader and parser of versions. A large schema is a ReadSchema, without its parts, unless `are_whole` is True."""

    def __init__(self, storage: SchemaStorage, workers: Workers, comparer: Comparer, *, are_whole: bool) -> None:
        self._storage = storage
        self._comparer = comparer
        self._workers = workers
        self._are_whole = are_whole
        self._reads = asyncio.Semaphore(_READS_AT_ONCE)
        self._flaws: LruCache[tuple[VersionEntry, PulsarVersion], VersionEntry] = LruCache(_FLAWS_BYTES)
        self._too_costly: LruCache[str, str] = LruCache(_TOO_COSTLY_BYTES)
        """The messages about calls that took too much, by the digest of the call."""

    async def parse(self, namespace: str, info: SchemaInfo, pulsar_version: PulsarVersion) -> Schema:
        """Return the parsed schema of the Pulsar namespace's topic. Raise InvalidSchemaError with rule and place."""
        is_large = len(info.schema) >= LARGE
        if not is_large:
            with suppress(OutOfTimeError):
                return cpu_time.call(SECONDS_HERE, self._comparer.parse, info, pulsar_version)
        schema = self._comparer.get_cached(info.type, info.content_hash, pulsar_version)
        if schema is not None:
            return schema
        fingerprint = await self._in_worker(namespace, comparing.fingerprint, info, pulsar_version)
        if self._are_whole:
            return await asyncio.to_thread(formats.parse, info, pulsar_version)
        schema = ReadSchema(info, fingerprint)
        if is_large:
            self._comparer.cache(schema, pulsar_version, len(info.schema))
        return schema

    async def for_version(self, history: History, pulsar_version: PulsarVersion) -> History:
        """Return the history with the flaws for that Pulsar version. Raise StalledError(HistoryDamaged).

        A flaw belongs to one Pulsar version. After an upgrade of the broker, the parser of the new version decides. The
        results are cached, because the history has them only after its next write.
        """
        flawed = history.flawed_by_another(pulsar_version)
        if not flawed:
            return history
        return history.with_read(
            await asyncio.gather(*(self._read_again(history, each, pulsar_version) for each in flawed))
        )

    async def _read_again(self, history: History, entry: VersionEntry, pulsar_version: PulsarVersion) -> VersionEntry:
        result = self._flaws.get((entry, pulsar_version))
        if result is None:
            info = await self.payload(history, entry)
            result = await self.read(
                history.key.topic.pulsar_namespace, len(info.schema), read_again, entry, info, pulsar_version
            )
            self._flaws.put((entry, pulsar_version), result, _BYTES_PER_FLAW)
        return result

    async def version(self, history: History, entry: VersionEntry, pulsar_version: PulsarVersion) -> Schema:
        """Return the parsed schema of a stored version.

        Raise StalledError(HistoryDamaged) if the history is unusable, and UnreadableVersionError if the text does not
        parse.
        """
        cached = self._comparer.get_cached(entry.type, entry.content_hash, pulsar_version)
        if cached is not None:
            return cached
        try:
            return await self.parse(
                history.key.topic.pulsar_namespace, await self.payload(history, entry), pulsar_version
            )
        except InvalidSchemaError as error:
            raise broker_versions.unreadable(entry, pulsar_version, error) from None

    async def payload(self, history: History, entry: VersionEntry) -> SchemaInfo:
        """Return the SchemaInfo of a stored version. Raise StalledError(HistoryDamaged) if the history is unusable."""
        async with self._reads:
            return await self._storage.get(history.key, history.incarnation, entry)

    async def with_texts(self, history: History, versions: Sequence[Earlier]) -> list[Earlier]:
        """Return the versions with the texts that they lack. Raise StalledError(HistoryDamaged) as `payload` does."""
        return await asyncio.gather(*(self._with_text(history, each) for each in versions))

    async def _with_text(self, history: History, version: Earlier) -> Earlier:
        if version.unread is None:
            return version
        if version.incarnation is not None:
            history = replace(history, incarnation=version.incarnation)
        return version._replace(info=await self.payload(history, version.unread))

    async def read(self, namespace: str, size: int, function: Callable[..., T], *arguments: Any) -> T:
        """Return the result of the function, which parses a text of `size` bytes. A large text is parsed in a worker.

        Raise InvalidSchemaError(COMPARISON_TOO_COMPLEX) if this takes more memory or CPU time than a worker may use.
        """
        if size < LARGE:
            with suppress(OutOfTimeError):
                return cpu_time.call(SECONDS_HERE, function, *arguments)
        return await self._in_worker(namespace, function, *arguments)

    async def _in_worker(self, namespace: str, function: Callable[..., T], *arguments: Any) -> T:
        """Return the result of the function. What took too much is not tried again."""
        key = digest(pickle.dumps((function, arguments)))
        why = self._too_costly.get(key)
        if why is None:
            try:
                return await self._workers.call(namespace, function, *arguments)
            except BEYOND_LIMITS as error:
                why = str(error)
                self._too_costly.put(key, why, _BYTES_PER_TOO_COSTLY)
        raise InvalidSchemaError(compatibility.TOO_COMPLEX, f"reading the schema {why}")
