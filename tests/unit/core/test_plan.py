"""The next action, for each state of the resource, its history, its broker and its validation."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.schemas.examples import KEY, LATER, ME, OTHER, history, record
from topicschema.core.alignment import HistoryAhead, HistoryBehind, HistoryLost, InSync
from topicschema.core.broker_state import BrokerState
from topicschema.core.errors import StalledError
from topicschema.core.history import History, NumberedBy, Origin, Owner, StoredTopicSettings
from topicschema.core.plan import (
    Action,
    AddFinalizer,
    ClaimTopic,
    CreateValidationJob,
    DeleteHistory,
    DeleteObsoleteJobs,
    DeletionAction,
    Import,
    Observed,
    Register,
    RemoveFinalizer,
    SoftDelete,
    Upload,
    UploadMissing,
    Validation,
    plan,
    plan_deletion,
)
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.reasons import Reason
from topicschema.core.remote import TopicSettings
from topicschema.core.strategies import Strategy
from topicschema.core.topic_settings import StoreSettings, TopicSettingsState, WriteSettings
from topicschema.core.verdict import Outcome, Verdict

SCHEMA = record("id")
FULL = EffectiveStrategy(Strategy.FULL, StrategySource.NAMESPACE)
NEXT = Verdict(Outcome.NEXT_VERSION, FULL, 1)
EQUAL = Verdict(Outcome.EQUAL_VERSION, FULL, 0)
REFUSED = Verdict(Outcome.INCOMPATIBLE, FULL, None)


CLOSED, OPEN = Validation(holds_back=True), Validation()
NEEDS_JOB = Validation(needs_job=True)
NOTHING_TO_ALIGN = BrokerState(InSync())


def observed(verdict: Verdict | None, claim: Owner | None = ME, **others: Any) -> Observed:
    return Observed(ME, history(SCHEMA, claim=claim), verdict=verdict, **others)


@pytest.mark.parametrize(
    ("state", "actions"),
    [
        (observed(NEXT), (Register(ME),)),
        (observed(NEXT, None), (Register(ME),)),
        (observed(NEXT, OTHER), (Register(ME),)),
        (observed(EQUAL), ()),
        (observed(EQUAL, None), (ClaimTopic(ME),)),
        (observed(EQUAL, OTHER), (ClaimTopic(ME),)),
        (observed(EQUAL, is_source_stored=False), (ClaimTopic(ME),)),
        (observed(NEXT, is_source_stored=False), (Register(ME),)),
        (observed(REFUSED, is_source_stored=False), ()),
        (observed(REFUSED, None), ()),
        (observed(REFUSED), ()),
        (observed(None), ()),
        (observed(NEXT, deletes_history=True), (AddFinalizer(),)),
        (observed(EQUAL, deletes_history=True), (AddFinalizer(),)),
        (observed(REFUSED, deletes_history=True), (AddFinalizer(),)),
        (observed(REFUSED, None, deletes_history=True), ()),
        (observed(REFUSED, OTHER, deletes_history=True), ()),
        (observed(REFUSED, deletes_history=True, has_finalizer=True), ()),
        (observed(NEXT, deletes_history=True, has_finalizer=True), (Register(ME),)),
        (observed(EQUAL, deletes_history=True, has_finalizer=True), ()),
        (observed(EQUAL, has_finalizer=True), (RemoveFinalizer(),)),
        (observed(REFUSED, has_finalizer=True), (RemoveFinalizer(),)),
        # A closed gate holds back a next version alone, and validation comes after all else.
        (observed(NEXT, validation=CLOSED), ()),
        (observed(NEXT, validation=replace(CLOSED, needs_job=True)), (CreateValidationJob(),)),
        (observed(NEXT, validation=replace(CLOSED, needs_job=True, has_obsolete_jobs=True)), (DeleteObsoleteJobs(),)),
        (observed(NEXT, validation=OPEN), (Register(ME),)),
        (observed(NEXT, validation=NEEDS_JOB), (Register(ME),)),
        (observed(EQUAL, validation=NEEDS_JOB), (CreateValidationJob(),)),
        (observed(EQUAL, validation=replace(CLOSED, needs_job=True)), (CreateValidationJob(),)),
        (observed(EQUAL, None, validation=CLOSED), (ClaimTopic(ME),)),
        (observed(REFUSED, validation=Validation(has_obsolete_jobs=True)), (DeleteObsoleteJobs(),)),
        (observed(NEXT, validation=CLOSED, broker=NOTHING_TO_ALIGN), ()),
        (observed(NEXT, validation=OPEN, broker=NOTHING_TO_ALIGN), (Upload(),)),
        (observed(NEXT, validation=replace(CLOSED, needs_job=True), broker=NOTHING_TO_ALIGN), (CreateValidationJob(),)),
        (observed(NEXT, validation=replace(CLOSED, needs_job=True), deletes_history=True), (AddFinalizer(),)),
    ],
)
def test_the_next_actions_for_a_living_resource(state: Observed, actions: tuple[Action, ...]) -> None:
    assert plan(state) == actions


def test_a_deletion_takes_the_history_along_and_then_lets_the_resource_go() -> None:
    assert plan_deletion(history(SCHEMA, claim=ME), None) == DeleteHistory()
    assert plan_deletion(None, None) == RemoveFinalizer()


def after(state: Observed, action: Action) -> Observed:
    """Return the state after an action."""
    match action:
        case AddFinalizer():
            return replace(state, has_finalizer=True)
        case RemoveFinalizer():
            return replace(state, has_finalizer=False)
        case ClaimTopic(owner):
            return replace(state, history=state.history.claimed_by(owner), is_source_stored=True)
        case Register(owner):
            grown = state.history.with_version(SCHEMA, Origin.SPEC, LATER).claimed_by(owner)
            return replace(state, history=grown, is_source_stored=True, verdict=EQUAL)
    raise AssertionError(action)


@given(
    st.builds(
        Observed,
        owner=st.just(ME),
        history=st.sampled_from([history(SCHEMA, claim=claim) for claim in (None, ME, OTHER)]),
        verdict=st.sampled_from([NEXT, EQUAL, REFUSED, None]),
        deletes_history=st.booleans(),
        has_finalizer=st.booleans(),
        is_source_stored=st.booleans(),
    )
)
def test_from_any_start_a_few_actions_lead_to_a_world_where_nothing_is_left_to_do(start: Observed) -> None:
    state, taken = start, []
    while actions := plan(state):
        taken.append(actions[0])
        state = after(state, actions[0])
        assert len(taken) <= 3


SCHEMAS = (SCHEMA, record("id", "a?"), record("id", "a?", "b?"))
NOT_FULL, FULL_HISTORY, BEYOND = (history(*SCHEMAS[:count], claim=ME) for count in (1, 2, 3))
NEXT_OF_FULL = Observed(ME, FULL_HISTORY, verdict=replace(NEXT, schema_version=2))
EQUAL_TO_FULL = replace(NEXT_OF_FULL, verdict=EQUAL)
BEYOND_FULL = Observed(ME, FULL_HISTORY, broker=BrokerState(HistoryBehind(BEYOND, BEYOND.entries[2:])))


@pytest.mark.parametrize(
    ("state", "actions"),
    [
        (replace(NEXT_OF_FULL, history=NOT_FULL), (Register(ME),)),
        (replace(NEXT_OF_FULL, history=NOT_FULL, broker=NOTHING_TO_ALIGN), (Upload(),)),
        (NEXT_OF_FULL, ()),
        (replace(NEXT_OF_FULL, broker=NOTHING_TO_ALIGN), ()),
        (replace(NEXT_OF_FULL, deletes_history=True), (AddFinalizer(),)),
        (EQUAL_TO_FULL, ()),
        (replace(EQUAL_TO_FULL, history=history(*SCHEMAS[:2])), (ClaimTopic(ME),)),
        (BEYOND_FULL, ()),
        (replace(BEYOND_FULL, deletes_history=True), (AddFinalizer(),)),
        (replace(BEYOND_FULL, history=history(), deletes_history=True), ()),
        (replace(BEYOND_FULL, has_finalizer=True), (RemoveFinalizer(),)),
        (
            replace(BEYOND_FULL, broker=BrokerState(HistoryBehind(FULL_HISTORY, FULL_HISTORY.entries[1:]))),
            (Import(FULL_HISTORY, FULL_HISTORY.entries[1:]),),
        ),
    ],
)
def test_a_full_history_takes_no_version(
    monkeypatch: pytest.MonkeyPatch, state: Observed, actions: tuple[Action, ...]
) -> None:
    monkeypatch.setattr("topicschema.core.history.MAX_VERSIONS", 2)
    assert plan(state) == actions


# What comes next at a broker: align, then judge, then settings, then the schema.


TWO = SCHEMAS[1]
NUMBERED = replace(history(SCHEMA, claim=ME), numbered_by=NumberedBy.BROKER)
WISH = TopicSettings(Strategy.BACKWARD)
WRITTEN = StoredTopicSettings(TopicSettings(), WISH)
UNSET = TopicSettings(Strategy.UNDEFINED)
SET = TopicSettingsState(WISH, WISH, WRITTEN)
NO = StalledError(Reason.REFUSED_BY_BROKER, "no")
WITHDRAWN = replace(SET, desired=TopicSettings())


def observed_at(verdict: Verdict | None, broker: BrokerState, state: History = NUMBERED, **others: object) -> Observed:
    return Observed(ME, state, verdict=verdict, broker=broker, **others)  # type: ignore[arg-type]


def at(settings: TopicSettingsState | None = None, **others: object) -> BrokerState:
    return BrokerState(InSync(), topic_settings=settings, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "actions"),
    [
        (observed_at(NEXT, at()), (Upload(),)),
        (observed_at(NEXT, at(), replace(NUMBERED, claim=None)), (ClaimTopic(ME),)),
        (observed_at(NEXT, at(), replace(NUMBERED, claim=OTHER)), (ClaimTopic(ME),)),
        (observed_at(NEXT, at(may_write=False)), ()),
        (observed_at(NEXT, at(may_write=False), replace(NUMBERED, claim=None)), (ClaimTopic(ME),)),
        (observed_at(NEXT, at(may_write=False), is_source_stored=False), ()),
        (observed_at(NEXT, at(refused=NO)), ()),
        (observed_at(EQUAL, at()), ()),
        (observed_at(EQUAL, at(), replace(NUMBERED, claim=None)), (ClaimTopic(ME),)),
        (observed_at(EQUAL, at(may_write=False), replace(NUMBERED, claim=None)), (ClaimTopic(ME),)),
        (observed_at(REFUSED, at()), ()),
        (observed_at(None, BrokerState(HistoryLost("is empty"))), ()),
        (observed_at(None, BrokerState(HistoryAhead(NUMBERED.entries))), (UploadMissing(NUMBERED.entries),)),
        (observed_at(None, BrokerState(HistoryAhead(NUMBERED.entries), refused=NO)), ()),
        (observed_at(EQUAL, BrokerState(HistoryAhead(NUMBERED.entries), may_write=False)), ()),
        (
            observed_at(EQUAL, BrokerState(HistoryAhead(NUMBERED.entries), may_write=False), validation=NEEDS_JOB),
            (CreateValidationJob(),),
        ),
        (observed_at(NEXT, at(TopicSettingsState(WISH, TopicSettings(), WRITTEN))), (WriteSettings(WISH),)),
        (observed_at(NEXT, at(SET)), (Upload(),)),
        (observed_at(NEXT, at(SET, refused=NO)), ()),
        (observed_at(NEXT, at(WITHDRAWN, refused=NO)), (WriteSettings(UNSET),)),
        (observed_at(NEXT, at(SET, may_write=False)), ()),
        (observed_at(REFUSED, at(SET)), ()),
        (observed_at(REFUSED, at(WITHDRAWN)), (WriteSettings(UNSET),)),
        (observed_at(REFUSED, at(WITHDRAWN, may_write=False)), ()),
        (observed_at(EQUAL, at(SET)), ()),
        (observed_at(NEXT, at(TopicSettingsState(WISH, None))), ()),
        (observed_at(EQUAL, at(TopicSettingsState(WISH, None))), ()),
        (observed_at(NEXT, at(WITHDRAWN)), (WriteSettings(UNSET),)),
        (observed_at(EQUAL, at(WITHDRAWN)), (WriteSettings(UNSET),)),
        (observed_at(EQUAL, at(WITHDRAWN, may_write=False)), ()),
        (
            observed_at(None, BrokerState(HistoryAhead(NUMBERED.entries), topic_settings=WITHDRAWN)),
            (WriteSettings(UNSET),),
        ),
        (observed_at(NEXT, at(TopicSettingsState(WISH, None)), History(KEY, ME)), (Upload(),)),
        (observed_at(NEXT, at(), deletes_history=True), (AddFinalizer(),)),
        (observed_at(NEXT, at(), deletes_history=True, has_finalizer=True), (Upload(),)),
    ],
)
def test_the_next_actions_at_a_broker(state: Observed, actions: tuple[Action, ...]) -> None:
    assert plan(state) == actions


def test_settings_that_a_recorded_history_needs_come_before_it() -> None:
    missing = NUMBERED.entries
    settings = TopicSettingsState(WISH, TopicSettings())
    (step,) = plan(observed_at(None, BrokerState(HistoryAhead(missing), topic_settings=settings)))
    assert isinstance(step, StoreSettings)


def test_what_the_broker_has_comes_on_record_and_with_the_candidate_the_claim() -> None:
    grown = replace(history(SCHEMA, TWO), numbered_by=NumberedBy.BROKER, topic_settings=WRITTEN)
    behind = BrokerState(HistoryBehind(grown, grown.entries[1:]), topic_settings=SET)
    unclaimed = replace(NUMBERED, claim=None)
    (action,) = plan(observed_at(None, behind, unclaimed, fingerprint="sha256:of another"))
    assert action == Import(grown, grown.entries[1:])
    (action,) = plan(observed_at(None, behind, unclaimed, fingerprint=TWO.fingerprint))
    assert action == Import(replace(grown, claim=ME), grown.entries[1:])
    (action,) = plan(observed_at(None, behind, unclaimed, fingerprint=TWO.fingerprint, deletes_history=True))
    assert isinstance(action, Import)
    assert action.history.claim is None  # the finalizer comes first


@pytest.mark.parametrize(
    ("broker", "action"),
    [
        (at(is_serving=True), SoftDelete()),
        (at(WITHDRAWN, is_serving=True), WriteSettings(UNSET)),
        (at(replace(WITHDRAWN, current=TopicSettings()), is_serving=True), SoftDelete()),
        (at(replace(WITHDRAWN, current=None)), DeleteHistory()),
        (at(), DeleteHistory()),
        (None, DeleteHistory()),
    ],
)
def test_a_deletion_begins_at_the_broker(broker: BrokerState | None, action: DeletionAction) -> None:
    assert plan_deletion(NUMBERED, broker) == action
