"""The commands of docs/manage-schemas.md, run from top to bottom with a real broker and the REST registry.

Java's calls are those of SchemaTour.java, which another test runs.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.kubernetes.registry_process import RegistryClient, run_registry
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.rest_topic import RestTopic
from testbed import packages, pulsar_admin
from testbed.paths import REPOSITORY
from testbed.product import Product

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]

PAGE = (REPOSITORY / "docs" / "manage-schemas.md").read_text()
BLOCK = re.compile(r"^```(sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SETTINGS = {
    "schemaCompatibilityStrategy": "BACKWARD",
    "isAllowAutoUpdateSchema": False,
    "schemaValidationEnforced": False,
}


TOUR = (Path(__file__).parent / "admin" / "SchemaTour.java").read_text()


class Reader:
    """A reader of the page, in a folder and with a context of her own."""

    def __init__(self, shop: BrokeredShop, registry: RegistryClient, folder: Path) -> None:
        cluster, self._namespace, self._folder = shop.watched.shop.cluster, shop.watched.namespace, folder
        kubeconfig, programs = folder / "kubeconfig", cluster.environment()
        kubeconfig.write_text(cluster.kubeconfig.read_text())
        url = f"{registry.url}/{self._namespace}"
        pulsar_admin.install(folder, url, registry.token, registry.ca)
        (folder / "ca.crt").write_bytes(registry.ca.read_bytes())
        self._environment = {
            **programs,
            "PATH": os.pathsep.join([str(folder), str(Path(sys.executable).parent), programs["PATH"]]),
            "REGISTRY": url,
            "TOKEN": registry.token,
            "KUBECONFIG": str(kubeconfig),
            "BROKER": shop.pulsar.admin_url,
            "NO_PROXY": "127.0.0.1",
        }
        self.run(f"kubectl config set-context --current --namespace={self._namespace}")

    def read(self, page: str) -> None:
        """Run the blocks of the page."""
        page = re.sub(r"shop/orders\b(?!-)", f"shop/{self._namespace}", page)
        page = page.replace("shop/orders-created", f"{self._namespace}/orders-created")
        for language, block in BLOCK.findall(page):
            if language == "sh":
                self.run(block)
            else:
                command, _, output = block.removeprefix("$ ").partition("\n")
                assert self.run(command) == output

    def run(self, script: str) -> str:
        done = subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", script.replace("kubectl wait", "kubectl wait --timeout=120s")],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout


async def test_every_command_of_the_page_has_its_documented_result(
    shop: BrokeredShop, shared_controller: Product, tmp_path: Path
) -> None:
    if lacking := packages.missing(packages.SHELL):
        pytest.skip(f"the page's programs are not all here: {packages.install(lacking)}")
    shop.govern()
    await shop.policy_ready("Active")
    topics = [RestTopic(shop.pulsar, shop.pulsar_namespace, name) for name in ("created", "shipped", "packed")]
    settings, _, others = PAGE.partition("## Schema manual management")
    management, _, deletion = others.partition("### Delete a schema")
    with run_registry(shared_controller) as registry:
        reader = Reader(shop, registry, tmp_path)
        reader.read(settings)
        assert shop.broker_settings() == SETTINGS
        reader.read(management)
        assert [topic.versions() for topic in topics] == [[0, 1], [0], [0]]
        reader.read(deletion)
        assert [topic.versions() for topic in topics] == [[], [], []]
    calls = re.findall(r"`(schemas\.\w+\()", PAGE)
    assert [call for call in calls if call not in TOUR] == []
    assert len(calls) == 6
