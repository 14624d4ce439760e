"""A policy and its Pulsar namespace at a real broker: settings that it writes, leaves alone, reports and waits for.

Tests of a broker that was away take ten seconds: the operator probes it in pauses that grow.
"""

from asyncio import to_thread
from typing import Any

import pytest
from aiohttp import web

from support.kubernetes.watched_namespace import conditions, statuses, text, wait_for
from support.pulsar.brokered_namespace import BrokeredShop, proxied_shop
from testbed import broker_faults
from testbed.calls import Exchange
from testbed.cluster import Cluster
from testbed.product import Product
from testbed.pulsar import PULSAR_VERSION, Pulsar
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.core.remote import NamespaceSettings, Setting
from topicschema.core.strategies import Strategy

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]


@pytest.mark.parametrize(
    ("field", "value", "original"),
    [
        ("schemaCompatibilityStrategy", "BACKWARD_TRANSITIVE", NamespaceSettings()),
        ("isAllowAutoUpdateSchema", False, NamespaceSettings(allows_auto_update=True)),
        ("schemaValidationEnforced", True, NamespaceSettings(enforces_validation=False)),
    ],
)
async def test_a_setting_is_set_alone_and_the_original_is_recorded(
    shop: BrokeredShop, field: str, value: object, original: NamespaceSettings
) -> None:
    before = shop.broker_settings()
    shop.govern(**{field: value})
    status = await shop.policy_ready("Active")
    assert statuses(status) == {"Ready": "True", "InSync": "True"}
    assert shop.broker_settings() == {**before, field: value}
    assert status["observed"][field] == value
    assert status["observed"]["broker"]["schemaCompatibilityStrategy"] == "FULL"
    claim = await shop.claim()
    assert (claim.original, claim.managed) == (original, (Setting(field),))
    assert len(shop.broker_writes) == 1
    assert await shop.writes_of_a_reconcile() == []


async def test_replicators_are_refused_only_where_the_broker_has_the_setting(shop: BrokeredShop) -> None:
    member = "is_allow_auto_update_schema_with_replicator"
    shop.govern(
        isAllowAutoUpdateSchema=False,
        isAllowAutoUpdateSchemaWithReplicator=False,
        unmanagedTopics={"exempt": ["*"]},
    )
    await shop.registry_condition("Ready", "Active")  # which has the broker's release
    await shop.policy_ready("Active")
    expected = False if PULSAR_VERSION == "5.0" else None

    async def at_broker() -> Any:
        return await to_thread(shop.pulsar.call, "GET", f"/namespaces/{shop.pulsar_namespace}")

    settings = await wait_for(at_broker, lambda settings: settings.get(member) is expected)
    assert settings["is_allow_auto_update_schema"] is False
    assert await shop.writes_of_a_reconcile() == []


async def test_a_registry_reports_the_release_of_its_broker_and_whether_it_answers(shop: BrokeredShop) -> None:
    shop.apply_registry()
    reachable = await shop.registry_condition("Reachable", "Reachable")
    assert reachable["status"] == "True"
    assert f"Pulsar {PULSAR_VERSION}." in reachable["message"]
    assert (await shop.registry_condition("Ready", "Active"))["status"] == "True"
    shop.proxy.refuse()
    assert (await shop.registry_condition("Ready", "BrokerUnavailable"))["status"] == "False"
    shop.proxy.accept()
    await shop.registry_condition("Ready", "Active")


async def test_a_web_page_is_no_broker(shop: BrokeredShop) -> None:
    async def page(_: Exchange) -> web.StreamResponse:
        return web.Response(text="<html>welcome</html>", content_type="text/html")

    shop.proxy.fault = page
    shop.apply_registry()
    assert (await shop.registry_condition("Ready", "NotABroker"))["status"] == "False"
    shop.proxy.clear()
    await shop.registry_condition("Ready", "Active")


