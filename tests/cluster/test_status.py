"""The controller alone on a real API server: the status in each situation; another reconcile writes nothing."""

import pytest

from support.kubernetes.kstatus import kstatus
from support.kubernetes.watched_namespace import WatchedShop, conditions, statuses, text, wait_for
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY

pytestmark = pytest.mark.timeout(180)

ONE, TWO, CLASHING = text("id"), text("id", "note?"), text("id", "total")
WELL = {"Ready": "True", "Compatible": "True", "Registered": "True", "InSync": "True"}
REFUSED = {"Ready": "False", "Stalled": "True", "Compatible": "False", "Registered": "False", "InSync": "False"}
STALLED = {"Ready": "False", "Stalled": "True", "Compatible": "Unknown", "Registered": "Unknown", "InSync": "Unknown"}
WAITING = {k: v for k, v in STALLED.items() if k != "Stalled"} | {"Reconciling": "True"}


async def test_a_first_schema_becomes_version_0_with_one_write_of_each_kind(shop: WatchedShop) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    await shop.policy_ready("Active")
    since = shop.mark()
    shop.put(ONE)
    status = await shop.ready("Registered")
    assert statuses(status) == WELL
    assert (status["schemaVersion"], status["latestSchemaVersion"], status["versionCount"]) == (0, 0, 1)
    assert status["effectiveStrategy"] == {"value": "BACKWARD", "source": "Namespace"}
    assert status["upgradeFirst"] == "Consumers"
    assert shop.writes(since) == ["create schemaversions", "create schemahistories", "patch topicschemas/status"]
    assert await shop.writes_of_a_reconcile() == []


async def test_an_edit_becomes_the_next_version_with_one_write_of_each_kind(shop: WatchedShop) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    shop.put(ONE)
    await shop.ready("Registered")
    since = shop.mark()
    shop.put(TWO)
    status = await shop.ready("Registered")
    assert [version["schemaVersion"] for version in status["versions"]] == [0, 1]
    assert status["schemaVersion"] == 1
    assert shop.writes(since) == ["create schemaversions", "patch schemahistories", "patch topicschemas/status"]
    assert await shop.writes_of_a_reconcile() == []


async def test_an_incompatible_edit_is_reported_with_an_event_until_it_is_corrected(shop: WatchedShop) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    shop.put(ONE)
    before = await shop.ready("Registered")
    shop.put(CLASHING)
    status = await shop.ready("Incompatible")
    assert statuses(status) == REFUSED
    assert status["versions"] == before["versions"]
    assert "schemaVersion" not in status
    (incompatibility,) = status["incompatibilities"]
    assert (incompatibility["rule"], incompatibility["schemaVersion"]) == ("FIELD_WITHOUT_DEFAULT", 0)
    assert incompatibility["path"] == "$.fields[1]"

    async def event_reasons() -> list[str]:
        return shop.shop.run("get", "events", "-o", "jsonpath={.items[*].reason}").stdout.split()

    assert await wait_for(event_reasons, bool) == ["Incompatible"]
    assert await shop.writes_of_a_reconcile() == []
    shop.put(ONE)
    status = await shop.ready("Registered")
    assert statuses(status) == WELL
    assert (status["incompatibilityCount"], status["incompatibilities"]) == (0, [])


async def test_a_policy_whose_namespace_may_not_claim_is_stalled_and_so_are_its_topics(shop: WatchedShop) -> None:
    shop.shop.apply_registry(allowedNamespaces=[])
    shop.apply(shop.shop.policy())
    assert statuses(await shop.policy_ready("ClaimNotAllowed")) == {"Ready": "False", "Stalled": "True"}
    shop.put(ONE)
    assert statuses(await shop.ready("ClaimNotAllowed")) == STALLED
    assert await shop.writes_of_a_reconcile() == []
    shop.shop.apply_registry()
    await shop.policy_ready("Active")
    assert statuses(await shop.ready("Registered")) == WELL


async def test_the_status_of_a_policy_follows_a_registry_that_has_nothing_to_report_any_more(shop: WatchedShop) -> None:
    shop.shop.apply_registry(limits={"bytes": "1Mi"})
    shop.apply(shop.shop.policy())
    for expected in ({"address": "", "limitBytes": 1_048_576}, {"address": ""}):
        wire = await wait_for(
            lambda: shop.get("orders", NAMESPACE_SCHEMA_POLICY),
            lambda wire, own=expected: wire.get("status", {}).get("registry") == own,  # type: ignore[misc]
        )
        assert statuses(wire["status"])["Ready"] == "True"
        shop.shop.apply_registry()


async def test_of_two_resources_with_one_topic_the_first_holds_it_until_it_is_gone(shop: WatchedShop) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    shop.put(ONE, "first", topic=f"persistent://{shop.shop.pulsar_namespace}/shared")
    await shop.ready("Registered", "first")
    shop.put(TWO, "second", topic=f"non-persistent://{shop.shop.pulsar_namespace}/shared")
    status = await shop.ready("TopicAlreadyClaimed", "second")
    assert statuses(status) == STALLED
    assert "TopicSchema first already holds" in conditions(status)["Ready"]["message"]
    assert await shop.writes_of_a_reconcile("second") == []
    shop.delete("tsc/first")
    status = await shop.ready("Registered", "second")
    assert (status["schemaVersion"], status["versionCount"]) == (1, 2)


async def test_a_field_that_only_another_client_set_is_removed_too(shop: WatchedShop) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    shop.put(ONE)
    await shop.ready("Registered")
    shop.put(CLASHING)
    before = await shop.ready("Incompatible")
    invented = '{"status":{"schemaVersion":7}}'
    done = shop.shop.run("patch", "tsc/created", "--subresource=status", "--type=merge", f"-p={invented}")
    assert done.returncode == 0, done.stderr
    await wait_for(shop.get, lambda wire: wire["status"] == before)
    assert await shop.writes_of_a_reconcile() == []


async def test_a_suspended_resource_is_current_to_kstatus_with_one_write(shop: WatchedShop) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    shop.put(ONE)
    await shop.ready("Registered")
    since = shop.mark()
    shop.put(CLASHING, suspend=True)
    status = await shop.ready("Suspended")
    assert statuses(status) == WELL
    assert kstatus(await shop.get()) == "Current"
    assert shop.writes(since) == ["patch topicschemas/status"]
    assert await shop.writes_of_a_reconcile() == []
    shop.put(CLASHING)
    assert statuses(await shop.ready("Incompatible")) == REFUSED
    assert kstatus(await shop.get()) == "Failed"
