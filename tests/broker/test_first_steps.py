"""The commands of docs/first-steps.md, run from top to bottom, with a broker that has TLS and tokens.

A YAML block is the file that its first line names, or a change of that file. Commands within a sentence are run, too.
Controller and webhook are processes with the settings that the page's values give their pods. The page needs a control
plane of its own, an installation by Helm and some fifty commands.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from testbed import helm, maven, packages, pulsar, pulsar_admin
from testbed.cluster import Cluster
from testbed.controlplane import ControlPlane, owned
from testbed.paths import REPOSITORY
from testbed.product import NAMESPACE as SYSTEM
from testbed.product import Product
from testbed.pulsar import Pulsar
from testbed.tokens import ORDINARY

pytestmark = pytest.mark.timeout(300)

PAGE = (REPOSITORY / "docs" / "first-steps.md").read_text()
PARTS = re.compile(
    r"^```(?P<language>\w+)\n(?P<block>.*?)^```|`(?P<inline>(?:kubectl|topicschema explain)\s[^`]+)`",
    re.MULTILINE | re.DOTALL,
)
NAMESPACE = "shop/orders"
FIELDS = [{"name": "id", "type": "string"}, {"name": "amount", "type": "long"}]
EDITS = [{"name": "currency", "type": "string"}, {"name": "currency", "type": "string", "default": "EUR"}]
"""The reader's edits of schemas/created.yaml, before one apply and before the next."""


@dataclass
class Reader:
    """A reader who follows the page, in a folder of his own."""

    plane: ControlPlane
    broker: Pulsar
    folder: Path
    substitutes: dict[str, str]
    edits: Iterator[dict[str, Any]] = field(default_factory=lambda: iter(EDITS))

    def read(self, page: str) -> None:
        """Follow the page."""
        for word, substitute in self.substitutes.items():
            page = page.replace(word, substitute)
        for part in PARTS.finditer(page):
            match part["language"]:
                case None:
                    self.run(part["inline"])
                case "sh":
                    self.run(part["block"])
                case "console":
                    self.compare(part["block"])
                case "yaml":
                    self.write(part["block"])
                case other:
                    raise AssertionError(f"no reader runs a block of {other}")

    def run(self, script: str, *, fails: bool = False) -> str:
        """Run the lines. Return their output, or their error if `fails`. Warnings depend on timing."""
        if "schemas/created.yaml" in script:
            self.edit(next(self.edits))
        done = subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode != 0) is fails, f"{script}\n{done.stdout}{done.stderr}"
        if "helm install" in script:
            self.start_operator()
        if "topicschema manifest" in script:
            assert done.stderr == f"persistent://{NAMESPACE}/raw has no schema\n"
            self.broker.call("DELETE", f"/persistent/{NAMESPACE}/raw")
        return (done.stderr if fails else done.stdout).strip()

    def compare(self, block: str) -> None:
        """Check that each command prints the words that follow it. `...` is any text; the last may be an age."""
        for shown in block.removeprefix("$ ").split("\n$ "):
            command, _, output = shown.partition("\n")
            expected = r"\s+".join(re.escape(each) for each in output.split()).replace(re.escape("..."), ".*")
            expected = re.sub(r"\b\d+[smh]$", r"\\w+", expected)
            printed = self.run(command, fails="is invalid" in output)
            assert re.fullmatch(expected, printed, re.DOTALL), printed

    def write(self, block: str) -> None:
        """Write the file that the block's first line names, or change it."""
        name = re.match(r"# (\S+\.yaml)\n", block)
        assert name, f"no line says which file this is:\n{block}"
        file = self.folder / name[1]
        if file.exists():
            block = json.dumps(merged(yaml.safe_load(file.read_text()), yaml.safe_load(block)))
        file.write_text(block)

    def edit(self, added: dict[str, str]) -> None:
        """Add the field to the topic's first schema."""
        file = self.folder / "schemas" / "created.yaml"
        resource = yaml.safe_load(file.read_text())
        schema = json.loads(resource["spec"]["schema"])
        resource["spec"]["schema"] = json.dumps({**schema, "fields": [*FIELDS, added]})
        file.write_text(json.dumps(resource))

    def start_operator(self) -> None:
        """Start the programs of the chart's pods, as its Deployment defines them."""
        cluster = self.plane.cluster
        deployment = cluster.get("deployment", "topicschema-controller", "-n", SYSTEM)
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        environment = {each["name"]: each["value"] for each in container["env"] if "value" in each}
        del environment["TOPICSCHEMA_PROBE_PORT"]
        product = Product.install(self.plane.instance, cluster, environment)
        product.start_controller()
        product.start_webhook()
        product.admit_all()
        product.admit()

    def environment(self) -> dict[str, str]:
        """Return the variables of the reader's shell, which has the programs of the page in its path."""
        variables = {**self.plane.cluster.environment(), **helm.environment(), "NO_PROXY": "127.0.0.1"}
        folders = [
            str(self.folder / "bin"),
            str(Path(sys.executable).parent),
            str(helm.program().parent),
            variables["PATH"],
        ]
        return {**variables, "PATH": os.pathsep.join(folders), "PYTHONPATH": str(REPOSITORY / "tests")}


