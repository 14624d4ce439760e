"""A report that shows what messages hold is emptied once that is wanted no more, though the API server refuse it."""

import json
from typing import Any

import pytest

from support.validation.validated_topic import AskedTopic, asked
from topicschema.api.kinds import CONFIG_MAP, EVENT
from topicschema.validation.job.log_protocol import report_lines
from topicschema.validation.job.result import Answer

MAPS = "/api/v1/namespaces/shop/configmaps"
NOON = "2026-11-21T12:00:00Z"
SECRET = b'{"examples":[{"value":"4111 1111"}]}'


async def shows(topic: AskedTopic) -> str:
    """Messages cannot be read, and the report, whose name that is, shows them."""
    await topic.look()
    job = await topic.newest()
    topic.ends(job, Answer.FAIL, NOON)
    topic.world.api.logs[f"{job['metadata']['name']}-x"] = "\n".join(report_lines(SECRET))
    assert await topic.look() == ""
    status = await topic.settle()
    name: str = status["validation"]["report"]
    assert status["reportWithValues"] == name
    assert "4111 1111" in json.dumps(await report(topic, name))
    return name


async def report(topic: AskedTopic, name: str) -> Any:
    return await topic.world.ctx.client.get(CONFIG_MAP, "shop", name)


async def events(topic: AskedTopic) -> list[Any]:
    """What was told of values that stay."""
    found = await topic.world.ctx.client.list(EVENT, "shop")
    return [each for each in found if each["reason"] == "ValuesShown"]


@pytest.mark.parametrize("mode", ["Report", "Off"])
@pytest.mark.parametrize(("refused", "status"), [("PATCH", 403), ("PATCH", 422), ("PATCH", 500), ("GET", 403)])
async def test_what_cannot_be_emptied_is_told_of_and_tried_again(mode: str, refused: str, status: int) -> None:
    async with asked("Report", includeValues=True) as topic:
        name = await shows(topic)
        topic.governs(mode)
        topic.world.api.refusals = {f"{refused} {MAPS}/{name}": status}
        assert await topic.look() == ""
        assert ("created", 300.0) in topic.enqueued
        (event,) = await events(topic)
        assert name in event["note"]
        assert (await topic.settle())["reportWithValues"] == name
        topic.world.api.refusals = {}
        assert "4111 1111" in json.dumps(await report(topic, name))
        topic.seconds += 299.0
        topic.enqueued.clear()
        await topic.settle()
        assert ("created", 1.0) in topic.enqueued  # for an earlier one may have replaced it
        topic.seconds += 1.0
        assert await topic.look() == ""
        assert "4111 1111" not in json.dumps(await report(topic, name))
        topic.world.api.requests.clear()
        assert "reportWithValues" not in await topic.settle()
        assert not [each for each in topic.world.api.requests if "configmaps" in each]
        assert [each.get("series") for each in await events(topic)] == [None]


async def test_a_report_is_emptied_though_its_status_told_of_another_question_since() -> None:
    async with asked("Report", includeValues=True) as topic:
        name = await shows(topic)
        topic.annotated("again")
        await topic.look()
        told = await topic.settle()
        assert ("report" in told["validation"], told["reportWithValues"]) == (False, name)
        topic.governs("Off", includeValues=True)
        await topic.look()
        assert (await topic.settle())["reportWithValues"] == name
        topic.governs("Off")
        await topic.look()
        assert "4111 1111" not in json.dumps(await report(topic, name))
        assert "reportWithValues" not in await topic.settle()


async def test_a_report_that_somebody_deleted_is_not_made_to_be_emptied() -> None:
    async with asked("Report", includeValues=True) as topic:
        name = await shows(topic)
        topic.world.api.take_away(CONFIG_MAP, "shop", name)
        topic.governs("Off")
        await topic.look()
        assert "reportWithValues" not in await topic.settle()
        assert not topic.world.api.has(CONFIG_MAP, "shop", name)


async def test_a_report_is_emptied_though_its_broker_is_away() -> None:
    async with asked("Report", includeValues=True) as topic:
        name = await shows(topic)
        topic.world.broker.is_shut = True
        topic.governs("Report")
        assert await topic.look() == "BrokerForbidden"
        assert "4111 1111" not in json.dumps(await report(topic, name))
        assert "reportWithValues" not in await topic.settle()


async def test_values_go_though_the_resource_is_refused_before_its_messages_are_looked_at() -> None:
    async with asked("Report", includeValues=True) as topic:
        name = await shows(topic)
        value = {"message": "1:2", "reason": "TRUNCATED", "value": "4111 1111"}
        topic.world.api.change(
            "/topicschemas/created", lambda there: there["status"]["validation"].update(examples=[value])
        )
        topic.governs("Report")
        topic.wants(schema="{")
        assert await topic.look() == "InvalidSchema"
        assert "4111 1111" not in json.dumps([await report(topic, name), await topic.settle()])


async def test_a_report_without_values_takes_the_place_of_one_that_could_not_be_emptied() -> None:
    async with asked("Report", includeValues=True) as topic:
        name = await shows(topic)
        topic.governs("Report")
        topic.world.api.refusals = {f"PATCH {MAPS}/{name}": 403}
        await topic.look()
        topic.world.api.refusals = {}
        topic.ends(await topic.named(), Answer.FAIL, NOON)
        await topic.look()
        status = await topic.settle()
        assert ("reportWithValues" in status, status["validation"]["report"]) == (False, name)
        assert (await report(topic, name))["data"]["report.json"] == "{}"
