"""The risks of a version on record: told anew, of the same versions, with few reads."""

from dataclasses import replace
from typing import Any

import pytest

from support.kubernetes.memory_storage import MemoryStorage
from support.schemas.recorded_versions import KEY, NARROW, WIDE, card, on_record, schema
from topicschema.cluster.errors import ConflictError
from topicschema.core.history import History, Origin
from topicschema.core.policy import Constraints, Policy, Strictness, effective_strategy
from topicschema.core.schemas import PulsarLine, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Candidate, Outcome, Verdict
from topicschema.judging.judge import Judge
from topicschema.storage.protocol import Stored


async def told(judge: Judge, candidate: Schema, history: History, policy: Policy) -> list[str]:
    verdict = await judge.judge(Candidate(candidate), history, policy)
    return [risk.rule for risk in await judge.risks(verdict, history, None, policy)]


@pytest.mark.parametrize("strictness", Strictness)
async def test_the_risks_of_a_version_stay_the_same_after_it_was_registered(strictness: Strictness) -> None:
    storage, history = await on_record(WIDE, NARROW)
    judge = Judge(storage)
    policy = Policy(Strategy.BACKWARD, strictness)
    assert await told(judge, NARROW, history, policy) == ["ENUM_SYMBOL_REPLACED"]
    assert await told(Judge(storage), NARROW, history, policy) == ["ENUM_SYMBOL_REPLACED"]
    assert await told(judge, WIDE, history, policy) == []
    judge.close()


async def test_what_came_later_and_what_was_deleted_is_no_matter_of_a_version_s_risks() -> None:
    storage, history = await on_record(WIDE, NARROW, card("NONE"))
    judge = Judge(storage)
    deleted = replace(history, entries=(replace(history.entries[0], is_tombstone=True), *history.entries[1:]))
    assert await told(judge, NARROW, history, Policy(Strategy.BACKWARD)) == ["ENUM_SYMBOL_REPLACED"]
    assert await told(judge, NARROW, deleted, Policy(Strategy.BACKWARD)) == []
    judge.close()


async def test_risks_are_read_once_and_then_remembered_by_what_decides_about_them() -> None:
    storage, history = await on_record(WIDE, NARROW)
    judge = Judge(storage, cache_bytes=1)
    backward, forward = Policy(Strategy.BACKWARD), Policy(Strategy.FORWARD)
    assert await told(judge, NARROW, history, backward) == ["ENUM_SYMBOL_REPLACED"]
    await storage.delete(await storage.get_history(KEY))
    assert await told(judge, NARROW, history, backward) == ["ENUM_SYMBOL_REPLACED"]
    with pytest.raises(ConflictError):
        await told(judge, NARROW, history, forward)
    judge.close()


class CountingStorage(MemoryStorage):
    """Counts the payloads that are read."""

    reads = 0

    async def get(self, *asked: Any) -> SchemaInfo:
        self.reads += 1
        return await super().get(*asked)


@pytest.mark.parametrize(("strategy", "reads"), [(Strategy.BACKWARD, 2), (Strategy.BACKWARD_TRANSITIVE, 31)])
async def test_after_a_restart_risks_read_what_the_strategy_compares(strategy: Strategy, reads: int) -> None:
    storage, stored = CountingStorage(), Stored(History(KEY))
    for number in range(31):
        each = schema({"name": f"f{number}", "type": "string", "default": ""})
        history = stored.history.with_version(each, Origin.SPEC, "2026-11-21T05:30:00Z").parsed_by(PulsarLine.V4_1)
        stored = await storage.put(stored, history, (each.info,))
    judge = Judge(storage)
    policy = Policy(strategy)
    latest = Verdict(Outcome.EQUAL_VERSION, effective_strategy(policy, None), 30)
    await judge.risks(latest, stored.history, None, policy)
    assert storage.reads == reads
    judge.close()


async def test_the_risks_of_what_was_refused_are_those_of_its_verdict() -> None:
    storage, history = await on_record(WIDE)
    judge = Judge(storage)
    policy = Policy(Strategy.BACKWARD, constraints=Constraints(allowed_types=(SchemaType.JSON,)))
    assert await told(judge, NARROW, history, policy) == []
    judge.close()
