"""A broker that falls silent holds up nobody who does not ask it.

It takes some seconds to fill the queue of a silent broker with topics.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from support.kubernetes.watched_namespace import text, until
from support.pulsar.brokered_namespace import RESYNC, BrokeredShop, brokered
from testbed.calls import Exchange
from testbed.cluster import Cluster
from testbed.fault_proxy import FaultProxy
from testbed.instances import Instance
from testbed.product import PATIENT_LEASE, Product
from testbed.pulsar import Pulsar

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]

_WORKERS = 2
_TOPICS = 3 * _WORKERS


@dataclass(slots=True)
class Silence:
    """A fault: no call is ever answered. `in_flight` counts the callers that still wait."""

    _held: list[Exchange] = field(default_factory=list)

    @property
    def in_flight(self) -> int:
        return sum(exchange.request.transport is not None for exchange in tuple(self._held))

    async def __call__(self, exchange: Exchange) -> web.StreamResponse:
        self._held.append(exchange)
        await asyncio.sleep(600)
        return web.Response(status=504)


@pytest.fixture(scope="module")
def controller(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """The controller with two workers for each broker."""
    environment = {**PATIENT_LEASE, **RESYNC, "TOPICSCHEMA_RESYNC_PERIOD": "600", "TOPICSCHEMA_WORKERS": str(_WORKERS)}
    with Product.controlling(instance, cluster, environment) as installed:
        yield installed


@pytest.fixture
async def shops(
    controller: Product, pulsar: Pulsar, cluster: Cluster, namespace: str
) -> AsyncIterator[tuple[BrokeredShop, BrokeredShop]]:
    """Two namespaces, each with a way to the broker of its own: for the operator these are two brokers."""
    other = f"{namespace}-other"
    cluster.kubectl("create", "namespace", other)
    with FaultProxy.before(pulsar) as proxy, FaultProxy.before(pulsar) as other_proxy:
        async with (
            brokered(proxy, cluster, namespace) as shop,
            brokered(other_proxy, cluster, other) as other_shop,
        ):
            for each in (shop, other_shop):
                each.make_namespace()
                each.govern(schemaCompatibilityStrategy="BACKWARD")
                await each.policy_ready("Active")
            yield shop, other_shop
    cluster.kubectl("delete", "namespace", other, "--wait=false")


async def test_topics_of_a_broker_that_answers_go_on_while_another_is_silent(
    shops: tuple[BrokeredShop, BrokeredShop],
) -> None:
    good, ill = shops
    good.watched.put(text("id"))
    names = [f"topic-{number}" for number in range(_TOPICS)]
    ill.watched.apply(*(ill.watched.topic(text("id"), name) for name in names))
    for shop, name in [(good, "created"), *((ill, name) for name in names)]:
        await shop.watched.ready("Registered", name)
    silence = Silence()
    ill.proxy.fault = silence
    ill.watched.apply(*(ill.watched.topic(text("id", "note?"), name) for name in names))

    async def in_flight() -> int:
        return silence.in_flight

    await until(in_flight, lambda count: count >= _WORKERS)
    good.watched.put(text("id", "note?"))
    status = await good.watched.ready("Registered")
    assert status["schemaVersion"] == 1
    await until(in_flight, lambda count: count >= _WORKERS)
    ill.watched.apply(ill.watched.shop.policy(schemaCompatibilityStrategy="BACKWARD"))  # which asks no broker
    await ill.policy_ready("Active")


async def test_a_topic_that_nobody_has_seen_does_not_take_the_places_of_others(
    shops: tuple[BrokeredShop, BrokeredShop],
) -> None:
    good, ill = shops
    silence = Silence()
    ill.proxy.fault = silence
    names = [f"topic-{number}" for number in range(_TOPICS)]
    ill.watched.apply(*(ill.watched.topic(text("id"), name) for name in names))

    async def in_flight() -> int:
        return silence.in_flight

    await until(in_flight, lambda count: count >= _WORKERS)
    good.watched.put(text("id"))
    await good.watched.ready("Registered")
    await until(in_flight, lambda count: count >= _WORKERS)