async def test_a_registry_of_another_namespace_gives_no_access_to_its_broker(shop: BrokeredShop) -> None:
    allowed = {"namespaceSelector": {"matchNames": ["elsewhere"]}, "pulsarNamespaces": ["*/*"]}
    shop.watched.shop.apply_registry({"adminURL": shop.proxy.url}, allowedNamespaces=[allowed])
    shop.apply(schemaCompatibilityStrategy="FULL")
    await shop.policy_ready("ClaimNotAllowed")
    assert shop.broker_writes == []
    assert await shop.watched.writes_of_a_reconcile("orders", NAMESPACE_SCHEMA_POLICY) == []


async def test_a_field_that_is_removed_leaves_the_broker_as_it_is_with_one_event(shop: BrokeredShop) -> None:
    shop.set("PUT", "schemaCompatibilityStrategy", "FORWARD")
    shop.govern(schemaCompatibilityStrategy="FULL", schemaValidationEnforced=True)
    await shop.policy_ready("Active")
    shop.apply(schemaValidationEnforced=True)
    status = await shop.policy_ready("Active")
    message = conditions(status)["InSync"]["message"]
    retained = "it is FULL in the Pulsar namespace; before the operator wrote it, it was FORWARD"
    assert f"schemaCompatibilityStrategy is not managed any more: {retained}" in message
    assert shop.broker_settings()["schemaCompatibilityStrategy"] == "FULL"
    assert await shop.writes_of_a_reconcile() == []
    (event,) = await shop.events("SettingRetained")
    assert (event["type"], event.get("series")) == ("Normal", None)
    shop.set("PUT", "schemaCompatibilityStrategy", "FORWARD")  # by hand, from the claim
    shop.apply(schemaValidationEnforced=True, strictness="Strict")
    status = await shop.policy_ready("Active")
    assert "not managed any more" not in conditions(status)["InSync"]["message"]


async def test_a_lock_waits_for_topics_without_a_topicschema_and_all_else_goes_on(shop: BrokeredShop) -> None:
    shop.create_topics("created", "created-billing-DLQ", "created-billing-RETRY", "bytes")
    shop.pulsar.call("PUT", f"/persistent/{shop.pulsar_namespace}/billed/partitions", 2)
    for name in ("billed", "created-billing-DLQ", "created-billing-RETRY"):
        body = {"type": "AVRO", "schema": text("id"), "properties": {}}
        shop.pulsar.call("POST", f"/schemas/{shop.pulsar_namespace}/{name}/schema", body)
    exempt = {"exempt": ["*-RETRY"]}
    shop.watched.put(text("id"))
    shop.govern(isAllowAutoUpdateSchema=False, schemaCompatibilityStrategy="BACKWARD", unmanagedTopics=exempt)
    await shop.wait_for_unmanaged_count(2)
    status = await shop.policy_ready("UnmanagedTopics")
    assert statuses(status) == {"Ready": "False", "Reconciling": "True", "InSync": "False"}
    assert status["unmanagedTopicCount"] == 2
    assert status["unmanagedTopics"] == [
        {"topic": name, "reason": "HasSchema", "producerCount": 0, "producers": []}
        for name in ("billed", "created-billing-DLQ")
    ]
    assert shop.broker_settings()["schemaCompatibilityStrategy"] == "BACKWARD"
    assert shop.broker_settings()["isAllowAutoUpdateSchema"] is True
    await shop.wait_for_ready_count(1)
    assert len(await wait_for(lambda: shop.events("UnmanagedTopics"), bool)) == 1
    shop.proxy.clear()
    assert await shop.watched.writes_of_a_reconcile("orders", NAMESPACE_SCHEMA_POLICY) == []
    assert shop.proxy.calls
    assert shop.broker_writes == []
    for name in ("billed", "created-billing-DLQ"):
        shop.watched.put(text("id"), name.lower(), topic=f"persistent://{shop.pulsar_namespace}/{name}")
    status = await shop.policy_ready("Active")
    assert shop.broker_settings()["isAllowAutoUpdateSchema"] is False
    assert (status["unmanagedTopicCount"], status["unmanagedTopics"]) == (0, [])
    await shop.wait_for_ready_count(3)
    shop.create_topics("late")  # a lock that is in place does not wait
    assert await shop.writes_of_a_reconcile() == []


