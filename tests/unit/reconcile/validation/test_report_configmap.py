"""The report of a run: a verdict counts without it, and one with values of messages is deleted when that is set."""

import json
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.validation.validated_topic import ValidatedTopic, open_validated_topic
from topicschema.api.kinds import CONFIG_MAP, EVENT
from topicschema.api.metadata import Metadata
from topicschema.reconcile.validation.report_configmap import manifest
from topicschema.validation.job.log_protocol import report_lines
from topicschema.validation.job.result import MessagesVerdict

MAPS = "/api/v1/namespaces/shop/configmaps"
SECRET = b'{"examples":[{"value":"4111 1111"}]}'
EXAMPLE = {"message": "1:2", "reason": "TRUNCATED", "value": "4111 1111"}


@pytest.fixture
async def topic() -> AsyncIterator[ValidatedTopic]:
    async with open_validated_topic("Report") as topic:
        topic.set_runs(includeValues=True)
        yield topic


def with_values(status: dict[str, Any]) -> str:
    """Return the name of the ConfigMap that may have values, as the status remembers it, or ""."""
    name: str = status.get("internal", {}).get("reportWithValues", "")
    return name


async def report_values(topic: ValidatedTopic) -> str:
    """Let a run report values, and set an example with one in the status. Return the ConfigMap's name."""
    await topic.reconcile()
    job = await topic.newest()
    named = with_values(await topic.status())
    topic.finish_job(job, MessagesVerdict.FAIL)
    topic.api.logs[f"{job['metadata']['name']}-x"] = "\n".join(report_lines(SECRET))
    assert await topic.reconcile() == ""
    status = await topic.settle()
    name: str = status["validation"]["report"]
    assert with_values(status) == name == named, "from the start of the Job on"
    assert "4111 1111" in json.dumps(await topic.world.ctx.client.get(CONFIG_MAP, "shop", name))
    topic.api.change("/topicschemas/created", lambda wire: wire["status"]["validation"].update(examples=[EXAMPLE]))
    return name


def is_there(topic: ValidatedTopic, name: str) -> bool:
    return topic.api.has(CONFIG_MAP, "shop", name)


async def events(topic: ValidatedTopic) -> list[Any]:
    """Return the Events about values that stay."""
    events = await topic.world.ctx.client.list(EVENT, "shop")
    return [each for each in events if each["reason"] == "RedactionFailed"]


async def test_a_verdict_stays_without_its_values(topic: ValidatedTopic) -> None:
    name = await report_values(topic)
    topic.set_policy_validation("Gate")
    topic.set_runs()
    assert await topic.reconcile() == ""
    status = await topic.settle()
    validation = status["validation"]
    assert (validation["phase"], validation["invalid"], "report" in validation) == ("Failed", 1, False)
    assert validation["examples"] == [{"message": "1:2", "reason": "TRUNCATED", "path": "$"}]
    assert (is_there(topic, name), bool(with_values(status))) == (False, False)


async def test_values_stay_as_long_as_the_registry_includes_them_though_the_policy_validates_nothing(
    topic: ValidatedTopic,
) -> None:
    name = await report_values(topic)
    topic.set_policy_validation("Off")
    await topic.reconcile()
    assert with_values(await topic.settle()) == name
    assert is_there(topic, name)


@pytest.mark.parametrize("mode", ["Report", "Off"])
@pytest.mark.parametrize("status", [403, 409, 422, 500])
async def test_the_deletion_of_a_report_is_tried_again(topic: ValidatedTopic, mode: str, status: int) -> None:
    name = await report_values(topic)
    topic.set_policy_validation(mode)
    topic.set_runs()
    topic.api.refusals = {f"DELETE {MAPS}/{name}": status}
    assert await topic.reconcile() == ""
    assert ("created", 300.0) in topic.enqueued
    current = await topic.status()
    assert with_values(current) == name
    assert "4111 1111" not in json.dumps(current)
    (event,) = await events(topic)
    assert name in event["note"]
    topic.api.refusals = {}
    assert await topic.reconcile() == ""
    assert not is_there(topic, name)
    topic.api.requests.clear()
    assert with_values(await topic.settle()) == ""
    assert not [each for each in topic.api.requests if f"{MAPS}/{name}" in each]


