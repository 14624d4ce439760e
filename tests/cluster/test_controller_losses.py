"""The controller after losses and blocked deletions: it invents nothing and removes nothing."""

import json

import pytest

from support.kubernetes.watched_namespace import (
    WatchedShop,
    conditions,
    has_record,
    record_key,
    statuses,
    text,
    wait_for,
)
from testbed.product import NAMESPACE as SYSTEM
from testbed.product import Product
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.api.store import claim_name, history_name
from topicschema.core.topics import PulsarNamespaceKey

pytestmark = pytest.mark.timeout(180)

ONE, TWO, CLASHING = text("id"), text("id", "note?"), text("id", "total")
LOST = {"Ready": "False", "Stalled": "True", "Compatible": "Unknown", "Registered": "False", "InSync": "False"}


def remove_history(shop: WatchedShop) -> str:
    """Delete the topic's SchemaHistory by hand. Return it, to be created again."""
    cluster, name = shop.shop.cluster, history_name(record_key(shop))
    wire = cluster.get("schemahistories", name, "-n", SYSTEM)
    cluster.kubectl("delete", "schemahistories", name, "-n", SYSTEM)
    wire["metadata"] = {key: wire["metadata"][key] for key in ("name", "namespace", "labels")}
    return json.dumps(wire)


async def test_a_lost_history_is_reported_and_nothing_is_registered_in_its_place(shop: WatchedShop) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    for schema in (ONE, TWO):
        shop.put(schema)
        before = await shop.ready("Registered")
    remove_history(shop)
    status = await shop.ready("HistoryLost")
    assert statuses(status) == LOST
    assert (status["versions"], status["versionCount"]) == (before["versions"], 2)
    assert await shop.writes_of_a_reconcile() == []
    shop.put(CLASHING)
    await shop.ready("HistoryLost")
    assert not await has_record(shop)
    shop.delete("tsc/created")
    await shop.gone()
    shop.put(CLASHING)
    assert (await shop.ready("Registered"))["versionCount"] == 1


async def test_a_topic_with_a_finalizer_of_another_controller_blocks_no_policy(
    shop: WatchedShop, controller: Product
) -> None:
    shop.govern()
    blocked = shop.topic(ONE)
    blocked["metadata"]["finalizers"] = ["example.com/slow"]
    shop.apply(blocked)
    await shop.ready("Registered")
    shop.delete("tsc/created", "--wait=false")
    controller.controller.terminate()
    controller.start_controller()
    shop.apply(shop.shop.policy(schemaCompatibilityStrategy="FORWARD"))
    await shop.policy_ready("Active")
    await wait_for(
        lambda: shop.get("orders", NAMESPACE_SCHEMA_POLICY), lambda wire: wire["status"]["topics"]["total"] == 1
    )
    shop.shop.run("patch", "tsc/created", "--type=merge", '-p={"metadata":{"finalizers":null}}')
    await shop.gone()


async def test_a_deletion_that_a_damaged_record_blocks_is_reported(shop: WatchedShop) -> None:
    shop.govern()
    shop.put(ONE, deletionPolicy="Delete")
    await shop.ready("Registered")
    cluster, name = shop.shop.cluster, history_name(record_key(shop))
    line = cluster.get("schemahistories", name, "-n", SYSTEM)["spec"]["versions"][0]
    damaged = json.dumps({"spec": {"versions": [line, line]}})
    cluster.kubectl("patch", "schemahistories", name, "-n", SYSTEM, "--type=merge", f"-p={damaged}")
    shop.delete("tsc/created", "--wait=false")
    status = await shop.ready("HistoryDamaged")
    assert conditions(status)["Stalled"]["status"] == "True"
    cluster.kubectl("delete", "schemahistories", name, "-n", SYSTEM)
    await shop.gone()


async def test_a_claim_that_was_deleted_by_hand_is_made_again_at_the_next_edit_of_a_topic(shop: WatchedShop) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    shop.put(ONE)
    await shop.ready("Registered")
    claim = claim_name(PulsarNamespaceKey("pulsar", "shop", shop.namespace))
    shop.shop.cluster.kubectl("delete", "pulsarnamespaceclaims", claim, "-n", SYSTEM)
    shop.put(TWO)
    assert (await shop.ready("Registered"))["schemaVersion"] == 1


async def test_a_policy_that_is_deleted_slowly_leaves_its_claim_to_the_waiting_one_also_after_a_restart(
    shop: WatchedShop, other_shop: WatchedShop, controller: Product
) -> None:
    shop.shop.allow_claims()
    blocked = shop.shop.policy()
    blocked["metadata"]["finalizers"] = ["example.com/slow"]
    shop.apply(blocked)
    await shop.policy_ready("Active")
    await other_shop.apply_losing_policy(shop)
    controller.controller.terminate()
    shop.delete("nsp/orders", "--wait=false")
    controller.start_controller()
    await other_shop.policy_ready("Active")
    assert await other_shop.writes_of_a_reconcile("orders", NAMESPACE_SCHEMA_POLICY) == []
    shop.shop.run("patch", "nsp/orders", "--type=merge", '-p={"metadata":{"finalizers":null}}')
    await other_shop.policy_ready("Active")
