"""A record under the line of the policy that governs now: what another line's parser found wrong is read again.

A flaw is a broker's of one line. Whoever sets `brokerProfile.line` right, or upgrades a broker, is told by what that
line makes of a version, not by what the one before did.
"""

import asyncio

from topicschema.core.history import History, VersionEntry
from topicschema.core.imports import read_again
from topicschema.core.schemas import PulsarLine
from topicschema.judging.versions import Versions
from topicschema.storage.lru_cache import LruCache

_KEPT_BYTES = 4 * 1024 * 1024
_BYTES_PER_ENTRY = 1_000


class Rereading:
    """Reads flawed versions again; remembers what came of it, for the record tells only once it is next written."""

    def __init__(self, versions: Versions) -> None:
        self._versions = versions
        self._cache: LruCache[tuple[VersionEntry, PulsarLine], VersionEntry] = LruCache(_KEPT_BYTES)

    async def for_version(self, history: History, line: PulsarLine) -> History:
        """The history as a broker of that line reads it; StalledError(RecordDamaged) when the record is unusable."""
        flawed = history.flawed_by_another(line)
        if not flawed:
            return history
        return history.with_read(await asyncio.gather(*(self._anew(history, each, line) for each in flawed)))

    async def _anew(self, history: History, entry: VersionEntry, line: PulsarLine) -> VersionEntry:
        kept = self._cache.get((entry, line))
        if kept is None:
            info = await self._versions.payload(history, entry)
            kept = await self._versions.read(len(info.schema), read_again, entry, info, line)
            self._cache.put((entry, line), kept, _BYTES_PER_ENTRY)
        return kept
