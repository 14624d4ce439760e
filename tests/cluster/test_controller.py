"""The controller alone on a real API server: policies and claims that come, change and go, deletions, restarts.

Tests take some seconds in which a controller starts, or topics become ready one after the other.
"""

import asyncio
import json
from collections.abc import Iterator

import pytest

from support.kubernetes.watched_namespace import WatchedShop, conditions, has_record, statuses, text, wait_for
from testbed.product import NAMESPACE as SYSTEM
from testbed.product import Product
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA

pytestmark = pytest.mark.timeout(180)

ONE, TWO, CLASHING = text("id"), text("id", "note?"), text("id", "total")


async def test_a_changed_strategy_reaches_the_topics_and_names_versions_that_would_not_pass(shop: WatchedShop) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    for schema in (ONE, TWO, text("note?")):
        shop.put(schema)
        await shop.ready("Registered")
    shop.put(ONE, "calm")
    await shop.ready("Registered", "calm")
    shop.apply(shop.shop.policy(schemaCompatibilityStrategy="FULL_TRANSITIVE"))
    status = await shop.policy_ready("Active")
    assert status["historyConflictCount"] == 1
    (conflict,) = status["historyConflicts"]
    assert (conflict["name"], conflict["schemaVersion"], conflict["rule"]) == ("created", 2, "FIELD_WITHOUT_DEFAULT")

    await wait_for(shop.get, lambda wire: wire["status"]["effectiveStrategy"]["value"] == "FULL_TRANSITIVE")
    assert statuses(await shop.ready("Registered"))["Ready"] == "True"
    assert await shop.writes_of_a_reconcile("orders", NAMESPACE_SCHEMA_POLICY) == []
    shop.apply(shop.shop.policy(schemaCompatibilityStrategy="BACKWARD"))
    assert (await shop.policy_ready("Active"))["historyConflicts"] == []


def nested(*fields: str) -> str:
    """Return a record 80 levels down: its path has more than a thousand characters."""
    schema = json.loads(text(*fields))
    for level in range(80):
        schema = {"type": "record", "name": f"Level{level}", "fields": [{"name": "inner", "type": schema}]}
    return json.dumps(schema)


async def test_a_version_that_clashes_very_deep_down_is_named_with_a_shortened_path(shop: WatchedShop) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    for schema in (nested("id", "old"), nested("id")):
        shop.put(schema)
        await shop.ready("Registered")
    shop.apply(shop.shop.policy(schemaCompatibilityStrategy="FULL"))
    (conflict,) = (await shop.policy_ready("Active"))["historyConflicts"]
    assert conflict["path"].startswith("$.fields[0].type.fields[0].type")
    assert len(conflict["path"]) == 512


async def test_topics_outlive_their_policy_and_go_on_when_it_is_back(shop: WatchedShop) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    shop.put(ONE)
    before = await shop.ready("Registered")
    shop.delete("nsp/orders")
    status = await shop.ready("PolicyNotFound")
    assert (status["versions"], status["schemaVersion"]) == (before["versions"], 0)
    shop.apply(shop.shop.policy(schemaCompatibilityStrategy="BACKWARD"))
    assert (await shop.ready("Registered"))["versions"] == before["versions"]


async def test_a_namespace_that_loses_its_permission_loses_its_claim(
    shop: WatchedShop, other_shop: WatchedShop
) -> None:
    shop.govern()
    shop.put(ONE)
    await shop.ready("Registered")
    status = await other_shop.apply_losing_policy(shop)
    assert statuses(status) == {"Ready": "False", "Stalled": "True"}
    assert shop.namespace not in conditions(status)["Ready"]["message"].replace(shop.shop.pulsar_namespace, "")
    assert await other_shop.writes_of_a_reconcile("orders", NAMESPACE_SCHEMA_POLICY) == []
    shop.shop.cluster.kubectl("annotate", "namespace", shop.namespace, "topicschema.io/pulsar-namespaces-")
    await other_shop.policy_ready("Active")
    await shop.policy_ready("ClaimNotAllowed")
    await shop.ready("ClaimNotAllowed")
    other_shop.put(TWO, topic=f"persistent://{shop.shop.pulsar_namespace}/created")
    status = await other_shop.ready("Registered")
    assert (status["schemaVersion"], status["versionCount"]) == (1, 2), "the topic is theirs now, with its history"


