"""Reads of a topic at its broker: its versions, with few requests (one if nothing has changed), and its own settings.

`core.alignment` compares the versions with the history. Nothing is written here.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final, TypeVar

from topicschema.api.brokers import ManagementPolicy
from topicschema.api.topicschemas import TopicSchema, TopicSchemaSpec
from topicschema.broker.broker import Broker
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerInconsistentError,
    BrokerUnauthorizedError,
    RefusedByBrokerError,
    TopicNotFoundError,
)
from topicschema.broker.wire import same_content, spellings
from topicschema.core import alignment
from topicschema.core.alignment import Alignment, BrokerVersions, HistoryAhead, HistoryBehind, HistoryLost, InSync
from topicschema.core.broker_state import BrokerState
from topicschema.core.errors import StalledAtBrokerError, StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import History, Origin, VersionEntry
from topicschema.core.imports import entry_of
from topicschema.core.policy import permitted_strategy
from topicschema.core.reasons import Category, Reason
from topicschema.core.remote import RemoteVersion, Setting, TopicSettings
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topic_settings import TopicSettingsState
from topicschema.core.topics import Topic
from topicschema.judging.policies import ActivePolicy
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.status_writer import ERRORS_WITHOUT_STATUS
from topicschema.storage.payloads import weight
from topicschema.storage.protocol import SchemaStorage

T = TypeVar("T")
TOPIC_SECONDS = 10.0
_GONE_SECONDS: Final = 60.0  # seconds
# Up to this number, versions are fetched one by one rather than all in one answer.
_FEW = 1
# The limit of new schemas in memory. The others are fetched again when they are stored.
_CACHED_BYTES = 8 << 20
_TRIES = 2


@dataclass(frozen=True, slots=True)
class BrokerQuery:
    """A query: the stored history, and the candidate with the hash of its sources, if any.

    A version with the candidate's content counts as uploaded by this resource.
    """

    history: History
    pulsar_version: PulsarVersion
    schema: Schema | None = None
    source_hash: str | None = None

    @property
    def candidate(self) -> SchemaInfo | None:
        """The candidate as it is uploaded, or None."""
        return None if self.schema is None else self.schema.info

    @property
    def topic(self) -> Topic:
        """The topic."""
        return self.history.key.topic

    @property
    def confirmed(self) -> VersionEntry | None:
        """The candidate's stored version, if a broker has numbered it, or None."""
        known = None if self.schema is None else self.history.equal_to(self.schema.fingerprint)
        return known if known in self.history.confirmed else None

    def missing_from(self, current: Alignment) -> VersionEntry | None:
        """Return the version of `confirmed` if the broker lacks it by the alignment `current`, else None."""
        known = self.confirmed
        if known is None or not isinstance(current, HistoryBehind):
            return None
        equal = current.history.equal_to(known.fingerprint)
        return None if equal is not None and equal.schema_version == known.schema_version else known


class VersionGoneError(WaitingError):
    """The broker lacks a stored version, and `cause` prevented further reads. The reason is that of `cause`."""

    def __init__(self, gone: VersionEntry, cause: TopicSchemaError) -> None:
        message = f"the broker no longer serves version {gone.schema_version}, and its other versions cannot be read"
        super().__init__(cause.reason, f"{message}: {cause.message}", getattr(cause, "after", _GONE_SECONDS))
        self.gone = gone


@contextmanager
def with_note(gone: VersionEntry | None) -> Iterator[None]:
    """Raise an error of the block as VersionGoneError for the version `gone`. If it is None, raise it unchanged."""
    try:
        yield
    except (*ERRORS_WITHOUT_STATUS, VersionGoneError):
        raise
    except (WaitingError, StalledError) as error:
        if gone is None or (isinstance(error, StalledError) and error.reason.category is not Category.BROKER):
            raise
        raise VersionGoneError(gone, error) from error


