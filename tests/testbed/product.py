"""The product itself on a cluster: controller and webhook as separate processes, each as its own service account.

They run with the roles that the manifests ship, so a missing permission fails a test. The same code serves tests, demo
and benchmarks; what differs is the instance the processes hang on and the environment they get.
"""

import contextlib
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from testbed import ports
from testbed.certificates import Authority, Issued
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.install import install_crds, install_manifests, remove_webhooks
from testbed.instances import Instance
from testbed.programs import Program

NAMESPACE = "topicschema-system"
PATIENT_LEASE = {
    "TOPICSCHEMA_LEASE_DURATION": "8",
    "TOPICSCHEMA_LEASE_RENEW_DEADLINE": "7",
    "TOPICSCHEMA_LEASE_RETRY_PERIOD": "0.5",
}
"""It runs out soon after its holder was killed, and is not lost while a busy machine does much else."""
_READY_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class Product:
    """An installed product: its programs (not started by making one) and the webhook's certificate."""

    cluster: Cluster
    instance: Instance
    controller: Program
    webhook: Program
    certificate: Issued
    webhook_url: str
    controller_probe: str
    webhook_probe: str

    @classmethod
    def install(cls, instance: Instance, cluster: Cluster, environment: Mapping[str, str] | None = None) -> "Product":
        """CRDs, accounts and roles applied, certificates and kubeconfigs written, nothing started.

        `environment` is added to that of both processes, for instance TOPICSCHEMA_LEASE_DURATION.
        """
        install_crds(cluster)
        install_manifests(cluster)
        folder = instance.folder / "product"
        folder.mkdir(exist_ok=True)
        host = cluster.webhook_host or ports.LOOPBACK
        certificate = Authority.at(folder / "pki").issue("webhook", [host, "localhost"])
        webhook_port, webhook_probe, controller_probe = ports.free(), ports.free(), ports.free()
        serving = {
            "TOPICSCHEMA_WEBHOOK_PORT": str(webhook_port),
            "TOPICSCHEMA_WEBHOOK_CERT": str(certificate.certificate),
            "TOPICSCHEMA_WEBHOOK_KEY": str(certificate.key),
            "TOPICSCHEMA_PROBE_PORT": str(webhook_probe),
        }
        leading = {"TOPICSCHEMA_PROBE_PORT": str(controller_probe)}
        extra = environment or {}
        return cls(
            cluster=cluster,
            instance=instance,
            controller=_program(instance, cluster, folder, "controller", {**leading, **extra}),
            webhook=_program(instance, cluster, folder, "webhook", {**serving, **extra}),
            certificate=certificate,
            webhook_url=f"https://{host}:{webhook_port}",
            controller_probe=f"http://{ports.LOOPBACK}:{controller_probe}",
            webhook_probe=f"http://{ports.LOOPBACK}:{webhook_probe}",
        )

    @classmethod
    @contextlib.contextmanager
    def installed(cls, instance: Instance, cluster: Cluster, environment: Mapping[str, str]) -> "Iterator[Product]":
        """Yield the installed product. Its processes stop when the context ends."""
        product = cls.install(instance, cluster, environment)
        try:
            yield product
        finally:
            product.stop()

    @classmethod
    @contextlib.contextmanager
    def controlling(cls, instance: Instance, cluster: Cluster, environment: Mapping[str, str]) -> "Iterator[Product]":
        with cls.installed(instance, cluster, environment) as product:
            product.admit_all()
            product.start_controller()
            yield product

    @classmethod
    @contextlib.contextmanager
    def working(cls, instance: Instance, cluster: Cluster, environment: Mapping[str, str]) -> "Iterator[Product]":
        with cls.installed(instance, cluster, environment) as product:
            product.start_controller()
            product.start_webhook()
            product.admit()
            yield product

    def start_controller(self) -> None:
        """Start the controller unless it runs, and wait until it is ready."""
        self.controller.start()
        wait_until_ready(self.controller, self.controller_probe)

    def start_webhook(self) -> None:
        """Start the webhook unless it runs, and wait until it is ready."""
        self.webhook.start()
        wait_until_ready(self.webhook, self.webhook_probe)

    def admit(self) -> None:
        """Put the webhook configuration in place: from here on edits are reviewed."""
        install_manifests(self.cluster, self.webhook_url, self.certificate.ca)

    def admit_all(self) -> None:
        """Take the webhook configuration away: nothing is reviewed."""
        remove_webhooks(self.cluster)

    def stop(self) -> None:
        """Remove the webhook configuration first, so that a stopped webhook blocks no request; then end both."""
        self.admit_all()
        for program in (self.webhook, self.controller):
            if program.pid is not None:
                program.terminate()


def wait_until_ready(program: Program, probe: str) -> None:
    """Return once `/readyz` of the probe answers 200; TestbedError with the log's end when it never does."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _READY_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), opener.open(f"{probe}/readyz", timeout=5):
            return
        if program.exit_status is not None:
            break
        time.sleep(0.05)
    raise TestbedError(f"the {program.name} is not ready:\n{program.log_tail()}")


def _program(instance: Instance, cluster: Cluster, folder: Path, role: str, environment: Mapping[str, str]) -> Program:
    kubeconfig = cluster.service_account_kubeconfig(NAMESPACE, f"topicschema-{role}", folder / f"{role}.kubeconfig")
    return instance.program(
        role,
        [sys.executable, "-m", "topicschema", role],
        {"KUBECONFIG": str(kubeconfig), "TOPICSCHEMA_NAMESPACE": NAMESPACE, **environment},
    )


def wait_until_listening(port: int, host: str = ports.LOOPBACK) -> None:
    """Return once something listens on the port of this machine's address."""
    deadline = time.monotonic() + _READY_SECONDS
    while ports.is_free(port, host):
        if time.monotonic() > deadline:
            raise TestbedError(f"nothing listens on port {port} after {_READY_SECONDS:.0f} s")
        time.sleep(0.02)
