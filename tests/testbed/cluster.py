"""A Kubernetes cluster of any source: a kubeconfig, and a kubectl that uses no other."""

import base64
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed import paths
from testbed.errors import TestbedError
from testbed.paths import write_atomically

if TYPE_CHECKING:
    from testbed.certificates import Issued


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster for tests and people.

    `audit_log` is None for an API server that is not the testbed's. `webhook_host` is the address by which the API
    server reaches a server on this machine, None if it is unknown.
    """

    kubeconfig: Path
    kubectl_program: Path
    webhook_host: str | None = None
    audit_log: Path | None = None

    def kubectl(self, *arguments: str | Path, stdin: str | None = None, seconds: float = 180) -> str:
        """Run kubectl and return its output. Raise TestbedError with its error text if it fails."""
        result = self.try_kubectl(*arguments, stdin=stdin, seconds=seconds)
        if result.returncode:
            raise TestbedError(
                f"kubectl {' '.join(map(str, arguments))}: {result.stderr.strip() or result.stdout.strip()}"
            )
        return result.stdout

    def try_kubectl(
        self, *arguments: str | Path, stdin: str | None = None, seconds: float = 180
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl and return its result, also if it fails."""
        return subprocess.run(
            [self.kubectl_program, *arguments],
            input=stdin,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )

    def environment(self) -> dict[str, str]:
        """Return the environment in which `kubectl` and clients use this cluster."""
        path = f"{self.kubectl_program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        ours = self.kubeconfig.is_relative_to(paths.instances())
        kubectl_cache = (self.kubeconfig.parent if ours else paths.cache()) / "kubectl-cache"  # not in ~/.kube
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "KUBECACHEDIR": str(kubectl_cache), "PATH": path}

    def get(self, *arguments: str) -> Any:
        """Return the parsed output of `kubectl get ARGUMENTS -o json`."""
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def server(self) -> str:
        return self.kubectl("config", "view", "--raw", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")

    def service_account_kubeconfig(self, namespace: str, account: str, path: Path) -> Path:
        """Write a kubeconfig with that service account as the only user, and return its path."""
        config = json.loads(self.kubectl("config", "view", "--raw", "--flatten", "--minify", "-o", "json"))
        token = self.kubectl("create", "token", "-n", namespace, account, "--duration=24h").strip()
        return write_kubeconfig(path, config["clusters"][0]["cluster"], {"token": token}, namespace)


def write_kubeconfig(path: Path, cluster: dict[str, Any], user: dict[str, Any], namespace: str = "default") -> Path:
    """Write a kubeconfig of one cluster, user and context, and return its path."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testbed", "cluster": cluster}],
        "users": [{"name": "testbed", "user": user}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": "testbed", "namespace": namespace}}],
        "current-context": "testbed",
    }
    write_atomically(path, json.dumps(config, indent=1))
    return path


def client_kubeconfig(path: Path, server: str, client: "Issued") -> Path:
    """Write a kubeconfig with the client certificate and the CA's, and return its path."""
    cluster = {"server": server, "certificate-authority-data": _base64(client.ca)}
    user = {"client-certificate-data": _base64(client.certificate), "client-key-data": _base64(client.key)}
    return write_kubeconfig(path, cluster, user)


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode("ascii")