async def retry_with_fresh_credentials(
    ctx: ReconcileContext, governing: ActivePolicy, broker: Broker, call: Callable[[Broker], Awaitable[T]]
) -> T:
    """Return the result of `call`. After a 401 or a VersionGoneError, retry with the Secret's current credentials."""
    try:
        return await call(broker)
    except (BrokerUnauthorizedError, VersionGoneError) as error:
        # The Secret may have a new token or certificate.
        with with_note(error.gone if isinstance(error, VersionGoneError) else None):
            fresh = await ctx.broker_of(governing.resource, refresh=True)
            if fresh is not None and fresh is not broker:
                return await call(fresh)
        raise


async def observe_state(
    ctx: ReconcileContext, broker: Broker, governing: ActivePolicy, resource: TopicSchema, query: BrokerQuery
) -> BrokerState:
    """Return the state of the resource's topic. Raise StalledAtBrokerError, and the errors of `fetch`.

    Raise VersionGoneError if the topic's settings cannot be read after its version was observed to be missing.
    """
    state = await fetch(ctx, broker, query)
    if isinstance(state.alignment, HistoryLost):
        raise lost_error(query.topic, ctx.storage.name_of(query.history.key), state.alignment)
    _check_not_older_than_status(ctx, resource, query.history, state.alignment)
    with with_note(query.missing_from(state.alignment)):
        own = permitted_strategy(governing.policy, resource.spec.schema_compatibility_strategy)
        spec = replace(resource.spec, schema_compatibility_strategy=own)
        settings = await _settings_state(broker, spec, query)
    return replace(state, may_write=may_write(governing), topic_settings=settings).after(state)


def may_write(governing: ActivePolicy) -> bool:
    """Return True if the policy lets the operator write to the broker."""
    return governing.resource.spec.management_policy is not ManagementPolicy.OBSERVE


def lost_error(topic: Topic, name: str, alignment: HistoryLost) -> StalledAtBrokerError:
    """Return the error for a history, of that name in the store, whose versions the broker lost.

    A new version would get a number that was used before.
    """
    return StalledAtBrokerError(
        Reason.HISTORY_LOST,
        f"topic {topic}: the broker {alignment.why}; nothing is uploaded. A forced delete, or the deletion of an "
        "idle topic, deletes its schemas. Upload them again in order from the history "
        f"{name} (`topicschema export`, docs/broker.md). Or delete that history to start again with "
        "the versions of the broker; if it has none, delete this resource, too, and create it again",
    )


def _check_not_older_than_status(
    ctx: ReconcileContext, resource: TopicSchema, history: History, alignment: Alignment
) -> None:
    """Raise HistoryLost if history and broker lack versions of the status, which is written after them."""
    status, key, there = resource.status, history.key, history.version_count
    name = ctx.storage.name_of(key)
    if isinstance(alignment, HistoryBehind) or not history.lacks(status.incarnation, status.version_count):
        return
    if not history.entries:
        advice = (
            f"registry {key.registry} has neither the history {name} nor any schema of it at "
            "its broker: a new version would get a number that was used before. Restore that history and its "
            "versions. Or, if the registry had another name before, upload them in order from the history of that "
            "name (docs/broker.md). Or delete this resource and create it again, to "
            "start with version 0"
        )
    elif isinstance(alignment, HistoryAhead):
        advice = (
            f"the history {name} has {there}, and the broker has fewer: a new version would get a number "
            "that was used before. Restore the newest history and its versions. Or, to continue from this one, "
            "delete this resource (with deletionPolicy: Retain, which keeps the history) and create it again"
        )
    else:
        return
    message = f"the status has {status.version_count} versions of {key.topic}, but {advice}"
    raise StalledAtBrokerError(Reason.HISTORY_LOST, message)


async def _settings_state(broker: Broker, spec: TopicSchemaSpec, query: BrokerQuery) -> TopicSettingsState | None:
    """Return the topic's own settings, read if the resource or the history has any, or before the first version.

    Later settings of other clients are not read, because this would double the requests of a reconcile. If the broker
    has disabled such settings and the resource has none, return None, because the broker does not apply any.
    """
    stored = query.history.topic_settings
    desired = TopicSettings(spec.schema_compatibility_strategy, spec.schema_validation_enforced)
    if desired == TopicSettings() and stored is None:
        return None if query.history.confirmed else await _set_by_others(broker, query.topic, spec.domain)
    try:
        return TopicSettingsState(desired, await topic_settings(broker, query.topic, spec.domain), stored)
    except RefusedByBrokerError as error:
        if error.status == HTTPStatus.METHOD_NOT_ALLOWED and desired == TopicSettings():
            return None
        raise


