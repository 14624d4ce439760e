"""A gate in front of a broker: nothing is uploaded and no setting written before messages have passed."""

from support.kubernetes.topic import TOPIC, World
from support.schemas.examples import record
from topicschema.api.validation import TopicValidationSpec, ValidationMode
from topicschema.core.strategies import Strategy

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
