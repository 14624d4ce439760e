"""The judgments of `core.verdict` with storage, worker processes and custom checkers.

Webhook and controller share it. Large comparisons run in a worker process.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeVar

from topicschema.api.topicschemas import TopicSchemaSpec
from topicschema.core import broker_versions, comparison, compatibility, verdict
from topicschema.core.checkers import BUILT_IN, Checkers
from topicschema.core.comparison import (
    Compare,
    ComparisonRequest,
    ComparisonResult,
    CustomCheck,
    Earlier,
    Findings,
    Judging,
    Read,
)
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, WaitingError
from topicschema.core.history import History
from topicschema.core.lru_cache import LruCache
from topicschema.core.policy import Policy, TopicChoices, effective_strategy
from topicschema.core.reasons import Reason
from topicschema.core.schemas import NEWEST, PulsarVersion, Schema, SchemaInfo, digest
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic
from topicschema.core.verdict import Candidate, Comparison, Verdict
from topicschema.judging import comparing, cpu_time
from topicschema.judging.comparing import Comparer
from topicschema.judging.cpu_time import MOST_SECONDS, OutOfTimeError
from topicschema.judging.schema_source import CompiledEnvelopes, info_of, size_of, sources_of
from topicschema.judging.versions import LARGE, SECONDS_HERE, Versions
from topicschema.judging.workers import BEYOND_LIMITS, Workers
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
        self._envelopes = CompiledEnvelopes()
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
        info, refusals = await self._read_spec(spec, NEWEST), []  # only the well-known types differ
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
        """Return the verdict of `core.verdict.judge`. Raise StalledError(HistoryDamaged) if the history is unusable."""
        policy = self._with_checkers(policy)
        return await self._run(verdict.judge(candidate, history, policy), history, _key(candidate, policy, history))

    async def compare(
        self, candidate: Candidate, earlier: Schema | None, history: History, policy: Policy
    ) -> Comparison:
        """Return the result of `core.verdict.compare_pending` for `earlier`, an edit that is not stored yet."""
        if earlier is None or candidate.schema.info == earlier.info:
            return Comparison((), ())
        policy, is_equal = self._with_checkers(policy), candidate.schema.fingerprint == earlier.fingerprint
        comparing_both = verdict.compare_pending(candidate, earlier.info, history, policy, is_equal=is_equal)
        return await self._run(comparing_both, history, _key(candidate, policy, history, earlier))

    async def compatibility(self, candidate: Candidate, history: History, policy: Policy) -> Comparison:
        """Return the comparison with the versions that the strategy considers, without the dedupe of an upload.

        It is that of the broker's `/compatibility`. There the latest version itself passes each strategy that compares
        with the latest alone.
        """
        policy, latest = self._with_checkers(policy), history.latest
        if latest is not None and not effective_strategy(policy, candidate.strategy).value.is_transitive:
            stored, sent = await self.versions.payload(history, latest), candidate.schema.info
            if (stored.type, stored.schema) == (sent.type, sent.schema):
                return Comparison((), ())
        earlier = verdict.earlier_versions(candidate, history, policy, is_deduplicated=False)
        comparing_all = verdict.compare(candidate, earlier, policy)
        return await self._run(comparing_all, history, _key(candidate, policy, history))

    def _with_checkers(self, policy: Policy) -> Policy:
        return replace(policy, profile=replace(policy.profile, checkers=self._checkers))

    async def _run(self, steps: Judging[T], history: History, key: str) -> T:
        """Return the result of a judgment, whose comparisons share the CPU time.

        If the CPU time or the memory does not suffice, this is the only finding of the comparison. For the same `key`
        it is not tried again.
        """
        answer: Any = None
        seconds = self._workers.cpu_seconds
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                result: T = end.value
                return result
            match step:
                case Read(versions):
                    answer = await self.versions.with_texts(history, versions)
                case Compare():
                    answer, seconds = await self._compare(history, step, key, seconds)
                case CustomCheck(call):
                    answer = await self._call_checkers(call)

    async def _compare(
        self, history: History, step: Compare, key: str, seconds: float
    ) -> tuple[ComparisonResult, float]:
        """Return the result of a comparison and the CPU time that is left."""
        too_costly = self._too_costly.get(key)
        if too_costly is None:
            try:
                result, taken = await self._compare_part(history.key.topic.pulsar_namespace, step, seconds)
            except BEYOND_LIMITS as error:
                too_costly = _too_complex(step.newest_first, str(error))
                self._too_costly.put(key, too_costly, _BYTES_PER_FINDING)
            else:
                return result, seconds - taken
        return ComparisonResult(Findings(too_complex=too_costly), {}, is_beyond_limits=True), seconds

    async def _compare_part(self, namespace: str, step: Compare, seconds: float) -> tuple[ComparisonResult, float]:
        """Return the result for one part, within these seconds of CPU time, and its CPU time.

        A large part is compared in a worker. Raise OutOfTimeError or OutOfMemoryError if that does not suffice.
        """
        request, part, steps = step
        here = seconds - self._workers.cpu_seconds + SECONDS_HERE
        if comparing.size_of(request, part) < LARGE and here > 0:
            with suppress(OutOfTimeError):
                result, taken = cpu_time.call(here, self._comparer.compare, request, part, min(_FEW_STEPS, steps))
                if result.findings.too_complex is None or steps <= _FEW_STEPS:
                    return result, taken
        compare = comparing.compare
        return await self._workers.call(namespace, compare, request, part, steps, cpu_seconds=max(seconds, 0.001))

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
                Reason.CHECKER_TIMEOUT, f"{message}; the operator tries again later", _AFTER_TIMEOUT
            ) from None

    async def risks(
        self, verdict: Verdict, history: History, strategy: Strategy | None, policy: Policy
    ) -> tuple[Incompatibility, ...]:
        """Return the risks for consumers of the stored version that has the verdict's number.

        After an equal version, the verdict itself compares no more. So the version is compared again with the
        `_RISK_SPAN` versions before it. The result depends on the history and the policy only.
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
            schema = await self.versions.version(history, entry, policy.profile.pulsar_version)
            candidate = Candidate(schema, TopicChoices(strategy))
            findings = await self._risks_after(candidate, replace(history, entries=earlier), policy)
            self._risks.put(key, findings, _BYTES_PER_FINDING * (1 + len(findings)))
        return tuple(dict.fromkeys((*verdict.risks, *findings)))

    async def _risks_after(self, candidate: Candidate, history: History, policy: Policy) -> tuple[Incompatibility, ...]:
        """Return the risks of the versions that the strategy compares. Custom checkers report no risks."""
        earlier = verdict.earlier_versions(candidate, history, policy, is_deduplicated=False)
        optional = [each._replace(is_required=False) for each in earlier]
        request = ComparisonRequest(
            candidate.schema.info,
            policy.profile.pulsar_version,
            effective_strategy(policy, candidate.strategy).value,
        )
        steps = comparison.compare_all(request, optional)
        findings = await self._run(steps, history, _key(candidate, policy, history))
        return (*compatibility.listed(findings.risks), *((findings.too_complex,) if findings.too_complex else ()))


def _namespace(spec: TopicSchemaSpec) -> str:
    return Topic.parse(spec.topic).pulsar_namespace


def _key(candidate: Candidate, policy: Policy, history: History, pending: Schema | None = None) -> str:
    """Return a digest of the inputs of a comparison."""
    strategy, active = effective_strategy(policy, candidate.strategy).value, history.active_versions
    texts = [candidate.schema.info.content_hash, policy.profile.pulsar_version, strategy]
    texts += [str(history.key), str(history.incarnation), str(len(active)), str(len(history.deleted))]
    texts += [str(each.identity) for each in (*active[:1], *active[-1:])]
    texts += [pending.info.content_hash] if pending else []
    return digest("\n".join(texts).encode())


def _too_complex(part: Sequence[Earlier], why: str) -> Incompatibility:
    if not part:
        return Incompatibility(compatibility.TOO_COMPLEX, "$", f"reading the schema {why}")
    return compatibility.too_complex(part[0].with_schema(None), why)
