"""The controller alone with risks of consumers."""

import json
from typing import Any

import pytest

from support.kubernetes.watched_namespace import WatchedShop, conditions, statuses, wait_for
from testbed.product import Product
from topicschema.api.kinds import EVENT

pytestmark = pytest.mark.timeout(180)


def suit(*symbols: str) -> str:
    kind = {"type": "enum", "name": "Suit", "symbols": list(symbols), "default": "NONE"}
    return json.dumps({"type": "record", "name": "Card", "fields": [{"name": "suit", "type": kind}]})


WIDE, NARROW = suit("NONE", "HEARTS", "SPADES"), suit("NONE", "HEARTS")


async def risk_events(shop: WatchedShop) -> list[dict[str, Any]]:
    listed = await shop.shop.client.list(EVENT, shop.namespace)
    return [event for event in listed if event["reason"] == "ConsumerRisk"]


async def test_a_risk_of_consumers_is_one_event_and_stays_in_the_condition(
    shop: WatchedShop, controller: Product
) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    shop.put(WIDE)
    assert conditions(await shop.ready("Registered"))["Compatible"]["reason"] == "Compatible"
    shop.put(NARROW)
    status = await shop.ready("Registered")
    assert statuses(status)["Ready"] == "True"
    compatible = conditions(status)["Compatible"]
    assert (compatible["status"], compatible["reason"]) == ("True", "ConsumerRisk")
    assert "version 1 passes, but consumers may fail: ENUM_SYMBOL_" in compatible["message"]
    (event,) = await wait_for(lambda: risk_events(shop), bool)
    assert (event["type"], event["note"]) == ("Warning", compatible["message"])
    assert await shop.writes_of_a_reconcile() == []
    controller.controller.terminate()
    controller.start_controller()
    assert await shop.writes_of_a_reconcile() == []
    shop.put(NARROW, deletionPolicy="Retain", properties={"owner": "a"})
    assert conditions(await shop.ready("Registered"))["Compatible"]["message"] == compatible["message"]
    assert await shop.writes_of_a_reconcile() == []
    (again,) = await risk_events(shop)
    assert "series" not in again


async def test_a_policy_that_becomes_strict_leaves_the_version_and_names_it(shop: WatchedShop) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    for schema in (WIDE, NARROW):
        shop.put(schema)
        await shop.ready("Registered")
    shop.apply(shop.shop.policy(schemaCompatibilityStrategy="BACKWARD", strictness="Strict"))
    (conflict,) = (await shop.policy_ready("Active"))["historyConflicts"]
    assert (conflict["name"], conflict["schemaVersion"]) == ("created", 1)
    assert conditions(await shop.ready("Registered"))["Compatible"]["reason"] == "ConsumerRisk"
    assert await shop.writes_of_a_reconcile() == []
