"""What makes the controller end: a cluster that it cannot work on. Its own cluster, for it loses its CRDs here."""

import pytest

from testbed.controlplane import owned
from testbed.product import PATIENT_LEASE, Product

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]


def test_a_controller_whose_kinds_are_not_installed_or_vanish_says_so_and_ends() -> None:
    with owned() as plane:
        product = Product.install(plane.instance, plane.cluster, PATIENT_LEASE)
        log = product.controller.log
        product.start_controller()
        plane.cluster.kubectl("delete", "crd", "namespaceschemapolicies.topicschema.io")
        assert product.controller.wait(60) == 1
        vanished = log.read_text()
        assert "is the CRD installed?" in vanished
        product.controller.start()
        assert product.controller.wait(60) == 1
        assert "is the CRD installed?" in log.read_text().removeprefix(vanished)
