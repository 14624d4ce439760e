"""The controller and the record after a CRD was deleted. On the spare cluster, for it loses CRDs here.

Its set-up starts the spare cluster, which takes ten seconds.
"""

from collections.abc import Iterator

import pytest

from support.kubernetes.watched_namespace import has_record, text, watched
from testbed.controlplane import ControlPlane
from testbed.product import PATIENT_LEASE, Product
from topicschema.api.kinds import TOPIC_SCHEMA

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

CRD = "namespaceschemapolicies.topicschema.io"


@pytest.fixture
def product(spare: ControlPlane) -> Iterator[Product]:
    """The product, its CRDs installed again, with nothing started."""
    installed = Product.install(spare.instance, spare.cluster, PATIENT_LEASE)
    yield installed
    installed.stop()


def ends_and_says_so(product: Product, since: int) -> None:
    assert product.controller.wait(150) == 1
    assert "is the CRD installed?" in product.controller.log.read_text()[since:]


def test_a_controller_whose_kinds_are_not_installed_says_so_and_ends(product: Product) -> None:
    product.cluster.kubectl("delete", "crd", CRD)
    since = len(product.controller.log.read_text()) if product.controller.log.exists() else 0
    product.controller.start()
    ends_and_says_so(product, since)


@pytest.mark.full  # ten tries, a second between two, and what kopf takes to give up its watches
def test_a_controller_whose_kinds_vanish_says_so_and_ends(product: Product) -> None:
    product.start_controller()
    since = len(product.controller.log.read_text())
    product.cluster.kubectl("delete", "crd", CRD)
    ends_and_says_so(product, since)


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
