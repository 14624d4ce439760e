"""Reviews under policies of brokers of other release lines: what is a schema there need be none elsewhere."""

import pytest

from admission_world import ID, TOPIC, World, record_schema
from topicschema.core import formats
from topicschema.core.history import Origin, Owner
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType
from topicschema.core.topics import Topic, TopicKey

DOLLAR = record_schema(ID).replace("Order", "Order$")  # a name that Avro 1.12 takes and 1.11 does not


async def govern(world: World, line: str) -> None:
    await world.policy(schemaCompatibilityStrategy="BACKWARD", brokerProfile={"line": line})


@pytest.mark.parametrize(("line", "allowed"), [("4.0", False), ("4.1", True), ("4.2", True)])
async def test_the_policy_s_line_decides_for_the_first_review_and_for_the_next(
    world: World, line: str, *, allowed: bool
) -> None:
    await govern(world, line)
    for _ in range(2):
        assert (await world.create(DOLLAR)).is_allowed is allowed


async def test_a_policy_that_moves_to_another_line_counts_for_the_very_next_review(world: World) -> None:
    for line in ("4.1", "4.0", "4.1"):
        await govern(world, line)
        assert (await world.create(DOLLAR)).is_allowed is (line == "4.1")


async def test_without_a_policy_only_what_no_line_takes_is_refused(world: World) -> None:
    assert (await world.create(DOLLAR)).warnings[0].startswith("PolicyMissing: ")
    assert (await world.create(DOLLAR.replace("$", "-"))).rules == ["INVALID_NAME"]


async def test_a_policy_that_moves_to_a_line_that_does_not_take_a_topic_is_warned_of(world: World) -> None:
    world.namespace("shop", "shop/*")
    await govern(world, "4.1")
    resource = world.resource(schema=DOLLAR)
    stored = await world.storage.get_history(TopicKey("pulsar", Topic.parse(TOPIC)))
    schema = formats.parse(SchemaInfo(SchemaType.AVRO, DOLLAR.encode()), PulsarLine.V4_1)
    history = stored.history.with_version(schema, Origin.SPEC, "2026-11-21T05:30:00Z")
    await world.storage.put(
        stored, history.claimed_by(Owner("shop", "created", resource["metadata"]["uid"])), schema.info
    )
    old = await world.policy(brokerProfile={"line": "4.1"})
    reply = await world.ask({**old, "spec": {**old["spec"], "brokerProfile": {"line": "4.0"}}}, old)
    assert reply.is_allowed
    assert reply.warnings[0].startswith("1 of 1 topics examined would not pass")
    assert reply.warnings[1].startswith("TopicSchema created: INVALID_NAME at $.name: ")
