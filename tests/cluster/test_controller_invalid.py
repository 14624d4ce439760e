"""Invalid objects, stored in etcd without a CRD's check: the controller reports each and goes on with the others.

It is the spare cluster, because its CRDs accept everything here. Its set-up and its end exchange the CRDs, which takes
some seconds.
"""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from support.kubernetes.watched_namespace import WatchedShop, conditions, text, wait_for, watch_shop
from testbed.controlplane import ControlPlane
from testbed.install import install_crds
from testbed.product import PATIENT_LEASE, Product

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
INVALID: dict[str, tuple[Any, str, str]] = {
    "no-spec": (None, "InvalidResource", "spec: is required"),
    "no-topic": ({"type": "AVRO", "schema": text("id")}, "InvalidResource", "spec.topic: is required"),
    "a-number": ({"topic": 7, "type": "AVRO"}, "InvalidResource", "spec.topic: must be a text, not a number"),
    "no-type": ({"topic": "persistent://a/b/c", "type": "XML"}, "InvalidResource", "spec.type: must be one of"),
    "spelling": ({"topic": "a/b/c", "type": "STRING"}, "InvalidTopic", "'a/b/c' is not a topic name"),
}


@pytest.fixture(scope="module")
def unchecked(spare: ControlPlane) -> Iterator[Product]:
    product = Product.install(spare.instance, spare.cluster, PATIENT_LEASE)
    try:
        for plural in ("topicschemas", "namespaceschemapolicies"):
            name = f"{plural}.topicschema.io"
            crd = spare.cluster.get("crd", name)
            versions = crd["spec"]["versions"]
            versions[0].pop("selectableFields", None)
            versions[0]["schema"]["openAPIV3Schema"] = {
                "type": "object",
                "properties": {"spec": ANYTHING, "status": ANYTHING},
            }
            patch = json.dumps({"spec": {"versions": versions}})
            spare.cluster.kubectl("patch", "crd", name, "--type=merge", f"-p={patch}")
        product.start_controller()
        yield product
        product.cluster.kubectl("delete", "namespace", "invalid", seconds=120)
    finally:
        product.stop()
        install_crds(spare.cluster)


@pytest.fixture
async def invalid_shop(unchecked: Product) -> AsyncIterator[WatchedShop]:
    if not unchecked.cluster.try_kubectl("get", "namespace", "invalid").stdout:
        unchecked.cluster.kubectl("create", "namespace", "invalid")
    async with watch_shop(unchecked.cluster, "invalid") as shop:
        yield shop


def resource(name: str, spec: Any, kind: str = "TopicSchema", **metadata: Any) -> dict[str, Any]:
    wire = {"apiVersion": "topicschema.io/v1alpha1", "kind": kind, "metadata": {"name": name, **metadata}}
    return wire if spec is None else wire | {"spec": spec}


@pytest.mark.parametrize("name", INVALID)
async def test_a_resource_that_cannot_be_read_is_stalled_and_reported_with_its_place(
    invalid_shop: WatchedShop, name: str
) -> None:
    spec, reason, message = INVALID[name]
    invalid_shop.apply(resource(name, spec))
    status = await invalid_shop.ready(reason, name)
    assert message in conditions(status)["Ready"]["message"]
    assert conditions(status)["Stalled"]["status"] == "True"
    assert await invalid_shop.writes_of_a_reconcile(name) == []


async def test_a_resource_that_cannot_be_read_can_be_deleted(invalid_shop: WatchedShop) -> None:
    invalid_shop.apply(resource("leaving", {"topic": 7}, finalizers=["topicschema.io/broker-delete"]))
    await invalid_shop.ready("InvalidResource", "leaving")
    invalid_shop.delete("tsc/leaving", "--wait=false")
    await invalid_shop.gone("leaving")


async def test_a_policy_that_cannot_be_read_is_stalled(invalid_shop: WatchedShop) -> None:
    invalid_shop.apply(resource("numbers", {"registry": 1, "pulsarNamespace": "a/b"}, "NamespaceSchemaPolicy"))
    status = await invalid_shop.policy_ready("InvalidResource", "numbers")
    assert "spec.registry" in conditions(status)["Ready"]["message"]


async def test_a_status_that_cannot_be_read_is_written_again(invalid_shop: WatchedShop) -> None:
    invalid_shop.apply(resource("odd", {"topic": "persistent://a/b/c", "type": "STRING"}))
    before = await invalid_shop.ready("PolicyNotFound", "odd")
    done = invalid_shop.shop.run(
        "patch", "tsc/odd", "--subresource=status", "--type=merge", '-p={"status":{"conditions":"none","versions":7}}'
    )
    assert done.returncode == 0, done.stderr
    await wait_for(lambda: invalid_shop.get("odd"), lambda wire: isinstance(wire["status"]["conditions"], list))
    after = await invalid_shop.ready("PolicyNotFound", "odd")
    assert [c["reason"] for c in after["conditions"]] == [c["reason"] for c in before["conditions"]]
    assert after["versions"] == []