async def test_deletion_policy_delete_works_without_a_policy(shop: WatchedShop) -> None:
    shop.govern()
    shop.put(ONE, deletionPolicy="Delete")
    await shop.ready("Registered")
    shop.delete("nsp/orders")
    await shop.ready("PolicyNotFound")
    shop.delete("tsc/created", "--wait=false")
    await shop.gone()
    assert not await has_record(shop)


async def test_a_change_back_to_retain_retains_the_record(shop: WatchedShop) -> None:
    shop.govern()
    shop.put(ONE, deletionPolicy="Delete")
    await shop.ready("Registered")
    shop.put(ONE)
    await wait_for(shop.get, lambda wire: not wire["metadata"].get("finalizers"))
    await shop.ready("Registered")
    shop.delete("tsc/created")
    await shop.gone()
    assert await has_record(shop)


async def test_a_record_that_another_resource_claims_is_not_deleted(shop: WatchedShop) -> None:
    shop.govern()
    topic = f"persistent://{shop.shop.pulsar_namespace}/created"
    shop.put(ONE, "holder", topic=topic)
    await shop.ready("Registered", "holder")
    loser = shop.topic(ONE, "loser", topic=topic, deletionPolicy="Delete")
    loser["metadata"]["finalizers"] = ["topicschema.io/broker-delete"]
    shop.apply(loser)
    await shop.ready("TopicAlreadyClaimed", "loser")
    shop.delete("tsc/loser", "--wait=false")
    await shop.gone("loser")
    assert await has_record(shop)
    assert statuses(await shop.ready("Registered", "holder"))["Ready"] == "True"


async def test_a_restarted_controller_writes_nothing_about_what_is_settled(
    shop: WatchedShop, controller: Product
) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    shop.put(ONE)
    shop.put(CLASHING, "clashing", topic="persistent://shop/elsewhere/created")
    await shop.ready("Registered")
    await shop.ready("PolicyNotFound", "clashing")
    await shop.policy_ready("Active")
    await wait_for(
        lambda: shop.get("orders", NAMESPACE_SCHEMA_POLICY), lambda wire: wire["status"]["topics"]["ready"] == 1
    )
    since = shop.mark()
    controller.controller.terminate()
    controller.start_controller()
    assert await shop.writes_of_a_reconcile() == []
    assert await shop.writes_of_a_reconcile("orders", NAMESPACE_SCHEMA_POLICY) == []
    assert [shop.writes(since, kind) for kind in (TOPIC_SCHEMA, NAMESPACE_SCHEMA_POLICY)] == [[], []]


async def test_a_controller_that_is_terminated_releases_its_lease(shop: WatchedShop, controller: Product) -> None:
    controller.controller.terminate()
    lease = shop.shop.cluster.get("lease", "topicschema-controller", "-n", SYSTEM)
    controller.start_controller()
    assert not lease["spec"].get("holderIdentity")


def lines(log: str) -> Iterator[dict[str, object]]:
    for line in log.splitlines():
        yield json.loads(line)


async def test_a_log_is_lines_of_json_without_any_schema(shop: WatchedShop, controller: Product) -> None:
    shop.govern()
    shop.put(text("unmistakable"))
    await shop.ready("Registered")
    shop.put(text("unmistakable", "clashing"))
    await shop.ready("Incompatible")
    log = await asyncio.to_thread(controller.controller.log.read_text)
    assert {"time", "level", "logger", "message"} <= set(list(lines(log))[-1])
    assert "unmistakable" not in log
