"""The controller alone with schemas that are more than a text, and with risks of consumers."""

import json
from typing import Any

import pytest

from support.kubernetes.watched_namespace import WatchedShop, conditions, record_key, statuses, wait_for
from testbed.product import NAMESPACE as SYSTEM
from testbed.product import Product
from topicschema.api.kinds import EVENT, SCHEMA_VERSION
from topicschema.api.store import history_name
from topicschema.core.schemas import SchemaInfo
from topicschema.protoc import ProtobufSources, compile_envelope
from topicschema.storage.kubernetes.storage import KubernetesStorage

pytestmark = pytest.mark.timeout(180)


def suit(*symbols: str) -> str:
    kind = {"type": "enum", "name": "Suit", "symbols": list(symbols), "default": "NONE"}
    return json.dumps({"type": "record", "name": "Card", "fields": [{"name": "suit", "type": kind}]})


WIDE, NARROW = suit("NONE", "HEARTS", "SPADES"), suit("NONE", "HEARTS")


async def payload(shop: WatchedShop, schema_version: int) -> SchemaInfo:
    storage = KubernetesStorage(shop.shop.client, SYSTEM)
    history = (await storage.get_history(record_key(shop))).history
    return await storage.get(history.key, history.incarnation, history.entries[schema_version])


async def risk_events(shop: WatchedShop) -> list[dict[str, Any]]:
    listed = await shop.shop.client.list(EVENT, shop.namespace)
    return [event for event in listed if event["reason"] == "ConsumerRisk"]


ORDER = 'syntax = "proto3";\npackage shop;\nmessage Order { string id = 1; }\n'


def sources(content: str, message: str = "shop.Order") -> dict[str, Any]:
    return {"type": "PROTOBUF_NATIVE", "protobuf": {"message": message, "files": {"shop/order.proto": content}}}


async def test_sources_are_registered_as_their_envelope_and_recognized_by_their_hash(shop: WatchedShop) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    shop.put("", **sources(ORDER))
    status = await shop.ready("Registered")
    assert (status["schemaVersion"], status["versions"][0]["type"]) == (0, "PROTOBUF_NATIVE")
    sources_of_version = ProtobufSources("shop.Order", {"shop/order.proto": ORDER})
    assert (await payload(shop, 0)).schema == compile_envelope(sources_of_version)
    listed = await shop.shop.client.list(SCHEMA_VERSION, SYSTEM)
    (stored,) = (one for one in listed if one["spec"]["history"] == history_name(record_key(shop)))
    assert stored["spec"]["sourceHash"] == sources_of_version.source_hash
    assert await shop.writes_of_a_reconcile() == []
    shop.put("", **sources(ORDER + "// as ordered by a customer\n"))
    status = await shop.ready("Registered")
    assert (status["schemaVersion"], status["versionCount"]) == (0, 1)
    assert await shop.writes_of_a_reconcile() == []
    shop.put("", **sources(ORDER.replace("}", "int32 count = 2; }")))
    assert (await shop.ready("Registered"))["schemaVersion"] == 1
    shop.put("", **sources(ORDER))
    assert (await shop.ready("RolledBack"))["schemaVersion"] == 0
    assert await shop.writes_of_a_reconcile() == []


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
