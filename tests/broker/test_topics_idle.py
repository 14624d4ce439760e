"""A real broker collects unused topics with all their versions: such a topic is never taken for an empty one.

A test waits some seconds until the broker's garbage collector has run.
"""

import json
import subprocess
import sys
from functools import partial
from typing import Any

import pytest

from support.kubernetes.watched_namespace import conditions, statuses, wait_for
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.brokered_topic import ONE, THREE, TWO, BrokeredTopic
from testbed.product import NAMESPACE as SYSTEM
from testbed.product import Product
from topicschema.api.store import history_name

pytestmark = [pytest.mark.timeout(300), pytest.mark.broker]

_IDLE = {
    "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
    "maxInactiveDurationSeconds": 1,
    "deleteWhileInactive": True,
}


async def wait_until_collected(topic: BrokeredTopic) -> None:
    """Return once the broker has collected the topic, which was idle for a second."""
    path = f"/namespaces/{topic.shop.pulsar_namespace}/inactiveTopicPolicies"
    topic.shop.pulsar.call("POST", path, _IDLE)

    async def index() -> list[int] | None:
        return topic.rest.index()

    await wait_for(index, lambda current: current is None)
    topic.shop.pulsar.call("DELETE", path)


def recorded_uploads(topic: BrokeredTopic, history: str) -> list[dict[str, Any]]:
    """Return the uploads of the record as docs/broker.md describes them."""
    kubectl = partial(topic.shop.watched.shop.cluster.kubectl, "get", "-n", SYSTEM, "-o", "json")
    resources = kubectl("schemahistory", history) + kubectl("schemaversions", "-l", f"topicschema.io/history={history}")
    command = [sys.executable, "-m", "topicschema", "export"]
    output = subprocess.run(command, input=resources, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in output.splitlines()]


async def test_versions_that_were_collected_with_an_idle_topic_are_lost_and_do_not_restart(
    shop: BrokeredShop, shared_controller: Product
) -> None:
    """Check also a topic with a subscription, and one that never existed as a topic: theirs stay."""
    topic, subscribed, never = (BrokeredTopic(shop, name) for name in ("created", "subscribed", "never"))
    for each in (topic, subscribed):
        each.create()
    shop.pulsar.call("PUT", f"{subscribed.rest.itself}/subscription/s", {})
    await topic.govern(schemaCompatibilityStrategy="FULL")
    for each in (topic, subscribed, never):
        for schema in (ONE, TWO):
            each.put(schema)
            await each.ready()
    shop.proxy.clear()
    await wait_until_collected(topic)
    status = await topic.ready("HistoryLost")
    assert (statuses(status)["Stalled"], statuses(status)["InSync"]) == ("True", "False")
    assert conditions(status)["Ready"]["message"] != ""
    topic.put(THREE)
    await topic.ready("HistoryLost")
    shared_controller.controller.kill()  # a fresh controller does not take it for an empty topic, either
    shared_controller.start_controller()
    assert await topic.writes_of_a_reconcile() == []
    topic.put(ONE)
    await topic.ready("HistoryLost")
    assert (topic.broker_writes, topic.rest.index()) == ([], None)
    assert [entry.schema_version for entry in (await topic.history()).entries] == [0, 1]
    for each in (subscribed, never):
        assert (statuses(await each.ready())["InSync"], await each.assert_recorded()) == ("True", [0, 1])
    for body in recorded_uploads(topic, history_name((await topic.history()).key)):
        topic.shop.pulsar.call("POST", f"{topic.rest.schemas}/schema", body)
    await topic.ready("RolledBack")
    assert await topic.assert_recorded() == [0, 1]
    topic.put(THREE)
    await topic.ready()
    assert (await topic.assert_recorded(), topic.rest.index()) == ([0, 1, 2], [0, 1, 2])
    assert await topic.writes_of_a_reconcile() == []
