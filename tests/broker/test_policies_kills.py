"""The controller is killed before and after each call of a policy's reconcile, at the broker and the API server.

No setting is overwritten before it is recorded, and in the end the broker has the policy's settings. `make test` has
three places that every run reaches, a full run all of them.
"""

from collections.abc import AsyncIterator

import pytest

from support.pulsar.brokered_namespace import BrokeredShop, proxied_shop
from support.pulsar.reconciler_process import CallKind, KillPoint, Process, kill_everywhere, process, run_until_killed
from support.sizes import IS_FULL
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.product import NAMESPACE as SYSTEM
from testbed.product import Product
from testbed.pulsar import Pulsar
from topicschema.api.kinds import PULSAR_NAMESPACE_CLAIM
from topicschema.api.store import claim_name
from topicschema.cluster.errors import NotFoundError
from topicschema.core.remote import NamespaceSettings, Setting
from topicschema.core.strategies import Strategy

pytestmark = [pytest.mark.timeout(300), pytest.mark.broker]

_DESIRED = {"schemaCompatibilityStrategy": "FULL", "isAllowAutoUpdateSchema": False, "schemaValidationEnforced": True}
_ORIGINAL = {
    "schemaCompatibilityStrategy": "FORWARD",
    "isAllowAutoUpdateSchema": True,
    "schemaValidationEnforced": False,
}


@pytest.fixture
async def shop(cluster: Cluster, instance: Instance, pulsar: Pulsar, namespace: str) -> AsyncIterator[BrokeredShop]:
    """Yield a policy that only the test reconciles."""
    Product.install(instance, cluster).admit_all()
    async with proxied_shop(pulsar, cluster, namespace) as shop:
        shop.govern(unmanagedTopics={"exempt": ["*"]}, **_DESIRED)
        yield shop


async def reset(shop: BrokeredShop) -> None:
    """Restore the state before the operator ever wrote."""
    for setting, value in _ORIGINAL.items():
        shop.set("PUT" if isinstance(value, str) else "POST", setting, value)
    key = shop.watched.shop.pulsar_namespace_key
    try:
        await shop.watched.shop.client.delete(PULSAR_NAMESPACE_CLAIM, SYSTEM, claim_name(key))
    except NotFoundError:
        return


async def govern(running: Process) -> None:
    await running.govern()


async def check(shop: BrokeredShop) -> None:
    """Check that every write is recorded, and that a new process settles the rest and then writes nothing."""
    claim, there = await shop.claim(), shop.broker_settings()
    original = claim.original or NamespaceSettings()
    for setting, was in ((Setting.STRATEGY, original.strategy), (Setting.AUTO_UPDATE, original.allows_auto_update)):
        if there[setting] != _ORIGINAL[setting]:
            assert setting in claim.managed
            assert was == _ORIGINAL[setting]
    async with process(shop.watched) as running:
        await running.govern()
        assert running.errors == []
    claim = await shop.claim()
    assert shop.broker_settings() == _DESIRED
    assert claim.original == NamespaceSettings(Strategy.FORWARD, allows_auto_update=True, enforces_validation=False)
    assert claim.managed == (Setting.STRATEGY, Setting.AUTO_UPDATE, Setting.ENFORCEMENT)
    shop.proxy.clear()
    async with process(shop.watched) as running:
        await running.govern()
        assert (running.writes, shop.broker_writes) == (0, [])


async def is_killed(shop: BrokeredShop, place: KillPoint) -> bool:
    """Return True if the reconcile comes to that place. Killed there or not, it completes."""
    await reset(shop)
    was_killed = await run_until_killed(shop, govern, place)
    await check(shop)
    return was_killed


async def test_a_reconcile_of_a_policy_that_is_killed_anywhere_comes_to_the_same_end(shop: BrokeredShop) -> None:
    if not IS_FULL:
        for place in (
            KillPoint(CallKind.UPLOADS, 1),
            KillPoint(CallKind.UPLOADS, len(_DESIRED), is_before=False),
            KillPoint(CallKind.RECORD, 2),
        ):
            assert await is_killed(shop, place), f"the reconcile has nothing to be killed {place}"
        return
    counts = await kill_everywhere(lambda place: is_killed(shop, place))
    assert counts[CallKind.CALLS] >= 2 * len(_DESIRED), "each setting is read and written"
    assert counts[CallKind.RECORD] >= 2
