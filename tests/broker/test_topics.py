"""A topic at a real broker: what is registered, in how many requests, and a status after edits of others.

Tests of a broker that was away take ten seconds: the operator probes it in pauses that grow.
"""

import pytest

from support.kubernetes.watched_namespace import conditions, statuses, wait_for
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.brokered_topic import CLASHING, ONE, THREE, TWO, BrokeredTopic

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]


@pytest.fixture
def topic(shop: BrokeredShop) -> BrokeredTopic:
    """Return a topic of which nothing exists but its Pulsar namespace."""
    return BrokeredTopic(shop)


async def test_an_edit_becomes_the_broker_s_next_version_in_three_requests(topic: BrokeredTopic) -> None:
    await topic.govern(schemaCompatibilityStrategy="BACKWARD")
    topic.put(ONE)
    status = await topic.ready()
    assert statuses(status) == dict.fromkeys(("Ready", "Compatible", "Registered", "InSync"), "True")
    assert (status["schemaVersion"], topic.rest.read(0).json["data"]) == (0, ONE)
    assert [version["origin"] for version in status["versions"]] == ["Spec"]
    assert len(topic.broker_writes) == 1
    assert await topic.writes_of_a_reconcile() == []
    reads = len(topic.calls)
    assert {str(call) for call in topic.calls} == {f"GET /admin/v2{topic.rest.schemas}/schema"}, reads
    topic.put(TWO)
    await topic.ready()
    upload = next(index for index, call in enumerate(topic.calls) if call.is_write)
    assert [call.method for call in topic.calls[upload - 1 : upload + 2]] == ["GET", "POST", "GET"]
    assert await topic.assert_recorded() == [0, 1]
    assert await topic.writes_of_a_reconcile() == []


async def test_a_history_of_others_is_adopted_whole_and_judged_by(topic: BrokeredTopic) -> None:
    for schema in (ONE, TWO):
        topic.rest.upload_version(schema)
    await topic.govern(schemaCompatibilityStrategy="BACKWARD")
    topic.put(CLASHING)
    status = await topic.ready("Incompatible")
    assert [(v["schemaVersion"], v["origin"]) for v in status["versions"]] == [(0, "Broker"), (1, "Broker")]
    assert (topic.broker_writes, (await topic.history()).claim) == ([], None)
    assert await topic.writes_of_a_reconcile() == []
    topic.put(THREE)
    await topic.ready()
    assert await topic.assert_recorded() == [0, 1, 2]
    assert await topic.writes_of_a_reconcile() == []


async def test_a_newer_version_of_others_is_reported_and_stays(topic: BrokeredTopic) -> None:
    await topic.govern(schemaCompatibilityStrategy="FULL")
    topic.put(ONE)
    await topic.ready()
    topic.rest.upload_version(TWO)
    status = await topic.in_sync("UnmanagedVersion")
    assert statuses(status) == {"Ready": "True", "Compatible": "True", "Registered": "True", "InSync": "False"}
    assert (status["schemaVersion"], status["latestSchemaVersion"]) == (0, 1)
    assert await topic.writes_of_a_reconcile() == []
    assert await topic.assert_recorded() == [0, 1]
    topic.put(TWO)
    status = await topic.in_sync("Registered")
    assert status["schemaVersion"] == 1
    assert len(topic.rest.versions()) == 2


async def test_tombstones_and_gaps_are_recorded_as_they_are(topic: BrokeredTopic) -> None:
    assert topic.rest.upload_version(CLASHING) == 0
    assert topic.rest.delete() == 1
    assert topic.rest.upload_version("", "STRING") == 2
    assert topic.rest.delete() == 3
    assert topic.rest.upload_version(ONE) == 4
    await topic.govern()
    topic.put(TWO)
    status = await topic.ready()
    assert (status["schemaVersion"], await topic.assert_recorded()) == (5, [4, 5])
    assert "versions before 3 were deleted at the broker" in conditions(status)["Ready"]["message"]
    assert status["versionCount"] == 2
    assert [(e.schema_version, e.is_tombstone) for e in (await topic.history()).entries] == [
        (3, True),
        (4, False),
        (5, False),
    ]
    assert topic.rest.delete() == 6

    await wait_for(lambda: topic.shop.watched.get(topic.name), lambda wire: wire["status"].get("schemaVersion") == 7)
    assert await topic.writes_of_a_reconcile() == []
    assert (await topic.assert_recorded(), topic.rest.index()) == ([7], [0, 1, 2, 3, 4, 5, 6, 7])


async def test_a_history_that_the_broker_lost_is_reported_and_nothing_is_uploaded_onto_it(topic: BrokeredTopic) -> None:
    await topic.govern(schemaCompatibilityStrategy="FULL")
    for schema in (ONE, TWO):
        topic.put(schema)
        await topic.ready()
    topic.rest.delete(force=True)
    topic.shop.proxy.clear()
    status = await topic.ready("HistoryLost")
    assert statuses(status)["InSync"] == "False"
    assert statuses(status)["Stalled"] == "True"
    topic.put(THREE)
    await topic.ready("HistoryLost")
    assert topic.broker_writes == []
    assert await topic.writes_of_a_reconcile() == []
    assert len((await topic.history()).entries) == 2
    topic.rest.upload_version(THREE)  # a producer of another team
    status = await topic.ready("HistoryLost")
    assert len((await topic.history()).entries) == 2
    assert topic.broker_writes == []


async def test_a_broker_that_goes_away_leaves_what_is_registered_ready(topic: BrokeredTopic) -> None:
    await topic.govern()
    topic.put(ONE)
    await topic.ready()
    topic.shop.proxy.refuse()
    status = await topic.in_sync("BrokerUnavailable")
    assert statuses(status) == {"Ready": "True", "Compatible": "True", "Registered": "True", "InSync": "Unknown"}
    topic.put(TWO)
    status = await topic.ready("BrokerUnavailable")
    assert statuses(status)["Ready"] == "False"
    assert statuses(status)["Reconciling"] == "True"
    topic.shop.proxy.accept()
    assert (await topic.ready())["schemaVersion"] == 1
    assert await topic.assert_recorded() == [0, 1]
