"""Fetch the state of a topic at its broker, in as few requests as possible: one while nothing has changed.

`core.alignment` compares it with the history. Nothing is written here.
"""

import asyncio
from dataclasses import dataclass, replace

from topicschema.broker.broker import Broker
from topicschema.broker.errors import BrokerInconsistentError
from topicschema.broker.wire import same_content, spellings
from topicschema.core import alignment
from topicschema.core.alignment import Alignment, BrokerVersions, HistoryBehind, InSync
from topicschema.core.broker_state import BrokerState
from topicschema.core.history import History, Origin, VersionEntry
from topicschema.core.imports import entry_of
from topicschema.core.remote import RemoteVersion
from topicschema.core.schemas import PulsarLine, Schema, SchemaInfo, SchemaType
from topicschema.core.topics import Topic
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.topicschema.losses import with_note
from topicschema.storage.payloads import weight
from topicschema.storage.protocol import SchemaStorage

# So many versions are asked for one by one rather than all in one answer.
_SINGLY = 1
# Of the schemas that are new on record so many bytes stay in memory; the others are asked for again when they are
# written down.
_KEPT_BYTES = 8 << 20
_TRIES = 2


@dataclass(frozen=True, slots=True)
class BrokerQuery:
    """A query: the history as stored, and the candidate with the hash of its sources, if it has any.

    A version with the candidate's content is what this resource uploaded, or would have.
    """

    history: History
    line: PulsarLine
    schema: Schema | None = None
    source_hash: str | None = None

    @property
    def candidate(self) -> SchemaInfo | None:
        """The candidate as it is sent."""
        return None if self.schema is None else self.schema.info

    @property
    def topic(self) -> Topic:
        """The topic."""
        return self.history.key.topic

    @property
    def counted(self) -> VersionEntry | None:
        """The candidate's version on record, where a broker counted it."""
        known = None if self.schema is None else self.history.equal_to(self.schema.fingerprint)
        return known if known in self.history.counted else None

    def gone_from(self, seen: Alignment) -> VersionEntry | None:
        """The same, where the broker no longer has it by what was seen."""
        known = self.counted
        if known is None or not isinstance(seen, HistoryBehind):
            return None
        there = seen.history.equal_to(known.fingerprint)
        return None if there is not None and there.schema_version == known.schema_version else known


async def fetch(ctx: ReconcileContext, broker: Broker, query: BrokerQuery) -> BrokerState:
    """Return the state at the broker, aligned with the history; BrokerInconsistentError if it contradicts itself.

    VersionGoneError where the candidate's version on record was seen to be gone before such an error.
    """
    for _ in range(_TRIES):
        found = await _Fetcher(ctx, broker, query).fetch()
        if found is not None:
            return found
    raise BrokerInconsistentError(f"the broker tells of topic {query.topic} one thing now and another then")


async def schema_of(
    storage: SchemaStorage, broker: Broker, query: BrokerQuery, found: BrokerState, entry: VersionEntry
) -> SchemaInfo:
    """The schema of a version that is new on record; BrokerInconsistentError where the broker shows it no more.

    What it counted for the record before, and hides by now, is on record.
    """
    kept = found.payloads.get(entry.schema_version)
    if kept is not None:
        return kept
    version = await broker.version(query.topic, entry.schema_version)
    if version is not None:
        info = (await broker.stored(query.topic, version, query.candidate)).info
        known = None if info.content_hash == entry.content_hash else _counted_before(query.history, entry)
        if known is not None:
            info = await _on_record(storage, query.history, known, info) or info
        if info.content_hash == entry.content_hash:
            return info
    elif (hidden := _counted_before(query.history, entry)) in query.history.counted:
        return await storage.get(query.history.key, query.history.incarnation, hidden)
    number = entry.schema_version
    raise BrokerInconsistentError(f"the broker showed version {number} of topic {query.topic}, and no longer does")


def _counted_before(history: History, entry: VersionEntry) -> VersionEntry | None:
    """The entry on record that a new count begins with, too."""
    return next((each for each in history.entries if each.sign == entry.sign), None)


