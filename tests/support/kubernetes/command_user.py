"""A user who runs the product's commands with her own kubeconfig."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from testbed.cluster import Cluster


class CommandUser:
    """A user. Commands have her namespace unless they name another one."""

    def __init__(self, kubeconfig: Path, namespace: str, **environment: str) -> None:
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig), **environment}
        self.namespace = namespace

    @classmethod
    def tenant(cls, cluster: Cluster, namespace: str, folder: Path) -> "CommandUser":
        """Return a new service account with the role `view` in the namespace alone."""
        cluster.kubectl("create", "serviceaccount", "-n", namespace, "tenant")
        bound = ("--clusterrole=view", f"--serviceaccount={namespace}:tenant")
        cluster.kubectl("create", "rolebinding", "-n", namespace, "tenant", *bound)
        return cls(cluster.service_account_kubeconfig(namespace, "tenant", folder / "kubeconfig"), namespace)

    def run(self, command: str) -> "subprocess.CompletedProcess[str]":
        words = command.split()
        line = [*words, *(() if "-n" in words else ("-n", self.namespace))]
        return subprocess.run(
            [sys.executable, "-m", "topicschema", *line],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def json(self, command: str, code: int = 0) -> Any:
        """Return the output of the command with `-o json`, which must exit with `code`."""
        done = self.run(f"{command} -o json")
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)
