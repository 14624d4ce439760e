"""The stage: a cluster with the product, a broker if there is one, the applied files, and the narrator."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demo.narrator import CommandResult, Narrator
from testbed.cluster import Cluster

if TYPE_CHECKING:
    from testbed.pulsar import Pulsar

OPERATOR_NAMESPACE = "topicschema-system"
PULSAR_CLUSTER = "demo"
WEBHOOK_CONFIGURATION = "topicschema"
WEBHOOK_FILE = "webhook-configuration.json"


@dataclass(frozen=True, slots=True)
class Stage:
    """The context of a step. Commands run in `folder`. Reads for checks are not shown."""

    narrator: Narrator
    cluster: Cluster
    folder: Path
    pulsar: "Pulsar | None" = None

    def environment(self) -> dict[str, str]:
        """Return the environment of commands: kubectl, its cluster, a Python with Pulsar's client, and the broker."""
        environment = dict(self.cluster.environment())
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        if self.pulsar is not None:
            environment |= {"PULSAR_SERVICE_URL": self.pulsar.service_url, "NO_PROXY": "127.0.0.1"}
            environment["SCHEMAS"] = f"{self.pulsar.admin_url}/admin/v2/schemas/shop/sales"
        return environment

    def run(self, line: str, *, fails: bool | None = False, most_lines: int = 200) -> CommandResult:
        """Show and run a line; see `Narrator.run`."""
        return self.narrator.run(line, self.folder, self.environment(), fails=fails, most_lines=most_lines)

    def claim(self, text: str, *, holds: bool, instead: object = "") -> None:
        """Write a checked claim; see `Narrator.claim`."""
        self.narrator.claim(text, holds=holds, instead=instead)

    def status(self, namespace: str, name: str) -> dict[str, Any]:
        """Return the status of the TopicSchema, empty while there is none."""
        status: dict[str, Any] = self.cluster.get("topicschema", name, "-n", namespace).get("status", {})
        return status

    def histories(self) -> list[dict[str, Any]]:
        """Return the SchemaHistory objects of the demo's Pulsar cluster."""
        histories = self.cluster.get("schemahistories", "-n", OPERATOR_NAMESPACE)["items"]
        return [history for history in histories if history["spec"].get("pulsarCluster") == PULSAR_CLUSTER]


def condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the condition of that type, empty if there is none."""
    return next((entry for entry in status.get("conditions", ()) if entry["type"] == kind), {})