async def test_a_report_is_deleted_though_the_status_is_of_another_request_since(topic: ValidatedTopic) -> None:
    name = await report_values(topic)
    topic.annotate("again")
    await topic.reconcile()
    current = await topic.settle()
    assert ("report" in current["validation"], with_values(current)) == (False, name)
    topic.set_policy_validation("Off")
    topic.set_runs()
    await topic.reconcile()
    assert with_values(await topic.settle()) == ""
    assert not is_there(topic, name)


@pytest.mark.parametrize("status", [200, 403], ids=["deleted before", "no access to the broker"])
async def test_values_go_also_without_a_report_or_a_broker(topic: ValidatedTopic, status: int) -> None:
    name = await report_values(topic)
    if status == 200:
        topic.api.delete(CONFIG_MAP, "shop", name)
    topic.broker.is_forbidden = status == 403
    topic.set_policy_validation("Report")
    topic.set_runs()
    assert await topic.reconcile() == ("" if status == 200 else "BrokerForbidden")
    status_after = await topic.settle()
    assert (bool(with_values(status_after)), is_there(topic, name), await events(topic)) == (False, False, [])
    assert "4111 1111" not in json.dumps(status_after)


@pytest.mark.parametrize(("spec", "reason"), [({"schema": "{"}, "InvalidSchema"), ({"schema": '"int"'}, "")])
async def test_values_go_though_the_schema_is_refused_before_its_messages_are_read(
    topic: ValidatedTopic, spec: dict[str, str], reason: str
) -> None:
    name = await report_values(topic)
    topic.set_policy_validation("Report")
    topic.set_runs()
    assert await topic.apply(**spec) == reason
    assert not is_there(topic, name)
    assert "4111 1111" not in json.dumps(await topic.settle())


async def test_a_report_without_values_takes_the_place_of_one_that_could_not_be_deleted(topic: ValidatedTopic) -> None:
    name = await report_values(topic)
    topic.set_policy_validation("Report")
    topic.set_runs()
    topic.api.refusals = {f"DELETE {MAPS}/{name}": 403}
    await topic.reconcile()
    await topic.finish(MessagesVerdict.FAIL)
    topic.api.refusals = {}
    await topic.reconcile()
    status = await topic.settle()
    assert (bool(with_values(status)), status["validation"]["report"]) == (False, name)
    report = await topic.world.ctx.client.get(CONFIG_MAP, "shop", name)
    assert report["data"]["report.json"] == "{}"


async def test_a_report_without_values_stays_where_they_are_included_for_a_while(topic: ValidatedTopic) -> None:
    topic.set_policy_validation("Gate")
    topic.set_runs()
    await topic.reconcile()
    await topic.finish()
    before = await topic.settle()
    for values in (True, False):
        topic.set_runs(includeValues=values)
        await topic.reconcile()
    after = await topic.settle()
    assert (after["validation"], bool(with_values(after))) == (before["validation"], False)
    assert is_there(topic, before["validation"]["report"])


@pytest.mark.parametrize("status", [403, 413, 422])
async def test_a_report_that_is_refused_leaves_the_verdict_and_no_messages_are_read_again(
    topic: ValidatedTopic, status: int
) -> None:
    topic.set_policy_validation("Gate")
    topic.set_runs()
    assert await topic.reconcile() == "Validating"
    topic.api.refusals = {f"PATCH {MAPS}": status}
    assert await topic.finish() == ""
    validation = (await topic.settle())["validation"]
    assert (validation["phase"], "report" in validation) == ("Passed", False)
    assert len(await topic.jobs()) == 1


def test_bytes_that_are_no_utf8_are_measured_as_they_are_stored() -> None:
    report = random.Random(1).randbytes(800 * 1024)  # noqa: S311 - what lzma cannot pack
    body = manifest(Metadata(name="created", namespace="shop", uid="uid-1"), "job", report)
    assert "report.json" not in body["data"]
    assert "report.json.xz" in body["binaryData"]
