"""The same finding for several versions is one mistake, and every mistake has a remedy."""

from collections.abc import Sequence

import pytest

from topicschema.cli import rules
from topicschema.cli.check import engine
from topicschema.cli.rules import DocumentedRule
from topicschema.cli.rules.examples import PayloadExample, ProtoExample
from topicschema.core import policy
from topicschema.core.compatibility import Incompatibility
from topicschema.core.mistakes import mistakes_of, versions_in_words
from topicschema.core.strategies import Direction

COMPARED = [
    rule for rule in rules.every() if rule.refused and not isinstance(rule.refused, PayloadExample | ProtoExample)
]
NOTES = {"STORED_SCHEMA_UNCHANGED"}
"""Rules that need no remedy."""


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([3], "version 3"),
        ([0, 1], "versions 0 and 1"),
        ([0, 1, 2], "versions 0 to 2"),
        ([0, 2, 4], "versions 0, 2 and 4"),
        ([0, 1, 2, 4, 6, 7, 8], "versions 0 to 2, 4 and 6 to 8"),
    ],
)
def test_versions_are_named_in_ranges(numbers: Sequence[int], words: str) -> None:
    assert versions_in_words(numbers) == words


def finding(
    version: int | None, message: str = "{} has int", direction: Direction = Direction.BACKWARD
) -> Incompatibility:
    name = "the accepted edit that is not registered yet" if version is None else f"version {version}"
    return Incompatibility("TYPE_MISMATCH", "$.a", message.format(name), direction, version)


def test_findings_that_differ_only_in_the_version_are_one_mistake() -> None:
    other = "{} has long"
    findings = [finding(None), finding(2), finding(2, direction=Direction.FORWARD), finding(1, other), finding(0)]
    assert [(each.newest, each.versions) for each in mistakes_of(findings)] == [
        (findings[0], (0, 2, None)),
        (findings[2], (2,)),
        (findings[3], (1,)),
    ]


def test_the_remedy_is_for_the_candidate_in_both_directions() -> None:
    both = [Incompatibility("NO_UNION_BRANCH", "$", "m", direction, 0) for direction in Direction]
    assert {each.newest.direction: each.remedy for each in mistakes_of(both)} == {
        Direction.BACKWARD: "keep that branch in the union",
        Direction.FORWARD: "use only types that this union has",
    }


def test_a_remedy_in_the_message_is_not_repeated() -> None:
    for remedy in ("keep that branch in the union", "use only types that this union has"):
        of_webhook = Incompatibility("NO_UNION_BRANCH", "$", f"FULL demands it; {remedy}")
        assert [each.remedy for each in mistakes_of([of_webhook])] == [""]


@pytest.mark.parametrize("rule", COMPARED, ids=lambda rule: rule.id)
def test_every_mistake_has_a_remedy(rule: DocumentedRule) -> None:
    assert rule.refused is not None
    request = rule.refused.request
    answer = engine.answer(request)
    broken = policy.violations(request.candidate, request.choices, request.policy)
    for each in mistakes_of((*broken, *answer.incompatibilities, *answer.warnings)):
        assert each.newest.rule in NOTES or each.remedy or "; " in each.newest.message
