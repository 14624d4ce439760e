"""The controller is killed before and after each call of a pass over a policy, at the broker and the API server.

Nothing is ever written over that is not on record, and in the end the broker has what the policy sets.
"""

from collections.abc import AsyncIterator

import pytest

from support.pulsar.brokered_namespace import BrokeredShop, brokered
from support.pulsar.topic_passes import Process, killed, killed_writing, process
from testbed.cluster import Cluster
from testbed.fault_proxy import FaultProxy
from testbed.instances import Instance
from testbed.product import NAMESPACE as SYSTEM
from testbed.product import Product
from testbed.pulsar import Pulsar
from topicschema.api.kinds import PULSAR_NAMESPACE_CLAIM
from topicschema.cluster.errors import NotFoundError
from topicschema.core.history import Setting
from topicschema.core.remote import NamespaceSettings
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey

pytestmark = [pytest.mark.timeout(300), pytest.mark.broker]

_MOST_CALLS = 20
_WANTED = {
    "schemaCompatibilityStrategy": "FULL",
    "isAllowAutoUpdateSchema": False,
    "schemaValidationEnforced": True,
}
_FOUND = {
    "schemaCompatibilityStrategy": "FORWARD",
    "isAllowAutoUpdateSchema": True,
    "schemaValidationEnforced": False,
}


@pytest.fixture
async def shop(cluster: Cluster, instance: Instance, pulsar: Pulsar, namespace: str) -> AsyncIterator[BrokeredShop]:
    """A policy that nobody looks after but the test."""
    Product.install(instance, cluster).admit_all()
    with FaultProxy.before(pulsar) as proxy:
        async with brokered(proxy, cluster, namespace) as shop:
            shop.make_namespace()
            shop.govern(lockUndeclared=True, **_WANTED)
            yield shop


async def begin_anew(shop: BrokeredShop) -> None:
    """As it was before the operator ever wrote."""
    for setting, value in _FOUND.items():
        shop.set("PUT" if isinstance(value, str) else "POST", setting, value)
    key = PulsarNamespaceKey("pulsar", "shop", shop.watched.namespace)
    try:
        await shop.watched.shop.client.delete(PULSAR_NAMESPACE_CLAIM, SYSTEM, key.claim_name)
    except NotFoundError:
        return


async def govern(running: Process) -> None:
    await running.govern()


async def prove(shop: BrokeredShop) -> None:
    """What was written is on record; a new process settles the rest, and then nothing is left to do."""
    claim, there = await shop.claim(), shop.there()
    found = claim.found or NamespaceSettings()
    for setting, was in ((Setting.STRATEGY, found.strategy), (Setting.AUTO_UPDATE, found.allows_auto_update)):
        if there[setting] != _FOUND[setting]:
            assert setting in claim.managed
            assert was == _FOUND[setting]
    async with process(shop.watched) as running:
        await running.govern()
        assert running.errors == []
    claim = await shop.claim()
    assert shop.there() == _WANTED
    assert claim.found == NamespaceSettings(Strategy.FORWARD, allows_auto_update=True, enforces_validation=False)
    assert claim.managed == tuple(Setting)
    shop.proxy.forget()
    async with process(shop.watched) as running:
        await running.govern()
        assert (running.writes, shop.written) == (0, [])


async def test_a_pass_over_a_policy_that_is_killed_anywhere_comes_to_the_same_end(shop: BrokeredShop) -> None:
    places = 0
    for number in range(1, _MOST_CALLS):
        for before in (True, False):
            await begin_anew(shop)
            was_killed = await killed(shop, govern, number, before=before)
            await prove(shop)
            places += was_killed
        if not was_killed:
            break
    assert places >= 2 * 6, "the pass was not killed in its course"
    for number in range(1, _MOST_CALLS):
        await begin_anew(shop)
        was_killed = await killed_writing(shop, govern, number)
        await prove(shop)
        places += was_killed
        if not was_killed:
            break
    assert places >= 2 * 6 + 2
