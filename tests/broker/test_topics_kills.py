"""The controller is killed before and after each call of each flow, at the broker and the API server, and restarts.

In the end record and broker agree, each version is there once, and another reconcile writes nothing. The reconciles run
in this process, one after the other, so that a flow's calls are the same in every run. Each is killed at three
places in `make test`, and at every one in a full run. A flow takes ten seconds: it runs again for each of its places.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass

import pytest

from support.pulsar.brokered_namespace import BrokeredShop, proxied_shop
from support.pulsar.brokered_topic import CLASHING, ONE, OTHER, THREE, TWO, BrokeredTopic
from support.pulsar.reconciler_process import CallKind, KillPoint, Process, kill_everywhere, process, run_until_killed
from support.sizes import IS_FULL
from testbed import broker_faults
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.product import Product
from testbed.pulsar import Pulsar
from topicschema.api import SKIP_BROKER_DELETE_ANNOTATION
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.reconcile.runtime.work_queue import ReconcileResult

pytestmark = [pytest.mark.timeout(600), pytest.mark.broker]


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow: the state before, the edit of a person, and the versions in the end.

    `uploads` is the number of its writes at the broker, `records` the least number at the API server. A status with the
    same second of the same version is not written. `strategy` is the topic's own in the end, "" if it is not checked.
    """

    name: str
    before: Callable[[BrokeredTopic], Awaitable[None]]
    act: Callable[[BrokeredTopic], Awaitable[None]]
    versions: list[int]
    uploads: int
    records: int
    strategy: str = ""

    def places(self) -> Iterator[KillPoint]:
        """Yield three places of every run: the first call, a write there, and the last write of the record."""
        yield KillPoint(CallKind.CALLS, 1) if self.name != RELEASE else KillPoint(CallKind.RECORD, 1)
        yield (
            KillPoint(CallKind.UPLOADS, 1, is_before=False)
            if self.uploads
            else KillPoint(CallKind.RECORD, max(self.records - 1, 1))
        )
        yield KillPoint(CallKind.RECORD, self.records)


async def nothing(topic: BrokeredTopic) -> None:
    """Check that the topic has nothing."""
    assert topic.rest.versions() == []


async def one(topic: BrokeredTopic) -> None:
    await topic.edit(ONE, deletionPolicy="Delete")
    await settled(topic)


async def two(topic: BrokeredTopic) -> None:
    await one(topic)
    await topic.edit(TWO, deletionPolicy="Delete")
    await settled(topic)


async def of_others(topic: BrokeredTopic) -> None:
    for schema in (ONE, TWO):
        topic.rest.upload_version(schema)


async def existing(topic: BrokeredTopic) -> None:
    """Make a topic that exists, with a version."""
    topic.create()
    await one(topic)


async def local(topic: BrokeredTopic) -> None:
    """Register three versions without a broker."""
    topic.shop.watched.govern(schemaCompatibilityStrategy="FULL")
    async with process(topic.shop.watched) as running:
        await running.govern()
        for schema in (ONE, TWO, THREE):
            await topic.edit(schema)
            assert await running.settle(topic.name) is ReconcileResult.DONE
    assert topic.rest.versions() == []
    topic.shop.apply_registry()
    async with process(topic.shop.watched) as running:
        await running.govern()  # a topic waits until its policy was at the new broker


async def displaced(topic: BrokeredTopic) -> None:
    """Make the same history, at a broker that has another first version."""
    await local(topic)
    topic.rest.upload_version(OTHER)


async def hidden(topic: BrokeredTopic) -> None:
    """Register a version, and delete it at the broker."""
    await one(topic)
    assert topic.rest.delete() == 1


async def withdrawn(topic: BrokeredTopic) -> None:
    """Apply an edit whose strategy was written, and whose schema the broker did not get."""
    await existing(topic)
    await overridden(topic)
    await interrupt(topic, "POST")


async def withdrawn_twice(topic: BrokeredTopic) -> None:
    """Withdraw an edit, and apply another edit with another strategy, of which the broker did not get even that."""
    await withdrawn(topic)
    await replaced(topic)
    await interrupt(topic, "PUT")


async def interrupt(topic: BrokeredTopic, method: str) -> None:
    """Reconcile an edit up to the broker's first call of that method, which fails."""
    topic.shop.proxy.fault = broker_faults.when(lambda call: call.method == method, broker_faults.status(503))
    async with process(topic.shop.watched) as running:
        assert await running.settle(topic.name) is None
    topic.shop.proxy.fault = broker_faults.forward


async def stuck(topic: BrokeredTopic) -> None:
    """Start a deletion that waits for a broker that is away."""
    await two(topic)
    topic.shop.proxy.refuse()
    await topic.delete()
    async with process(topic.shop.watched) as running:
        assert await running.settle(topic.name) is None
    topic.shop.proxy.accept()