async def _on_record(
    storage: SchemaStorage, history: History, known: VersionEntry, shown: SchemaInfo
) -> SchemaInfo | None:
    """The schema of the entry, as it was sent, where it is what the broker shows; None where it is not."""
    if known.content_hash == shown.content_hash:
        return shown
    if known.type is not SchemaType.KEY_VALUE or shown.type is not SchemaType.KEY_VALUE:
        return None
    sent = await storage.get(history.key, history.incarnation, known)
    return sent if same_content(sent, shown) else None


async def fetch_after_upload(ctx: ReconcileContext, broker: Broker, query: BrokerQuery, number: int) -> BrokerState:
    """Return the state after an upload that the broker answered with `number`: two requests if no one else wrote.

    The version before it is fetched, too: a broker that lost its versions in between may have come to the same number
    by another way, and its newest version alone would not show that.
    """
    found, latest = None, await broker.latest(query.topic)
    if latest is not None and latest.schema_version == number and await _is_proved(ctx, broker, query):
        found = _added(query, latest)
    return await fetch(ctx, broker, query) if found is None else found


async def _is_proved(ctx: ReconcileContext, broker: Broker, query: BrokerQuery) -> bool:
    """Whether the newest version on record is still there."""
    entries = query.history.entries
    if not entries:
        return True
    fetcher = _Fetcher(ctx, broker, query)
    return not entries[-1].is_tombstone and await fetcher.singly([entries[-1].schema_version]) == [entries[-1]]


def _added(query: BrokerQuery, version: RemoteVersion) -> BrokerState | None:
    """The record with the candidate, where the broker shows it as its next version."""
    history, candidate = query.history, query.candidate
    if version.schema_version != history.next_version or candidate is None:
        return None
    if not same_content(candidate, version.info):
        return None
    entry = entry_of(replace(version, info=candidate), query.line, candidate, query.source_hash)
    return BrokerState(alignment.grown(history, entry), {entry.schema_version: candidate})


