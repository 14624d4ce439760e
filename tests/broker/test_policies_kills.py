"""The controller is killed before and after each call of a pass over a policy, at the broker and the API server.

Nothing is ever written over that is not on record, and in the end the broker has what the policy sets. Three places in
`make test`, which are sure to come, and all of them in a full run.
"""

from collections.abc import AsyncIterator

import pytest

from support.pulsar.brokered_namespace import BrokeredShop, brokered
from support.pulsar.topic_passes import Of, Place, Process, killed, process
from support.sizes import IS_FULL
from testbed.cluster import Cluster
from testbed.fault_proxy import FaultProxy
from testbed.instances import Instance
from testbed.product import NAMESPACE as SYSTEM
from testbed.product import Product
from testbed.pulsar import Pulsar
from topicschema.api.kinds import PULSAR_NAMESPACE_CLAIM
from topicschema.api.record import claim_name
from topicschema.cluster.errors import NotFoundError
from topicschema.core.remote import NamespaceSettings, Setting
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
        await shop.watched.shop.client.delete(PULSAR_NAMESPACE_CLAIM, SYSTEM, claim_name(key))
    except NotFoundError:
        return


async def govern(running: Process) -> None:
    await running.govern()


async def prove(shop: BrokeredShop) -> None:
    """What was written is on record; a new process settles the rest, and then nothing is left to do."""
    claim, there = await shop.claim(), shop.there()
    found = claim.original or NamespaceSettings()
    for setting, was in ((Setting.STRATEGY, found.strategy), (Setting.AUTO_UPDATE, found.allows_auto_update)):
        if there[setting] != _FOUND[setting]:
            assert setting in claim.managed
            assert was == _FOUND[setting]
    async with process(shop.watched) as running:
        await running.govern()
        assert running.errors == []
    claim = await shop.claim()
    assert shop.there() == _WANTED
    assert claim.original == NamespaceSettings(Strategy.FORWARD, allows_auto_update=True, enforces_validation=False)
    assert claim.managed == tuple(Setting)
    shop.proxy.forget()
    async with process(shop.watched) as running:
        await running.govern()
        assert (running.writes, shop.written) == (0, [])


async def is_killed(shop: BrokeredShop, place: Place) -> bool:
    """Whether the pass comes to that place; killed there or not, it comes to its end."""
    await begin_anew(shop)
    was_killed = await killed(shop, govern, place)
    await prove(shop)
    return was_killed


async def test_a_pass_over_a_policy_that_is_killed_anywhere_comes_to_the_same_end(shop: BrokeredShop) -> None:
    if not IS_FULL:
        for place in (Place(Of.UPLOADS, 1), Place(Of.UPLOADS, len(_WANTED), is_before=False), Place(Of.RECORD, 2)):
            assert await is_killed(shop, place), f"the pass has nothing to be killed {place}"
        return
    counts = dict.fromkeys(Of, 0)
    for of in (Of.CALLS, Of.RECORD):
        for number in range(1, _MOST_CALLS):
            if not await is_killed(shop, Place(of, number)):
                break
            counts[of] += 1
            if of is Of.CALLS:
                assert await is_killed(shop, Place(of, number, is_before=False))
    assert counts[Of.CALLS] >= 2 * len(_WANTED), "each setting is read and written"
    assert counts[Of.RECORD] >= 2
