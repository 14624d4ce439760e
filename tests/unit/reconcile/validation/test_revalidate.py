"""The annotation asks once for each of its values, whatever becomes of the schema afterwards."""

from support.schemas.examples import record
from support.validation.validated_topic import AskedTopic, asked
from topicschema.validation.job.result import Answer

NOON = "2026-11-21T12:00:00Z"
ONE, TWO = record("id"), record("id", "note?")


async def passes(topic: AskedTopic) -> None:
    topic.ends(await topic.named(), Answer.PASS, NOON)
    assert await topic.look() == ""


async def registers(topic: AskedTopic) -> None:
    """Two versions pass the gate."""
    for schema in (ONE, TWO):
        topic.wants(schema)
        assert await topic.look() == "Validating"
        await passes(topic)


async def revalidated(topic: AskedTopic, value: str) -> None:
    """The messages were validated again, and passed."""
    topic.annotated(value)
    count = len(await topic.jobs())
    assert await topic.look() == ""
    assert len(await topic.jobs()) == count + 1
    await passes(topic)
    assert (await topic.settle())["revalidated"] == value


async def test_a_value_with_a_verdict_validates_no_other_version_again() -> None:
    async with asked("Gate") as topic:
        await registers(topic)
        await revalidated(topic, "again")
        count = len(await topic.jobs())
        for schema in (ONE, TWO, ONE):
            topic.wants(schema)
            assert await topic.look() == ""
            assert (await topic.settle())["revalidated"] == "again"
        assert len(await topic.jobs()) == count
        await revalidated(topic, "once more")


async def test_a_value_without_a_verdict_validates_again_after_a_rollback() -> None:
    async with asked("Gate") as topic:
        await registers(topic)
        topic.annotated("again")
        await topic.look()
        before = (await topic.named())["metadata"]["name"]
        topic.wants(ONE)
        assert await topic.look() == ""
        assert (await topic.named())["metadata"]["name"] != before
        assert before not in [each["metadata"]["name"] for each in await topic.jobs()]
