"""The counts of conditions that the metric `topicschema_resource_condition` has."""

from support.schemas.examples import record
from support.validation.validated_topic import KEY, ValidatedTopic
from topicschema.api.kinds import TOPIC_SCHEMA


def readiness(topic: ValidatedTopic) -> dict[tuple[str, ...], int]:
    """Return the counted statuses and reasons of Ready."""
    counts = topic.world.ctx.index.condition_counts
    return {labels[3:]: count for labels, count in counts.items() if labels[:3] == ("TopicSchema", "shop", "Ready")}


async def test_a_resource_counts_with_its_current_conditions_until_it_is_deleted(topic: ValidatedTopic) -> None:
    await topic.apply()
    ((status, reason),) = readiness(topic)
    assert status == "True"
    await topic.apply(record("another"), schemaCompatibilityStrategy="FULL")
    assert readiness(topic) == {("False", "Incompatible"): 1}
    assert reason != "Incompatible"
    topic.api.delete(TOPIC_SCHEMA, "shop", "created")
    await topic.topics.reconcile(KEY)
    assert not topic.world.ctx.index.condition_counts
