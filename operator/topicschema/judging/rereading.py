"""Parsing of flawed versions again under the line of the current policy.

A flaw belongs to one Pulsar line. After a change of `brokerProfile.line` or an upgrade of the broker, the parser of
the new line decides.
"""

import asyncio

from topicschema.core.history import History, VersionEntry
from topicschema.core.imports import read_again
from topicschema.core.schemas import PulsarLine
from topicschema.judging.versions import Versions
from topicschema.storage.lru_cache import LruCache

_CACHE_BYTES = 4 * 1024 * 1024
_BYTES_PER_ENTRY = 1_000


class Rereading:
    """Reader of flawed versions, with a cache, because the record has the new result only after its next write."""

    def __init__(self, versions: Versions) -> None:
        self._versions = versions
        self._cache: LruCache[tuple[VersionEntry, PulsarLine], VersionEntry] = LruCache(_CACHE_BYTES)

    async def for_version(self, history: History, line: PulsarLine) -> History:
        """Return the history with the flaws of that line. Raise StalledError(RecordDamaged) for an unusable record."""
        flawed = history.flawed_by_another(line)
        if not flawed:
            return history
        return history.with_read(await asyncio.gather(*(self._read_again(history, each, line) for each in flawed)))

    async def _read_again(self, history: History, entry: VersionEntry, line: PulsarLine) -> VersionEntry:
        result = self._cache.get((entry, line))
        if result is None:
            info = await self._versions.payload(history, entry)
            result = await self._versions.read(len(info.schema), read_again, entry, info, line)
            self._cache.put((entry, line), result, _BYTES_PER_ENTRY)
        return result
