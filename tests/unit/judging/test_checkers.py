"""Checkers that are plugged in: the versions that they get, and those that hang."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from support.schemas.recorded_versions import ID, KEY, NARROW, NOTE, WIDE, on_record, schema
from topicschema.core import formats
from topicschema.core.checkers import CustomChecker, Finding
from topicschema.core.history import History, Origin
from topicschema.core.policy import Policy, effective_strategy
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Candidate, Outcome, Verdict
from topicschema.judging.judge import CheckerTimeoutError, Judge
from topicschema.storage.protocol import SchemaStorage, Stored
from unit.judging.conftest import JudgeOf


class Refusing:
    def incompatibilities(self, *_: object) -> list[Finding]:
        return [Finding("NO", "no")]


class Hanging:
    def __init__(self) -> None:
        self.released = threading.Event()

    def incompatibilities(self, *_: object) -> list[Finding]:
        self.released.wait(60)
        return []


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    """Yield a checker that hangs until the test ends."""
    checker = Hanging()
    yield checker
    checker.released.set()


def with_checker(judge_of: JudgeOf, storage: SchemaStorage, checker: Any, kind: SchemaType = SchemaType.AVRO) -> Judge:
    return judge_of(storage, checkers={kind: CustomChecker("acme", checker)}, checker_timeout=0.05)


async def test_a_plugged_in_checker_checks_versions_and_pending_edits(judge_of: JudgeOf) -> None:
    storage, history = await on_record(schema(ID))
    judge = judge_of(storage, checkers={SchemaType.AVRO: CustomChecker("acme", Refusing())})
    candidate, policy = schema(ID, NOTE), Policy(Strategy.FORWARD)
    verdict = await judge.judge(Candidate(candidate), history, policy)
    assert [each.rule for each in verdict.incompatibilities] == ["NO"]
    compared = await judge.compare(Candidate(candidate), schema(ID), history, policy)
    assert [each.rule for each in compared.incompatibilities] == ["NO"]


class Counting:
    """A checker that refuses the last version, with the number of versions that it got."""

    def incompatibilities(self, _: object, earlier: Sequence[SchemaInfo], *__: object) -> list[Finding]:
        return [Finding(f"GOT_{len(earlier)}", "no", earlier=len(earlier) - 1)]


@pytest.mark.parametrize(("strategy", "count"), [(Strategy.FORWARD, 1), (Strategy.FORWARD_TRANSITIVE, 3)])
async def test_a_checker_gets_a_pending_edit_as_it_will_once_it_is_registered(
    strategy: Strategy, count: int, judge_of: JudgeOf
) -> None:
    total = {"name": "total", "type": "long"}
    first, second, pending = schema(ID), schema(ID, NOTE), schema(ID, NOTE, total)
    storage, history = await on_record(first, second)
    judge = judge_of(storage, checkers={SchemaType.AVRO: CustomChecker("acme", Counting())})
    candidate, policy = Candidate(schema(ID, total)), Policy(strategy)
    before = (await judge.compare(candidate, pending, history, policy)).incompatibilities
    assert [(each.rule, each.schema_version) for each in before] == [(f"GOT_{count}", None)]
    registered = history.with_version(pending, Origin.SPEC, "2026-11-21T05:30:00Z")
    await storage.put(Stored(history, (await storage.get_history(KEY)).revision), registered, (pending.info,))
    after = (await judge.judge(candidate, registered, policy)).incompatibilities
    assert [(each.rule, each.schema_version) for each in after] == [(f"GOT_{count}", 2)]


async def test_a_checker_that_hangs_is_an_error_and_delays_no_other_call(judge_of: JudgeOf, hanging: Hanging) -> None:
    storage, history = await on_record(schema(ID))
    judge = with_checker(judge_of, storage, hanging)
    with pytest.raises(CheckerTimeoutError) as raised:
        await judge.judge(Candidate(schema(ID, NOTE)), history, Policy(Strategy.FORWARD))
    assert raised.value.reason == "CheckerTimeout"
    assert "the plugged-in checkers (acme) did not answer within" in raised.value.message
    assert (await judge.versions.parse("shop/orders", schema(ID).info, PulsarVersion.V4_0)).info == schema(ID).info


async def test_checkers_that_hang_for_ever_delay_no_other_type(judge_of: JudgeOf, hanging: Hanging) -> None:
    storage, history = await on_record(schema(ID))
    judge = with_checker(judge_of, storage, hanging, SchemaType.PROTOBUF)
    one, two = (formats.parse(replace(each.info, type=SchemaType.PROTOBUF)) for each in (schema(ID), schema(ID, NOTE)))
    for _ in range(3):
        with pytest.raises(CheckerTimeoutError, match="plugged-in"):
            await judge.compare(Candidate(two), one, History(KEY), Policy(Strategy.FORWARD))
    verdict = await judge.judge(Candidate(schema(ID, NOTE)), history, Policy(Strategy.FORWARD))
    assert verdict.outcome is Outcome.NEXT_VERSION


async def test_risks_are_reported_while_a_checker_hangs(judge_of: JudgeOf, hanging: Hanging) -> None:
    storage, history = await on_record(WIDE, NARROW)
    judge = with_checker(judge_of, storage, hanging)
    policy = Policy(Strategy.BACKWARD)
    equal = Verdict(Outcome.EQUAL_VERSION, effective_strategy(policy, None), 1)
    assert [risk.rule for risk in await judge.risks(equal, history, None, policy)] == ["ENUM_SYMBOL_REPLACED"]
