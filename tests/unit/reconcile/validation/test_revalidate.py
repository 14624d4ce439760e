"""The annotation asks once for each of its values, whatever becomes of the schema afterwards."""

from support.schemas.examples import record
from support.validation.validated_topic import ValidatedTopic, open_validated_topic
from topicschema.validation.job.result import MessagesVerdict

NOON = "2026-11-21T12:00:00Z"
ONE, TWO = record("id"), record("id", "note?")


async def passes(topic: ValidatedTopic) -> None:
    topic.finish_job(await topic.current_job(), MessagesVerdict.PASS, NOON)
    assert await topic.reconcile() == ""


async def registers(topic: ValidatedTopic) -> None:
    """Two versions pass the gate."""
    for schema in (ONE, TWO):
        topic.set_topic(schema)
        assert await topic.reconcile() == "Validating"
        await passes(topic)


async def revalidated(topic: ValidatedTopic, value: str) -> None:
    """The messages were validated again, and passed."""
    topic.annotate(value)
    count = len(await topic.jobs())
    assert await topic.reconcile() == ""
    assert len(await topic.jobs()) == count + 1
    await passes(topic)
    assert (await topic.settle())["revalidated"] == value


async def test_a_value_with_a_verdict_validates_no_other_version_again() -> None:
    async with open_validated_topic("Gate") as topic:
        await registers(topic)
        await revalidated(topic, "again")
        count = len(await topic.jobs())
        for schema in (ONE, TWO, ONE):
            topic.set_topic(schema)
            assert await topic.reconcile() == ""
            assert (await topic.settle())["revalidated"] == "again"
        assert len(await topic.jobs()) == count
        await revalidated(topic, "once more")


async def test_a_value_without_a_verdict_validates_again_after_a_rollback() -> None:
    async with open_validated_topic("Gate") as topic:
        await registers(topic)
        topic.annotate("again")
        await topic.reconcile()
        before = (await topic.current_job())["metadata"]["name"]
        topic.set_topic(ONE)
        assert await topic.reconcile() == ""
        assert (await topic.current_job())["metadata"]["name"] != before
        assert before not in [each["metadata"]["name"] for each in await topic.jobs()]
