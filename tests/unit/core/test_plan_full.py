"""Plans for a full history: no action but those that let the resource go together with its history."""

from dataclasses import replace

import pytest

from support.schemas.examples import ME, history, record
from topicschema.core.alignment import HistoryBehind, InSync
from topicschema.core.broker_state import BrokerState
from topicschema.core.plan import (
    Action,
    AddFinalizer,
    Claim,
    Import,
    Observed,
    Register,
    RemoveFinalizer,
    Upload,
    plan,
)
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Outcome, Verdict

STRATEGY = EffectiveStrategy(Strategy.FULL, StrategySource.NAMESPACE)
SCHEMAS = (record("id"), record("id", "a?"), record("id", "a?", "b?"))
ROOM, FULL, BEYOND = (history(*SCHEMAS[:count], claim=ME) for count in (1, 2, 3))
NEXT = Observed(ME, FULL, verdict=Verdict(Outcome.NEXT_VERSION, STRATEGY, 2))
EQUAL = replace(NEXT, verdict=Verdict(Outcome.EQUAL_VERSION, STRATEGY, 0))
AT_BROKER = BrokerState(InSync())
TOO_MANY = replace(NEXT, verdict=None, broker=BrokerState(HistoryBehind(BEYOND, BEYOND.entries[2:])))


@pytest.mark.parametrize(
    ("seen", "actions"),
    [
        (replace(NEXT, history=ROOM), (Register(ME),)),
        (replace(NEXT, history=ROOM, broker=AT_BROKER), (Upload(),)),
        (NEXT, ()),
        (replace(NEXT, broker=AT_BROKER), ()),
        (replace(NEXT, deletes_record=True), (AddFinalizer(),)),
        (EQUAL, ()),
        (replace(EQUAL, history=history(*SCHEMAS[:2])), (Claim(ME),)),
        (TOO_MANY, ()),
        (replace(TOO_MANY, deletes_record=True), (AddFinalizer(),)),
        (replace(TOO_MANY, history=history(), deletes_record=True), ()),
        (replace(TOO_MANY, has_finalizer=True), (RemoveFinalizer(),)),
        (
            replace(TOO_MANY, broker=BrokerState(HistoryBehind(FULL, FULL.entries[1:]))),
            (Import(FULL, FULL.entries[1:]),),
        ),
    ],
)
def test_a_full_record_takes_no_version(
    monkeypatch: pytest.MonkeyPatch, seen: Observed, actions: tuple[Action, ...]
) -> None:
    monkeypatch.setattr("topicschema.core.history.MAX_VERSIONS", 2)
    assert plan(seen) == actions
