"""A gate in front of a broker: it blocks uploads and settings, and reports that clients can bypass it."""

from typing import Any

import pytest

from support.kubernetes.topic import TOPIC, World
from support.schemas.examples import record
from support.validation.validated_topic import POLICY, ValidatedTopic
from topicschema.api.validation import TopicValidationSpec
from topicschema.core.strategies import Strategy
from topicschema.core.validation_rules import ValidationMode
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.runtime.work_queue import ReconcileResult

OPEN = "clients may add schemas, which bypass the gate"
ONE, TWO = record("id"), record("id", "a?")
GATE = TopicValidationSpec(mode=ValidationMode.GATE)
REPORT = TopicValidationSpec(mode=ValidationMode.REPORT)


async def test_a_gate_without_a_verdict_blocks_all_writes_and_a_report_none(world: World) -> None:
    assert await world.apply(ONE, validation=REPORT) == ""
    assert await world.is_recorded()
    world.broker.calls.clear()
    world.set_schema(TWO, validation=GATE, schema_compatibility_strategy=Strategy.BACKWARD)
    for _ in range(2):
        assert await world.settle() == "ValidationError"
    assert world.broker.writes == []


async def test_a_gate_does_not_block_versions_of_the_broker(world: World) -> None:
    world.upload(ONE, TWO)
    assert await world.apply(ONE, validation=GATE) == ""
    assert await world.is_recorded()
    world.upload(record("id", "b?"))
    assert await world.apply(record("id", "b?"), validation=GATE) == ""


@pytest.mark.parametrize("mode", ["Report"])
async def test_messages_are_validated_while_an_observed_broker_lacks_the_version(topic: ValidatedTopic) -> None:
    await topic.world.change_registry(pulsar=None)
    await topic.reconcile()
    topic.delete_job(await topic.newest())
    await topic.world.change_registry(pulsar=topic.world.pulsar)
    await topic.world.change_policy(managementPolicy="Observe")
    for _ in range(2):
        await topic.reconcile()
        assert len(await topic.jobs()) == 1
    assert (await topic.conditions())["Registered"]["reason"] == "Observed"
    await topic.finish()
    assert (await topic.settle())["validation"]["phase"] == "Passed"
    assert len(await topic.jobs()) == 1


async def observe_settings(topic: ValidatedTopic, *, allows_auto_update: bool) -> None:
    """Set the setting at the broker, and reconcile the policy, which reads it."""
    topic.broker.settings["is_allow_auto_update_schema"] = allows_auto_update
    policies = NamespaceSchemaPolicies(topic.topics._ctx, 0.0)
    while await policies.reconcile(POLICY) is ReconcileResult.REQUEUE:
        pass


async def validated(topic: ValidatedTopic) -> Any:
    """Return the settled condition."""
    assert await topic.reconcile() == ""
    await topic.settle()
    return (await topic.conditions())["Validated"]


async def test_a_gate_that_clients_can_bypass_still_blocks_and_reports_it(topic: ValidatedTopic) -> None:
    await observe_settings(topic, allows_auto_update=True)
    assert await topic.reconcile() == "Validating"
    before = (await topic.conditions())["Validated"]
    assert (before["reason"], OPEN in before["message"]) == ("Validating", True)
    assert topic.broker.schemas.served(TOPIC) == ()
    await topic.finish()
    assert (await validated(topic))["reason"] == "AutoUpdateEnabled"
    assert len(topic.broker.schemas.served(TOPIC)) == 1


@pytest.mark.parametrize("mode", ["Gate", "Report"])
async def test_the_last_observed_settings_count_and_only_for_a_gate(topic: ValidatedTopic, mode: str) -> None:
    await topic.reconcile()
    topic.finish_job(await topic.newest())
    for allows in (None, False, True, False):
        if allows is not None:
            await observe_settings(topic, allows_auto_update=allows)
        current, is_open = await validated(topic), mode == "Gate" and allows is not False
        assert (current["status"], current["reason"]) == ("True", "AutoUpdateEnabled" if is_open else "Passed")
        assert (f"{OPEN}: set isAllowAutoUpdateSchema: false" in current["message"]) == is_open
    assert len(await topic.jobs()) == 1
