"""A control plane: etcd, kube-apiserver and, if there, kube-controller-manager, as programs of an instance.

Real certificates, RBAC on, every request in the audit log. Nothing runs in pods (`testbed.kind`). Stopping and
starting keeps ports and objects.
"""

import contextlib
import json
import ssl
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from testbed import audit, ports, sources
from testbed.certificates import Authority, Issued
from testbed.cluster import Cluster, client_kubeconfig
from testbed.errors import PortTakenError, TestbedError
from testbed.instances import Instance
from testbed.paths import write_atomically
from testbed.programs import Program
from testbed.progress import Progress

_START_SECONDS = 240.0
_ATTEMPTS = 4
_HOSTS = (ports.LOOPBACK, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.0.0.1")


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running control plane and its programs."""

    instance: Instance
    cluster: Cluster
    etcd: Program
    apiserver: Program
    controller_manager: Program | None
    _client: Issued

    @classmethod
    def start(cls, instance: Instance, binaries: sources.Binaries, flags: tuple[str, ...] = ()) -> Self:
        """Start the programs that do not run, and wait until they respond. Objects of earlier starts are still there.

        `flags` are more flags of the API server, which win over the testbed's.
        """
        folder = instance.folder / "cluster"
        folder.mkdir(exist_ok=True)
        for _ in range(_ATTEMPTS):
            chosen = _choose_ports(instance, folder)
            plane = cls._prepare(instance, binaries, flags, chosen)
            plane.etcd.start()
            with contextlib.suppress(PortTakenError):
                plane.start_apiserver()
                break
            plane.etcd.kill()
        else:
            raise TestbedError(f"no port stayed free in {_ATTEMPTS} attempts")
        if plane.controller_manager is not None:
            plane.controller_manager.start()
            plane.wait_for_service_accounts()
        return plane

    @classmethod
    def _prepare(
        cls, instance: Instance, binaries: sources.Binaries, flags: tuple[str, ...], chosen: dict[str, int]
    ) -> Self:
        """Write certificates and kubeconfig of the control plane, and start nothing."""
        folder = instance.folder / "cluster"
        authority = Authority.at(folder / "pki")
        client = Issued(folder / "pki/admin.crt", folder / "pki/admin.key", authority.certificate)
        if not client.certificate.exists():
            authority.issue("apiserver", _HOSTS)
            authority.issue("service-accounts", [])  # for its key, which signs tokens
            authority.issue_client("admin", "system:masters")  # last: once it exists, so do the others
        kubeconfig = client_kubeconfig(folder / "kubeconfig", f"https://{ports.LOOPBACK}:{chosen['apiserver']}", client)
        write_atomically(folder / "audit-policy.json", json.dumps(audit.POLICY))
        manager = binaries.folder / "kube-controller-manager"
        server = [*_apiserver(binaries.folder / "kube-apiserver", folder, chosen), *flags]
        has_manager = manager.is_file()
        return cls(
            instance=instance,
            cluster=Cluster(kubeconfig, binaries.kubectl, ports.LOOPBACK, folder / "audit.log"),
            etcd=instance.program("etcd", _etcd(binaries.folder / "etcd", folder, chosen)),
            apiserver=instance.program("apiserver", server),
            controller_manager=instance.program("controller-manager", _manager(manager, folder))
            if has_manager
            else None,
            _client=client,
        )

    def stop_apiserver(self) -> None:
        """Kill -9 the API server and wait until it is gone."""
        self.apiserver.kill()

    def start_apiserver(self) -> None:
        """Start the API server again, on the same port, and wait until it is ready."""
        self.apiserver.start()
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Return once the API server is ready. Raise TestbedError with the end of its log if it is not in time."""
        context = ssl.create_default_context(cafile=str(self._client.ca))
        context.load_cert_chain(self._client.certificate, self._client.key)
        url = json.loads(self.cluster.kubeconfig.read_text(encoding="utf-8"))["clusters"][0]["cluster"]["server"]
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), opener.open(f"{url}/readyz", timeout=5):
                return
            for program in (self.etcd, self.apiserver):
                _raise_if_ended(program)
            time.sleep(0.05)
        raise TestbedError(f"the API server was not ready after {_START_SECONDS:.0f} s:\n{self.apiserver.log_tail()}")

    def wait_for_service_accounts(self) -> None:
        """Return once the controller-manager works: a namespace has its service account."""
        deadline = time.monotonic() + _START_SECONDS
        while self.cluster.try_kubectl("get", "serviceaccount", "default", "-n", "default").returncode:
            if self.controller_manager is not None:
                _raise_if_ended(self.controller_manager)
            if time.monotonic() > deadline:
                raise TestbedError("the controller-manager made no service account for the namespace default")
            time.sleep(0.1)


@contextlib.contextmanager
def owned(flags: tuple[str, ...] = ()) -> Iterator[ControlPlane]:
    """Start a control plane that dies with this process, also if that is killed."""
    binaries = sources.binaries(Progress())
    instance = Instance.owned()
    try:
        yield ControlPlane.start(instance, binaries, flags)
    finally:
        instance.end()


def _raise_if_ended(program: Program) -> None:
    if program.exit_status is None:
        return
    tail = program.log_tail()
    if "address already in use" in tail:
        raise PortTakenError(program.name)
    raise TestbedError(f"{program.name} ended with status {program.exit_status}:\n{tail}")


def _choose_ports(instance: Instance, folder: Path) -> dict[str, int]:
    """Ports for the programs: those of the last start, unless a program that does not run finds its port taken."""
    record = folder / "ports.json"
    last: dict[str, int] = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    running = instance.supervision.request("list")
    chosen = {}
    for name in ("etcd", "apiserver"):
        runs = name in running and running[name]["exit_status"] is None
        chosen[name] = last[name] if runs else ports.free(last.get(name))
    if chosen != last:
        for name in {"apiserver", "etcd", "controller-manager"} & running.keys():  # what still runs knows the old ports
            instance.program(name, []).kill()
        write_atomically(record, json.dumps(chosen))
    return chosen


def _etcd(program: Path, folder: Path, chosen: dict[str, int]) -> list[str]:
    url = f"http://{ports.LOOPBACK}:{chosen['etcd']}"
    return [
        str(program),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls=http://{ports.LOOPBACK}:0",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def _apiserver(program: Path, folder: Path, chosen: dict[str, int]) -> list[str]:
    pki = folder / "pki"
    return [
        str(program),
        f"--etcd-servers=http://{ports.LOOPBACK}:{chosen['etcd']}",
        f"--bind-address={ports.LOOPBACK}",
        f"--advertise-address={ports.LOOPBACK}",
        "--endpoint-reconciler-type=none",  # a loopback address is not one that pods could use
        f"--secure-port={chosen['apiserver']}",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={pki / 'service-accounts.key'}",
        f"--service-account-signing-key-file={pki / 'service-accounts.key'}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        f"--audit-policy-file={folder / 'audit-policy.json'}",
        f"--audit-log-path={folder / 'audit.log'}",
        "--audit-log-maxsize=4096",
        "--profiling=false",
    ]


def _manager(program: Path, folder: Path) -> list[str]:
    return [
        str(program),
        f"--kubeconfig={folder / 'kubeconfig'}",
        f"--root-ca-file={folder / 'pki/ca.crt'}",
        f"--service-account-private-key-file={folder / 'pki/service-accounts.key'}",
        "--use-service-account-credentials=true",
        "--leader-elect=false",
        "--secure-port=0",
        "--profiling=false",
    ]
