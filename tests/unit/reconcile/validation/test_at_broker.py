"""A gate in front of a broker: nothing is uploaded and no setting written before messages have passed."""

from support.kubernetes.topic import TOPIC, World
from support.schemas.examples import record
from support.validation.validated_topic import open_validated_topic
from topicschema.api.validation import TopicValidationSpec, ValidationMode
from topicschema.core.strategies import Strategy
from topicschema.validation.job.result import MessagesVerdict

ONE, TWO = record("id"), record("id", "a?")
GATE = TopicValidationSpec(mode=ValidationMode.GATE)
REPORT = TopicValidationSpec(mode=ValidationMode.REPORT)


async def test_a_gate_without_a_verdict_blocks_all_writes_and_a_report_none(world: World) -> None:
    world.set_schema(ONE, validation=REPORT)
    assert await world.settle() == ""
    assert await world.is_recorded()
    world.broker.calls.clear()
    world.set_schema(TWO, validation=GATE, schema_compatibility_strategy=Strategy.BACKWARD)
    for _ in range(2):
        assert await world.settle() == "ValidationError"
    assert [call for call in world.broker.calls if not call.startswith("GET")] == []


async def test_a_gate_does_not_block_versions_of_the_broker(world: World) -> None:
    world.upload(ONE, TWO)
    world.set_schema(ONE, validation=GATE)
    assert await world.settle() == ""
    assert await world.is_recorded()
    world.broker.schemas.upload(TOPIC, record("id", "b?").info)
    world.set_schema(record("id", "b?"), validation=GATE)
    assert await world.settle() == ""


async def test_messages_are_validated_while_an_observed_broker_lacks_the_version() -> None:
    async with open_validated_topic("Report") as topic:
        pulsar = {"adminURL": topic.world.broker.url}
        await topic.change_policy(pulsar=None)
        await topic.reconcile()
        topic.delete_job(await topic.newest())
        await topic.change_policy(pulsar=pulsar, managementPolicy="Observe")
        for _ in range(2):
            await topic.reconcile()
            assert len(await topic.jobs()) == 1
        assert (await topic.conditions())["Registered"]["reason"] == "Observed"
        topic.finish_job(await topic.newest(), MessagesVerdict.PASS, "2026-11-21T12:00:00Z")
        await topic.reconcile()
        assert (await topic.settle())["validation"]["phase"] == "Passed"
        assert len(await topic.jobs()) == 1
