"""Objects that no CRD ever saw, stored in etcd: the controller tells of each and goes on with the others.

The spare cluster, for the CRDs let everything through here.
Its set-up and its end exchange the CRDs, which takes some seconds.
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
STRAYS: dict[str, tuple[Any, str, str]] = {
    "no-spec": (None, "InvalidResource", "spec: is required"),
    "no-topic": ({"type": "AVRO", "schema": text("id")}, "InvalidResource", "spec.topic: is required"),
    "a-number": ({"topic": 7, "type": "AVRO"}, "InvalidResource", "spec.topic: must be a text, not a number"),
    "no-type": ({"topic": "persistent://a/b/c", "type": "XML"}, "InvalidResource", "spec.type: must be one of"),
    "spelling": ({"topic": "a/b/c", "type": "STRING"}, "InvalidTopic", "'a/b/c' is not a topic name"),
}


@pytest.fixture(scope="module")
def lawless(spare: ControlPlane) -> Iterator[Product]:
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
        product.cluster.kubectl("delete", "namespace", "strays", seconds=120)
    finally:
        product.stop()
        install_crds(spare.cluster)


@pytest.fixture
async def stray_shop(lawless: Product) -> AsyncIterator[WatchedShop]:
    if not lawless.cluster.try_kubectl("get", "namespace", "strays").stdout:
        lawless.cluster.kubectl("create", "namespace", "strays")
    async with watch_shop(lawless.cluster, "strays") as shop:
        yield shop


def stray(name: str, spec: Any, kind: str = "TopicSchema", **metadata: Any) -> dict[str, Any]:
    wire = {"apiVersion": "topicschema.io/v1alpha1", "kind": kind, "metadata": {"name": name, **metadata}}
    return wire if spec is None else wire | {"spec": spec}


@pytest.mark.parametrize("name", STRAYS)
async def test_a_resource_that_cannot_be_read_is_stalled_and_told_with_its_place(
    stray_shop: WatchedShop, name: str
) -> None:
    spec, reason, message = STRAYS[name]
    stray_shop.apply(stray(name, spec))
    status = await stray_shop.ready(reason, name)
    assert message in conditions(status)["Ready"]["message"]
    assert conditions(status)["Stalled"]["status"] == "True"
    assert await stray_shop.writes_of_a_reconcile(name) == []


async def test_a_resource_that_cannot_be_read_is_let_go(stray_shop: WatchedShop) -> None:
    stray_shop.apply(stray("leaving", {"topic": 7}, finalizers=["topicschema.io/broker-delete"]))
    await stray_shop.ready("InvalidResource", "leaving")
    stray_shop.delete("tsc/leaving", "--wait=false")
    await stray_shop.gone("leaving")


async def test_a_policy_that_cannot_be_read_is_stalled(stray_shop: WatchedShop) -> None:
    stray_shop.apply(stray("numbers", {"pulsarCluster": 1, "pulsarNamespace": "a/b"}, "NamespaceSchemaPolicy"))
    status = await stray_shop.policy_ready("InvalidResource", "numbers")
    assert "spec.pulsarCluster" in conditions(status)["Ready"]["message"]


async def test_a_status_that_nobody_can_read_is_written_anew(stray_shop: WatchedShop) -> None:
    stray_shop.apply(stray("odd", {"topic": "persistent://a/b/c", "type": "STRING"}))
    before = await stray_shop.ready("PolicyNotFound", "odd")
    told = stray_shop.shop.run(
        "patch", "tsc/odd", "--subresource=status", "--type=merge", '-p={"status":{"conditions":"none","versions":7}}'
    )
    assert told.returncode == 0, told.stderr
    await wait_for(lambda: stray_shop.get("odd"), lambda wire: isinstance(wire["status"]["conditions"], list))
    after = await stray_shop.ready("PolicyNotFound", "odd")
    assert [c["reason"] for c in after["conditions"]] == [c["reason"] for c in before["conditions"]]
    assert after["versions"] == []
