"""Step 7: the reasons that it reads from kubectl's output, and its claims about outcomes."""

import io
from dataclasses import replace
from pathlib import Path

import pytest

from demo import releases
from demo.errors import DemoError
from demo.narrator import Narrator
from demo.releases import EXPECTED, RELEASES, Outcome, first_reason
from demo.stage import Stage
from testbed.cluster import Cluster


@pytest.mark.parametrize(
    "output",
    [
        'The TopicSchema "a" is invalid: spec.schema: FIELD_WITHOUT_DEFAULT at $.fields[2]: no. FULL demands it\n',
        'The TopicSchema "a" is invalid: \n* spec.schema: FIELD_WITHOUT_DEFAULT at $.fields[2]: no. FULL\n* more\n',
    ],
    ids=["one cause", "several causes"],
)
def test_the_first_reason_of_a_rejection_is_the_first_sentence_of_its_first_cause(output: str) -> None:
    assert first_reason(output) == "FIELD_WITHOUT_DEFAULT at $.fields[2]: no"


def test_a_failure_that_is_no_rejection_ends_the_demo() -> None:
    with pytest.raises(DemoError, match=r"(?s)neither accepted nor refused: .*timed out"):
        first_reason("topicschema serverside-applied\nerror: timed out waiting for the condition\n")


def test_there_are_at_least_six_releases_and_each_topic_expects_an_outcome_for_each() -> None:
    assert len({release.sha256 for release in RELEASES}) == len(RELEASES) >= 6
    assert {len(expected) for expected in EXPECTED.values()} == {len(RELEASES)}


@pytest.fixture
def outcomes() -> list[Outcome]:
    """Return the expected outcome of every release on every topic."""
    return [
        Outcome(release, topic, number, "")
        for topic, expected in EXPECTED.items()
        for release, number in zip(RELEASES, expected, strict=True)
    ]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(Narrator(io.StringIO()), Cluster(tmp_path / "kubeconfig", Path("kubectl")), tmp_path)


def test_an_unexpected_outcome_ends_the_demo(stage: Stage, outcomes: list[Outcome]) -> None:
    releases.claim_outcomes(stage, outcomes)  # all as expected
    for position, outcome in enumerate(outcomes):
        other = replace(outcome, schema_version=None if outcome.schema_version is not None else 0)
        with pytest.raises(DemoError, match=outcome.topic.name):
            releases.claim_outcomes(stage, [*outcomes[:position], other, *outcomes[position + 1 :]])
