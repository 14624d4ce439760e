"""The check of the newest version after a policy changed: its result, its reads, and its turns."""

import pytest
from typing_extensions import override

from support.kubernetes.memory_storage import MemoryStorage
from support.schemas.examples import record
from support.schemas.recorded_versions import ID, KEY, NOTE, on_record, schema
from support.turns import counted
from topicschema.core import formats
from topicschema.core.history import History, Origin
from topicschema.core.policy import Policy, Strictness
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Candidate, Verdict
from topicschema.judging import recheck
from topicschema.judging.judge import Judge
from topicschema.judging.recheck import Recheck
from topicschema.storage.protocol import Stored
from unit.judging.conftest import JudgeOf

BACKWARD, TRANSITIVE = Policy(Strategy.BACKWARD), Policy(Strategy.BACKWARD_TRANSITIVE)
STRICT = Policy(Strategy.BACKWARD, Strictness.STRICT)
EMPTY_PAIR = formats.parse(SchemaInfo(SchemaType.KEY_VALUE, b"\0" * 8))
TWO = [schema(ID), schema(ID, NOTE)]


class CountingJudge(Judge):
    """Judge that counts the versions that candidates are compared with, in total and at most at once."""

    compared = 0
    largest = 0

    @override
    async def judge(self, candidate: Candidate, history: History, policy: Policy) -> Verdict:
        self.compared += len(history.entries)
        self.largest = max(self.largest, len(history.entries))
        return await super().judge(candidate, history, policy)


def versions(count: int, doc: str = "") -> list[Schema]:
    return [record(f"f{number}?", doc=doc) for number in range(count)]


@pytest.mark.parametrize(
    ("schemas", "strategy", "policy", "rules"),
    [
        (TWO, None, BACKWARD, [("FIELD_WITHOUT_DEFAULT", 0)]),
        (TWO, None, Policy(Strategy.FORWARD), []),
        (TWO, Strategy.FORWARD, BACKWARD, []),
        (TWO[:1], None, Policy(Strategy.ALWAYS_INCOMPATIBLE), []),
        ([], None, Policy(Strategy.ALWAYS_INCOMPATIBLE), []),
        ([EMPTY_PAIR], None, BACKWARD, []),
        ([EMPTY_PAIR], None, STRICT, [("PART_TYPE_MISSING", None), ("PART_TYPE_MISSING", None)]),
    ],
)
async def test_the_newest_version_is_compared_with_those_before_it(
    schemas: list[Schema],
    strategy: Strategy | None,
    policy: Policy,
    rules: list[tuple[str, int | None]],
    judge_of: JudgeOf,
) -> None:
    storage, history = await on_record(*schemas)
    findings = await Recheck(judge_of(storage)).newest(history, strategy, policy)
    assert findings is not None
    assert [(each.rule, each.schema_version) for each in findings] == rules


async def test_a_first_version_that_another_line_cannot_read_is_reported(judge_of: JudgeOf) -> None:
    dollar = SchemaInfo(SchemaType.AVRO, b'{"type": "record", "name": "R$", "fields": []}')
    parsed = formats.parse(dollar, PulsarVersion.V4_1)
    history = History(KEY).with_version(parsed, Origin.SPEC, "2026-11-21T05:30:00Z").parsed_by(PulsarVersion.V4_1)
    storage = MemoryStorage()
    await storage.put(Stored(History(KEY)), history, (dollar,))
    (finding,) = await Recheck(judge_of(storage)).newest(history, None, BACKWARD) or ()
    assert (finding.rule, finding.schema_version) == ("INVALID_HISTORY", 0)
    assert "registered under Pulsar 4.1" in finding.message


@pytest.mark.parametrize("other", [0, 1, 15, 16, 17, 39, 40])
async def test_the_reason_is_the_first_that_the_whole_comparison_gives(other: int, judge_of: JudgeOf) -> None:
    schemas = versions(42)
    schemas[-1] = incompatible = record("id", "f1?")
    schemas[other] = record("another")
    storage, history = await on_record(*schemas)
    before = History(history.key, entries=history.entries[:-1])
    whole = await judge_of(storage).judge(Candidate(incompatible), before, TRANSITIVE)
    findings = await Recheck(judge_of(storage)).newest(history, None, TRANSITIVE)
    assert findings
    assert findings[0] == whole.incompatibilities[0]


@pytest.mark.parametrize(("count", "doc", "largest"), [(60, "", recheck._PART_VERSIONS), (10, "d" * 100_000, 3)])
async def test_each_earlier_version_is_compared_once_and_few_at_a_time(count: int, doc: str, largest: int) -> None:
    storage, history = await on_record(*versions(count, doc))
    judge = CountingJudge(storage)
    assert await Recheck(judge).newest(history, None, TRANSITIVE) == ()
    assert (judge.compared, judge.largest) == (count - 1, largest)
    judge.close()


async def test_other_tasks_run_between_two_parts(judge_of: JudgeOf) -> None:
    storage, history = await on_record(*versions(400))
    async with counted() as turns:
        assert await Recheck(judge_of(storage)).newest(history, None, TRANSITIVE) == ()
    assert turns.count >= 399 + 399 // recheck._PART_VERSIONS


async def test_limits_of_versions_and_of_bytes_end_the_check(judge_of: JudgeOf) -> None:
    storage, history = await on_record(*versions(10, doc="d" * 1_000))
    judge = judge_of(storage)
    assert await Recheck(judge, 9).newest(history, None, TRANSITIVE) == ()
    assert await Recheck(judge, 8).newest(history, None, TRANSITIVE) is None
    check = Recheck(judge, most_bytes=12_000)
    assert await check.newest(history, None, TRANSITIVE) == ()
    assert await check.newest(history, None, TRANSITIVE) is None
