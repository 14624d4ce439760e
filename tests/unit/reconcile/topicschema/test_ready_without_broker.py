"""A topic stays Ready without a response of its broker only if, by its history, the broker had its schema."""

import pytest

from support.kubernetes.topic import TOPIC
from support.schemas.examples import history, record
from support.validation.validated_topic import FALSE, TRUE, UNKNOWN, WELL, ValidatedTopic
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import VersionEntry
from topicschema.core.reasons import Reason
from topicschema.core.schemas import Schema
from topicschema.core.strategies import Strategy
from topicschema.reconcile.topicschema.observe_broker import VersionGoneError, with_note

ONE, TWO = record("id"), record("id", "a?")
JUDGED = {"Compatible": UNKNOWN, "Registered": UNKNOWN, "InSync": UNKNOWN}
WAITING = {"Ready": FALSE, "Reconciling": TRUE, **JUDGED}


async def test_a_version_of_the_broker_stays_ready_while_that_is_unreachable(topic: ValidatedTopic) -> None:
    topic.set_topic(ONE)
    for is_away in (False, True, False):
        topic.broker.is_forbidden = is_away
        assert await topic.settled_statuses() == {**WELL, **({"InSync": UNKNOWN} if is_away else {})}


@pytest.mark.parametrize("has_version", [True, False])
async def test_an_edit_that_was_only_observed_is_not_ready_before_it_is_uploaded(
    topic: ValidatedTopic, *, has_version: bool
) -> None:
    if has_version:
        topic.set_topic(ONE)
        assert await topic.settled_statuses() == WELL
    await topic.world.change_policy(managementPolicy="Observe")
    topic.set_topic(TWO)
    assert await topic.settled_statuses() == {**WELL, "Registered": FALSE, "InSync": FALSE}
    if has_version:
        await topic.world.change_policy(managementPolicy=None)
        topic.broker.upload_status = 403
        assert await topic.settled_statuses() == WAITING
    topic.broker.is_forbidden = True
    assert await topic.settled_statuses() == WAITING


@pytest.mark.parametrize("hindrance", ["away", "no such Secret", "no URL"])
async def test_what_was_registered_without_a_broker_is_not_ready_before_the_broker_has_it(
    topic: ValidatedTopic, hindrance: str
) -> None:
    pulsar = topic.world.pulsar
    await topic.world.change_registry(pulsar=None)
    topic.set_topic(ONE)
    assert await topic.settled_statuses() == WELL
    token = {"token": {"secretRef": {"name": "admin", "key": "token"}}}
    named = {
        "no such Secret": {**pulsar, "authentication": token},
        "no URL": {"adminURL": "https://pulsar:99999"},
    }
    topic.broker.is_forbidden = hindrance == "away"
    await topic.world.change_registry(pulsar=named.get(hindrance, pulsar))
    stalled = {"Ready": FALSE, "Stalled": TRUE, **JUDGED}
    assert await topic.settled_statuses() == (stalled if hindrance == "no URL" else WAITING)
    topic.broker.is_forbidden = False
    await topic.world.change_registry(pulsar=pulsar)
    assert await topic.settled_statuses() == WELL
    assert await topic.world.is_recorded()


@pytest.mark.parametrize("of", ["spec", "record"])
@pytest.mark.parametrize("status", [401, 403])
async def test_a_version_that_others_deleted_is_not_ready_though_the_topic_s_own_strategy_may_not_be_read(
    topic: ValidatedTopic, of: str, status: int
) -> None:
    if of == "record":
        topic.broker.schemas.settings[TOPIC] = {"strategy": Strategy.FULL}
    topic.set_topic(ONE, **({"schemaCompatibilityStrategy": "FULL"} if of == "spec" else {}))
    assert await topic.settled_statuses() == WELL
    topic.broker.topic_settings_status = status
    assert await topic.settled_statuses() == {**WELL, "InSync": UNKNOWN}
    before = await topic.world.history()
    topic.broker.schemas.soft_delete(TOPIC)
    assert await topic.settled_statuses() == WAITING
    ready = (await topic.conditions())["Ready"]
    assert ready["reason"] == "BrokerForbidden"
    assert "no longer serves version 0" in ready["message"]
    assert "GET /admin/v2/persistent/shop/orders/created/schemaCompatibilityStrategy" in ready["message"]
    topic.broker.is_forbidden = True
    assert await topic.settled_statuses() == WAITING
    assert await topic.world.history() == before
    topic.broker.is_forbidden, topic.broker.topic_settings_status = False, 200
    assert await topic.settled_statuses() == WELL
    assert await topic.world.is_recorded()


