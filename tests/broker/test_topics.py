"""A topic at a real broker: what is registered, in how many requests, and a status after edits of others.

Tests of a broker that was away take ten seconds: the operator probes it in pauses that grow.
"""

import pytest

from support.kubernetes.watched_namespace import conditions, says, until
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.brokered_topic import CLASHING, ONE, THREE, TWO, BrokeredTopic

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]


@pytest.fixture
def topic(shop: BrokeredShop) -> BrokeredTopic:
    """Return a topic of which nothing exists but its Pulsar namespace."""
    return BrokeredTopic(shop)


async def test_an_edit_becomes_the_broker_s_next_version_in_three_requests(topic: BrokeredTopic) -> None:
    await topic.governed(schemaCompatibilityStrategy="BACKWARD")
    topic.put(ONE)
    status = await topic.ready()
    assert says(status) == dict.fromkeys(("Ready", "Compatible", "Registered", "InSync"), "True")
    assert (status["schemaVersion"], topic.rest.read(0).json["data"]) == (0, ONE)
    assert [version["origin"] for version in status["versions"]] == ["Spec"]
    assert len(topic.written) == 1
    assert await topic.looked_again() == []
    reads = len(topic.calls)
    assert {str(call) for call in topic.calls} == {f"GET /admin/v2{topic.rest.schemas}/schema"}, reads
    topic.put(TWO)
    await topic.ready()
    upload = next(index for index, call in enumerate(topic.calls) if call.is_write)
    assert [call.method for call in topic.calls[upload - 1 : upload + 2]] == ["GET", "POST", "GET"]
    assert await topic.agree() == [0, 1]
    assert await topic.looked_again() == []


async def test_a_history_of_others_is_adopted_whole_and_judged_by(topic: BrokeredTopic) -> None:
    for schema in (ONE, TWO):
        topic.rest.uploaded(schema)
    await topic.governed(schemaCompatibilityStrategy="BACKWARD")
    topic.put(CLASHING)
    status = await topic.ready("Incompatible")
    assert [(v["schemaVersion"], v["origin"]) for v in status["versions"]] == [(0, "Broker"), (1, "Broker")]
    assert (topic.written, (await topic.history()).claim) == ([], None)
    assert await topic.looked_again() == []
    topic.put(THREE)
    await topic.ready()
    assert await topic.agree() == [0, 1, 2]
    assert await topic.looked_again() == []


async def test_a_newer_version_of_others_is_reported_and_stays(topic: BrokeredTopic) -> None:
    await topic.governed(schemaCompatibilityStrategy="FULL")
    topic.put(ONE)
    await topic.ready()
    topic.rest.uploaded(TWO)
    status = await topic.in_sync("UnmanagedVersion")
    assert says(status) == {"Ready": "True", "Compatible": "True", "Registered": "True", "InSync": "False"}
    assert (status["schemaVersion"], status["latestSchemaVersion"]) == (0, 1)
    assert await topic.looked_again() == []
    assert await topic.agree() == [0, 1]
    topic.put(TWO)
    status = await topic.in_sync("Registered")
    assert status["schemaVersion"] == 1
    assert len(topic.rest.versions()) == 2


async def test_tombstones_and_gaps_are_recorded_as_they_are(topic: BrokeredTopic) -> None:
    assert topic.rest.uploaded(CLASHING) == 0
    assert topic.rest.delete() == 1
    assert topic.rest.uploaded("", "STRING") == 2
    assert topic.rest.delete() == 3
    assert topic.rest.uploaded(ONE) == 4
    await topic.governed()
    topic.put(TWO)
    status = await topic.ready()
    assert (status["schemaVersion"], await topic.agree()) == (5, [4, 5])
    assert "versions before 3 were deleted at the broker" in conditions(status)["Ready"]["message"]
    assert status["versionCount"] == 2
    assert [(e.schema_version, e.is_tombstone) for e in (await topic.history()).entries] == [
        (3, True),
        (4, False),
        (5, False),
    ]
    assert topic.rest.delete() == 6

    async def schema_version() -> int | None:
        number: int | None = (await topic.shop.watched.get(topic.name))["status"].get("schemaVersion")
        return number

    await until(schema_version, lambda number: number == 7)
    assert await topic.looked_again() == []
    assert (await topic.agree(), topic.rest.index()) == ([7], [0, 1, 2, 3, 4, 5, 6, 7])


async def test_a_history_that_the_broker_lost_is_reported_and_nothing_is_uploaded_onto_it(topic: BrokeredTopic) -> None:
    await topic.governed(schemaCompatibilityStrategy="FULL")
    for schema in (ONE, TWO):
        topic.put(schema)
        await topic.ready()
    topic.rest.delete(force=True)
    topic.shop.proxy.forget()
    status = await topic.ready("HistoryLost")
    assert says(status)["InSync"] == "False"
    assert says(status)["Stalled"] == "True"
    topic.put(THREE)
    await topic.ready("HistoryLost")
    assert topic.written == []
    assert await topic.looked_again() == []
    assert len((await topic.history()).entries) == 2
    topic.rest.uploaded(THREE)  # a producer of another team
    status = await topic.ready("HistoryLost")
    assert len((await topic.history()).entries) == 2
    assert topic.written == []


async def test_a_broker_that_goes_away_leaves_what_is_registered_ready(topic: BrokeredTopic) -> None:
    await topic.governed()
    topic.put(ONE)
    await topic.ready()
    topic.shop.proxy.refuse()
    status = await topic.in_sync("BrokerUnavailable")
    assert says(status) == {"Ready": "True", "Compatible": "True", "Registered": "True", "InSync": "Unknown"}
    topic.put(TWO)
    status = await topic.ready("BrokerUnavailable")
    assert says(status)["Ready"] == "False"
    assert says(status)["Reconciling"] == "True"
    topic.shop.proxy.accept()
    assert (await topic.ready())["schemaVersion"] == 1
    assert await topic.agree() == [0, 1]