async def _set_by_others(broker: Broker, topic: Topic, domain: str) -> TopicSettingsState | None:
    """Return the topic's own strategy before its first version is imported, or None without one that can be read."""
    try:
        strategy = await broker.topic_strategy(topic, domain)
    except (TopicNotFoundError, BrokerForbiddenError, RefusedByBrokerError):
        return None
    return None if strategy is None else TopicSettingsState(TopicSettings(), TopicSettings(strategy))


async def topic_settings(broker: Broker, topic: Topic, domain: str) -> TopicSettings | None:
    """Return the topic's own settings, or None if the topic does not exist."""
    try:
        return await broker.topic_settings(topic, domain)
    except TopicNotFoundError:
        return None


def refused_version(settings: TopicSettingsState | None, what: str, why: str) -> TopicSchemaError:
    """Return the error for a stored version that the broker refused. It may wait for a topic to set its strategy."""
    if settings is None or not settings.lacks_strategy:
        afterwards = f"until the broker has them, then the former value, or {Strategy.UNDEFINED} for none"
        advice = f"set {Setting.STRATEGY}: {Strategy.ALWAYS_COMPATIBLE} {afterwards}"
        return StalledError(Reason.REFUSED_BY_BROKER, f"{what}; {advice}: {why}")
    message = (
        f"the topic does not exist at the broker: {what}, and the topic's own strategy can only be written after its "
        f"first producer or consumer creates it: {why}"
    )
    return WaitingError(Reason.TOPIC_NOT_FOUND, message, TOPIC_SECONDS)


async def fetch(ctx: ReconcileContext, broker: Broker, query: BrokerQuery) -> BrokerState:
    """Return the state at the broker, aligned with the history.

    Raise BrokerInconsistentError if its answers contradict each other. Raise VersionGoneError if an error occurs after
    the candidate's stored version was observed to be missing.
    """
    for _ in range(_TRIES):
        state = await _Fetcher(ctx, broker, query).fetch()
        if state is not None:
            return state
    raise BrokerInconsistentError(f"the broker's responses about topic {query.topic} contradict each other")


async def schema_of(
    storage: SchemaStorage, broker: Broker, query: BrokerQuery, state: BrokerState, entry: VersionEntry
) -> SchemaInfo:
    """Return the schema of a version to import. Raise BrokerInconsistentError if the broker does not serve it any more.

    A version that the broker numbered before and now hides is read from the history.
    """
    cached = state.payloads.get(entry.schema_version)
    if cached is not None:
        return cached
    version = await broker.version(query.topic, entry.schema_version)
    if version is not None:
        info = (await broker.stored(query.topic, version, query.candidate)).info
        known = None if info.content_hash == entry.content_hash else _version_before(query.history, entry)
        if known is not None:
            info = await _stored_schema(storage, query.history, known, info) or info
        if info.content_hash == entry.content_hash:
            return info
    elif (hidden := _version_before(query.history, entry)) in query.history.confirmed:
        return await storage.get(query.history.key, query.history.incarnation, hidden)
    number = entry.schema_version
    raise BrokerInconsistentError(f"the broker served version {number} of topic {query.topic}, and no longer does")


def _version_before(history: History, entry: VersionEntry) -> VersionEntry | None:
    """Return the stored entry with the same identity, with which a new numbering begins, or None."""
    return next((each for each in history.entries if each.identity == entry.identity), None)


async def _stored_schema(
    storage: SchemaStorage, history: History, known: VersionEntry, shown: SchemaInfo
) -> SchemaInfo | None:
    """Return the stored schema of the entry if it matches the one that the broker shows, else None."""
    if known.content_hash == shown.content_hash:
        return shown
    if known.type is not SchemaType.KEY_VALUE or shown.type is not SchemaType.KEY_VALUE:
        return None
    sent = await storage.get(history.key, history.incarnation, known)
    return sent if same_content(sent, shown) else None


