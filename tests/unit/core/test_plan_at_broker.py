"""What comes next where there is a broker: align, then judge, then settings, then the schema; and at a deletion."""

from dataclasses import replace

import pytest

from support.schemas.examples import KEY, ME, OTHER, history, record
from topicschema.core.alignment import HistoryAhead, HistoryBehind, HistoryLost, InSync
from topicschema.core.broker_state import BrokerState
from topicschema.core.errors import StalledError
from topicschema.core.history import Counter, History, TopicSettingsRecord
from topicschema.core.overrides import Overrides, RecordSettings, WriteSettings
from topicschema.core.plan import (
    Action,
    AddFinalizer,
    Claim,
    DeleteRecord,
    DeletionAction,
    Import,
    Observed,
    SoftDelete,
    Upload,
    UploadRecorded,
    plan,
    plan_deletion,
)
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.remote import TopicSettings
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Outcome, Verdict

ONE, TWO = record("id"), record("id", "a?")
FULL = EffectiveStrategy(Strategy.FULL, StrategySource.NAMESPACE)
NEXT, EQUAL = Verdict(Outcome.NEXT_VERSION, FULL, 1), Verdict(Outcome.EQUAL_VERSION, FULL, 0)
REFUSED = Verdict(Outcome.INCOMPATIBLE, FULL, None)
COUNTED = replace(history(ONE, claim=ME), counted_by=Counter.BROKER)
WISH = TopicSettings(Strategy.BACKWARD)
WRITTEN = TopicSettingsRecord(TopicSettings(), WISH)
UNSET = TopicSettings(Strategy.UNDEFINED)
SET = Overrides(WISH, WISH, WRITTEN)
NO = StalledError("RefusedByBroker", "no")
WITHDRAWN = replace(SET, desired=TopicSettings())


def observed(verdict: Verdict | None, broker: BrokerState, seen: History = COUNTED, **others: object) -> Observed:
    return Observed(ME, seen, verdict=verdict, broker=broker, **others)  # type: ignore[arg-type]


def at(overrides: Overrides | None = None, **others: object) -> BrokerState:
    return BrokerState(InSync(), overrides=overrides, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "actions"),
    [
        (observed(NEXT, at()), (Upload(),)),
        (observed(NEXT, at(), replace(COUNTED, claim=None)), (Claim(ME),)),
        (observed(NEXT, at(), replace(COUNTED, claim=OTHER)), (Claim(ME),)),
        (observed(NEXT, at(may_write=False)), ()),
        (observed(NEXT, at(may_write=False), replace(COUNTED, claim=None)), (Claim(ME),)),
        (observed(NEXT, at(may_write=False), is_source_on_record=False), ()),
        (observed(NEXT, at(refused=NO)), ()),
        (observed(EQUAL, at()), ()),
        (observed(EQUAL, at(), replace(COUNTED, claim=None)), (Claim(ME),)),
        (observed(EQUAL, at(may_write=False), replace(COUNTED, claim=None)), (Claim(ME),)),
        (observed(REFUSED, at()), ()),
        (observed(None, BrokerState(HistoryLost("is empty"))), ()),
        (observed(None, BrokerState(HistoryAhead(COUNTED.entries))), (UploadRecorded(COUNTED.entries),)),
        (observed(None, BrokerState(HistoryAhead(COUNTED.entries), refused=NO)), ()),
        (observed(EQUAL, BrokerState(HistoryAhead(COUNTED.entries), may_write=False)), ()),
        (observed(NEXT, at(Overrides(WISH, TopicSettings(), WRITTEN))), (WriteSettings(WISH),)),
        (observed(NEXT, at(SET)), (Upload(),)),
        (observed(NEXT, at(SET, refused=NO)), ()),
        (observed(NEXT, at(WITHDRAWN, refused=NO)), (WriteSettings(UNSET),)),
        (observed(NEXT, at(SET, may_write=False)), ()),
        (observed(REFUSED, at(SET)), ()),
        (observed(REFUSED, at(WITHDRAWN)), (WriteSettings(UNSET),)),
        (observed(REFUSED, at(WITHDRAWN, may_write=False)), ()),
        (observed(EQUAL, at(SET)), ()),
        (observed(NEXT, at(Overrides(WISH, None))), ()),
        (observed(EQUAL, at(Overrides(WISH, None))), ()),
        (observed(NEXT, at(WITHDRAWN)), (WriteSettings(UNSET),)),
        (observed(EQUAL, at(WITHDRAWN)), (WriteSettings(UNSET),)),
        (observed(EQUAL, at(WITHDRAWN, may_write=False)), ()),
        (
            observed(None, BrokerState(HistoryAhead(COUNTED.entries), overrides=WITHDRAWN)),
            (WriteSettings(UNSET),),
        ),
        (observed(NEXT, at(Overrides(WISH, None)), History(KEY, ME)), (Upload(),)),
        (observed(NEXT, at(), deletes_record=True), (AddFinalizer(),)),
        (observed(NEXT, at(), deletes_record=True, has_finalizer=True), (Upload(),)),
    ],
)
def test_what_comes_next_at_a_broker(seen: Observed, actions: tuple[Action, ...]) -> None:
    assert plan(seen) == actions


def test_settings_that_a_recorded_history_needs_come_before_it() -> None:
    missing = COUNTED.entries
    (step,) = plan(observed(None, BrokerState(HistoryAhead(missing), overrides=Overrides(WISH, TopicSettings()))))
    assert isinstance(step, RecordSettings)


def test_what_the_broker_has_comes_on_record_and_with_the_candidate_the_claim() -> None:
    grown = replace(history(ONE, TWO), counted_by=Counter.BROKER, topic_settings=WRITTEN)
    behind = BrokerState(HistoryBehind(grown, grown.entries[1:]), overrides=SET)
    unclaimed = replace(COUNTED, claim=None)
    (action,) = plan(observed(None, behind, unclaimed, fingerprint="sha256:of another"))
    assert action == Import(grown, grown.entries[1:])
    (action,) = plan(observed(None, behind, unclaimed, fingerprint=TWO.fingerprint))
    assert action == Import(replace(grown, claim=ME), grown.entries[1:])
    (action,) = plan(observed(None, behind, unclaimed, fingerprint=TWO.fingerprint, deletes_record=True))
    assert isinstance(action, Import)
    assert action.history.claim is None  # the finalizer comes first


@pytest.mark.parametrize(
    ("broker", "action"),
    [
        (at(is_serving=True), SoftDelete()),
        (at(WITHDRAWN, is_serving=True), WriteSettings(UNSET)),
        (at(replace(WITHDRAWN, current=TopicSettings()), is_serving=True), SoftDelete()),
        (at(replace(WITHDRAWN, current=None)), DeleteRecord()),
        (at(), DeleteRecord()),
        (None, DeleteRecord()),
    ],
)
def test_a_deletion_begins_at_the_broker(broker: BrokerState | None, action: DeletionAction) -> None:
    assert plan_deletion(COUNTED, broker) == action
