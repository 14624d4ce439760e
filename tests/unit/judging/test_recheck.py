"""The check of the newest version after a policy changed: what it finds, what it reads, and who runs meanwhile."""

import pytest

from support.schemas.examples import record
from support.schemas.recorded_versions import on_record
from support.turns import counted
from topicschema.core.history import History
from topicschema.core.policy import Policy
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Candidate, Verdict
from topicschema.judging import recheck
from topicschema.judging.judge import Judge
from topicschema.judging.recheck import Recheck

TRANSITIVE = Policy(Strategy.BACKWARD_TRANSITIVE)


class CountingJudge(Judge):
    """Counts the versions that candidates are compared with, in all and at most at once."""

    compared = 0
    largest = 0

    async def judge(self, candidate: Candidate, history: History, policy: Policy) -> Verdict:
        self.compared += len(history.entries)
        self.largest = max(self.largest, len(history.entries))
        return await super().judge(candidate, history, policy)


def versions(count: int) -> list[str]:
    return [f"f{number}?" for number in range(count)]


@pytest.mark.parametrize("other", [0, 1, 15, 16, 17, 39, 40])
async def test_the_reason_is_the_first_that_the_whole_comparison_gives(other: int) -> None:
    schemas = [record(name) for name in versions(42)]
    incompatible = record("id", "f1?")
    schemas[-1] = incompatible
    schemas[other] = record("another")
    storage, history = await on_record(*schemas)
    judge = Judge(storage)
    before = History(history.key, entries=history.entries[:-1])
    whole = await judge.judge(Candidate(incompatible), before, TRANSITIVE)
    found = await Recheck(judge).newest(history, None, TRANSITIVE)
    assert found
    assert found[0] == whole.incompatibilities[0]
    judge.close()


async def test_the_newest_version_is_compared_with_each_version_before_it_once_and_with_few_at_a_time() -> None:
    storage, history = await on_record(*map(record, versions(60)))
    judge = CountingJudge(storage)
    assert await Recheck(judge).newest(history, None, TRANSITIVE) == ()
    assert judge.compared == 59
    assert judge.largest == recheck._PART_VERSIONS
    judge.close()


async def test_others_have_turns_between_two_parts() -> None:
    storage, history = await on_record(*map(record, versions(400)))
    judge = Judge(storage)
    async with counted() as turns:
        assert await Recheck(judge).newest(history, None, TRANSITIVE) == ()
    assert turns.count >= 399 + 399 // recheck._PART_VERSIONS
    judge.close()


@pytest.mark.parametrize(("most", "found"), [(9, ()), (8, None)])
async def test_a_limit_of_versions_ends_the_check_before_they_are_read(most: int, found: tuple[()] | None) -> None:
    storage, history = await on_record(*map(record, versions(10)))
    judge = Judge(storage)
    assert await Recheck(judge, most).newest(history, None, TRANSITIVE) == found
    judge.close()


async def test_a_limit_of_bytes_ends_the_check() -> None:
    storage, history = await on_record(*(record(name, doc="d" * 1_000) for name in versions(10)))
    judge = Judge(storage)
    check = Recheck(judge, most_bytes=12_000)
    assert await check.newest(history, None, TRANSITIVE) == ()
    assert await check.newest(history, None, TRANSITIVE) is None
    judge.close()


async def test_parts_are_small_where_schemas_are_large() -> None:
    storage, history = await on_record(*(record(name, doc="d" * 100_000) for name in versions(10)))
    judge = CountingJudge(storage)
    assert await Recheck(judge).newest(history, None, TRANSITIVE) == ()
    assert (judge.compared, judge.largest) == (9, 3)
    judge.close()
