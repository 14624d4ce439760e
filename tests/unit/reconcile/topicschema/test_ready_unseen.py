"""A topic stays Ready though its broker is not seen only while the record tells that the broker had its schema."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.kubernetes.topic import TOPIC
from support.schemas.examples import record
from support.validation.validated_topic import FALSE, TRUE, UNKNOWN, WELL, ValidatedTopic, open_validated_topic
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.core.schemas import Schema
from topicschema.core.strategies import Strategy

ONE, TWO = record("id"), record("id", "a?")
JUDGED = {"Compatible": UNKNOWN, "Registered": UNKNOWN, "InSync": UNKNOWN}
WAITING = {"Ready": FALSE, "Reconciling": TRUE, **JUDGED}


@pytest.fixture
async def topic() -> AsyncIterator[ValidatedTopic]:
    async with open_validated_topic("Off") as topic:
        yield topic


async def test_a_version_of_the_broker_stays_ready_while_that_is_unreachable(topic: ValidatedTopic) -> None:
    topic.set_topic(ONE)
    for is_shut in (False, True, False):
        topic.world.broker.is_forbidden = is_shut
        assert await topic.settled_statuses() == {**WELL, **({"InSync": UNKNOWN} if is_shut else {})}


@pytest.mark.parametrize("has_version", [True, False])
async def test_an_edit_that_was_only_observed_is_not_ready_before_it_is_uploaded(
    topic: ValidatedTopic, *, has_version: bool
) -> None:
    if has_version:
        topic.set_topic(ONE)
        assert await topic.settled_statuses() == WELL
    await topic.change_policy(managementPolicy="Observe")
    topic.set_topic(TWO)
    assert await topic.settled_statuses() == {**WELL, "Registered": FALSE, "InSync": FALSE}
    if has_version:
        await topic.change_policy(managementPolicy=None)
        topic.world.broker.upload_status = 403
        assert await topic.settled_statuses() == WAITING
    topic.world.broker.is_forbidden = True
    assert await topic.settled_statuses() == WAITING


@pytest.mark.parametrize("hindrance", ["away", "no such Secret", "not allowed"])
async def test_what_was_registered_without_a_broker_is_not_ready_before_the_broker_has_it(
    topic: ValidatedTopic, hindrance: str
) -> None:
    there: dict[str, Any] = {"adminURL": topic.world.broker.url}
    await topic.change_policy(pulsar=None)
    topic.set_topic(ONE)
    assert await topic.settled_statuses() == WELL
    token = {"token": {"secretKeyRef": {"name": "admin", "key": "token"}}}
    named = {
        "away": there,
        "no such Secret": {**there, "authentication": token},
        "not allowed": {"adminURL": "http://elsewhere:8080"},
    }
    topic.world.broker.is_forbidden = hindrance == "away"
    await topic.change_policy(pulsar=named[hindrance])
    stalled = {"Ready": FALSE, "Stalled": TRUE, **JUDGED}
    assert await topic.settled_statuses() == (stalled if hindrance == "not allowed" else WAITING)
    topic.world.broker.is_forbidden = False
    await topic.change_policy(pulsar=there)
    assert await topic.settled_statuses() == WELL
    assert await topic.world.is_recorded()


@pytest.mark.parametrize("of", ["spec", "record"])
@pytest.mark.parametrize("status", [401, 403])
async def test_a_version_that_others_deleted_is_not_ready_though_the_topic_s_own_strategy_may_not_be_read(
    topic: ValidatedTopic, of: str, status: int
) -> None:
    if of == "record":
        topic.world.broker.schemas.settings[TOPIC] = {"strategy": Strategy.FULL}
    topic.set_topic(ONE, **({"schemaCompatibilityStrategy": "FULL"} if of == "spec" else {}))
    assert await topic.settled_statuses() == WELL
    topic.world.broker.topic_settings_status = status
    assert await topic.settled_statuses() == {**WELL, "InSync": UNKNOWN}
    before = await topic.world.history()
    topic.world.broker.schemas.soft_delete(TOPIC)
    assert await topic.settled_statuses() == WAITING
    ready = (await topic.conditions())["Ready"]
    assert ready["reason"] == "BrokerForbidden"
    assert "no longer serves version 0" in ready["message"]
    assert "GET /admin/v2/persistent/shop/orders/created/schemaCompatibilityStrategy" in ready["message"]
    topic.world.broker.is_forbidden = True
    assert await topic.settled_statuses() == WAITING
    assert await topic.world.history() == before
    topic.world.broker.is_forbidden, topic.world.broker.topic_settings_status = False, 200
    assert await topic.settled_statuses() == WELL
    assert await topic.world.is_recorded()


@pytest.mark.parametrize("is_replaced", [False, True])
async def test_only_a_version_of_the_same_number_is_ready_while_settings_cannot_be_read(
    topic: ValidatedTopic, *, is_replaced: bool
) -> None:
    topic.set_topic(ONE, schemaCompatibilityStrategy="FULL")
    assert await topic.settled_statuses() == WELL
    topic.world.broker.topic_settings_status = 403
    if is_replaced:
        topic.world.broker.schemas.soft_delete(TOPIC)
    topic.world.upload(ONE if is_replaced else TWO)
    assert await topic.settled_statuses() == (WAITING if is_replaced else {**WELL, "InSync": UNKNOWN})
    topic.world.broker.topic_settings_status = 200
    assert await topic.settled_statuses() == {**WELL, **({} if is_replaced else {"InSync": FALSE})}
    assert await topic.world.is_recorded()


@pytest.mark.parametrize("there", [None, TWO], ids=["nothing", "another"])
async def test_a_version_that_is_gone_is_not_ready_though_the_broker_tells_no_numbers(
    topic: ValidatedTopic, there: Schema | None
) -> None:
    topic.set_topic(ONE)
    assert await topic.settled_statuses() == WELL
    topic.world.broker.schemas.force_delete(TOPIC)
    if there is not None:
        topic.world.upload(there)
    topic.world.broker.is_index_forbidden = True
    assert await topic.settled_statuses() == WAITING
    assert "no longer serves version 0" in (await topic.conditions())["Ready"]["message"]


async def test_a_version_that_others_deleted_is_not_ready_before_it_is_uploaded_again(topic: ValidatedTopic) -> None:
    topic.set_topic(ONE)
    assert await topic.settled_statuses() == WELL
    before = await topic.world.ctx.client.get(TOPIC_SCHEMA, "shop", "created")
    topic.world.broker.schemas.soft_delete(TOPIC)
    topic.world.broker.upload_status = 403
    assert await topic.settled_statuses() == WAITING
    topic.world.api.change("/shop/topicschemas/created", lambda wire: wire.update(status=before["status"]))
    topic.world.broker.is_forbidden = True  # the history has it as deleted
    assert await topic.settled_statuses() == WAITING
    topic.world.broker.is_forbidden, topic.world.broker.upload_status = False, 200
    assert await topic.settled_statuses() == WELL
    assert await topic.world.is_recorded()