@pytest.mark.parametrize("is_replaced", [False, True])
async def test_only_a_version_of_the_same_number_is_ready_while_settings_cannot_be_read(
    topic: ValidatedTopic, *, is_replaced: bool
) -> None:
    topic.set_topic(ONE, schemaCompatibilityStrategy="FULL")
    assert await topic.settled_statuses() == WELL
    topic.broker.topic_settings_status = 403
    if is_replaced:
        topic.broker.schemas.soft_delete(TOPIC)
    topic.world.upload(ONE if is_replaced else TWO)
    assert await topic.settled_statuses() == (WAITING if is_replaced else {**WELL, "InSync": UNKNOWN})
    topic.broker.topic_settings_status = 200
    assert await topic.settled_statuses() == {**WELL, **({} if is_replaced else {"InSync": FALSE})}
    assert await topic.world.is_recorded()


@pytest.mark.parametrize("there", [None, TWO], ids=["nothing", "another"])
async def test_a_version_that_is_gone_is_not_ready_though_the_versions_may_not_be_listed(
    topic: ValidatedTopic, there: Schema | None
) -> None:
    topic.set_topic(ONE)
    assert await topic.settled_statuses() == WELL
    topic.broker.schemas.force_delete(TOPIC)
    if there is not None:
        topic.world.upload(there)
    topic.broker.is_index_forbidden = True
    assert await topic.settled_statuses() == WAITING
    assert "no longer serves version 0" in (await topic.conditions())["Ready"]["message"]


async def test_a_version_that_others_deleted_is_not_ready_before_it_is_uploaded_again(topic: ValidatedTopic) -> None:
    topic.set_topic(ONE)
    assert await topic.settled_statuses() == WELL
    before = await topic.world.ctx.client.get(TOPIC_SCHEMA, "shop", "created")
    topic.broker.schemas.soft_delete(TOPIC)
    topic.broker.upload_status = 403
    assert await topic.settled_statuses() == WAITING
    topic.api.change("/shop/topicschemas/created", lambda wire: wire.update(status=before["status"]))
    topic.broker.is_forbidden = True  # the history has it as deleted
    assert await topic.settled_statuses() == WAITING
    topic.broker.is_forbidden, topic.broker.upload_status = False, 200
    assert await topic.settled_statuses() == WELL
    assert await topic.world.is_recorded()


UNAVAILABLE = WaitingError(Reason.BROKER_UNAVAILABLE, "the broker is silent", 7.0)
UNKNOWN_TYPE = StalledError(Reason.UNSUPPORTED_SCHEMA_TYPE, "no type of that number is known")
GONE = history(record("id")).entries[0]
ALREADY = VersionGoneError(GONE, UNAVAILABLE)
LOST = StalledError(Reason.HISTORY_LOST, "the broker has none of them")


@pytest.mark.parametrize("error", [UNAVAILABLE, UNKNOWN_TYPE, LOST, ALREADY])
@pytest.mark.parametrize("gone", [GONE, None])
def test_an_error_of_a_fetch_has_the_missing_version(error: TopicSchemaError, gone: VersionEntry | None) -> None:
    with pytest.raises(type(error) if gone is None else TopicSchemaError) as raised, with_note(gone):
        raise error
    if gone is None or error in (LOST, ALREADY):
        assert raised.value is error
    else:
        assert isinstance(raised.value, VersionGoneError)
        assert (raised.value.reason, raised.value.gone) == (error.reason, gone)
        assert "no longer serves version 0" in raised.value.message
        assert error.message in raised.value.message