async def fetch_after_upload(ctx: ReconcileContext, broker: Broker, query: BrokerQuery, number: int) -> BrokerState:
    """Return the state after an upload that returned `number`. It takes two requests if no other client wrote.

    The version before it is fetched, too. A broker that lost its versions in between may assign the same number again,
    and its newest version alone would not show this.
    """
    state, latest = None, await broker.latest(query.topic)
    if latest is not None and latest.schema_version == number and await _serves_newest(ctx, broker, query):
        state = _added(query, latest)
    return await fetch(ctx, broker, query) if state is None else state


async def _serves_newest(ctx: ReconcileContext, broker: Broker, query: BrokerQuery) -> bool:
    """Return True if the broker still serves the newest stored version, or if none is stored."""
    entries = query.history.entries
    if not entries:
        return True
    fetcher = _Fetcher(ctx, broker, query)
    return not entries[-1].is_tombstone and await fetcher.fetch_each([entries[-1].schema_version]) == [entries[-1]]


def _added(query: BrokerQuery, version: RemoteVersion) -> BrokerState | None:
    """Return the state with the candidate added if the broker shows it as the next version, else None."""
    history, candidate = query.history, query.candidate
    if version.schema_version != history.next_version or candidate is None:
        return None
    if not same_content(candidate, version.info):
        return None
    entry = entry_of(replace(version, info=candidate), query.pulsar_version, candidate, query.source_hash)
    return BrokerState(alignment.grown(history, entry), {entry.schema_version: candidate})


