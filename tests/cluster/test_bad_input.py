"""Bad input on a real API server: refused by CRD or webhook with its place.

If it was stored without the webhook, the controller survives it and reports the place in the status.
Two tests apply some dozens of bad objects, one after the other.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.kubernetes.admission import V0
from support.kubernetes.reviewed_namespace import Shop, open_shop
from testbed.cluster import Cluster
from testbed.product import Product

FIELD = {"name": "a", "type": "string"}


def record(**members: Any) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [FIELD], **members}, ensure_ascii=False)


def field(**members: Any) -> str:
    return record(fields=[{**FIELD, **members}])


DEEP = '{"type":"array","items":' * 10_000 + '"string"' + "}" * 10_000
TEXTS = {
    "no JSON": ('{\n "type": oops', "SYNTAX at line 2, column 10"),
    "empty": ("", "spec.schema"),
    "JSON but not Avro": ('{"some": "thing"}', "MISSING_ATTRIBUTE at $"),
    "an unknown type": (field(type="strin"), "$.fields[0].type"),
    "an undefined name": (field(type="com.shop.Nowhere"), "$.fields[0].type"),
    "a union in a union": (field(type=["null", ["int", "string"]]), "$.fields[0].type[1]"),
    "duplicate fields": (record(fields=[FIELD, FIELD]), "$.fields[1]"),
    "a bad default": (field(default=7), "INVALID_DEFAULT at $.fields[0].default"),
    "10,000 levels": (DEEP, "TOO_DEEP at line 1, column"),
    "a number as a name": (record(name=7), "$.name"),
    "a NUL": ('"str\0ing"', "SYNTAX at line 1, column 5"),
    "1.4 MB": (record(doc="d" * 1_400_000), "spec.schema"),
    "1.4 MB of emoji": (record(doc="🙂" * 349_000), "ObjectTooLarge"),
}
"""The text by name, and the words of its refusal."""


@pytest.fixture
async def shop(product: Product, cluster: Cluster, namespace: str) -> AsyncIterator[Shop]:
    """Yield a governed namespace, with the whole product running."""
    async with open_shop(cluster, namespace) as shop:
        shop.apply_registry()
        assert shop.apply(shop.policy(schemaCompatibilityStrategy="BACKWARD")).returncode == 0
        wait_for(shop, "nsp/orders", "condition=Ready")
        yield shop


def wait_for(shop: Shop, what: str, condition: str) -> None:
    done = shop.run("wait", f"--for={condition}", "--timeout=120s", what)
    assert done.returncode == 0, done.stderr


def test_each_bad_text_is_refused_with_its_place_and_nothing_is_stored(shop: Shop) -> None:
    for name, (text, place) in TEXTS.items():
        done = shop.apply(shop.topic_schema(text))
        assert done.returncode == 1, name
        assert place in done.stderr, f"{name}: {done.stderr[:500]}"
        assert len(done.stderr) < 6_000, name
    assert shop.cluster.get("tsc", "-n", shop.namespace)["items"] == []


async def test_a_lone_surrogate_arrives_as_u_fffd_and_is_refused_with_a_message_about_it(shop: Shop) -> None:
    # The API server takes an escape that is half of a pair for U+FFFD, without an error.
    done = shop.cluster.try_kubectl(
        "create", "-f", "-", stdin=json.dumps(shop.topic_schema(record(name="R\ufffd"))).replace("\\ufffd", "\\ud800")
    )
    assert done.returncode == 1
    assert "INVALID_NAME at $.name" in done.stderr
    assert "U+FFFD" in done.stderr


async def test_the_controller_survives_each_of_them_stored_while_the_webhook_was_away(
    shop: Shop, product: Product
) -> None:
    process = product.controller.pid
    product.admit_all()
    try:
        stored = [name for name in TEXTS if await _is_stored(shop, name)]
    finally:
        product.admit()
    assert len(stored) >= 10
    # Only too large for the webhook, which reserves space for managed fields and status: it is a schema.
    stored.remove("1.4 MB of emoji")
    wait_for(shop, f"tsc/{_resource_name('1.4 MB of emoji')}", "condition=Ready")
    for name in stored:
        wait_for(shop, f"tsc/{_resource_name(name)}", "condition=Stalled")
        conditions = shop.cluster.get("tsc", _resource_name(name), "-n", shop.namespace)["status"]["conditions"]
        ready = next(condition for condition in conditions if condition["type"] == "Ready")
        assert (ready["status"], ready["reason"]) == ("False", "InvalidSchema"), name
        assert TEXTS[name][1] in ready["message"], name
    assert product.controller.pid == process
    assert shop.apply(shop.topic_schema(V0, "good")).returncode == 0
    wait_for(shop, "tsc/good", "condition=Ready")


async def _is_stored(shop: Shop, name: str) -> bool:
    """Return True if the CRD accepts the text."""
    return shop.run("create", objects=(shop.topic_schema(TEXTS[name][0], _resource_name(name)),)).returncode == 0


def _resource_name(name: str) -> str:
    return name.lower().replace(" ", "-").replace(",", "").replace(".", "-")
