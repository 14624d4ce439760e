"""A topic at a real broker whose resource is being deleted while no policy governs it: for a minute it is held."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from support.kubernetes.watched_namespace import says
from support.pulsar.brokered_namespace import BrokeredShop, brokered
from support.pulsar.brokered_topic import ONE, TWO, BrokeredTopic
from testbed.cluster import Cluster
from testbed.fault_proxy import FaultProxy
from testbed.pulsar import Pulsar


async def with_two_versions(shop: BrokeredShop) -> BrokeredTopic:
    """A topic with two versions of ours, whose schemas go with the resource."""
    topic = BrokeredTopic(shop)
    await topic.governed(schemaCompatibilityStrategy="FULL")
    for schema in (ONE, TWO):
        topic.put(schema, deletionPolicy="Delete")
        await topic.ready()
    shop.proxy.forget()
    return topic


def delete(topic: BrokeredTopic) -> None:
    """Delete its resource, and wait for nothing."""
    topic.shop.watched.delete(f"tsc/{topic.name}", "--wait=false")


@asynccontextmanager
async def abandoned_at(pulsar: Pulsar, cluster: Cluster) -> AsyncIterator[BrokeredTopic]:
    """Such a topic in a namespace of its own, from when the controller says that it has no policy."""
    name = f"t-{secrets.token_hex(4)}"
    cluster.kubectl("create", "namespace", name)
    with FaultProxy.before(pulsar) as proxy:
        async with brokered(proxy, cluster, name) as shop:
            shop.make_namespace()
            topic = await with_two_versions(shop)
            topic.shop.watched.delete("nsp/orders")
            delete(topic)
            status = await topic.ready("PolicyMissing")
            assert says(status)["Reconciling"] == "True"
            yield topic
    cluster.kubectl("delete", "namespace", name, "--wait=false")
