from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.schemas.examples import LATER, ME, OTHER, history, record
from topicschema.core.history import Origin, Owner
from topicschema.core.plan import (
    Action,
    AddFinalizer,
    Claim,
    DeleteRecord,
    Observed,
    Register,
    RemoveFinalizer,
    plan,
    plan_deletion,
)
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Outcome, Verdict

SCHEMA = record("id")
FULL = EffectiveStrategy(Strategy.FULL, StrategySource.NAMESPACE)
NEXT = Verdict(Outcome.NEXT_VERSION, FULL, 1)
EQUAL = Verdict(Outcome.EQUAL_VERSION, FULL, 0)
REFUSED = Verdict(Outcome.INCOMPATIBLE, FULL, None)


def observed(verdict: Verdict | None, claim: Owner | None = ME, **others: bool) -> Observed:
    return Observed(ME, history(SCHEMA, claim=claim), verdict=verdict, **others)


@pytest.mark.parametrize(
    ("seen", "actions"),
    [
        (observed(NEXT), (Register(ME),)),
        (observed(NEXT, None), (Register(ME),)),
        (observed(NEXT, OTHER), (Register(ME),)),
        (observed(EQUAL), ()),
        (observed(EQUAL, None), (Claim(ME),)),
        (observed(EQUAL, OTHER), (Claim(ME),)),
        (observed(EQUAL, is_source_on_record=False), (Claim(ME),)),
        (observed(NEXT, is_source_on_record=False), (Register(ME),)),
        (observed(REFUSED, is_source_on_record=False), ()),
        (observed(REFUSED, None), ()),
        (observed(REFUSED), ()),
        (observed(None), ()),
        (observed(NEXT, deletes_record=True), (AddFinalizer(),)),
        (observed(EQUAL, deletes_record=True), (AddFinalizer(),)),
        (observed(REFUSED, deletes_record=True), (AddFinalizer(),)),
        (observed(REFUSED, None, deletes_record=True), ()),
        (observed(REFUSED, OTHER, deletes_record=True), ()),
        (observed(REFUSED, deletes_record=True, has_finalizer=True), ()),
        (observed(NEXT, deletes_record=True, has_finalizer=True), (Register(ME),)),
        (observed(EQUAL, deletes_record=True, has_finalizer=True), ()),
        (observed(EQUAL, has_finalizer=True), (RemoveFinalizer(),)),
        (observed(REFUSED, has_finalizer=True), (RemoveFinalizer(),)),
    ],
)
def test_what_comes_next_for_a_living_resource(seen: Observed, actions: tuple[Action, ...]) -> None:
    assert plan(seen) == actions


def test_a_deletion_takes_the_history_along_and_then_lets_the_resource_go() -> None:
    assert plan_deletion(history(SCHEMA, claim=ME), None) == DeleteRecord()
    assert plan_deletion(None, None) == RemoveFinalizer()


def after(seen: Observed, action: Action) -> Observed:
    """The world that an action makes."""
    match action:
        case AddFinalizer():
            return replace(seen, has_finalizer=True)
        case RemoveFinalizer():
            return replace(seen, has_finalizer=False)
        case Claim(owner):
            return replace(seen, history=seen.history.claimed_by(owner), is_source_on_record=True)
        case Register(owner):
            grown = seen.history.with_version(SCHEMA, Origin.SPEC, LATER).claimed_by(owner)
            return replace(seen, history=grown, is_source_on_record=True, verdict=EQUAL)
    raise AssertionError(action)


@given(
    st.builds(
        Observed,
        owner=st.just(ME),
        history=st.sampled_from([history(SCHEMA, claim=claim) for claim in (None, ME, OTHER)]),
        verdict=st.sampled_from([NEXT, EQUAL, REFUSED, None]),
        deletes_record=st.booleans(),
        has_finalizer=st.booleans(),
        is_source_on_record=st.booleans(),
    )
)
def test_from_any_start_a_few_actions_lead_to_a_world_where_nothing_is_left_to_do(start: Observed) -> None:
    seen, taken = start, []
    while actions := plan(seen):
        taken.append(actions[0])
        seen = after(seen, actions[0])
        assert len(taken) <= 3
