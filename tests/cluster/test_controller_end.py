"""The controller and the record after a CRD was deleted. On the spare cluster, for it loses CRDs here.

Its set-up starts the spare cluster, which takes ten seconds.
"""

import urllib.request
from collections.abc import Iterator

import pytest

from support.kubernetes.watched_namespace import has_record, text, until, watched
from testbed.controlplane import ControlPlane
from testbed.install import install_crds
from testbed.product import PATIENT_LEASE, Product, wait_until_ready
from topicschema.api.kinds import TOPIC_SCHEMA

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

CRD = "namespaceschemapolicies.topicschema.io"


@pytest.fixture
def product(spare: ControlPlane) -> Iterator[Product]:
    """Yield the product, its CRDs installed again, with nothing started."""
    installed = Product.install(spare.instance, spare.cluster, PATIENT_LEASE)
    yield installed
    installed.stop()


async def wait_until_reported(product: Product, since: int) -> None:
    """Wait until the controller reports the missing CRD and is not ready, though it runs."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    async def is_ready() -> bool:
        try:
            with opener.open(f"{product.controller_probe}/readyz", timeout=5):
                return True
        except OSError:
            return False

    async def log() -> str:
        return product.controller.log.read_text()[since:]

    await until(log, lambda text: "is the CRD installed?" in text)
    await until(is_ready, lambda ready: not ready)
    assert product.controller.exit_status is None


async def check_registration(product: Product, name: str) -> None:
    """Install the CRD again, and wait until the controller registers a schema."""
    install_crds(product.cluster)
    wait_until_ready(product.controller, product.controller_probe)
    product.admit_all()
    product.cluster.kubectl("create", "namespace", name)
    async with watched(product.cluster, name) as shop:
        shop.govern()
        shop.put(text("id"))
        await shop.ready("Registered")


async def test_a_controller_whose_kinds_are_not_installed_waits_for_them_and_reports_it(product: Product) -> None:
    product.cluster.kubectl("delete", "crd", CRD)
    since = len(product.controller.log.read_text()) if product.controller.log.exists() else 0
    product.controller.start()
    await wait_until_reported(product, since)
    await check_registration(product, "crd-missing")


async def test_a_controller_whose_kinds_vanish_waits_until_they_are_back_and_reports_it(product: Product) -> None:
    product.start_controller()
    since = len(product.controller.log.read_text())
    product.cluster.kubectl("delete", "crd", CRD)
    await wait_until_reported(product, since)
    await check_registration(product, "crd-vanished")


async def test_a_crd_that_is_deleted_leaves_the_record_of_topics_with_deletion_policy_delete(product: Product) -> None:
    product.admit_all()
    product.start_controller()
    cluster, name = product.cluster, "crd-deleted"
    cluster.kubectl("create", "namespace", name)
    async with watched(cluster, name) as shop:
        shop.govern()
        shop.put(text("id"), deletionPolicy="Delete")
        await shop.ready("Registered")
        cluster.kubectl("delete", "crd", TOPIC_SCHEMA.crd_name)  # returns once all its resources are gone
        assert await has_record(shop)
