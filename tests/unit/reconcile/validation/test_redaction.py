"""What messages hold is shown no longer than the policy wants it: not in the status, and not in the report.

Whole passes, and what refuses them, are in test_validating_emptied.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from support.kubernetes.topic import World, opened
from support.schemas.examples import history, record
from topicschema.api.kinds import CONFIG_MAP
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.topicschemas import TopicSchema, TopicSchemaStatus
from topicschema.api.validation import ExampleStatus, ValidationPhase, ValidationStatus
from topicschema.api.wire import decode
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.schemas import PulsarLine
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Outcome, Verdict
from topicschema.judging.policies import FoundPolicy, policy_of
from topicschema.reconcile.validation.gather import gather
from topicschema.reconcile.validation.redaction import shown_after
from topicschema.reconcile.validation.report_configmap import manifest, without_values
from topicschema.reconcile.validation.settings import ValidationTarget
from topicschema.reconcile.validation.status import status

FULL = EffectiveStrategy(Strategy.FULL, StrategySource.NAMESPACE)
SECRET = b'{"examples":[{"value":"4111 1111"}]}'
FAILED = ValidationStatus(
    phase=ValidationPhase.FAILED,
    question="sha256:" + "a" * 64,
    messages=10,
    invalid=1,
    examples=(ExampleStatus(message="1:2", reason="TRUNCATED", value="4111 1111"),),
)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with opened() as world:
        world.wants(record("id"))
        yield world


def policy(**validation: Any) -> FoundPolicy:
    spec = {"pulsarCluster": "p", "pulsarNamespace": "shop/orders", "validation": validation}
    resource = decode(NamespaceSchemaPolicy, {"metadata": {"name": "orders"}, "spec": spec})
    return FoundPolicy(resource, policy_of(resource))


def answered(world: World, told: ValidationStatus) -> tuple[TopicSchema, str]:
    """The topic with that answer, and its report."""
    body = manifest(world.resource.metadata, "job", SECRET)
    name = body["metadata"]["name"]
    world.api.put(CONFIG_MAP, "shop", name, {"data": body["data"]})
    told = replace(told, report=name)
    named = shown_after(TopicSchemaStatus(), policy(includeValues=True), told, name)
    before = TopicSchemaStatus(fingerprint="f", schema_version=0, validation=told, report_with_values=named)
    return replace(world.resource, status=before), name


async def shown(world: World, resource: TopicSchema, found: FoundPolicy, outcome: Outcome) -> TopicSchemaStatus:
    """What the status tells of messages after a pass."""
    resource = await without_values(world.ctx, resource, found)
    subject = ValidationTarget(record("id").info, history(), Verdict(outcome, FULL, 0), PulsarLine.V4_0)
    validation = await gather(world.ctx, resource, found, subject)
    told = None if validation is None else status(validation)
    named = shown_after(resource.status, found, told, "report")
    return replace(resource.status, validation=told, report_with_values=named)


@pytest.mark.parametrize("outcome", [Outcome.EQUAL_VERSION, Outcome.INCOMPATIBLE])
async def test_values_go_from_status_and_report_when_they_are_wanted_no_more(world: World, outcome: Outcome) -> None:
    resource, name = answered(world, FAILED)
    found = policy(mode="Gate")
    after = await shown(world, resource, found, outcome)
    told = after.validation
    assert told is not None
    assert (told.phase, told.invalid, told.report) == (ValidationPhase.FAILED, 1, None)
    assert [(each.message, each.value) for each in told.examples] == [("1:2", None)]
    assert after.report_with_values is None
    report = await world.ctx.client.get(CONFIG_MAP, "shop", name)
    assert "report.json" not in report["data"]
    assert "includeValues" in report["data"]["note"]
    world.api.requests.clear()
    assert await shown(world, replace(resource, status=after), found, outcome) == after
    assert world.api.requests == []


@pytest.mark.parametrize(
    ("validation", "told", "is_emptied"),
    [
        ({"mode": "Gate", "includeValues": True}, FAILED, False),
        ({"mode": "Off", "includeValues": True}, FAILED, False),
        ({"mode": "Off"}, FAILED, True),
        ({"mode": "Report"}, FAILED, True),
        ({"mode": "Report"}, replace(FAILED, examples=()), True),
        ({"mode": "Report"}, replace(FAILED, examples=(replace(FAILED.examples[0], value=None),)), False),
        ({"mode": "Report"}, replace(FAILED, invalid=0, examples=()), False),
        ({"mode": "Report"}, replace(FAILED, invalid=40, examples=(replace(FAILED.examples[0], value=None),)), True),
    ],
)
async def test_a_report_is_emptied_where_it_may_show_values_that_are_wanted_no_more(
    world: World, validation: dict[str, Any], told: ValidationStatus, *, is_emptied: bool
) -> None:
    resource, name = answered(world, told)
    await shown(world, resource, policy(**validation), Outcome.EQUAL_VERSION)
    report = await world.ctx.client.get(CONFIG_MAP, "shop", name)
    assert ("report.json" not in report["data"]) == is_emptied


async def test_a_report_whose_examples_had_no_room_stays_named_until_it_is_emptied(world: World) -> None:
    resource, name = answered(world, replace(FAILED, examples=()))
    world.api.refusals = {f"PATCH /api/v1/namespaces/shop/configmaps/{name}": 403}
    after = await shown(world, resource, policy(mode="Gate"), Outcome.EQUAL_VERSION)
    assert after.report_with_values == name
    assert after.validation is not None
    assert after.validation.report is None


async def test_a_report_that_was_kept_without_values_is_no_report_of_values_though_they_are_wanted_later(
    world: World,
) -> None:
    told = replace(FAILED, invalid=40, examples=(replace(FAILED.examples[0], value=None),), report="report")
    before = TopicSchemaStatus(fingerprint="f", schema_version=0, validation=told)
    found = policy(mode="Gate", includeValues=True)
    after = await shown(world, replace(world.resource, status=before), found, Outcome.EQUAL_VERSION)
    assert after.report_with_values is None
    back = await shown(world, replace(world.resource, status=after), policy(mode="Gate"), Outcome.EQUAL_VERSION)
    assert back == before
