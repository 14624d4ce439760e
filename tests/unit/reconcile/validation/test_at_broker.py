"""A gate in front of a broker: nothing is uploaded and no setting written before messages have passed."""

from support.kubernetes.topic import TOPIC, World
from support.schemas.examples import record
from support.validation.validated_topic import asked
from topicschema.api.validation import TopicValidationSpec, ValidationMode
from topicschema.core.strategies import Strategy
from topicschema.validation.job.result import Answer

ONE, TWO = record("id"), record("id", "a?")
GATE = TopicValidationSpec(mode=ValidationMode.GATE)
REPORT = TopicValidationSpec(mode=ValidationMode.REPORT)


async def test_a_gate_without_a_verdict_blocks_all_writes_and_a_report_none(world: World) -> None:
    world.wants(ONE, validation=REPORT)
    assert await world.settle() == ""
    assert await world.agrees()
    world.broker.calls.clear()
    world.wants(TWO, validation=GATE, schema_compatibility_strategy=Strategy.BACKWARD)
    for _ in range(2):
        assert await world.settle() == "ValidationError"
    assert [call for call in world.broker.calls if not call.startswith("GET")] == []


async def test_a_gate_does_not_block_versions_of_the_broker(world: World) -> None:
    world.there(ONE, TWO)
    world.wants(ONE, validation=GATE)
    assert await world.settle() == ""
    assert await world.agrees()
    world.broker.schemas.upload(TOPIC, record("id", "b?").info)
    world.wants(record("id", "b?"), validation=GATE)
    assert await world.settle() == ""


async def test_messages_are_validated_while_an_observed_broker_lacks_the_version() -> None:
    async with asked("Report") as topic:
        pulsar = {"adminURL": topic.world.broker.url}
        await topic.governed(pulsar=None)
        await topic.look()
        topic.goes(await topic.newest())
        await topic.governed(pulsar=pulsar, managementPolicy="Observe")
        for _ in range(2):
            await topic.look()
            assert len(await topic.jobs()) == 1
        assert (await topic.conditions())["Registered"]["reason"] == "Observed"
        topic.ends(await topic.newest(), Answer.PASS, "2026-11-21T12:00:00Z")
        await topic.look()
        assert (await topic.settle())["validation"]["phase"] == "Passed"
        assert len(await topic.jobs()) == 1
