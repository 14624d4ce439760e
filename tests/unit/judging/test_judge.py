"""Judging with its reads: parts, workers, caches, and the risks of stored versions."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from typing_extensions import override

from hostile.costly import FAMILIES
from support import judged
from support.kubernetes.memory_storage import MemoryStorage
from support.schemas.recorded_versions import ID, KEY, NARROW, NOTE, WIDE, card, on_record, schema
from support.turns import counted
from topicschema.cluster.errors import ConflictError
from topicschema.core import comparison, formats
from topicschema.core.comparison import ComparisonRequest, ComparisonResult, Earlier, Findings
from topicschema.core.compatibility import TOO_COMPLEX
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.history import History, Origin, VersionEntry
from topicschema.core.policy import BrokerProfile, Constraints, Policy, Strictness, effective_strategy
from topicschema.core.schemas import PulsarVersion, ReadSchema, Schema, SchemaInfo, SchemaType
from topicschema.core.steps import MOST_STEPS
from topicschema.core.strategies import Strategy
from topicschema.core.topics import TopicKey
from topicschema.core.verdict import Candidate, Outcome, Verdict
from topicschema.judging import comparing
from topicschema.judging.cpu_time import OutOfTimeError
from topicschema.judging.judge import Judge
from topicschema.judging.workers import WorkerOutOfMemoryError, Workers
from topicschema.storage.protocol import Stored
from unit.judging.conftest import JudgeOf

TIME = "2026-11-21T05:30:00Z"
DOC = "d" * 300_000
NAMESPACE = KEY.topic.pulsar_namespace
V4_0 = PulsarVersion.V4_0
BACKWARD, TRANSITIVE = Policy(Strategy.BACKWARD), Policy(Strategy.BACKWARD_TRANSITIVE)


def optional(number: int) -> dict[str, object]:
    return {"name": f"f{number}", "type": "string", "default": ""}


class CountingStorage(MemoryStorage):
    """Storage that counts its reads, `most` at once, and returns a damaged text of the version `damaged`."""

    reads = running = most = 0
    damaged = -1

    @override
    async def get(self, key: TopicKey, incarnation: int, entry: VersionEntry) -> SchemaInfo:
        self.reads += 1
        self.running += 1
        self.most = max(self.most, self.running)
        for _ in range(3):
            await asyncio.sleep(0)
        self.running -= 1
        info = await super().get(key, incarnation, entry)
        return SchemaInfo(info.type, b"{") if entry.schema_version == self.damaged else info


async def counting(*schemas: Schema) -> tuple[CountingStorage, History]:
    storage, history = CountingStorage(), History(KEY)
    for each in schemas:
        history = history.with_version(each, Origin.SPEC, TIME).parsed_by(PulsarVersion.V4_1)
    await storage.put(Stored(History(KEY)), history, [each.info for each in schemas])
    return storage, history


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Earlier]]:
    """Return the parts that workers compared."""
    compared: list[Sequence[Earlier]] = []
    call = Workers.call

    async def recording_call(
        self: Workers, namespace: str, function: Callable[..., Any], *arguments: Any, **options: Any
    ) -> Any:
        if function is comparing.compare:
            compared.append(arguments[1])
        return await call(self, namespace, function, *arguments, **options)

    monkeypatch.setattr(Workers, "call", recording_call)
    return compared


async def test_a_parsed_schema_is_cached_for_later_versions(judge_of: JudgeOf) -> None:
    storage, history = await on_record(schema(ID), schema(ID, NOTE))
    judge = judge_of(storage)
    first = await judge.versions.version(history, history.entries[0], V4_0)
    candidate = await judge.versions.parse(NAMESPACE, schema(ID, NOTE).info, V4_0)
    await storage.delete(await storage.get_history(KEY))
    assert await judge.versions.version(history, history.entries[0], V4_0) is first
    assert await judge.versions.version(history, history.entries[1], V4_0) is candidate


async def test_the_cache_is_bounded_and_drops_the_least_used(judge_of: JudgeOf) -> None:
    texts = [schema(ID, doc=f"{number}" * 1_000).info for number in range(3)]
    weight = comparing._BYTES_PER_BYTE * len(texts[0].schema) + comparing._BYTES_PER_SCHEMA
    judge = judge_of(cache_bytes=2 * weight + 100)
    cached = [await judge.versions.parse(NAMESPACE, text, V4_0) for text in texts[:2]]
    assert await judge.versions.parse(NAMESPACE, texts[0], V4_0) is cached[0]
    await judge.versions.parse(NAMESPACE, texts[2], V4_0)
    assert await judge.versions.parse(NAMESPACE, texts[0], V4_0) is cached[0]
    assert await judge.versions.parse(NAMESPACE, texts[1], V4_0) is not cached[1]
    small = judge_of(cache_bytes=1_000)
    assert await small.versions.parse(NAMESPACE, texts[0], V4_0) is not await small.versions.parse(
        NAMESPACE, texts[0], V4_0
    )


async def test_other_properties_are_another_candidate(judge_of: JudgeOf) -> None:
    judge, text = judge_of(), schema(ID).info.schema
    for owner in ("a", "b"):
        parsed = await judge.versions.parse(NAMESPACE, SchemaInfo(SchemaType.AVRO, text, {"owner": owner}), V4_0)
        assert parsed.info.properties == {"owner": owner}


async def test_a_large_text_leaves_the_event_loop_free(judge_of: JudgeOf) -> None:
    fields = [{"name": f"f{number}", "type": "string"} for number in range(20_000)]
    large = SchemaInfo(SchemaType.AVRO, json.dumps({"type": "record", "name": "R", "fields": fields}).encode())
    async with counted() as turns:
        read = await (judge := judge_of()).versions.parse(NAMESPACE, large, V4_0)
    assert turns.count > 10
    assert read == ReadSchema(large, read.fingerprint)
    assert await judge.versions.parse(NAMESPACE, large, V4_0) is read


@pytest.mark.parametrize("other", [0, 99, 100, 249])
@pytest.mark.parametrize("strictness", Strictness)
async def test_the_verdict_on_parts_is_that_on_all_versions_at_once(
    other: int, strictness: Strictness, compared: list[Sequence[Earlier]], judge_of: JudgeOf
) -> None:
    schemas = [schema(ID, optional(number), doc="d" * 2_000) for number in range(250)]
    schemas[other] = WIDE
    storage, history = await on_record(*schemas)
    candidate, policy = Candidate(NARROW), Policy(Strategy.FULL_TRANSITIVE, strictness)
    verdict = await judge_of(storage).judge(candidate, history, policy)
    assert verdict == judged.judge(candidate, history, policy, dict(enumerate(schemas)))
    assert [len(part) for part in compared] == [100, 100, 50]


@pytest.mark.parametrize(("size", "parts_of_workers"), [(4, 0), (40, 1)])
async def test_a_small_comparison_runs_here_unless_it_takes_many_steps(
    size: int, parts_of_workers: int, compared: list[Sequence[Earlier]], judge_of: JudgeOf
) -> None:
    earlier, candidate = (formats.parse(FAMILIES["full"](size, version)) for version in range(2))
    storage, history = await on_record(earlier)
    async with counted() as turns:
        verdict = await judge_of(storage).judge(Candidate(candidate), history, TRANSITIVE)
    assert verdict == judged.judge(Candidate(candidate), history, TRANSITIVE, {0: earlier})
    assert len(compared) == parts_of_workers
    assert parts_of_workers == 0 or turns.count > 10


async def test_large_versions_are_in_memory_in_parts(compared: list[Sequence[Earlier]], judge_of: JudgeOf) -> None:
    schemas = [schema(ID, optional(number), doc=DOC) for number in range(10)]
    storage, history = await on_record(*schemas)
    verdict = await judge_of(storage).judge(Candidate(schema(ID, doc=DOC)), history, TRANSITIVE)
    assert verdict.outcome is Outcome.NEXT_VERSION
    sizes = [sum(len(each.info.schema) for each in part if each.info) for part in compared]
    assert len(sizes) == 3
    assert max(sizes) < comparison.MOST_BYTES + len(schemas[0].info.schema)


async def test_payloads_are_read_in_parallel_each_once_and_not_all_at_once(judge_of: JudgeOf) -> None:
    storage, history = await counting(*(schema(ID, optional(number)) for number in range(40)))
    assert (await judge_of(storage).judge(Candidate(schema(ID)), history, TRANSITIVE)).is_compatible
    assert storage.reads == 40
    assert 1 < storage.most < 40


async def test_an_unreadable_version_of_a_later_part_refuses_the_candidate(judge_of: JudgeOf) -> None:
    storage, history = await counting(*(schema(ID, optional(number)) for number in range(150)))
    storage.damaged = 7
    (finding,) = (await judge_of(storage).judge(Candidate(schema(ID)), history, TRANSITIVE)).incompatibilities
    assert (finding.rule, finding.schema_version) == ("INVALID_HISTORY", 7)


async def test_the_versions_of_all_parts_share_the_steps(monkeypatch: pytest.MonkeyPatch, judge_of: JudgeOf) -> None:
    monkeypatch.setattr("topicschema.core.comparison.MOST_VERSIONS", 1)
    *earlier, candidate = (formats.parse(FAMILIES["full"](12, version)) for version in range(4))
    storage, history = await on_record(*earlier)
    newest = Earlier(history.entries[-1], candidate.info.type, info=earlier[-1].info)
    request = ComparisonRequest(candidate.info, V4_0, TRANSITIVE.strategy)
    one = comparison.compare(request, [newest], MOST_STEPS).findings.steps
    monkeypatch.setattr("topicschema.core.comparison.MOST_STEPS", one + one // 2)
    findings = (await judge_of(storage).judge(Candidate(candidate), history, TRANSITIVE)).incompatibilities
    assert [(each.rule, each.schema_version) for each in findings] == [(TOO_COMPLEX, 1)]


async def test_a_comparison_that_takes_too_much_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch, judge_of: JudgeOf
) -> None:
    candidate = schema(ID, NOTE, doc=DOC)
    storage, history = await on_record(schema(ID, doc=DOC))
    judge = judge_of(storage)

    async def out_of_memory(*_: Any, **__: Any) -> Any:
        raise WorkerOutOfMemoryError

    monkeypatch.setattr(judge._workers, "call", out_of_memory)
    (finding,) = (await judge.judge(Candidate(candidate), history, TRANSITIVE)).incompatibilities
    assert (finding.rule, finding.schema_version) == (TOO_COMPLEX, 0)
    assert finding.message.startswith("comparing takes more than 256 MiB of memory and was given up at version 0")
    with pytest.raises(InvalidSchemaError, match="reading the schema takes more than 256 MiB of memory") as invalid:
        await judge.versions.parse(NAMESPACE, candidate.info, V4_0)
    assert invalid.value.rule == TOO_COMPLEX


def costly(size: int) -> tuple[Schema, Schema]:
    """Return schemas whose comparison takes far more than the milliseconds that these tests allow."""
    earlier, candidate = (formats.parse(FAMILIES["full"](size, version)) for version in range(2))
    return earlier, candidate


@pytest.mark.parametrize("size", [40, 120], ids=["small", "large"])
async def test_a_comparison_that_takes_too_much_cpu_time_is_refused_and_not_tried_again(
    size: int, compared: list[Sequence[Earlier]], judge_of: JudgeOf
) -> None:
    earlier, candidate = costly(size)
    storage, history = await on_record(earlier)
    judge = judge_of(storage, cpu_seconds=0.004)
    for _ in range(2):
        (finding,) = (await judge.judge(Candidate(candidate), history, TRANSITIVE)).incompatibilities
        assert (finding.rule, finding.schema_version) == (TOO_COMPLEX, 0)
        assert finding.message.startswith("comparing takes more than 0.004 seconds of CPU time and was given up")
    assert len(compared) == 1
    pending = (await judge.compare(Candidate(candidate), earlier, History(KEY), TRANSITIVE)).incompatibilities
    assert [(each.rule, each.schema_version) for each in pending] == [(TOO_COMPLEX, None)]
    assert len(compared) == 2


async def test_the_versions_of_all_parts_share_the_cpu_time(monkeypatch: pytest.MonkeyPatch, judge_of: JudgeOf) -> None:
    storage, history = await on_record(*(schema(ID, optional(number), doc=DOC) for number in range(10)))
    judge, left = judge_of(storage), list[float]()

    async def compare_part(*arguments: Any) -> tuple[ComparisonResult, float]:
        left.append(arguments[-1])
        return ComparisonResult(Findings(), {}), 2.0

    monkeypatch.setattr(judge, "_compare_part", compare_part)
    await judge.judge(Candidate(schema(ID, doc=DOC)), history, TRANSITIVE)
    assert left == [5.0, 3.0, 1.0]


async def test_a_later_part_that_takes_too_much_cpu_time_is_the_only_finding_each_time(
    monkeypatch: pytest.MonkeyPatch, judge_of: JudgeOf
) -> None:
    storage, history = await on_record(*(schema(ID, optional(number), doc=DOC) for number in range(10)))
    judge, compare_part, parts = judge_of(storage), Judge._compare_part, list[object]()

    async def out_of_time(*arguments: Any) -> tuple[ComparisonResult, float]:
        parts.append(arguments)
        if len(parts) > 1:
            raise OutOfTimeError(5.0)
        return await compare_part(judge, *arguments)

    monkeypatch.setattr(judge, "_compare_part", out_of_time)
    for _ in range(2):
        findings = (await judge.judge(Candidate(schema(ID, NOTE, doc=DOC)), history, TRANSITIVE)).incompatibilities
        assert [each.rule for each in findings] == [TOO_COMPLEX]
    assert len(parts) == 2


async def test_a_schema_that_takes_too_much_cpu_time_is_refused_and_not_tried_again(judge_of: JudgeOf) -> None:
    judge, calls = judge_of(cpu_seconds=0.004), list[object]()
    large = SchemaInfo(SchemaType.AVRO, FAMILIES["many_fields"](20_000, 0).schema)
    call = judge._workers.call

    async def counted_call(*arguments: Any) -> Any:
        calls.append(arguments)
        return await call(*arguments)

    judge._workers.call = counted_call
    for _ in range(2):
        with pytest.raises(InvalidSchemaError, match=r"reading the schema takes more than 0\.004 seconds") as invalid:
            await judge.versions.parse(NAMESPACE, large, V4_0)
        assert invalid.value.rule == TOO_COMPLEX
    assert len(calls) == 1


def pair_of(kind: SchemaType) -> Schema:
    text = schema(ID, doc=DOC).info.schema
    halves = len(text).to_bytes(4, "big") + text + len(b"").to_bytes(4, "big")
    properties = {"key.schema.type": kind.value, "value.schema.type": "STRING", "kv.encoding.type": "INLINE"}
    return formats.parse(SchemaInfo(SchemaType.KEY_VALUE, halves, properties))


async def test_an_equal_pair_with_other_properties_is_compared_by_a_worker(
    compared: list[Sequence[Earlier]], judge_of: JudgeOf
) -> None:
    before, after = pair_of(SchemaType.AVRO), pair_of(SchemaType.JSON)
    storage, history = await on_record(before)
    verdict = await judge_of(storage).judge(Candidate(after), history, TRANSITIVE)
    assert verdict == judged.judge(Candidate(after), history, TRANSITIVE, {0: before})
    assert (verdict.outcome, [each.rule for each in verdict.risks]) == (Outcome.EQUAL_VERSION, ["PART_TYPE_CHANGED"])
    assert len(compared) == 1


async def test_a_pending_edit_is_compared_by_a_worker(compared: list[Sequence[Earlier]], judge_of: JudgeOf) -> None:
    before, after = schema(ID, doc=DOC), schema(ID, NOTE, doc=DOC)
    verdict = await judge_of().compare(Candidate(after), before, History(KEY), TRANSITIVE)
    assert [(each.rule, each.schema_version) for each in verdict.incompatibilities] == [("FIELD_WITHOUT_DEFAULT", None)]
    assert len(compared) == 1


async def test_a_large_schema_that_a_worker_reads_has_its_notes(
    compared: list[Sequence[Earlier]], judge_of: JudgeOf
) -> None:
    doubles = {"name": "d", "type": {"type": "array", "items": "double"}}
    judge, policy = judge_of(), Policy(Strategy.BACKWARD, profile=BrokerProfile(PulsarVersion.V4_1))
    candidate = await judge.versions.parse(NAMESPACE, schema(ID, doubles, doc=DOC).info, PulsarVersion.V4_1)
    verdict = await judge.judge(Candidate(candidate), History(KEY), policy)
    assert [each.rule for each in verdict.notes] == ["ARRAY_OF_DOUBLES_AS_FLOATS"]
    assert len(compared) == 1


async def risks(judge: Judge, candidate: Schema, history: History, policy: Policy) -> list[str]:
    """Return the rules of the risks that a status reports after this candidate was judged."""
    judged = await judge.judge(Candidate(candidate), history, policy)
    return [risk.rule for risk in await judge.risks(judged, history, None, policy)]


@pytest.mark.parametrize("strictness", Strictness)
async def test_the_risks_of_a_version_stay_the_same_after_it_was_registered(
    strictness: Strictness, judge_of: JudgeOf
) -> None:
    storage, history = await on_record(WIDE, NARROW, card("NONE"))
    policy = Policy(Strategy.BACKWARD, strictness)
    for judge in (judge_of(storage), judge_of(storage)):
        assert await risks(judge, NARROW, history, policy) == ["ENUM_SYMBOL_REPLACED"]
        assert await risks(judge, WIDE, history, policy) == []
    deleted = replace(history, entries=(replace(history.entries[0], is_tombstone=True), *history.entries[1:]))
    assert await risks(judge, NARROW, deleted, policy) == []


async def test_risks_are_cached_by_versions_and_policy(judge_of: JudgeOf) -> None:
    storage, history = await on_record(WIDE, NARROW)
    judge = judge_of(storage, cache_bytes=1)
    assert await risks(judge, NARROW, history, BACKWARD) == ["ENUM_SYMBOL_REPLACED"]
    await storage.delete(await storage.get_history(KEY))
    assert await risks(judge, NARROW, history, BACKWARD) == ["ENUM_SYMBOL_REPLACED"]
    with pytest.raises(ConflictError):
        await risks(judge, NARROW, history, Policy(Strategy.FORWARD))


@pytest.mark.parametrize(("policy", "reads"), [(BACKWARD, 2), (TRANSITIVE, 31)])
async def test_after_a_restart_risks_read_what_the_strategy_compares(
    policy: Policy, reads: int, judge_of: JudgeOf
) -> None:
    storage, history = await counting(*(schema(optional(number)) for number in range(31)))
    latest = Verdict(Outcome.EQUAL_VERSION, effective_strategy(policy, None), 30)
    await judge_of(storage).risks(latest, history, None, policy)
    assert storage.reads == reads


async def test_a_refused_candidate_has_the_risks_of_its_verdict(judge_of: JudgeOf) -> None:
    storage, history = await on_record(WIDE)
    policy = Policy(Strategy.BACKWARD, constraints=Constraints(allowed_types=(SchemaType.JSON,)))
    assert await risks(judge_of(storage), NARROW, history, policy) == []
