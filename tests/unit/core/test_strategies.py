import re
from collections.abc import Mapping
from itertools import permutations, product
from pathlib import Path

import pytest

from support.judged import verdict
from support.schemas.examples import parsed, record
from topicschema.core.policy import Policy, Strictness
from topicschema.core.schemas import SchemaType
from topicschema.core.strategies import Direction, Strategy, UpgradeFirst

RECORD_WITH_TEXT = record("id").info.schema.decode().replace('"string"', '"long"')

BACKWARD, FORWARD = Direction.BACKWARD, Direction.FORWARD


@pytest.mark.parametrize(
    ("strategy", "directions", "looks_at", "upgrade_first"),
    [
        (Strategy.UNDEFINED, (), "latest", UpgradeFirst.NONE),
        (Strategy.ALWAYS_INCOMPATIBLE, (), "latest", UpgradeFirst.NONE),
        (Strategy.ALWAYS_COMPATIBLE, (), "latest", UpgradeFirst.ANY),
        (Strategy.BACKWARD, (BACKWARD,), "latest", UpgradeFirst.CONSUMERS),
        (Strategy.FORWARD, (FORWARD,), "latest", UpgradeFirst.PRODUCERS),
        (Strategy.FULL, (FORWARD, BACKWARD), "latest", UpgradeFirst.ANY),
        (Strategy.BACKWARD_TRANSITIVE, (BACKWARD,), "all", UpgradeFirst.CONSUMERS),
        (Strategy.FORWARD_TRANSITIVE, (FORWARD,), "all", UpgradeFirst.PRODUCERS),
        (Strategy.FULL_TRANSITIVE, (FORWARD, BACKWARD), "all", UpgradeFirst.ANY),
    ],
)
def test_each_strategy_means_what_pulsar_documents(
    strategy: Strategy, directions: tuple[Direction, ...], looks_at: str, upgrade_first: UpgradeFirst
) -> None:
    assert strategy.directions == directions
    assert strategy.is_transitive is (looks_at == "all")
    assert strategy.upgrade_first is upgrade_first


STRATEGIES = tuple(each for each in Strategy if each is not Strategy.UNDEFINED)
SCHEMAS = (
    record("id"),
    record("id", "note?"),
    record("id", "note"),
    parsed(SchemaType.AVRO, RECORD_WITH_TEXT),
    parsed(SchemaType.JSON, record("id").info.schema.decode()),
)


def refused(strictness: Strictness) -> Mapping[Strategy, frozenset[tuple[int, ...]]]:
    """Return the edits that each strategy refuses, by the judgment that the operator uses.

    An edit is the indexes of the earlier versions, and then of the candidate.
    """
    edits = [edit for length in (1, 2, 3) for edit in permutations(range(len(SCHEMAS)), length)]
    return {
        strategy: frozenset(
            edit
            for edit in edits
            if not verdict(
                SCHEMAS[edit[-1]], [SCHEMAS[each] for each in edit[:-1]], Policy(strategy, strictness)
            ).is_compatible
        )
        for strategy in STRATEGIES
    }


@pytest.mark.parametrize("strictness", Strictness)
def test_a_strategy_is_weaker_exactly_if_it_allows_an_edit_that_the_other_refuses(strictness: Strictness) -> None:
    edits = refused(strictness)
    for one, other in product(STRATEGIES, repeat=2):
        assert one.is_weaker_than(other) is bool(edits[other] - edits[one]), (one, other)


def test_the_documented_table_has_the_strategies_that_a_topic_may_set() -> None:
    page = (Path(__file__).parents[3] / "docs" / "admission.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE)
    assert {policy: set(re.findall(r"`(\w+)`", topics)) for policy, topics in rows if policy in STRATEGIES} == {
        policy.value: {topic.value for topic in STRATEGIES if not topic.is_weaker_than(policy)} for policy in STRATEGIES
    }
