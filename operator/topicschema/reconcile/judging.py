"""judge() with its reads: the payloads that a verdict needs, fetched and parsed. The verdict is `core.verdict`'s.

Webhook and controller both ask here, so there is one validation path.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple, TypeVar

from topicschema.api.topicschemas import TopicSchemaSpec
from topicschema.core import compatibility, formats, verdict
from topicschema.core.checkers import BUILT_IN, Checkers
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError, WaitingError
from topicschema.core.history import History, VersionEntry
from topicschema.core.policy import Policy, effective_strategy
from topicschema.core.schemas import PulsarLine, Schema, SchemaInfo, SchemaType, digest
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Candidate, Comparison, Verdict
from topicschema.reconcile import adopted
from topicschema.reconcile.adopted import UnreadableVersionError
from topicschema.reconcile.candidates import Envelopes, info_of, size_of, sources_of
from topicschema.reconcile.kept import Kept
from topicschema.reconcile.rereading import Rereading
from topicschema.storage.protocol import SchemaStorage

T = TypeVar("T")

_CACHE_BYTES = 64 * 1024 * 1024
# Reading texts from this size on (bytes) goes to a thread, so that the event loop answers others meanwhile. For less,
# the way to the thread and back is longer than the work.
_LARGE = 64 * 1024
_LARGE_TO_COMPARE = 4 * 1024  # the sum of sizes; the work may grow with its cube
_READS_AT_ONCE = 16
# An API server waits 10 seconds for the webhook.
_PATIENCE = 5.0
_AFTER_TIMEOUT = 30.0
_BYTES_PER_BYTE = 10
_BYTES_PER_SCHEMA = 2_000

# Of the versions before one, those whose consumers are thought of when its status is told: as many as a status lists.
_TOLD = 100
_RISKS_BYTES = 8 * 1024 * 1024
_BYTES_PER_RISK = 500

_CacheKey = tuple[SchemaType, str, PulsarLine]


class _RisksKey(NamedTuple):
    """A version and those before it by their hashes, and what else decides about the risks."""

    versions: str
    strategy: Strategy
    line: PulsarLine


class CheckerTimeoutError(WaitingError):
    """A checker that is plugged in was too slow, this time at least: no edit of the resource would help."""


class Judge:
    """Answers whether a schema may be a topic's next version; keeps parsed schemas of earlier versions in memory.

    `cache_bytes` bounds what is kept, by an estimate of its size. Versions are immutable, so nothing kept is stale.
    `checkers` are those that are plugged in, `patience` is how long they may take for one verdict, in seconds.
    """

    def __init__(
        self,
        storage: SchemaStorage,
        cache_bytes: int = _CACHE_BYTES,
        *,
        checkers: Checkers = BUILT_IN,
        patience: float = _PATIENCE,
    ) -> None:
        self._storage = storage
        self._checkers = checkers
        self._patience = patience
        self._cache: Kept[_CacheKey, Schema] = Kept(cache_bytes)
        self._envelopes = Envelopes()
        self._risks: Kept[_RisksKey, tuple[Incompatibility, ...]] = Kept(_RISKS_BYTES)
        self._threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="judging")
        self._asking = ThreadPoolExecutor(max_workers=2, thread_name_prefix="checkers")
        self._reads = asyncio.Semaphore(_READS_AT_ONCE)
        self._rereading = Rereading(self._payload, self.read)

    @property
    def has_checkers(self) -> bool:
        """Whether any are plugged in."""
        return bool(self._checkers)

    def close(self) -> None:
        """End the threads; work in them is finished first, but for what checkers do that are plugged in."""
        self._threads.shutdown()
        self._asking.shutdown(wait=False, cancel_futures=True)

    async def parse(self, info: SchemaInfo, line: PulsarLine) -> Schema:
        """The parsed schema; InvalidSchemaError with rule and place."""
        key = (info.type, info.content_hash, line)
        kept = self._cache.get(key)
        if kept is not None:
            return kept
        schema = await self.read(len(info.schema), lambda: formats.parse(info, line))
        self._keep(key, schema)
        return schema

    async def schema_of(self, spec: TopicSchemaSpec, line: PulsarLine, history: History | None) -> Schema:
        """The parsed schema that a resource stands for; InvalidSchemaError with rule and place.

        Sources that a version of the history was compiled from are what they became then, whatever a compiler would
        make of them now. WaitingError when sources could not be compiled for reasons that are not theirs.
        """
        sources = sources_of(spec)
        known = None if sources is None or history is None else history.compiled_from(sources.source_hash)
        if history is None or known is None:
            return await self.parse(adopted.text_on_record(await self._written(spec), history), line)
        envelope = (await self.version(history, known, line)).info.schema
        return await self.parse(SchemaInfo(spec.type, envelope, dict(spec.properties)), line)

    async def demand_a_line(self, spec: TopicSchemaSpec) -> None:
        """Nothing, where some line's broker takes the schema; else InvalidSchemaError, that of the first line."""
        info, refusals = await self._written(spec), []
        for line in PulsarLine:
            try:
                await self.parse(info, line)
            except InvalidSchemaError as error:
                refusals.append(error)
            else:
                return
        raise refusals[0]

    async def _written(self, spec: TopicSchemaSpec) -> SchemaInfo:
        """The schema as a broker stores it, of sources as the compiler here makes it; errors as above."""
        sources = sources_of(spec)
        if sources is not None:
            return SchemaInfo(spec.type, await self._envelopes.get(sources), dict(spec.properties))
        size = size_of(spec) if spec.key_value else 0  # only pairs are written anew
        return await self.read(size, lambda: info_of(spec))

    async def under(self, history: History, line: PulsarLine) -> History:
        """The history on record as a broker of that line reads it: what is judged by, and what follows, starts here."""
        return await self._rereading.under(history, line)

    async def judge(self, candidate: Candidate, history: History, policy: Policy) -> Verdict:
        """The verdict on the candidate as the next version; StalledError(RecordDamaged) when the record is unusable.

        Of a version that the broker has to read, and cannot, the verdict is no, with the rule INVALID_HISTORY.
        """
        policy = self._with_checkers(policy)
        try:
            adopted.demand_readable(candidate, history)
            wanted, must = verdict.needed(candidate, history, policy), verdict.required(candidate, history, policy)
            payloads = await self._payloads(history, wanted, policy.profile.line, must)
        except UnreadableVersionError as error:
            return verdict.refused(candidate, policy, error.finding)
        schemas = (candidate.schema, *payloads.values())
        return await self._judged(schemas, lambda: verdict.judge(candidate, history, policy, payloads))

    async def compare(self, asked: Candidate, earlier: Schema | None, history: History, policy: Policy) -> Comparison:
        """Why the candidate may not follow an edit that is on no record yet, if there is one, and who then suffers.

        That edit would stand behind all that is on record. A checker that is plugged in may look at several versions
        together, so it gets what it will be given once the edit is registered.
        """
        candidate = asked.schema
        if earlier is None or candidate.info == earlier.info:
            return Comparison((), ())
        policy, before = self._with_checkers(policy), Predecessor(None, earlier.info.type, earlier)
        if candidate.fingerprint == earlier.fingerprint:
            return await self._judged((candidate, earlier), lambda: verdict.compare_equal(candidate, before, policy))
        strategy, considered = effective_strategy(policy, asked.strategy).value, [before]
        if strategy.is_transitive and compatibility.asks_plugged(candidate, self._checkers):
            wanted = verdict.compared(asked, history, policy)
            payloads = await self._payloads(history, wanted, policy.profile.line, wanted)
            considered = [*verdict.predecessors(asked, history, policy, payloads), before]
        return await self._judged(
            (candidate, earlier), lambda: verdict.compare(candidate, considered, strategy, policy)
        )

    def _with_checkers(self, policy: Policy) -> Policy:
        return replace(policy, profile=replace(policy.profile, checkers=self._checkers)) if self._checkers else policy

    async def _judged(self, schemas: Collection[Schema], work: Callable[[], T]) -> T:
        """What `work` returns; CheckerTimeoutError where a plugged checker keeps it too long.

        A thread cannot be ended from outside. One that hangs is lost until the process is, and so in the end are all
        that could ask: there is no answer then. Types whose checkers are built in never wait for them.
        """
        if not any(compatibility.asks_plugged(schema, self._checkers) for schema in schemas):
            return await self._compared(schemas, work)
        asked = asyncio.get_running_loop().run_in_executor(self._asking, work)
        try:
            return await asyncio.wait_for(asked, self._patience)
        except TimeoutError:
            names = ", ".join(each.name for each in self._checkers.values())
            message = f"no answer within {self._patience:g} seconds where checkers are plugged in ({names})"
            raise CheckerTimeoutError("CheckerTimeout", f"{message}; it is asked again later", _AFTER_TIMEOUT) from None

    async def risks(
        self, verdict: Verdict, history: History, strategy: Strategy | None, policy: Policy
    ) -> tuple[Incompatibility, ...]:
        """What consumers may suffer from the version on record that the verdict came to.

        The verdict itself compares no more, once there is an equal version. So the version is judged anew after the
        `_TOLD` before it, as if it came now: the answer depends on nothing but record and policy, whoever asks when.
        """
        entry = next((each for each in history.trimmed if each.schema_version == verdict.schema_version), None)
        if entry is None:
            return verdict.risks
        earlier = tuple(each for each in history.trimmed if each.schema_version < entry.schema_version)[-_TOLD:]
        key = _RisksKey(
            digest("\n".join(f"{each.schema_version} {each.content_hash}" for each in (*earlier, entry)).encode()),
            verdict.strategy.value,
            policy.profile.line,
        )
        found = self._risks.get(key)
        if found is None:
            candidate = Candidate(await self.version(history, entry, policy.profile.line), strategy)
            found = await self._risks_after(candidate, replace(history, entries=earlier), policy)
            self._risks.put(key, found, _BYTES_PER_RISK * (1 + len(found)))
        return tuple(dict.fromkeys((*verdict.risks, *found)))

    async def _risks_after(self, candidate: Candidate, history: History, policy: Policy) -> tuple[Incompatibility, ...]:
        """The risks alone: of what the strategy compares, and without the checkers, which have no say in them."""
        wanted = verdict.compared(candidate, history, policy)
        payloads = await self._payloads(history, wanted, policy.profile.line, ())
        schemas = (candidate.schema, *payloads.values())
        return await self._compared(schemas, lambda: verdict.risks(candidate, history, policy, payloads))

    async def version(self, history: History, entry: VersionEntry, line: PulsarLine) -> Schema:
        """The parsed schema of a version on record.

        StalledError(RecordDamaged) when the record is unusable, UnreadableVersionError when the text does not parse.
        """
        key = (entry.type, entry.content_hash, line)
        kept = self._cache.get(key)
        if kept is not None:
            return kept
        info = await self._payload(history, entry)
        try:
            schema = await self.read(len(info.schema), lambda: formats.parse(info, line))
        except InvalidSchemaError as error:
            raise adopted.unreadable(entry, line, error) from None
        self._keep(key, schema)
        return schema

    def _keep(self, key: _CacheKey, schema: Schema) -> None:
        self._cache.put(key, schema, _BYTES_PER_SCHEMA + _BYTES_PER_BYTE * len(schema.info.schema))

    async def _payload(self, history: History, entry: VersionEntry) -> SchemaInfo:
        async with self._reads:
            return await self._storage.get(history.key, history.incarnation, entry)

    async def _payloads(
        self, history: History, wanted: Iterable[VersionEntry], line: PulsarLine, must: Collection[VersionEntry]
    ) -> Mapping[int, Schema]:
        """The schemas by number; one that nobody can read is left out, unless it is a must."""
        entries = tuple(wanted)
        read = await asyncio.gather(*(self._read(history, each, line, is_must=each in must) for each in entries))
        return {entry.schema_version: schema for entry, schema in zip(entries, read, strict=True) if schema is not None}

    async def _read(self, history: History, entry: VersionEntry, line: PulsarLine, *, is_must: bool) -> Schema | None:
        try:
            return await self.version(history, entry, line)
        except UnreadableVersionError:
            if is_must:
                raise
            return None

    async def read(self, size: int, work: Callable[[], T]) -> T:
        """What `work` returns, done where reading a text of `size` bytes holds up nobody."""
        return work() if size < _LARGE else await self._apart(work)

    async def _compared(self, schemas: Iterable[Schema], work: Callable[[], T]) -> T:
        size = sum(len(schema.info.schema) for schema in schemas)
        return work() if size < _LARGE_TO_COMPARE else await self._apart(work)

    async def _apart(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)