class _Fetcher:
    """One try; the answers of several requests need not be of one moment."""

    def __init__(self, ctx: ReconcileContext, broker: Broker, query: BrokerQuery) -> None:
        self._ctx = ctx
        self._broker = broker
        self._query = query
        self._recorded = {entry.schema_version: entry for entry in query.history.entries if not entry.is_tombstone}
        self._has_tail = len(query.history.counted) < len(query.history.entries)
        self._infos: dict[int, SchemaInfo] = {}
        self._room = _KEPT_BYTES

    async def fetch(self) -> BrokerState | None:
        """What record and broker come to; None where the answers contradict each other."""
        latest = await self._broker.latest(self._query.topic)
        newest = None if latest is None else await self._entry(latest)
        if newest is not None and alignment.agrees(self._query.history, newest):
            return BrokerState(InSync())
        with with_note(self._hidden_by(newest)):
            return await (self._without_latest() if newest is None else self._beside(newest))

    def _hidden_by(self, newest: VersionEntry | None) -> VersionEntry | None:
        """The candidate's version, where the newest that is served tells by itself that it is not served any more."""
        known = self._query.counted
        if known is None or newest is None:
            return known
        number, theirs = known.schema_version, newest.schema_version
        is_other = theirs == number and newest.content_hash != known.content_hash
        return known if theirs < number or is_other else None

    async def _beside(self, newest: VersionEntry) -> BrokerState | None:
        """What record and broker come to, whose newest version tells of a change."""
        topic, history = self._query.topic, self._query.history
        if newest.schema_version == 0 and not history.entries:
            return self._compared(BrokerVersions((0,), (newest,)))
        index = await self._broker.index(topic)
        floor = self._floor(newest)
        others = await self._others(index, newest, floor)
        if floor and others is not None and not self._is_proof(others, floor):
            floor, others = 0, await self._others(index, newest, 0)
        if others is None or newest.schema_version not in index:
            return None
        versions = sorted({*others, newest}, key=lambda entry: entry.schema_version)
        return self._compared(BrokerVersions(index, tuple(versions), floor))

    async def _without_latest(self) -> BrokerState | None:
        """Nothing is served: there never was anything, or the newest number is a tombstone."""
        index, entries = await self._broker.index(self._query.topic), self._query.history.entries
        is_news = bool(index) and (not entries or entries[-1].schema_version < index[-1])
        if is_news and await self._broker.latest(self._query.topic) is not None:
            return None  # a version that came meanwhile is no tombstone
        return self._compared(BrokerVersions(index))

    def _floor(self, newest: VersionEntry) -> int:
        """From which number on the broker is asked: the newest that it counted proves those before it."""
        counted = self._query.history.counted
        if self._has_tail or not counted or counted[-1].schema_version >= newest.schema_version:
            return 0
        return counted[-1].schema_version

    def _is_proof(self, others: list[VersionEntry], floor: int) -> bool:
        """Whether the version at the floor is the one on record: the same text, counted anew, has another time."""
        known = self._recorded.get(floor)
        there = next((entry for entry in others if entry.schema_version == floor), None)
        return known is None or there is None or known.registered_at == there.registered_at

    async def _others(self, index: tuple[int, ...], newest: VersionEntry, floor: int) -> list[VersionEntry] | None:
        """The versions from the floor on that are served beside the newest; None where that is not served any more."""
        wanted = [number for number in index if number >= floor and number != newest.schema_version]
        if len(wanted) <= _SINGLY:
            found = await self.singly(wanted)
            # What is not served is a tombstone, or hidden by one that came just now.
            return found if len(found) == len(wanted) or await self._is_newest(newest) else None
        found = []
        async for version in self._broker.versions(self._query.topic, floor):
            found.append(await self._entry(version))
            await asyncio.sleep(0)  # a long history must not hold up everybody else
        return found if newest in found else None

    async def _is_newest(self, entry: VersionEntry) -> bool:
        """Whether the broker still gives this version as its newest."""
        latest = await self._broker.latest(self._query.topic)
        return latest is not None and await self._entry(latest) == entry

    async def singly(self, wanted: list[int]) -> list[VersionEntry]:
        """Those of the versions that the broker serves, each read by itself."""
        found = []
        for number in wanted:
            version = await self._broker.version(self._query.topic, number)
            if version is not None:
                found.append(await self._entry(version))
        return found

    async def _entry(self, version: RemoteVersion) -> VersionEntry:
        """The version as an entry: the one on record where it is that; its schema is remembered where it is not."""
        number, info = version.schema_version, version.info
        known = self._recorded.get(number)
        if known is not None:
            recorded = await _on_record(self._ctx.storage, self._query.history, known, info)
            if recorded is not None and await self._is_stored(version, known, recorded):
                if self._has_tail:
                    self._keep(number, recorded)  # it may begin a new count
                return replace(known, registered_at=version.registered_at)
        query = self._query
        sent = await self._broker.stored(query.topic, version, query.candidate)
        self._keep(number, sent.info)
        entry = await self._ctx.judge.versions.read(
            len(info.schema), entry_of, sent, query.line, query.candidate, query.source_hash
        )
        return replace(entry, origin=Origin.SPEC) if await self._is_our_own(entry, sent.info) else entry

    async def _is_our_own(self, entry: VersionEntry, sent: SchemaInfo) -> bool:
        """Return whether it was uploaded from here for an earlier spec, by a controller that was killed then."""
        history = self._query.history
        may_be = entry.origin is Origin.BROKER and entry.schema_version >= history.next_version
        return may_be and history.claim is not None and await self._ctx.storage.is_announced(history, sent)

    async def _is_stored(self, version: RemoteVersion, known: VersionEntry, recorded: SchemaInfo) -> bool:
        """Return whether the broker stores the recorded schema; ask it if a GET shows another one the same way."""
        if version.registered_at == known.registered_at or len(spellings(recorded)) == 1:
            return True
        return await self._broker.number_of(self._query.topic, recorded) == version.schema_version

    def _keep(self, number: int, info: SchemaInfo) -> None:
        """Remember the schema, as long as there is room."""
        if number in self._infos:
            return
        self._room -= weight(info)
        if self._room >= 0:
            self._infos[number] = info

    def _compared(self, broker: BrokerVersions) -> BrokerState:
        found = alignment.align(self._query.history, broker, self._ctx.now())
        arrived = {entry.schema_version for entry in found.arrived} if isinstance(found, HistoryBehind) else set()
        return BrokerState(found, {number: info for number, info in self._infos.items() if number in arrived})