class _Fetcher:
    """One try. The answers of its requests may be of different times."""

    def __init__(self, ctx: ReconcileContext, broker: Broker, query: BrokerQuery) -> None:
        self._ctx = ctx
        self._broker = broker
        self._query = query
        self._recorded = {entry.schema_version: entry for entry in query.history.entries if not entry.is_tombstone}
        self._has_tail = len(query.history.confirmed) < len(query.history.entries)
        self._cached: dict[int, SchemaInfo] = {}
        self._available = _CACHED_BYTES

    async def fetch(self) -> BrokerState | None:
        """Return the state, or None if the answers contradict each other."""
        latest = await self._broker.latest(self._query.topic)
        newest = None if latest is None else await self._entry(latest)
        if newest is not None and alignment.agrees(self._query.history, newest):
            return BrokerState(InSync())
        with with_note(self._hidden_by(newest)):
            return await (self._without_latest() if newest is None else self._with_latest(newest))

    def _hidden_by(self, newest: VersionEntry | None) -> VersionEntry | None:
        """Return the candidate's version if the newest served version alone proves that it is not served, else None."""
        known = self._query.confirmed
        if known is None or newest is None:
            return known
        number, theirs = known.schema_version, newest.schema_version
        is_other = theirs == number and newest.content_hash != known.content_hash
        return known if theirs < number or is_other else None

    async def _with_latest(self, newest: VersionEntry) -> BrokerState | None:
        """Return the state of a broker whose newest version differs from the history's, or None for a contradiction."""
        topic, history = self._query.topic, self._query.history
        if newest.schema_version == 0 and not history.entries:
            return self._aligned(BrokerVersions((0,), (newest,)))
        index = await self._broker.index(topic)
        floor = self._floor(newest)
        others = await self._others(index, newest, floor)
        if floor and others is not None and not self._is_proof(others, floor):
            floor, others = 0, await self._others(index, newest, 0)
        if others is None or newest.schema_version not in index:
            return None
        versions = sorted({*others, newest}, key=lambda entry: entry.schema_version)
        return self._aligned(BrokerVersions(index, tuple(versions), floor))

    async def _without_latest(self) -> BrokerState | None:
        """Return the state of a broker that serves no version, or None if it does now.

        It never had one, or its newest number is a tombstone.
        """
        index, entries = await self._broker.index(self._query.topic), self._query.history.entries
        is_news = bool(index) and (not entries or entries[-1].schema_version < index[-1])
        if is_news and await self._broker.latest(self._query.topic) is not None:
            return None  # a version that was added in the meantime is not a tombstone
        return self._aligned(BrokerVersions(index))

    def _floor(self, newest: VersionEntry) -> int:
        """Return the first number to fetch. The newest version that the broker numbered proves those before it."""
        confirmed = self._query.history.confirmed
        if self._has_tail or not confirmed or confirmed[-1].schema_version >= newest.schema_version:
            return 0
        return confirmed[-1].schema_version

    def _is_proof(self, others: list[VersionEntry], floor: int) -> bool:
        """Return True if the version at the floor is the stored one. The same text numbered again has another time."""
        known = self._recorded.get(floor)
        there = next((entry for entry in others if entry.schema_version == floor), None)
        return known is None or there is None or known.registered_at == there.registered_at

    async def _others(self, index: tuple[int, ...], newest: VersionEntry, floor: int) -> list[VersionEntry] | None:
        """Return the other served versions from the floor on, or None if `newest` is not the newest any more."""
        numbers = [number for number in index if number >= floor and number != newest.schema_version]
        if len(numbers) <= _FEW:
            entries = await self.fetch_each(numbers)
            # A version that is not served is a tombstone, or hidden by a new one.
            return entries if len(entries) == len(numbers) or await self._is_newest(newest) else None
        entries = []
        async for version in self._broker.versions(self._query.topic, floor):
            entries.append(await self._entry(version))
            await asyncio.sleep(0)  # a long history must not block other tasks
        return entries if newest in entries else None

    async def _is_newest(self, entry: VersionEntry) -> bool:
        """Return True if the broker still serves this version as its newest."""
        latest = await self._broker.latest(self._query.topic)
        return latest is not None and await self._entry(latest) == entry

    async def fetch_each(self, numbers: list[int]) -> list[VersionEntry]:
        """Return those of the versions that the broker serves, each by one request."""
        entries = []
        for number in numbers:
            version = await self._broker.version(self._query.topic, number)
            if version is not None:
                entries.append(await self._entry(version))
        return entries

    async def _entry(self, version: RemoteVersion) -> VersionEntry:
        """Return the stored entry if the version matches it, else a new entry, whose schema is cached."""
        number, info = version.schema_version, version.info
        known = self._recorded.get(number)
        if known is not None:
            recorded = await _stored_schema(self._ctx.storage, self._query.history, known, info)
            if recorded is not None and await self._is_stored(version, known, recorded):
                if self._has_tail:
                    self._cache(number, recorded)  # a new numbering may begin with it
                return replace(known, registered_at=version.registered_at)
        query = self._query
        sent = await self._broker.stored(query.topic, version, query.candidate)
        self._cache(number, sent.info)
        namespace, inputs = query.topic.pulsar_namespace, (query.pulsar_version, query.candidate, query.source_hash)
        entry = await self._ctx.judge.versions.read(namespace, len(info.schema), entry_of, sent, *inputs)
        return replace(entry, origin=Origin.SPEC) if await self._is_our_own(entry, sent.info) else entry

    async def _is_our_own(self, entry: VersionEntry, sent: SchemaInfo) -> bool:
        """Return True if the operator uploaded it for an earlier spec, and ended before it wrote the history."""
        history = self._query.history
        may_be = entry.origin is Origin.BROKER and entry.schema_version >= history.next_version
        return may_be and history.claim is not None and await self._ctx.storage.is_announced(history, sent)

    async def _is_stored(self, version: RemoteVersion, known: VersionEntry, recorded: SchemaInfo) -> bool:
        """Return True if the broker stores the recorded schema. If a GET is ambiguous, request the schema's number."""
        if version.registered_at == known.registered_at or len(spellings(recorded)) == 1:
            return True
        return await self._broker.number_of(self._query.topic, recorded) == version.schema_version

    def _cache(self, number: int, info: SchemaInfo) -> None:
        """Cache the schema, up to the limit of bytes."""
        if number in self._cached:
            return
        self._available -= weight(info)
        if self._available >= 0:
            self._cached[number] = info

    def _aligned(self, broker: BrokerVersions) -> BrokerState:
        current = alignment.align(self._query.history, broker, self._ctx.now())
        versions = current.new_versions if isinstance(current, HistoryBehind) else ()
        new = {entry.schema_version for entry in versions}
        return BrokerState(current, {number: info for number, info in self._cached.items() if number in new})