async def test_a_broker_that_goes_away_leaves_what_was_applied_ready(shop: BrokeredShop) -> None:
    shop.govern(schemaCompatibilityStrategy="FULL")
    await shop.policy_ready("Active")
    shop.proxy.refuse()
    status = await shop.in_sync("BrokerUnavailable")
    assert statuses(status) == {"Ready": "True", "InSync": "Unknown"}
    shop.apply(schemaCompatibilityStrategy="BACKWARD")
    status = await shop.policy_ready("BrokerUnavailable")
    assert statuses(status) == {"Ready": "False", "Reconciling": "True", "InSync": "Unknown"}
    shop.proxy.accept()
    await shop.policy_ready("Active")
    assert shop.broker_settings()["schemaCompatibilityStrategy"] == "BACKWARD"


async def test_the_original_setting_is_recorded_before_a_write_that_fails(shop: BrokeredShop) -> None:
    shop.set("PUT", "schemaCompatibilityStrategy", "FORWARD")
    refusal = broker_faults.status(500)

    async def fails(exchange: Exchange) -> web.StreamResponse:
        return await (refusal(exchange) if exchange.call.is_write else exchange.forward())

    shop.proxy.fault = fails
    shop.govern(schemaCompatibilityStrategy="FULL")
    status = await shop.policy_ready("BrokerUnavailable")
    assert statuses(status) == {"Ready": "False", "Reconciling": "True", "InSync": "False"}
    assert (
        "schemaCompatibilityStrategy is FORWARD in the Pulsar namespace and FULL in the policy"
        in conditions(status)["InSync"]["message"]
    )
    assert shop.broker_settings()["schemaCompatibilityStrategy"] == "FORWARD"
    recorded = await shop.claim()
    assert (recorded.original, recorded.managed) == (NamespaceSettings(Strategy.FORWARD), (Setting.STRATEGY,))
    shop.proxy.clear()
    await shop.policy_ready("Active")
    assert shop.broker_settings()["schemaCompatibilityStrategy"] == "FULL"
    assert (await shop.claim()).original == recorded.original


async def test_a_strategy_that_others_set_at_the_broker_reaches_the_topics(shop: BrokeredShop) -> None:
    shop.set("PUT", "schemaCompatibilityStrategy", "FORWARD")
    shop.watched.put(text("id"))
    shop.govern()
    await shop.wait_for_strategy("FORWARD", "Namespace")
    shop.set("PUT", "schemaCompatibilityStrategy", "UNDEFINED")
    await shop.wait_for_strategy("FULL", "Broker")
    assert shop.proxy.errors == []


async def test_the_brokers_own_settings_are_observed_and_those_that_it_overrules_reported(
    shared_controller: Product, strict_pulsar: Pulsar, cluster: Cluster, namespace: str
) -> None:
    async with proxied_shop(strict_pulsar, cluster, namespace) as shop:
        shop.create_topics("unmanaged")
        shop.watched.put(text("id"))
        shop.govern(schemaValidationEnforced=False, isAllowAutoUpdateSchema=False)  # which locks no client out
        status = await shop.policy_ready("Active")
        assert status["observed"]["broker"] == {
            "schemaCompatibilityStrategy": "BACKWARD",
            "isAllowAutoUpdateSchema": False,
            "schemaValidationEnforced": True,
        }
        assert "which no Pulsar namespace can switch off" in conditions(status)["InSync"]["message"]
        await shop.wait_for_strategy("BACKWARD", "Broker")
        assert not any("/namespaces/" in call.path for call in shop.broker_writes)
