"""Objects that were stored while the CRD allowed anything, as after a restored backup or an older release.

Its set-up starts the spare cluster and exchanges the CRDs, which takes some seconds.
"""

import contextlib
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from support.kubernetes.admission import V0
from support.kubernetes.reviewed_namespace import Shop, opened
from testbed.cluster import Cluster
from testbed.install import install_crds
from testbed.product import Product

TOPIC = "persistent://shop/orders/created"
SPECS: dict[str, Any] = {
    "no-topic": {"type": "AVRO", "schema": V0},
    "a-list": ["x"],
    "a-topic-that-is-a-number": {"topic": 7, "type": "AVRO", "schema": V0},
    "a-schema-that-is-an-object": {"topic": TOPIC, "type": "AVRO", "schema": {"type": "string"}},
    "a-type-nobody-knows": {"topic": TOPIC, "type": "THRIFT"},
    "properties-with-numbers": {"topic": TOPIC, "type": "STRING", "properties": {"owner": 7}},
    "a-topic-in-another-spelling": {"topic": "created", "type": "STRING"},
    "suspend-that-is-a-text": {"topic": TOPIC, "type": "STRING", "suspend": "yes"},
}
CRD = "topicschemas.topicschema.io"


@contextlib.contextmanager
def a_crd_that_takes_anything(shop: Shop) -> Iterator[None]:
    crd = shop.cluster.get("crd", CRD)
    version = crd["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version.pop("selectableFields", None)
    crd["metadata"] = {"name": CRD, "resourceVersion": crd["metadata"]["resourceVersion"]}
    shop.cluster.kubectl("replace", "-f", "-", stdin=json.dumps(crd))
    try:
        yield
    finally:
        install_crds(shop.cluster)


def store(shop: Shop, name: str) -> None:
    """Create the object; the CRD's change takes a moment."""
    wire = {**shop.topic_schema(V0, name), "spec": SPECS[name]}
    while shop.run("create", "--validate=false", objects=(wire,)).returncode:
        time.sleep(0.2)


@pytest.fixture
async def shop(product: Product, cluster: Cluster, namespace: str) -> AsyncIterator[Shop]:
    async with opened(cluster, namespace) as shop:
        shop.allow_claims()
        assert shop.apply(shop.policy()).returncode == 0
        product.admit_all()
        with a_crd_that_takes_anything(shop):
            for name in SPECS:
                store(shop, name)
        product.admit()
        yield shop


def test_the_controller_tells_each_what_is_wrong_and_the_webhook_never_fails_on_them(
    shop: Shop, product: Product
) -> None:
    process = product.controller.pid
    for name in SPECS:
        told = shop.run("wait", "--for=condition=Stalled", "--timeout=120s", f"tsc/{name}")
        assert told.returncode == 0, f"{name}: {told.stderr}"
        # Whether the API server takes these is its own matter; a webhook that failed would say so.
        label = shop.run("label", "tsc", name, "seen=yes")
        edit = shop.run("patch", "tsc", name, "--type=merge", "-p", '{"spec": {"properties": {"owner": "a"}}}')
        assert "failed calling webhook" not in label.stderr + edit.stderr, name
        assert shop.run("delete", "tsc", name, "--timeout=120s").returncode == 0, name
    assert product.controller.pid == process
    assert shop.apply(shop.topic_schema(V0, "good")).returncode == 0
    assert shop.run("wait", "--for=condition=Ready", "--timeout=120s", "tsc/good").returncode == 0
