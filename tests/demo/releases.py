"""Step 7: the real history of real schemas, release after release, under FULL and under BACKWARD."""

import json
import re
from dataclasses import dataclass
from typing import Any

from demo import wheels
from demo.errors import DemoError
from demo.stage import Stage
from demo.wheels import Release
from testbed.progress import Progress

NAMESPACE = "demo-datahub"
RELEASES = tuple(
    Release("acryl-datahub", number, sha256)
    for number, sha256 in (
        ("0.8.45", "f38f2b646eb674b920f3f1fffb20ac37a842a746225661f765c453d864c1009f"),
        ("0.10.0", "024631a39b48c09c4ecaaf5a52b8824e3a3a41eed37bd53101dd402972ba09e2"),
        ("0.10.5", "ea60623566e3d561664bc9e3ed1e7b83a79bbf3870219365b4a30eadb517fbf7"),
        ("0.11.0", "21504a05ceedaad0c6e8bc11ed84e7aed65eb3c0d55fe565894eda527935406a"),
        ("0.13.0", "88633d4160de894e1b91125b7aadde380b63098272c7b51228d065ee060adc1e"),
        ("0.14.0", "66fa9fce26f808b9fb82ee628c4f5de2b3ee3d0241983f9da26f3962d3d6d2b2"),
    )
)
_SHOWN_LINES = 2  # of a rejection: its first reason


@dataclass(frozen=True, slots=True)
class Topic:
    """One of the four topics: its schema's file and its own strategy."""

    file: str
    strategy: str

    @property
    def name(self) -> str:
        """The resource's name, which is the topic's local name too."""
        words = re.findall("[A-Z][a-z]+", self.file)
        return "-".join([*words, self.strategy]).lower()


EXPECTED: dict[Topic, tuple[int | None, ...]] = {
    Topic("MetadataChangeProposal", "FULL"): (0, 0, 1, 2, 2, 3),
    Topic("MetadataChangeProposal", "BACKWARD"): (0, 0, 1, 2, 2, 3),
    Topic("MetadataChangeEvent", "FULL"): (0, 1, *[None] * 4),
    Topic("MetadataChangeEvent", "BACKWARD"): (0, 1, 2, 3, 4, 5),
}
"""The expected version of each release on each topic, None if it is rejected: the verdicts of Avro 1.11.4."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one release on one topic: its version, or the first reason of its rejection."""

    release: Release
    topic: Topic
    schema_version: int | None
    text: str


def perform(stage: Stage) -> list[Outcome]:
    """Run step 8 and return the outcome of each release on each topic."""
    stage.narrator.step(
        "8. Schemas with a real history",
        "The event schemas of DataHub's releases, 8 kB to 365 kB. Is each one compatible with the release before?",
    )
    wheel_of = wheels.fetch(RELEASES, Progress())
    stage.run("cat datahub.yaml")
    stage.run("kubectl apply --server-side -f datahub.yaml")
    stage.run(f"kubectl wait --for=condition=Ready nsp/metadata -n {NAMESPACE} --timeout=60s")
    outcomes: list[Outcome] = []
    for release, wheel in wheel_of.items():
        for topic in EXPECTED:
            known = {earlier.schema_version for earlier in outcomes if earlier.topic == topic}
            outcomes.append(apply(stage, release, topic, wheels.extract(wheel, f"{topic.file}.avsc"), known))
    by_topic = [outcome for topic in EXPECTED for outcome in outcomes if outcome.topic == topic]
    rows = [(outcome.topic.file, outcome.topic.strategy, outcome.release.number, outcome.text) for outcome in by_topic]
    stage.narrator.table(("file", "strategy", "release", "outcome"), rows)
    stage.narrator.line("")
    claim_outcomes(stage, outcomes)
    return outcomes


def apply(stage: Stage, release: Release, topic: Topic, text: str, known: set[int | None]) -> Outcome:
    """Apply one release's text to one topic that has the known versions, and return the outcome."""
    file = f"{topic.name}-{release.number}.json"
    (stage.folder / file).write_text(json.dumps(topic_schema(topic, text), indent=1), encoding="utf-8")
    wait = f"kubectl wait --for=condition=Ready tsc/{topic.name} -n {NAMESPACE} --timeout=60s"
    result = stage.run(f"kubectl apply --server-side -f {file} &&\n  {wait}", fails=None, most_lines=_SHOWN_LINES)
    if result.status:
        return Outcome(release, topic, None, f"refused: {first_reason(result.output)}")
    number: int = stage.status(NAMESPACE, topic.name)["schemaVersion"]
    return Outcome(release, topic, number, f"{'same' if number in known else 'accepted'} as version {number}")


def topic_schema(topic: Topic, text: str) -> dict[str, Any]:
    return {
        "apiVersion": "topicschema.io/v1alpha1",
        "kind": "TopicSchema",
        "metadata": {"name": topic.name, "namespace": NAMESPACE},
        "spec": {
            "topic": f"persistent://datahub/metadata/{topic.name}",
            "type": "AVRO",
            "schemaCompatibilityStrategy": topic.strategy,
            "schema": text,
        },
    }


def first_reason(output: str) -> str:
    """Return the first sentence of a rejection's first cause. Raise DemoError for any other failure."""
    _, refused, causes = output.partition(" is invalid: ")
    if not refused:
        raise DemoError(f"a release was neither accepted nor refused: {output[-1000:]}")
    return causes.strip().splitlines()[0].removeprefix("* ").removeprefix("spec.schema: ").partition(". ")[0]


def claim_outcomes(stage: Stage, outcomes: list[Outcome]) -> None:
    """Claim that every release has the verdict of Avro's own library."""
    for topic, expected in EXPECTED.items():
        versions = tuple(outcome.schema_version for outcome in outcomes if outcome.topic == topic)
        accepted = sum(number is not None for number in expected)
        stage.claim(
            f"{topic.name}: {accepted} of {len(expected)} releases accepted, the same verdicts as Avro's own library",
            holds=versions == expected,
            instead=versions,
        )
