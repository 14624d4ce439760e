"""A product whose controller talks to the API server through the proxy. Its webhook is off: the controller judges."""

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from faults import flows, kubelet
from faults.world import World
from support.kubernetes.plain_api import Api
from testbed import ports
from testbed.certificates import Authority
from testbed.controlplane import ControlPlane, owned
from testbed.fault_proxy import FaultProxy
from testbed.product import NAMESPACE, PATIENT_LEASE, Product

_LEASE = "topicschema-controller"
_WORKERS = {"TOPICSCHEMA_WORKERS": "64"}
"""More workers than blocked writes, so that no flow waits for a worker."""


@dataclass(frozen=True, slots=True)
class Rig:
    """A control plane, its API as an admin uses it, the proxy in front of it, and the product behind the proxy."""

    plane: ControlPlane
    api: Api
    proxy: FaultProxy
    product: Product

    def replace_controller(self) -> None:
        """Kill the controller if it runs, and start another one, which leads at once.

        The Lease of the killed one is freed, as if it had run out: the process is surely gone.
        """
        if self.product.controller.pid is not None:
            self.product.controller.kill()
        self.free_lease()
        self.product.start_controller()

    def free_lease(self) -> None:
        """Free the Lease of a process that is gone."""
        self.api.merge("leases", NAMESPACE, _LEASE, {"spec": {"holderIdentity": ""}})

    def holder(self) -> str:
        """Return the holder of the Lease, "" without one."""
        lease = self.api.get("leases", NAMESPACE, _LEASE) or {"spec": {}}
        return str(lease["spec"].get("holderIdentity") or "")

    def has_reconciled_all(self) -> bool:
        """Return True if the controller, since it was started, has reconciled as many topics as there are."""
        reconciles = measure(self.product.controller_probe, 'topicschema_reconcile_total{kind="topicschemas"')
        return reconciles >= len(self.api.list("topicschemas", "")) and not measure(
            self.product.controller_probe, "topicschema_workqueue_depth"
        )


@pytest.fixture(scope="package")
def rig(cluster: object) -> Iterator[Rig]:
    """Yield a rig with an own control plane, because its faults disturb tests; `cluster` skips if none is available."""
    with owned() as plane:
        product = Product.install(plane.instance, plane.cluster, {**PATIENT_LEASE, **_WORKERS, **kubelet.IMAGE})
        with proxied(plane, Path(product.controller.environment["KUBECONFIG"])) as proxy:
            product.start_controller()
            try:
                yield Rig(plane, Api(plane.cluster), proxy, product)
            finally:
                product.controller.kill()


@pytest.fixture
def world(rig: Rig) -> Iterator[World]:
    """Yield a world with a policy and one registered version, without faults."""
    made = World(rig.api)
    flows.one_version(made)
    rig.proxy.clear()
    yield made
    rig.proxy.clear()
    made.remove()


@contextmanager
def proxied(plane: ControlPlane, kubeconfig: Path) -> Iterator[FaultProxy]:
    """Yield a proxy to the API server, which replaces it in the kubeconfig; user and token stay."""
    serving = Authority.at(kubeconfig.with_suffix(".pki")).issue("proxy", [ports.LOOPBACK])
    ca = Path(plane.cluster.kubeconfig).parent / "pki" / "ca.crt"
    with FaultProxy.before_api_server(plane.cluster.server(), ca, serving) as proxy:
        config = json.loads(kubeconfig.read_text())
        (cluster,) = config["clusters"]
        cluster["cluster"] = {"server": proxy.url, "certificate-authority": str(serving.ca)}
        kubeconfig.write_text(json.dumps(config))
        yield proxy


def measure(probe: str, metric: str) -> float:
    """Return the sum of a controller's metrics with this prefix, 0 if no controller responds."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{probe}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
    except OSError:
        return 0
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(metric))


def leads(probe: str) -> bool:
    """Return True if the controller with that probe considers itself the leader."""
    return measure(probe, "topicschema_leader_election_is_leader") > 0
