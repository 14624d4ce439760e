"""Checkers that are plugged in: what they are given together, and those that hang."""

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from support.schemas.recorded_versions import ID, KEY, NARROW, NOTE, WIDE, on_record, schema
from topicschema.core import formats
from topicschema.core.checkers import CustomChecker, Finding
from topicschema.core.history import History, Origin
from topicschema.core.policy import Policy, effective_strategy
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Candidate, Outcome, Verdict
from topicschema.judging.judge import CheckerTimeoutError
from topicschema.storage.protocol import Stored
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


async def test_checkers_that_are_plugged_in_are_asked_wherever_something_is_judged(judge_of: JudgeOf) -> None:
    storage, history = await on_record(schema(ID))
    judge = judge_of(storage, checkers={SchemaType.AVRO: CustomChecker("acme", Refusing())})
    candidate, policy = schema(ID, NOTE), Policy(Strategy.FORWARD)
    verdict = await judge.judge(Candidate(candidate), history, policy)
    assert [each.rule for each in verdict.incompatibilities] == ["NO"]
    compared = await judge.compare(Candidate(candidate), schema(ID), history, policy)
    assert [each.rule for each in compared.incompatibilities] == ["NO"]


class Counting:
    """Tells how many versions it was given, and finds fault with the last."""

    def incompatibilities(self, _: object, earlier: Sequence[SchemaInfo], *__: object) -> list[Finding]:
        return [Finding(f"GIVEN_{len(earlier)}", "no", earlier=len(earlier) - 1)]


@pytest.mark.parametrize(("strategy", "given"), [(Strategy.FORWARD, 1), (Strategy.FORWARD_TRANSITIVE, 3)])
async def test_a_checker_gets_a_pending_edit_as_it_will_once_it_is_registered(
    strategy: Strategy, given: int, judge_of: JudgeOf
) -> None:
    total = {"name": "total", "type": "long"}
    first, second, pending = schema(ID), schema(ID, NOTE), schema(ID, NOTE, total)
    storage, history = await on_record(first, second)
    judge = judge_of(storage, checkers={SchemaType.AVRO: CustomChecker("acme", Counting())})
    candidate, policy = Candidate(schema(ID, total)), Policy(strategy)
    before = (await judge.compare(candidate, pending, history, policy)).incompatibilities
    assert [(each.rule, each.schema_version) for each in before] == [(f"GIVEN_{given}", None)]
    registered = history.with_version(pending, Origin.SPEC, "2026-11-21T05:30:00Z")
    await storage.put(Stored(history, (await storage.get_history(KEY)).revision), registered, (pending.info,))
    after = (await judge.judge(candidate, registered, policy)).incompatibilities
    assert [(each.rule, each.schema_version) for each in after] == [(f"GIVEN_{given}", 2)]


async def test_one_that_hangs_is_no_answer_and_holds_up_nobody_else(judge_of: JudgeOf) -> None:
    storage, history = await on_record(schema(ID))
    hanging = Hanging()
    judge = judge_of(storage, checkers={SchemaType.AVRO: CustomChecker("acme", hanging)}, checker_timeout=0.05)
    with pytest.raises(CheckerTimeoutError) as raised:
        await judge.judge(Candidate(schema(ID, NOTE)), history, Policy(Strategy.FORWARD))
    assert raised.value.reason == "CheckerTimeout"
    assert "the plugged-in checkers (acme) did not answer within" in raised.value.message
    assert (await judge.versions.parse("shop/orders", schema(ID).info, PulsarVersion.V4_0)).info == schema(ID).info
    hanging.released.set()


async def test_ones_that_hang_for_ever_hold_up_no_other_type(judge_of: JudgeOf) -> None:
    storage, history = await on_record(schema(ID))
    hanging = Hanging()
    judge = judge_of(storage, checkers={SchemaType.PROTOBUF: CustomChecker("acme", hanging)}, checker_timeout=0.05)
    one, two = (formats.parse(replace(each.info, type=SchemaType.PROTOBUF)) for each in (schema(ID), schema(ID, NOTE)))
    for _ in range(3):
        with pytest.raises(CheckerTimeoutError, match="plugged-in"):
            await judge.compare(Candidate(two), one, History(KEY), Policy(Strategy.FORWARD))
    verdict = await judge.judge(Candidate(schema(ID, NOTE)), history, Policy(Strategy.FORWARD))
    assert verdict.outcome is Outcome.NEXT_VERSION
    hanging.released.set()


async def test_risks_are_told_while_a_checker_hangs(judge_of: JudgeOf) -> None:
    storage, history = await on_record(WIDE, NARROW)
    hanging = Hanging()
    judge = judge_of(storage, checkers={SchemaType.AVRO: CustomChecker("acme", hanging)}, checker_timeout=0.05)
    policy = Policy(Strategy.BACKWARD)
    equal = Verdict(Outcome.EQUAL_VERSION, effective_strategy(policy, None), 1)
    assert [risk.rule for risk in await judge.risks(equal, history, None, policy)] == ["ENUM_SYMBOL_REPLACED"]
    hanging.released.set()
