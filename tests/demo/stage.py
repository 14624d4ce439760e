"""The stage: a cluster with the product on it, perhaps a broker, the files that are applied, and the narrator."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demo.narrator import Narrator, Told
from testbed.cluster import Cluster

if TYPE_CHECKING:
    from testbed.pulsar import Pulsar

OPERATOR_NAMESPACE = "topicschema-system"
PULSAR_CLUSTER = "demo"
WEBHOOK_CONFIGURATION = "topicschema"
WEBHOOK_FILE = "webhook-configuration.json"


@dataclass(frozen=True, slots=True)
class Stage:
    """What a step needs. Commands run in `folder`; what steps read for their checks is not shown."""

    narrator: Narrator
    cluster: Cluster
    folder: Path
    pulsar: "Pulsar | None" = None

    def environment(self) -> dict[str, str]:
        """What the commands find: kubectl and its cluster, a Python with Pulsar's client, and the broker."""
        found = dict(self.cluster.environment())
        found["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{found['PATH']}"
        if self.pulsar is not None:
            found |= {"PULSAR_SERVICE_URL": self.pulsar.service_url, "NO_PROXY": "127.0.0.1"}
            found["SCHEMAS"] = f"{self.pulsar.admin_url}/admin/v2/schemas/shop/sales"
        return found

    def run(self, line: str, *, fails: bool | None = False, most_lines: int = 200) -> Told:
        """Show and run a line; see `Narrator.run`."""
        return self.narrator.run(line, self.folder, self.environment(), fails=fails, most_lines=most_lines)

    def claim(self, text: str, *, holds: bool, instead: object = "") -> None:
        """Claim something that was checked; see `Narrator.claim`."""
        self.narrator.claim(text, holds=holds, instead=instead)

    def read(self, *arguments: str) -> Any:
        """What `kubectl get ARGUMENTS` knows, parsed."""
        return self.cluster.get(*arguments)

    def status(self, namespace: str, name: str) -> dict[str, Any]:
        """The status of the TopicSchema; empty while there is none."""
        found: dict[str, Any] = self.read("topicschema", name, "-n", namespace).get("status", {})
        return found

    def histories(self) -> list[dict[str, Any]]:
        """The SchemaHistory objects of all topics of the demo's Pulsar cluster."""
        found = self.read("schemahistories", "-n", OPERATOR_NAMESPACE)["items"]
        return [history for history in found if history["spec"].get("pulsarCluster") == PULSAR_CLUSTER]


def condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    """The condition of that type, empty when there is none."""
    return next((entry for entry in status.get("conditions", ()) if entry["type"] == kind), {})
