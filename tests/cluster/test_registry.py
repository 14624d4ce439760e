"""The registry with controller and webhook: Pulsar's REST API of schemas, served from the store."""

from collections.abc import AsyncIterator, Iterator

import pytest

from support.kubernetes.registry_process import RegistryClient, run_registry
from support.kubernetes.watched_namespace import WatchedShop, text, watch_shop
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.product import PATIENT_LEASE, Product


@pytest.fixture(scope="module")
def product(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    with Product.working(instance, cluster, PATIENT_LEASE) as product:
        yield product


@pytest.fixture(scope="module")
def admin(product: Product) -> Iterator[RegistryClient]:
    with run_registry(product) as client:
        yield client


@pytest.fixture
async def governed(product: Product, cluster: Cluster, namespace: str) -> AsyncIterator[WatchedShop]:
    """Yield a namespace with a policy."""
    async with watch_shop(cluster, namespace) as shop:
        shop.govern()
        await shop.policy_ready("Active")
        yield shop


def path(shop: WatchedShop, call: str, topic: str = "created") -> str:
    return f"/{shop.namespace}/admin/v2/schemas/{shop.shop.pulsar_namespace}/{topic}/{call}"


def payload(schema: str, kind: str = "AVRO") -> dict[str, object]:
    return {"type": kind, "schema": schema, "properties": {}}


async def test_a_life_of_a_topic(admin: RegistryClient, governed: WatchedShop) -> None:
    assert admin.request("GET", path(governed, "schema")).status == 404
    first = admin.request("POST", path(governed, "schema"), payload(text("a")))
    assert (first.status, first.json) == (200, {"version": {"version": 0}}), first
    again = admin.request("POST", path(governed, "schema"), payload(text("a")))
    assert (again.status, again.json) == (200, {"version": {"version": 0}})
    second = admin.request("POST", path(governed, "schema"), payload(text("a", "b?")))
    assert (second.status, second.json) == (200, {"version": {"version": 1}}), second
    refused = admin.request("POST", path(governed, "schema"), payload(text("a", "b?", "c")))
    assert refused.status == 409, refused
    assert admin.request("GET", path(governed, "schema")).json["version"] == 1
    assert admin.request("GET", path(governed, "schema/0")).json["data"] == text("a")
    listed = admin.request("GET", path(governed, "schemas")).json["getSchemaResponses"]
    assert [each["version"] for each in listed] == [0, 1]
    assert admin.request("POST", path(governed, "version"), payload(text("a"))).json == {"version": 0}
    asked = admin.request("POST", path(governed, "compatibility"), payload(text("a", "d?")))
    assert (asked.status, asked.json) == (202, {"schemaCompatibilityStrategy": "FULL", "compatibility": True})
    asked = admin.request("POST", path(governed, "compatibility"), payload(text("a", "d")))
    assert asked.status == 500
    assert "IncompatibleSchemaException" in asked.json["reason"]
    deleted = admin.request("DELETE", path(governed, "schema"))
    assert (deleted.status, deleted.json) == (200, {"version": 2}), deleted
    assert admin.request("GET", path(governed, "schema")).status == 404
    third = admin.request("POST", path(governed, "schema"), payload("", "STRING"))
    assert (third.status, third.json) == (200, {"version": {"version": 3}}), third
