"""A topic's schemas at a real broker when its TopicSchema is deleted.

Tests of a broker that was away take ten seconds: the operator probes it in pauses that grow.
"""

import pytest

from support.kubernetes.watched_namespace import statuses
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.brokered_topic import ONE, TWO, BrokeredTopic
from testbed.product import NAMESPACE as SYSTEM
from topicschema.api.store import history_name

pytestmark = [pytest.mark.timeout(300), pytest.mark.broker]


@pytest.fixture
async def topic(shop: BrokeredShop) -> BrokeredTopic:
    """Return a topic with two versions of ours, whose schemas are deleted with the resource."""
    topic = BrokeredTopic(shop)
    await topic.govern(schemaCompatibilityStrategy="FULL")
    for schema in (ONE, TWO):
        topic.put(schema, deletionPolicy="Delete")
        await topic.ready()
    shop.proxy.clear()
    return topic


def delete(topic: BrokeredTopic) -> None:
    """Delete its resource without a wait."""
    topic.shop.watched.delete(f"tsc/{topic.name}", "--wait=false")


async def test_schemas_that_are_deleted_with_their_resource_get_one_tombstone(topic: BrokeredTopic) -> None:
    delete(topic)
    await topic.shop.watched.gone(topic.name)
    assert (topic.rest.versions(), topic.rest.index()) == ([], [0, 1, 2])
    assert not (await topic.history()).entries
    topic.shop.proxy.clear()
    topic.put(ONE, deletionPolicy="Delete")
    status = await topic.ready()
    assert (status["schemaVersion"], await topic.assert_recorded()) == (3, [3])
    assert topic.rest.delete() == 4  # by hand: nothing is served, so nothing is left to delete
    delete(topic)
    await topic.shop.watched.gone(topic.name)
    index = topic.rest.index()
    assert index is not None
    assert len(topic.rest.versions()) == 0
    assert index[-1] in (4, 6)  # the controller may have been faster and registered it again before the end


async def test_a_deletion_waits_for_an_unavailable_broker_until_a_person_skips_it(topic: BrokeredTopic) -> None:
    topic.shop.proxy.refuse()
    delete(topic)
    status = await topic.ready("BrokerUnavailable")
    assert statuses(status)["Ready"] == "False"
    done = topic.shop.watched.shop.run("annotate", "tsc", topic.name, "topicschema.io/skip-broker-delete=true")
    assert done.returncode == 0, done.stderr
    await topic.shop.watched.gone(topic.name)
    assert topic.rest.versions() == [0, 1]
    assert len((await topic.history()).entries) == 2
    (event,) = topic.events("DeletionSkipped")
    assert "skip-broker-delete is set" in event["note"]


async def test_a_namespace_that_ends_is_not_blocked(topic: BrokeredTopic) -> None:
    cluster = topic.shop.watched.shop.cluster
    cluster.kubectl("delete", "namespace", topic.shop.watched.namespace, "--wait=false")
    await topic.shop.watched.gone(topic.name)
    assert topic.rest.versions() == [0, 1]
    assert len((await topic.history()).entries) == 2
    name = history_name((await topic.history()).key)
    assert [event["regarding"]["name"] for event in topic.events("DeletionSkipped", SYSTEM)].count(name) == 1
