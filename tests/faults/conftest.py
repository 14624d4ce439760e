"""A product whose controller talks to the API server through the proxy. Its webhook is off: the controller judges."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from faults import kubelet
from faults.proxy import Proxy
from testbed.controlplane import ControlPlane, owned
from testbed.product import SHORT_LEASE, Product


@dataclass(frozen=True, slots=True)
class Rig:
    """A control plane, the proxy in front of it, and the product behind the proxy."""

    plane: ControlPlane
    proxy: Proxy
    product: Product


@pytest.fixture(scope="module")
def rig(cluster: object) -> Iterator[Rig]:
    """An own control plane, for what is done to it must not disturb other tests; `cluster` says if one can be had."""
    with owned() as plane:
        product = Product.install(plane.instance, plane.cluster, {**SHORT_LEASE, **kubelet.IMAGE})
        folder = plane.instance.folder / "proxy"
        folder.mkdir()
        pki = Path(plane.cluster.kubeconfig).parent / "pki"
        proxy = Proxy.start(plane.cluster.server(), pki / "ca.crt", folder)
        behind_proxy(Path(product.controller.environment["KUBECONFIG"]), proxy)
        product.start_controller()
        try:
            yield Rig(plane, proxy, product)
        finally:
            product.controller.kill()
            proxy.close()


def behind_proxy(kubeconfig: Path, proxy: Proxy) -> None:
    """Let the kubeconfig name the proxy instead of the API server; user and token stay."""
    config = json.loads(kubeconfig.read_text())
    (cluster,) = config["clusters"]
    cluster["cluster"] = {"server": proxy.url, "certificate-authority": str(proxy.serving.ca)}
    kubeconfig.write_text(json.dumps(config))
