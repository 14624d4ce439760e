"""What retained messages change in a plan: a closed gate stops a next version and nothing else."""

from dataclasses import replace

import pytest

from support.schemas.examples import ME, history, record
from topicschema.core.alignment import InSync
from topicschema.core.broker_state import BrokerState
from topicschema.core.plan import (
    Action,
    AddFinalizer,
    Claim,
    Inquiry,
    Observed,
    Register,
    StartValidation,
    StopValidation,
    Upload,
    plan,
)
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Outcome, Verdict

FULL = EffectiveStrategy(Strategy.FULL, StrategySource.NAMESPACE)
NEXT = Observed(ME, history(record("id"), claim=ME), verdict=Verdict(Outcome.NEXT_VERSION, FULL, 1))
EQUAL = replace(NEXT, verdict=Verdict(Outcome.EQUAL_VERSION, FULL, 0))
REFUSED = replace(NEXT, verdict=Verdict(Outcome.INCOMPATIBLE, FULL, None))
CLOSED, OPEN = Inquiry(holds_back=True), Inquiry()
AT_BROKER = BrokerState(InSync())


@pytest.mark.parametrize(
    ("seen", "actions"),
    [
        (replace(NEXT, inquiry=CLOSED), ()),
        (replace(NEXT, inquiry=replace(CLOSED, is_due=True)), (StartValidation(),)),
        (replace(NEXT, inquiry=replace(CLOSED, is_due=True, has_strays=True)), (StopValidation(),)),
        (replace(NEXT, inquiry=OPEN), (Register(ME),)),
        (replace(NEXT, inquiry=replace(OPEN, is_due=True)), (Register(ME),)),
        (replace(EQUAL, inquiry=replace(OPEN, is_due=True)), (StartValidation(),)),
        (replace(EQUAL, inquiry=replace(CLOSED, is_due=True)), (StartValidation(),)),
        (replace(EQUAL, history=history(record("id")), inquiry=CLOSED), (Claim(ME),)),
        (replace(REFUSED, inquiry=Inquiry(has_strays=True)), (StopValidation(),)),
        (replace(NEXT, inquiry=CLOSED, broker=AT_BROKER), ()),
        (replace(NEXT, inquiry=OPEN, broker=AT_BROKER), (Upload(),)),
        (replace(NEXT, inquiry=replace(CLOSED, is_due=True), broker=AT_BROKER), (StartValidation(),)),
        (replace(NEXT, inquiry=replace(CLOSED, is_due=True), deletes_record=True), (AddFinalizer(),)),
    ],
)
def test_a_gate_holds_back_a_next_version_alone_and_questions_come_after_all_else(
    seen: Observed, actions: tuple[Action, ...]
) -> None:
    assert plan(seen) == actions
