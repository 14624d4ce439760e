"""Judging with its reads: fetches the payloads that a verdict needs, and compares them. See `core.verdict`.

The webhook and the controller share this validation path. It reads and compares versions in parts. Large comparisons
run in a worker process.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

from topicschema.api.topicschemas import TopicSchemaSpec
from topicschema.core import compatibility, verdict
from topicschema.core.checkers import BUILT_IN, Checkers
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import InvalidSchemaError, WaitingError
from topicschema.core.history import History, VersionEntry
from topicschema.core.parts import Findings
from topicschema.core.policy import Policy, effective_strategy
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, digest
from topicschema.core.steps import MOST_STEPS
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic
from topicschema.core.verdict import Candidate, Comparison, Earlier, Verdict
from topicschema.judging import broker_versions, comparing, cpu_time
from topicschema.judging.broker_versions import UnreadableVersionError
from topicschema.judging.comparing import Comparer, Request, Result, Version
from topicschema.judging.cpu_time import MOST_SECONDS, OutOfTimeError
from topicschema.judging.schema_source import Envelopes, info_of, size_of, sources_of
from topicschema.judging.versions import LARGE, SECONDS_HERE, Versions
from topicschema.judging.workers import BEYOND_LIMITS, Workers
from topicschema.storage.lru_cache import LruCache
from topicschema.storage.protocol import SchemaStorage

T = TypeVar("T")

_CACHE_BYTES = 64 * 1024 * 1024
# Some milliseconds of work. A comparison with more steps restarts in a worker.
_FEW_STEPS = 30_000
# An API server waits 10 seconds for the webhook.
_CHECKER_SECONDS = 5.0
_AFTER_TIMEOUT = 30.0

# The number of earlier versions whose consumers count for the risks in a status: as many as a status lists.
_RISK_SPAN = 100
_RISKS_BYTES = 8 * 1024 * 1024
_BYTES_PER_FINDING = 500
_TOO_COSTLY_BYTES = 1024 * 1024


class _RisksKey(NamedTuple):
    """A hash of a version and its predecessors, and the other inputs of its risks."""

    versions: str
    strategy: Strategy
    pulsar_version: PulsarVersion


class CheckerTimeoutError(WaitingError):
    """A custom checker exceeded its timeout. No edit of the resource helps, but a retry may."""


class Judge:
    """Judge of candidates: may a schema be the next version of a topic.

    `cache_bytes` limits the cache of parsed schemas. `checkers` are the custom checkers, and `checker_timeout` is their
    timeout for one verdict, in seconds. `cpu_seconds` limits the CPU time to read a schema, and that to compare one.
    """

    def __init__(
        self,
        storage: SchemaStorage,
        cache_bytes: int = _CACHE_BYTES,
        *,
        checkers: Checkers = BUILT_IN,
        checker_timeout: float = _CHECKER_SECONDS,
        cpu_seconds: float = MOST_SECONDS,
    ) -> None:
        self._comparer = Comparer(cache_bytes)
        self._checkers = checkers
        self._checker_timeout = checker_timeout
        self._envelopes = Envelopes()
        self._too_costly: LruCache[str, Incompatibility] = LruCache(_TOO_COSTLY_BYTES)
        self._risks: LruCache[_RisksKey, tuple[Incompatibility, ...]] = LruCache(_RISKS_BYTES)
        self._workers = Workers(cpu_seconds=cpu_seconds)
        self._checker_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="checkers")
        self.versions: Final = Versions(storage, self._workers, self._comparer, are_whole=self.has_checkers)

    @property
    def has_checkers(self) -> bool:
        """True if there are custom checkers."""
        return bool(self._checkers)

    def close(self) -> None:
        """End the processes and threads. Their pending calls fail."""
        self._workers.close()
        self._checker_threads.shutdown(wait=False, cancel_futures=True)

    async def schema_of(self, spec: TopicSchemaSpec, pulsar_version: PulsarVersion, history: History | None) -> Schema:
        """Return the parsed schema of a resource. Raise InvalidSchemaError with rule and place.

        If a version of the history has the same Protobuf sources, its envelope is used, and the compiler is not
        called. Raise WaitingError if the compiler fails for a reason other than the sources.
        """
        sources = sources_of(spec)
        known = None if sources is None or history is None else history.compiled_from(sources.source_hash)
        if history is None or known is None:
            info = broker_versions.registered_form(await self._read_spec(spec, pulsar_version), history)
            return await self.versions.parse(_namespace(spec), info, pulsar_version)
        envelope = (await self.versions.version(history, known, pulsar_version)).info.schema
        info = SchemaInfo(spec.type, envelope, dict(spec.properties))
        return await self.versions.parse(_namespace(spec), info, pulsar_version)

    async def require_supported_version(self, spec: TopicSchemaSpec) -> None:
        """Raise the InvalidSchemaError of the first Pulsar version if none accepts the schema."""
        info, refusals = await self._read_spec(spec, PulsarVersion.V5_0), []  # only the well-known types differ
        for pulsar_version in PulsarVersion:
            try:
                await self.versions.parse(_namespace(spec), info, pulsar_version)
            except InvalidSchemaError as error:
                refusals.append(error)
                if error.rule == compatibility.TOO_COMPLEX:
                    break
            else:
                return
        raise refusals[0]

    async def _read_spec(self, spec: TopicSchemaSpec, pulsar_version: PulsarVersion) -> SchemaInfo:
        """Return the schema as a broker stores it; compile Protobuf sources. Errors as in `schema_of`."""
        sources = sources_of(spec)
        if sources is not None:
            return SchemaInfo(spec.type, await self._envelopes.get(sources, pulsar_version), dict(spec.properties))
        size = size_of(spec) if spec.key_value else 0  # only the JSON of pairs is compacted
        return await self.versions.read(_namespace(spec), size, info_of, spec)

    async def for_version(self, history: History, pulsar_version: PulsarVersion) -> History:
        """Return the stored history with the flaws for that Pulsar version. Judging requires this history."""
        return await self.versions.for_version(history, pulsar_version)

    async def judge(self, candidate: Candidate, history: History, policy: Policy) -> Verdict:
        """Return the verdict on the candidate. Raise StalledError(RecordDamaged) if the record is unusable.

        If the broker must read a version and cannot, the verdict is a refusal with the rule INVALID_HISTORY.
        """
        broken = verdict.refused_by_constraints(candidate, policy)
        if broken is not None:
            return broken
        try:
            broker_versions.check_readable(candidate, history)
            if compatibility.uses_custom_checker(candidate.schema, self._checkers):
                return await self._judge_with_checkers(candidate, history, policy)
            strategy = effective_strategy(policy, candidate.strategy).value
            is_equal = history.equal_to(candidate.schema.fingerprint) is not None
            request = Request(candidate.schema.info, policy.profile.pulsar_version, strategy, is_equal)
            earlier = verdict.earlier_versions(candidate, history, policy)
            required = {each.entry.schema_version: each.entry for each in earlier if each.is_required}
            findings = await self._compare_all(request, history, earlier, required)
        except UnreadableVersionError as error:
            return verdict.refused(candidate, policy, error.finding)
        return verdict.concluded(candidate, history, policy, verdict.strictly(policy, findings, strategy))

    async def compare(
        self, candidate: Candidate, earlier: Schema | None, history: History, policy: Policy
    ) -> Comparison:
        """Return the incompatibilities and risks of the candidate after `earlier`, an edit that is not stored yet.

        `earlier` would follow all stored versions. A custom checker may compare several versions together. So it also
        gets the stored versions, as it will after the edit is registered.
        """
        schema, strategy = candidate.schema, effective_strategy(policy, candidate.strategy).value
        if earlier is None or schema.info == earlier.info:
            return Comparison((), ())
        is_equal = schema.fingerprint == earlier.fingerprint
        if not is_equal and compatibility.uses_custom_checker(schema, self._checkers):
            return await self._compare_with_checkers(candidate, earlier, history, policy)
        request = Request(schema.info, policy.profile.pulsar_version, strategy, is_equal)
        part = [Version(None, earlier.info.type, earlier.info)]
        findings = await self._findings(request, history, [earlier.info.content_hash], _only(part))
        return verdict.strictly(policy, findings, strategy)

    async def _judge_with_checkers(self, candidate: Candidate, history: History, policy: Policy) -> Verdict:
        """Return the verdict of the custom checkers on all versions together."""
        policy = self._with_checkers(policy)
        earlier = verdict.earlier_versions(candidate, history, policy)
        payloads = await self._payloads(history, earlier, policy.profile.pulsar_version)
        return await self._call_checkers(lambda: verdict.judge(candidate, history, policy, payloads))

    async def _compare_with_checkers(
        self, candidate: Candidate, earlier: Schema, history: History, policy: Policy
    ) -> Comparison:
        policy, before = self._with_checkers(policy), Predecessor(None, earlier.info.type, earlier)
        strategy, considered = effective_strategy(policy, candidate.strategy).value, [before]
        if strategy.is_transitive:
            stored = verdict.earlier_versions(candidate, history, policy, is_deduplicated=False)
            payloads = await self._payloads(history, stored, policy.profile.pulsar_version)
            considered = [*verdict.predecessors(stored, payloads), before]
        return await self._call_checkers(lambda: verdict.compare(candidate.schema, considered, strategy, policy))

    def _with_checkers(self, policy: Policy) -> Policy:
        return replace(policy, profile=replace(policy.profile, checkers=self._checkers))

    async def _call_checkers(self, work: Callable[[], T]) -> T:
        """Return the result of `work` in a thread. Raise CheckerTimeoutError if it takes too long.

        A thread cannot be ended from outside, so a checker that hangs occupies one until the process ends. If all
        threads hang, all such calls time out. Types with built-in checkers do not use these threads.
        """
        result = asyncio.get_running_loop().run_in_executor(self._checker_threads, work)
        try:
            return await asyncio.wait_for(result, self._checker_timeout)
        except TimeoutError:
            names = ", ".join(each.name for each in self._checkers.values())
            message = f"the plugged-in checkers ({names}) did not answer within {self._checker_timeout:g} seconds"
            raise CheckerTimeoutError(
                "CheckerTimeout", f"{message}; the operator tries again later", _AFTER_TIMEOUT
            ) from None

    async def _compare_all(
        self,
        request: Request,
        history: History,
        earlier: Sequence[Earlier],
        required: Mapping[int, VersionEntry] = MappingProxyType({}),
    ) -> Findings:
        """Return the findings of the versions. Raise UnreadableVersionError if a required one does not parse."""
        texts = [f"{entry.identity} {is_compared} {is_read}" for entry, is_compared, is_read, _ in earlier]
        return await self._findings(request, history, texts, self.versions.parts(history, earlier), required)

    async def _findings(
        self,
        request: Request,
        history: History,
        texts: Sequence[str],
        parts: AsyncIterator[Sequence[Version]],
        required: Mapping[int, VersionEntry] = MappingProxyType({}),
    ) -> Findings:
        """Return the findings of the parts, whose versions have the identities `texts`.

        All parts share the steps and the CPU time. If the CPU time or the memory does not suffice, this is the only
        finding, and the same texts are not compared again.
        """
        key, findings, seconds = _key(request, texts), Findings(), self._workers.cpu_seconds
        too_costly = self._too_costly.get(key)
        if too_costly is not None:
            return Findings(too_complex=too_costly)
        namespace = history.key.topic.pulsar_namespace
        async for part in parts:
            try:
                result = await self._compare_part(namespace, request, part, MOST_STEPS - findings.steps, seconds)
            except BEYOND_LIMITS as error:
                too_costly = _too_complex(part, str(error))
                self._too_costly.put(key, too_costly, _BYTES_PER_FINDING)
                return Findings(too_complex=too_costly)
            for number, unreadable in result.unreadable.items():
                if number in required:
                    raise broker_versions.unreadable(required[number], request.pulsar_version, unreadable)
            findings += result.findings
            seconds -= result.cpu_seconds
            if findings.too_complex:
                break
            request = replace(request, is_first=False)
        return findings

    async def _compare_part(
        self, namespace: str, request: Request, part: Sequence[Version], steps: int, seconds: float
    ) -> Result:
        """Return the result for one part, within these steps and seconds of CPU time. A large one runs in a worker.

        Raise OutOfTimeError or OutOfMemoryError if that of a worker does not suffice.
        """
        here = seconds - self._workers.cpu_seconds + SECONDS_HERE
        if comparing.size_of(request, part) < LARGE and here > 0:
            with suppress(OutOfTimeError):
                result = cpu_time.call(here, self._comparer.compare, request, part, min(_FEW_STEPS, steps))
                if result.findings.too_complex is None or steps <= _FEW_STEPS:
                    return result
        compare = comparing.compare
        return await self._workers.call(namespace, compare, request, part, steps, cpu_seconds=max(seconds, 0.001))

    async def risks(
        self, verdict: Verdict, history: History, strategy: Strategy | None, policy: Policy
    ) -> tuple[Incompatibility, ...]:
        """Return the risks for consumers of the stored version that has the verdict's number.

        After an equal version, the verdict itself compares no more. So the version is compared again with the
        `_RISK_SPAN` versions before it. The result depends on the record and the policy only.
        """
        entry = next((each for each in history.active_versions if each.schema_version == verdict.schema_version), None)
        if entry is None:
            return verdict.risks
        earlier = tuple(each for each in history.active_versions if each.schema_version < entry.schema_version)[
            -_RISK_SPAN:
        ]
        key = _RisksKey(
            digest("\n".join(f"{each.schema_version} {each.content_hash}" for each in (*earlier, entry)).encode()),
            verdict.strategy.value,
            policy.profile.pulsar_version,
        )
        findings = self._risks.get(key)
        if findings is None:
            candidate = Candidate(await self.versions.version(history, entry, policy.profile.pulsar_version), strategy)
            findings = await self._risks_after(candidate, replace(history, entries=earlier), policy)
            self._risks.put(key, findings, _BYTES_PER_FINDING * (1 + len(findings)))
        return tuple(dict.fromkeys((*verdict.risks, *findings)))

    async def _risks_after(self, candidate: Candidate, history: History, policy: Policy) -> tuple[Incompatibility, ...]:
        """Return the risks of the versions that the strategy compares. Custom checkers report no risks."""
        strategy = effective_strategy(policy, candidate.strategy).value
        request = Request(candidate.schema.info, policy.profile.pulsar_version, strategy)
        earlier = verdict.earlier_versions(candidate, history, policy, is_deduplicated=False)
        findings = await self._compare_all(request, history, earlier)
        return (*compatibility.listed(findings.risks), *((findings.too_complex,) if findings.too_complex else ()))

    async def _payloads(
        self, history: History, earlier: Sequence[Earlier], pulsar_version: PulsarVersion
    ) -> Mapping[int, Schema]:
        """Return the schemas by number. Raise UnreadableVersionError for a required one; leave out others."""
        read = await asyncio.gather(
            *(self._payload(history, each, pulsar_version) for each in reversed(earlier) if each.is_read)
        )
        return {number: schema for number, schema in read if schema is not None}

    async def _payload(
        self, history: History, earlier: Earlier, pulsar_version: PulsarVersion
    ) -> tuple[int, Schema | None]:
        number = earlier.entry.schema_version
        try:
            return number, await self.versions.version(history, earlier.entry, pulsar_version)
        except UnreadableVersionError:
            if earlier.is_required:
                raise
            return number, None


def _namespace(spec: TopicSchemaSpec) -> str:
    return Topic.parse(spec.topic).pulsar_namespace


def _key(request: Request, texts: Sequence[str]) -> str:
    """Return a digest of the comparison."""
    head = (request.candidate.content_hash, request.pulsar_version, request.strategy, str(request.is_equal))
    return digest("\n".join((*head, *texts)).encode())


def _too_complex(part: Sequence[Version], why: str) -> Incompatibility:
    if not part:
        return Incompatibility(compatibility.TOO_COMPLEX, "$", f"reading the schema {why}")
    number, kind, *_ = part[0]
    return compatibility.too_complex(Predecessor(number, kind, None), why)


async def _only(part: Sequence[Version]) -> AsyncIterator[Sequence[Version]]:
    yield part
