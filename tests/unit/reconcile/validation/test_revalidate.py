"""The annotation asks once for each of its values, whatever becomes of the schema afterwards."""

from support.schemas.examples import record
from support.validation.validated_topic import AskedTopic, asked
from topicschema.validation.job.result import Answer

NOON = "2026-11-21T12:00:00Z"
ONE, TWO = record("id"), record("id", "note?")


async def registers(topic: AskedTopic) -> None:
    """The newest edit passes its gate."""
    assert await topic.look() == "Validating"
    told = (await topic.status())["validation"]["job"]
    job = next((each for each in await topic.jobs() if each["metadata"]["name"] == told), await topic.newest())
    topic.ends(job, Answer.PASS, NOON)
    assert await topic.look() == ""


async def revalidated(topic: AskedTopic, value: str) -> None:
    """The messages were asked again, and passed."""
    topic.annotated(value)
    count = len(await topic.jobs())
    assert await topic.look() == ""
    assert len(await topic.jobs()) == count + 1
    told = (await topic.status())["validation"]["job"]
    (job,) = (each for each in await topic.jobs() if each["metadata"]["name"] == told)
    topic.ends(job, Answer.PASS, NOON)
    assert await topic.look() == ""
    assert (await topic.settle())["revalidated"] == value


async def test_a_value_that_was_answered_asks_of_no_other_version_again() -> None:
    async with asked("Gate") as topic:
        for schema in (ONE, TWO):
            topic.wants(schema)
            await registers(topic)
        await revalidated(topic, "again")
        count = len(await topic.jobs())
        for schema in (ONE, TWO, ONE):
            topic.wants(schema)
            assert await topic.look() == ""
            assert (await topic.settle())["revalidated"] == "again"
        assert len(await topic.jobs()) == count
        await revalidated(topic, "once more")


async def test_a_value_that_was_not_answered_asks_again_after_a_rollback() -> None:
    async with asked("Gate") as topic:
        for schema in (ONE, TWO):
            topic.wants(schema)
            await registers(topic)
        topic.annotated("again")
        await topic.look()
        before = (await topic.status())["validation"]["job"]
        topic.wants(ONE)
        assert await topic.look() == ""
        told = (await topic.status())["validation"]
        assert told["job"] != before
        assert before not in [each["metadata"]["name"] for each in await topic.jobs()]