async def release(topic: BrokeredTopic) -> None:
    watched = topic.shop.watched
    body = {"metadata": {"annotations": {SKIP_BROKER_DELETE_ANNOTATION: "true"}}}
    await watched.shop.client.patch(TOPIC_SCHEMA, watched.namespace, topic.name, body)


async def overridden(topic: BrokeredTopic) -> None:
    await topic.edit(CLASHING, schemaCompatibilityStrategy="ALWAYS_COMPATIBLE", schemaValidationEnforced=True)


async def replaced(topic: BrokeredTopic) -> None:
    await topic.edit(TWO, schemaCompatibilityStrategy="BACKWARD")


RELEASE = "release of a deletion"  # calls no broker
FLOWS = (
    Flow("first version", nothing, lambda topic: topic.edit(ONE), [0], 1, 4),
    Flow("edit", two, lambda topic: topic.edit(THREE), [0, 1, 2], 1, 4),
    Flow("rollback", two, lambda topic: topic.edit(ONE), [0, 1], 0, 2),
    Flow("adoption and edit", of_others, lambda topic: topic.edit(THREE), [0, 1, 2], 1, 7),
    Flow("override and schema", existing, overridden, [0, 1], 3, 6, "ALWAYS_COMPATIBLE"),
    Flow("local history", local, lambda topic: topic.edit(THREE), [0, 1, 2], 3, 1),
    Flow("local history that yields", displaced, lambda topic: topic.edit(THREE), [0, 1], 1, 5),
    Flow("once more after a soft delete", hidden, lambda topic: topic.edit(ONE), [2], 1, 5),
    Flow("withdrawn override", withdrawn, lambda topic: topic.edit(ONE), [0], 1, 2, "UNDEFINED"),
    Flow("override after another", withdrawn, replaced, [0, 1], 3, 5, "BACKWARD"),
    Flow("two withdrawn settings", withdrawn_twice, lambda topic: topic.edit(ONE), [0], 1, 2, "UNDEFINED"),
    Flow("deletion", two, BrokeredTopic.delete, [], 1, 2),
    Flow(RELEASE, stuck, release, [0, 1], 0, 3),
)


@pytest.fixture(scope="module")
def product(cluster: Cluster, instance: Instance) -> Product:
    """Install the kinds, without a controller."""
    installed = Product.install(instance, cluster)
    installed.admit_all()
    return installed


@pytest.fixture
async def first(product: Product, pulsar: Pulsar, cluster: Cluster, namespace: str) -> AsyncIterator[BrokeredTopic]:
    """Yield the first topic of a namespace whose policy is Ready."""
    async with proxied_shop(pulsar, cluster, namespace) as shop:
        shop.govern(schemaCompatibilityStrategy="FULL")
        async with process(shop.watched) as running:
            await running.govern()
        yield BrokeredTopic(shop)


async def settled(topic: BrokeredTopic) -> None:
    async with process(topic.shop.watched) as running:
        await running.govern()
        await running.settle(topic.name)
        assert running.errors == []


async def check(topic: BrokeredTopic, flow: Flow) -> None:
    """Settle in a new process what a killed one left. Check that then nothing is written."""
    await settled(topic)
    topic.shop.proxy.clear()
    async with process(topic.shop.watched) as running:
        await running.settle(topic.name)
        assert running.errors == []
        assert (running.writes, topic.broker_writes) == (0, [])
    assert await topic.assert_recorded() == flow.versions
    if flow.strategy:
        own = topic.shop.pulsar.call("GET", f"{topic.rest.itself}/schemaCompatibilityStrategy")
        assert (own or "UNDEFINED") == flow.strategy
    index = topic.rest.index()
    assert index == list(range(flow.versions[-1] + 1 if flow.versions else 3))  # two versions and one tombstone


async def is_killed(shop: BrokeredShop, flow: Flow, place: KillPoint) -> bool:
    """Return True if the flow comes to that place. Killed there or not, it completes."""
    topic = BrokeredTopic(shop, str(place).replace(" ", "-").lower())
    await flow.before(topic)
    await flow.act(topic)

    async def work(running: Process) -> None:
        await running.settle(topic.name)
        assert running.errors == []

    was_killed = await run_until_killed(shop, work, place)
    await check(topic, flow)
    return was_killed


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.name)
async def test_a_flow_that_is_killed_anywhere_comes_to_the_same_end(first: BrokeredTopic, flow: Flow) -> None:
    if not IS_FULL:
        for place in flow.places():
            assert await is_killed(first.shop, flow, place), f"the flow has nothing to be killed {place}"
        return
    counts = await kill_everywhere(lambda place: is_killed(first.shop, flow, place))
    assert counts[CallKind.RECORD] >= flow.records
    assert counts[CallKind.CALLS] >= flow.uploads
