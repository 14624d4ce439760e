import pytest

from support.schemas.examples import record
from topicschema.core.policy import (
    Constraints,
    Policy,
    StrategyException,
    TopicChoices,
    counted_strategy,
    ended_exception,
    exception_note,
    for_topic,
    permitted_strategy,
    used_exception,
    violations,
)
from topicschema.core.strategies import Strategy

ANY, BACKWARD, STRICTER = Strategy.ALWAYS_COMPATIBLE, Strategy.BACKWARD, Strategy.FULL_TRANSITIVE
END = "2026-12-31T18:00:00Z"
EXCEPTION = StrategyException("created", (ANY,), END, END, "v1 clients are gone")
POLICY = Policy(Strategy.FULL, constraints=Constraints(exceptions=(EXCEPTION,)))
BEFORE, AFTER = for_topic(POLICY, "created", "2026-12-31T17:59:59Z"), for_topic(POLICY, "created", END)
OTHER = for_topic(POLICY, "deleted", "2026-12-31T17:59:59Z")


def refusals(policy: Policy, strategy: Strategy) -> list[str]:
    return [each.message for each in violations(record("id").info, TopicChoices(strategy), policy)]


@pytest.mark.parametrize(
    ("policy", "strategy", "state", "counted", "permitted"),
    [
        (BEFORE, ANY, "used", ANY, ANY),
        (AFTER, ANY, "ended", None, None),
        (OTHER, ANY, "", ANY, None),
        (BEFORE, BACKWARD, "", BACKWARD, None),
        (BEFORE, STRICTER, "", STRICTER, STRICTER),
        (AFTER, STRICTER, "", STRICTER, STRICTER),
        (AFTER, Strategy.UNDEFINED, "", Strategy.UNDEFINED, Strategy.UNDEFINED),
        (BEFORE, None, "", None, None),
    ],
)
def test_an_exception_is_for_one_topic_and_its_strategies_until_it_ends(
    policy: Policy, strategy: Strategy | None, state: str, counted: Strategy | None, permitted: Strategy | None
) -> None:
    assert used_exception(policy, strategy) is (EXCEPTION if state == "used" else None)
    assert ended_exception(policy, strategy) is (EXCEPTION if state == "ended" else None)
    assert (counted_strategy(policy, strategy), permitted_strategy(policy, strategy)) == (counted, permitted)


def test_an_exception_adds_to_a_list_of_allowed_strategies() -> None:
    listed = Policy(Strategy.FULL, constraints=Constraints(allowed_strategies=(BACKWARD,), exceptions=(EXCEPTION,)))
    now = for_topic(listed, "created", "2026-12-01T00:00:00Z")
    assert refusals(now, ANY) == refusals(now, BACKWARD) == []
    assert len(refusals(now, STRICTER)) == 1


def test_a_refusal_names_an_exception_that_has_ended_or_that_the_topic_may_use() -> None:
    assert refusals(BEFORE, ANY) == []
    (ended,) = refusals(AFTER, ANY)
    assert "which allowed ALWAYS_COMPATIBLE until 2026-12-31T18:00:00Z (v1 clients are gone), has ended" in ended
    (other,) = refusals(BEFORE, BACKWARD)
    assert "lets this topic set ALWAYS_COMPATIBLE until 2026-12-31T18:00:00Z (v1 clients are gone)" in other
    (none,) = refusals(OTHER, ANY)
    assert "exception" not in none


def test_a_topic_without_the_exceptions_strategy_has_a_note_only_if_it_is_refused() -> None:
    for policy in (BEFORE, AFTER):
        assert exception_note(policy, None) == exception_note(policy, STRICTER) == ""
        assert "v1 clients are gone" in exception_note(policy, None, is_refused=True)