def merged(base: Any, change: Any) -> Any:
    """Return the base with the members of the change."""
    if not (isinstance(base, dict) and isinstance(change, dict)):
        return change
    return {**base, **{key: merged(base.get(key), value) for key, value in change.items()}}


@pytest.fixture
def reader(cluster: Cluster, secured_pulsar: Pulsar, tmp_path: Path) -> Iterator[Reader]:
    """Yield a reader with the page's requirements: Kubernetes, a Pulsar with topics, its Secrets, and the programs.

    `cluster` skips the test if no control plane is available.
    """
    if lacking := packages.missing(packages.SHELL):
        pytest.skip(f"the page's programs are not all here: {packages.install(lacking)}")
    admin, service = (urlsplit(url).netloc for url in (secured_pulsar.admin_url, secured_pulsar.service_url))
    substitutes = {
        "pulsar-proxy.pulsar.svc:6651": service,
        "pulsar-proxy.pulsar.svc": admin,
        "EXISTING_ROLES": ORDINARY,
        "--wait ": "",  # no pod ever runs
        "kubectl wait": "kubectl wait --timeout=180s",  # the machine may be busy
    }
    with owned() as plane:
        install_pulsar(plane.cluster, secured_pulsar)
        fill(secured_pulsar)
        (tmp_path / "charts").symlink_to(helm.CHART.parent)
        install_programs(tmp_path / "bin", secured_pulsar)
        yield Reader(plane, secured_pulsar, tmp_path, substitutes)


def install_pulsar(cluster: Cluster, broker: Pulsar) -> None:
    """Make what a chart of Pulsar leaves in its namespace, as far as the page reads it."""
    assert broker.credentials
    secret = ("create", "secret", "generic", "-n", "pulsar")
    cluster.kubectl("create", "namespace", "pulsar")
    cluster.kubectl(*secret, "pulsar-token-symmetric-key", f"--from-file=SECRETKEY={broker.credentials.tokens.key}")
    cluster.kubectl(*secret, "pulsar-ca-tls", f"--from-file=ca.crt={broker.credentials.ca}")


def fill(broker: Pulsar) -> None:
    """Create a topic with a schema in the Pulsar namespace, a partitioned one, and one without a schema."""
    broker.request("PUT", "/tenants/shop", {"allowedClusters": broker.call("GET", "/clusters")})
    broker.call("PUT", f"/namespaces/{NAMESPACE}")
    broker.call("PUT", f"/persistent/{NAMESPACE}/shipped/partitions", 2)
    for topic in ("created", "raw"):
        broker.call("PUT", f"/persistent/{NAMESPACE}/{topic}")
    schema = json.dumps({"type": "record", "name": "Order", "fields": FIELDS})
    for topic, owner in (("created", "a team"), ("shipped", "")):
        properties = {"owner": owner} if owner else {}
        body = {"type": "AVRO", "schema": schema, "properties": properties}
        broker.call("POST", f"/schemas/{NAMESPACE}/{topic}/schema", body)


def install_programs(folder: Path, broker: Pulsar) -> None:
    """Write `pulsar`, which has only `tokens`, and `pulsar-admin` of the superuser."""
    assert broker.credentials
    folder.mkdir()
    java = f"java -XX:TieredStopAtLevel=1 -cp '{maven.jars(pulsar.POM)}/*'"
    tokens = f"[ $1 = tokens ] && shift && exec {java} org.apache.pulsar.utils.auth.tokens.TokensCliUtils"
    program = folder / "pulsar"
    program.write_text(f'#!/bin/sh\n{tokens} "$@"\n')
    program.chmod(0o755)
    pulsar_admin.install(folder, broker.admin_url, broker.credentials.tokens.superuser, broker.credentials.ca)


def test_every_command_of_the_page_has_its_documented_result(reader: Reader) -> None:
    with_broker, _, without = PAGE.partition("## Without Pulsar")
    reader.read(with_broker)
    there = reader.broker.call("GET", f"/namespaces/{NAMESPACE}")
    assert there["schema_compatibility_strategy"] == "BACKWARD_TRANSITIVE"
    assert there["is_allow_auto_update_schema"] is False
    assert there["auth_policies"]["namespace_auth"] == {"schema-reader": ["consume"]}
    versions = reader.broker.call("GET", f"/schemas/{NAMESPACE}/created/schemas")["getSchemaResponses"]
    assert [len(json.loads(each["data"])["fields"]) for each in versions] == [2, 3]
    assert not list(reader.edits)
    reader.substitutes = {"shop": "stock", **reader.substitutes}
    reader.read(without)
