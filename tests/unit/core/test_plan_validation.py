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
    Observed,
    Register,
    StartValidation,
    StopValidation,
    Upload,
    Validation,
    plan,
)
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Outcome, Verdict

FULL = EffectiveStrategy(Strategy.FULL, StrategySource.NAMESPACE)
NEXT = Observed(ME, history(record("id"), claim=ME), verdict=Verdict(Outcome.NEXT_VERSION, FULL, 1))
EQUAL = replace(NEXT, verdict=Verdict(Outcome.EQUAL_VERSION, FULL, 0))
REFUSED = replace(NEXT, verdict=Verdict(Outcome.INCOMPATIBLE, FULL, None))
CLOSED, OPEN = Validation(holds_back=True), Validation()
AT_BROKER = BrokerState(InSync())


@pytest.mark.parametrize(
    ("seen", "actions"),
    [
        (replace(NEXT, validation=CLOSED), ()),
        (replace(NEXT, validation=replace(CLOSED, needs_job=True)), (StartValidation(),)),
        (replace(NEXT, validation=replace(CLOSED, needs_job=True, has_obsolete_jobs=True)), (StopValidation(),)),
        (replace(NEXT, validation=OPEN), (Register(ME),)),
        (replace(NEXT, validation=replace(OPEN, needs_job=True)), (Register(ME),)),
        (replace(EQUAL, validation=replace(OPEN, needs_job=True)), (StartValidation(),)),
        (replace(EQUAL, validation=replace(CLOSED, needs_job=True)), (StartValidation(),)),
        (replace(EQUAL, history=history(record("id")), validation=CLOSED), (Claim(ME),)),
        (replace(REFUSED, validation=Validation(has_obsolete_jobs=True)), (StopValidation(),)),
        (replace(NEXT, validation=CLOSED, broker=AT_BROKER), ()),
        (replace(NEXT, validation=OPEN, broker=AT_BROKER), (Upload(),)),
        (replace(NEXT, validation=replace(CLOSED, needs_job=True), broker=AT_BROKER), (StartValidation(),)),
        (replace(NEXT, validation=replace(CLOSED, needs_job=True), deletes_record=True), (AddFinalizer(),)),
    ],
)
def test_a_gate_holds_back_a_next_version_alone_and_questions_come_after_all_else(
    seen: Observed, actions: tuple[Action, ...]
) -> None:
    assert plan(seen) == actions
